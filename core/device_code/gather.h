/* Slices at element offsets, and zeros where an offset is no place. ROWS is the axis of the launch that
 * counts slices. */

#if CHUNKS
/* Slices of one element where work-items are cores: each takes neighbouring ones. */
PHX_KERNEL(1) gather_chunks(PHX_INPUT(T, x), PHX_INPUT(i64, f), PHX_OUTPUT(T, o), const u64 m,
        const i64 f_step, const i64 o_step) {
    const u64 per = (m + PHX_GLOBAL_SIZE(0) - 1) / PHX_GLOBAL_SIZE(0), begin = PHX_GLOBAL_ID(0) * per;
    const u64 end = PHX_MIN(begin + per, m);
    for (u64 i = begin; i < end; i++) {
        const i64 offset = PHX_DATA(f)[(i64)i * f_step];
        T item = {0};
        if (IS_PLACE(offset)) item = PHX_DATA(x)[offset];
        PHX_DATA(o)[(i64)i * o_step] = item;
    }
}
#endif

PHX_KERNEL(GROUP) gather(PHX_INPUT(T, x), PHX_INPUT(i64, f), PHX_OUTPUT(T, o), const axes a,
        const u64 inner, const u64 m, const i64 f_step, const i64 o_step) {
    for (u64 p = PHX_GLOBAL_ID(1 - ROWS); p < inner; p += PHX_GLOBAL_SIZE(1 - ROWS)) {
        i64 at[2] = {0, 0};
        walk(&a, (place)p, at);
        for (u64 i = PHX_GLOBAL_ID(ROWS); i < m; i += PHX_GLOBAL_SIZE(ROWS)) {
            const i64 offset = PHX_DATA(f)[(i64)i * f_step];
            T item = {0};
            if (IS_PLACE(offset)) item = PHX_DATA(x)[offset + at[0]];
            PHX_DATA(o)[(i64)i * o_step + at[1]] = item;
        }
    }
}
