/* softmax, log_softmax and layer_norm where a work-item is a core. */

/* A task is a block of a row, or of WIDTH columns. */
SERIAL normalize_elements(PHX_INPUT(T, x), PHX_OUTPUT(T, y), PHX_INPUT(C, centre), PHX_INPUT(F, factor),
                          const row_plan p, const u64 by_row WEIGHTS) {
    const u64 begin = get_global_id(0) * p.per, end = row_end(&p, begin);
    for (u64 task = begin; task < end; task++) {
        const u64 above = task / p.tiles, col = (task - above * p.tiles) * WIDTH;
        const u64 outer = above / p.blocks, block = above - outer * p.blocks;
        const u64 row = outer * p.cols + col, first = block * BLOCK;
        const u32 cols = (u32)(p.cols - col < WIDTH ? p.cols - col : WIDTH);
        const u32 n = row_count(&p, block);
        i64 in, out;
        row_place(&p, outer, &in, &out);
        __global const T *restrict x = PHX_DATA(x) + in + (i64)col * p.xc + (i64)first * p.sn;
        __global T *restrict y = PHX_DATA(y) + out + (i64)col * p.yc + (i64)first * p.yn;
        __global const C *restrict centre = PHX_DATA(centre) + row;
        __global const F *restrict factor = PHX_DATA(factor) + row;
        if (by_row) {
            const C c = *centre;
            const F f = *factor;
            if (p.sn == 1 && p.yn == 1) {
                PHX_INDEPENDENT_CALLS
                for (u32 i = 0; i < n; i++) y[i] = RESULT(x[i], c, f, WEIGHT(first + i), BIAS(first + i));
            } else {
                for (u32 i = 0; i < n; i++)
                    y[i * p.yn] = RESULT(x[i * p.sn], c, f, WEIGHT(first + i), BIAS(first + i));
            }
            continue;
        }
        for (u32 i = 0; i < n; i++, x += p.sn, y += p.yn) {
            const F w = WEIGHT(first + i), b = BIAS(first + i);
            if (p.xc == 1 && p.yc == 1) {
                PHX_INDEPENDENT_CALLS
                for (u32 t = 0; t < cols; t++) y[t] = RESULT(x[t], centre[t], factor[t], w, b);
            } else {
                for (u32 t = 0; t < cols; t++) y[t * p.yc] = RESULT(x[t * p.xc], centre[t], factor[t], w, b);
            }
        }
    }
}

#define STEP 16 /* numbers that are taken at once */
#if LANES != 4 * STEP
#error "row_sum takes four vectors for the lanes"
#endif

#if !MEAN
/* The largest of n numbers, a multiple of STEP. */
PHX_FN F row_largest(const F *x, const u32 n) {
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
#endif

/* The sum of n numbers, a multiple of LANES = 64, in the order of a reduction; -0 changes nothing. */
PHX_FN F row_sum(const F *x, const u32 n) {
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

/* Whole rows of at most one block, filled up with what changes neither maximum nor sum. */
SERIAL normalize_rows(PHX_INPUT(T, x), PHX_OUTPUT(T, y), const row_plan p, const F eps WEIGHTS) {
    const u64 begin = get_global_id(0) * p.per, end = row_end(&p, begin);
    const u32 n = (u32)p.n, steps = (n + STEP - 1) / STEP * STEP, all = (n + LANES - 1) / LANES * LANES;
    F h[BLOCK], parts[BLOCK];
    for (u64 row = begin; row < end; row++) {
        i64 in, out;
        row_place(&p, row, &in, &out);
        __global const T *x = PHX_DATA(x) + in;
        __global T *y = PHX_DATA(y) + out;
        if (p.sn == 1)
            for (u32 i = 0; i < n; i++) h[i] = LOAD(x[i]);
        else
            for (u32 i = 0; i < n; i++) h[i] = LOAD(x[i * p.sn]);
        for (u32 i = n; i < all; i++) h[i] = MEAN ? -0.0f : -INFINITY;
#if MEAN
        const F centre = QUOTIENT(row_sum(h, all), p.n);
#else
        const F centre = row_largest(h, steps);
#endif
        PHX_INDEPENDENT_CALLS
        for (u32 i = 0; i < steps; i++) {
            h[i] = HELD(h[i] - centre);
            parts[i] = PART(h[i]);
        }
        for (u32 i = n; i < all; i++) parts[i] = -0.0f;
        const F factor = FACTOR(row_sum(parts, all), p.n, eps);
        if (p.yn == 1)
            for (u32 i = 0; i < n; i++) y[i] = STORE(LAST(h[i], factor, WEIGHT(i), BIAS(i)));
        else
            for (u32 i = 0; i < n; i++) y[i * p.yn] = STORE(LAST(h[i], factor, WEIGHT(i), BIAS(i)));
    }
}
