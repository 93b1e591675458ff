/* Indices to element offsets, with a flag for those that are out of range. */

PHX_FN int is_outside(i64 x, u64 n, u64 *wrapped) {
    *wrapped = (u64)x + (n & (u64)(x >> 63));
    return (int)((*wrapped | (n - 1 - *wrapped)) >> 63);
}

PHX_KERNEL(GROUP) clear(PHX_OUTPUT(i32, flag)) { PHX_DATA(flag)[0] = 0; }

PHX_KERNEL(GROUP) wrap(PHX_INPUT(i64, x), PHX_OUTPUT(i64, o), PHX_OUTPUT(i32, flag), const axes a,
        const u64 count, const u64 n, const u64 stride) {
    PHX_LOCAL_ARRAY(u32, bad, 1);
    if (PHX_LOCAL_ID(0) == 0) bad[0] = 0;
    PHX_BARRIER();
    for (u64 i = PHX_GLOBAL_ID(0); i < count; i += PHX_GLOBAL_SIZE(0)) {
        i64 at[2] = {0, 0};
        u64 wrapped;
        walk(&a, (place)i, at);
        const int outside = is_outside(PHX_DATA(x)[at[0]], n, &wrapped);
        if (outside) bad[0] = 1;
        PHX_DATA(o)[at[1]] = outside ? NO_PLACE : (i64)(wrapped * stride);
    }
    PHX_BARRIER();
    if (PHX_LOCAL_ID(0) == 0) {
        if (PHX_GROUPS(0) == 1)
            PHX_DATA(flag)[0] = (i32)bad[0];
        else if (bad[0])
            PHX_DATA(flag)[0] = 1;
    }
}

/* One group: the first place that is out of range, and what stands there; -1 if there is none. Else all
 * offsets become no-place: one bad index refuses all. */
PHX_KERNEL(64) culprit(PHX_INPUT(i64, x), PHX_OUTPUT(i64, o), PHX_INPUT(i32, flag), PHX_OUTPUT(i64, found), const axes a,
        const u64 count, const u64 n) {
    PHX_LOCAL_ARRAY(u64, first, 64);
    const u32 lane = (u32)PHX_LOCAL_ID(0), lanes = (u32)PHX_LOCAL_SIZE(0);
    const u64 looked = PHX_DATA(flag)[0] ? count : 0;
    u64 own = count;
    for (u64 i = lane; i < looked && own == count; i += lanes) {
        i64 at[2] = {0, 0};
        u64 wrapped;
        walk(&a, (place)i, at);
        if (is_outside(PHX_DATA(x)[at[0]], n, &wrapped)) own = i;
    }
    first[lane] = own;
    for (u64 i = lane; i < looked; i += lanes) {
        i64 at[2] = {0, 0};
        walk(&a, (place)i, at);
        PHX_DATA(o)[at[1]] = NO_PLACE;
    }
    PHX_BARRIER();
    if (lane == 0) {
        i64 at[2] = {0, 0};
        for (u32 k = 1; k < lanes; k++) own = first[k] < own ? first[k] : own;
        walk(&a, (place)PHX_MIN(own, count - 1), at);
        PHX_DATA(found)[0] = own < count ? (i64)own : -1;
        PHX_DATA(found)[1] = PHX_DATA(x)[at[0]];
    }
}
