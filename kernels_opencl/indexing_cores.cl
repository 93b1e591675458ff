/* Indices and gathers where work-items are cores: each takes neighbours. WRAP asks for the former. */
#ifdef WRAP
__kernel void wrap_cores(PHX_INPUT(i64, x), PHX_OUTPUT(i64, o), PHX_OUTPUT(i32, flag), const axes a,
                         const u64 count, const u64 n, const u64 stride) {
    const u64 per = (count + get_global_size(0) - 1) / get_global_size(0), begin = get_global_id(0) * per;
    const u64 end = min(begin + per, count);
    i32 bad = 0;
    for (u64 i = begin; i < end; i++) {
        i64 at[2] = {0, 0};
        u64 wrapped;
        walk(&a, (place)i, at);
        const int outside = is_outside(PHX_DATA(x)[at[0]], n, &wrapped);
        bad |= outside;
        PHX_DATA(o)
        [at[1]] = outside ? NO_PLACE : (i64)(wrapped * stride);
    }
    if (bad || get_num_groups(0) == 1) PHX_DATA(flag)
    [0] = bad;
}

/* Few of them by one work-item: the offsets, and what `culprit` finds. */
SERIAL wrap_few(PHX_INPUT(i64, x), PHX_OUTPUT(i64, o), PHX_OUTPUT(i64, found), const axes a,
                const u64 count, const u64 n, const u64 stride) {
    u64 first = count;
    for (u64 i = 0; i < count; i++) {
        i64 at[2] = {0, 0};
        u64 wrapped;
        walk(&a, (place)i, at);
        if (is_outside(PHX_DATA(x)[at[0]], n, &wrapped) && i < first) first = i;
        PHX_DATA(o)
        [at[1]] = (i64)(wrapped * stride);
    }
    i64 last[2] = {0, 0};
    walk(&a, (place)(first < count ? first : count - 1), last);
    PHX_DATA(found)
    [0] = first < count ? (i64)first : -1;
    PHX_DATA(found)
    [1] = PHX_DATA(x)[last[0]];
    if (first < count)
        for (u64 i = 0; i < count; i++) {
            i64 at[2] = {0, 0};
            walk(&a, (place)i, at);
            PHX_DATA(o)
            [at[1]] = NO_PLACE;
        }
}
#else
/* Slices of one element. */
__kernel void gather_cores(PHX_INPUT(T, x), PHX_INPUT(i64, f), PHX_OUTPUT(T, o), const u64 m,
                           const i64 f_step, const i64 o_step) {
    const u64 per = (m + get_global_size(0) - 1) / get_global_size(0), begin = get_global_id(0) * per;
    const u64 end = min(begin + per, m);
    for (u64 i = begin; i < end; i++) {
        const i64 offset = PHX_DATA(f)[(i64)i * f_step];
        T item = {0};
        if (IS_PLACE(offset)) item = PHX_DATA(x)[offset];
        PHX_DATA(o)
        [(i64)i * o_step] = item;
    }
}
#endif
