/* softmax where a work-item is a core. */

/* A task is a block of a row, or of WIDTH columns. */
SERIAL softmax_scale(PHX_INPUT(T, x), PHX_OUTPUT(T, y), PHX_INPUT(T, most), PHX_INPUT(F, factor),
                     const row_plan p, const u64 by_row) {
    const u64 begin = get_global_id(0) * p.per, end = row_end(&p, begin);
    for (u64 task = begin; task < end; task++) {
        const u64 above = task / p.tiles, col = (task - above * p.tiles) * WIDTH;
        const u64 outer = above / p.blocks, block = above - outer * p.blocks;
        const u64 row = outer * p.cols + col;
        const u32 cols = (u32)(p.cols - col < WIDTH ? p.cols - col : WIDTH);
        const u32 n = row_count(&p, block);
        i64 in, out;
        row_place(&p, outer, &in, &out);
        __global const T *restrict x = PHX_DATA(x) + in + (i64)col * p.xc + (i64)(block * BLOCK) * p.sn;
        __global T *restrict y = PHX_DATA(y) + out + (i64)col * p.yc + (i64)(block * BLOCK) * p.yn;
        __global const T *restrict most = PHX_DATA(most) + row;
        __global const F *restrict factor = PHX_DATA(factor) + row;
        if (by_row) {
            const T m = *most;
            const F f = *factor;
            if (p.sn == 1 && p.yn == 1) {
                PHX_INDEPENDENT_CALLS
                for (u32 i = 0; i < n; i++) y[i] = POWER(x[i], m, f);
            } else {
                for (u32 i = 0; i < n; i++) y[i * p.yn] = POWER(x[i * p.sn], m, f);
            }
            continue;
        }
        for (u32 i = 0; i < n; i++, x += p.sn, y += p.yn)
            if (p.xc == 1 && p.yc == 1) {
                PHX_INDEPENDENT_CALLS
                for (u32 t = 0; t < cols; t++) y[t] = POWER(x[t], most[t], factor[t]);
            } else {
                for (u32 t = 0; t < cols; t++) y[t * p.yc] = POWER(x[t * p.xc], most[t], factor[t]);
            }
    }
}

#define STEP 16 /* numbers that are taken at once */
#if LANES != 4 * STEP
#error "softmax_sum takes four vectors for the lanes"
#endif

/* The largest of n numbers, a multiple of STEP. */
PHX_FN F softmax_largest(const F *x, const u32 n) {
    F last[STEP];
    WIDE_F most = vload16(0, x);
    for (u32 g = STEP; g < n; g += STEP) {
        const WIDE_F v = vload16(0, x + g);
        most = v > most ? v : most;
    }
    vstore16(most, 0, last);
    for (u32 gap = STEP / 2; gap > 0; gap /= 2)
        for (u32 j = 0; j < gap; j++) last[j] = last[j + gap] > last[j] ? last[j + gap] : last[j];
    return last[0];
}

/* The sum of n numbers, a multiple of LANES = 64, in the order of a reduction. */
PHX_FN F softmax_sum(const F *x, const u32 n) {
    WIDE_F a = vload16(0, x), b = vload16(1, x), c = vload16(2, x), d = vload16(3, x);
    PHX_ORDERED
    for (u32 g = LANES; g < n; g += LANES) {
        a += vload16(0, x + g);
        b += vload16(1, x + g);
        c += vload16(2, x + g);
        d += vload16(3, x + g);
    }
    a = (a + c) + (b + d);
    a += a.s89abcdef89abcdef;
    a += a.s4567456745674567;
    a += a.s2323232323232323;
    a += a.s1111111111111111;
    return a.s0;
}

/* Whole rows of at most one block. Behind them come numbers that change nothing: the exponential of
 * minus infinity is 0, and a sum of exponentials is not -0. */
SERIAL softmax_rows(PHX_INPUT(T, x), PHX_OUTPUT(T, y), const row_plan p) {
    const u64 begin = get_global_id(0) * p.per, end = row_end(&p, begin);
    const u32 n = (u32)p.n, steps = (n + STEP - 1) / STEP * STEP, all = (n + LANES - 1) / LANES * LANES;
    F e[BLOCK];
    for (u64 row = begin; row < end; row++) {
        i64 in, out;
        row_place(&p, row, &in, &out);
        __global const T *x = PHX_DATA(x) + in;
        __global T *y = PHX_DATA(y) + out;
        if (p.sn == 1)
            for (u32 i = 0; i < n; i++) e[i] = LOAD(x[i]);
        else
            for (u32 i = 0; i < n; i++) e[i] = LOAD(x[i * p.sn]);
        for (u32 i = n; i < steps; i++) e[i] = -INFINITY;
        const F most = softmax_largest(e, steps);
        PHX_INDEPENDENT_CALLS
        for (u32 i = 0; i < steps; i++) e[i] = EXP(e[i] - most);
        for (u32 i = steps; i < all; i++) e[i] = 0;
        const F factor = RECIPROCAL(softmax_sum(e, all));
        if (p.yn == 1)
            for (u32 i = 0; i < n; i++) y[i] = STORE(e[i] * factor);
        else
            for (u32 i = 0; i < n; i++) y[i * p.yn] = STORE(e[i] * factor);
    }
}
