/* One work-item per element, straight from memory: for small products and vectors. Of the division, NVIDIA's
 * compiler makes one of 32 bits for small numbers by itself: its PTX has both, and the test. */
PHX_KERNEL(64) plain(PHX_INPUT(S, a), PHX_INPUT(S, b), PHX_OUTPUT(O, o), const axes batch,
        const u64 batches, const u64 m, const u64 n, const u64 k,
        const i64 a_row, const i64 a_step, const i64 b_step, const i64 b_column,
        const i64 o_row, const i64 o_column, const u64 first) {
    const u64 id = first + PHX_GLOBAL_ID(0);
    if (id >= m * n) return;
    const i64 i = (i64)(id / n), j = (i64)(id % n);
    for (u64 number = PHX_GLOBAL_ID(1); number < batches; number += PHX_GLOBAL_SIZE(1)) {
        i64 at[3] = {0, 0, 0};
        walk(&batch, (place)number, at);
        PHX_GLOBAL const S *x = FIRST(a) + (at[0] + i * a_row) * PARTS;
        PHX_GLOBAL const S *y = FIRST(b) + (at[1] + j * b_column) * PARTS;
        PHX_GLOBAL O *z = FIRST(o) + (at[2] + i * o_row + j * o_column) * PARTS;
        A re = 0;
#if PARTS == 1
        for (u64 p = 0; p < k; p++, x += a_step, y += b_step) re = MAC(LOAD(*x), LOAD(*y), re);
#else
        A im = 0;
        for (u64 p = 0; p < k; p++, x += 2 * a_step, y += 2 * b_step)
            mac_complex(x[0], x[1], y[0], y[1], &re, &im);
        z[1] = STORE(im);
#endif
        z[0] = STORE(re);
    }
}
