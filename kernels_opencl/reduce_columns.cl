/* Reduce one block of up to WIDTH columns; lanes are kept apart if the order can be seen (SIDES). */
PHX_FN void reduce_tile(__global const T *x, const u32 n, const u32 cols, const i64 sn, const i64 sc,
                        const u64 first, const u64 row, U *out AUX_PARAMS) {
    DECLARE(SIDES * WIDTH);
    const u32 lanes = n < SIDES ? n : SIDES;
    u32 g = SIDES;
    for (u32 r = 0; r < lanes; r++)
        for (u32 t = 0; t < cols; t++) SET(r * WIDTH + t, TAKE(x[r * sn + t * sc], row + t), r);
    for (; g + 4 * SIDES <= n; g += 4 * SIDES)
        for (u32 r = 0; r < SIDES; r++) {
            __global const T *from = x + (i64)(g + r) * sn;
            for (u32 t = 0; t < cols; t++) {
                const u32 j = r * WIDTH + t;
                STEP(j, TAKE(from[t * sc], row + t), g + r);
                STEP(j, TAKE(from[SIDES * sn + t * sc], row + t), g + SIDES + r);
                STEP(j, TAKE(from[2 * SIDES * sn + t * sc], row + t), g + 2 * SIDES + r);
                STEP(j, TAKE(from[3 * SIDES * sn + t * sc], row + t), g + 3 * SIDES + r);
            }
        }
    for (; g < n; g++) {
        const u32 r = g % SIDES;
        for (u32 t = 0; t < cols; t++)
            STEP(r * WIDTH + t, TAKE(x[(i64)g * sn + t * sc], row + t), g);
    }
    for (u32 gap = SIDES / 2; gap > 0; gap /= 2) {
        const u32 pairs = reduce_pairs(gap, lanes);
        for (u32 r = 0; r < pairs; r++)
            for (u32 t = 0; t < cols; t++) MERGE(acc, at, r * WIDTH + t, (r + gap) * WIDTH + t);
    }
    for (u32 t = 0; t < cols; t++) out[t] = RESULT(t, first);
}

/* A task is a block of up to WIDTH rows side by side. */
SERIAL reduce(PHX_INPUT(T, x), PHX_OUTPUT(R, y), PHX_OUTPUT(S, part), const row_plan p AUX_KERNEL) {
    const u64 begin = get_global_id(0) * p.per;
    const u64 end = row_end(&p, begin);
    for (u64 task = begin; task < end; task++) {
        const u64 above = task / p.tiles, col = (task - above * p.tiles) * WIDTH;
        const u64 outer = above / p.blocks, block = above - outer * p.blocks;
        const u64 row = outer * p.cols + col;
        const u32 cols = (u32)(p.cols - col < WIDTH ? p.cols - col : WIDTH);
        const u32 n = row_count(&p, block);
        const i64 sc = UNIT ? 1 : p.xc;
        i64 in, out;
        row_place(&p, outer, &in, &out);
        __global const T *x = PHX_DATA(x) + in + (i64)col * sc + (i64)(block * BLOCK) * p.sn;
        U u[WIDTH];
        if (n == 0)
            for (u32 t = 0; t < cols; t++) u[t] = EMPTY;
        else
            reduce_tile(x, n, cols, p.sn, sc, block * BLOCK, row, u AUX_PASS);
        if (p.blocks > 1)
            for (u32 t = 0; t < cols; t++)
                ((__global U *)PHX_DATA(part))[(row + t) * p.blocks + block] = u[t];
        else
            for (u32 t = 0; t < cols; t++)
                (PHX_DATA(y))[out + (i64)(col + t) * p.yc] = FINISH(u[t], p.n);
    }
}
