/* Slices at element offsets, and zeros where an offset is no place. ROWS is the axis of the launch that
 * counts slices. */

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
