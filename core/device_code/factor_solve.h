/* A work-item takes a column at a time: one of k of a matrix. */
PHX_KERNEL(GROUP) triangular_solve(PHX_INPUT(T, lower), PHX_INPUT(T, in), PHX_OUTPUT(T, out), const i64 batch,
        const i64 n, const i64 k, const i64 lb, const i64 lr, const i64 lc, const i64 xb, const i64 xr, const i64 xc,
        const i64 yb, const i64 rs, const i64 cs, const i64 unit) {
    for (i64 t = (i64)PHX_GLOBAL_ID(0); t < batch * k; t += (i64)PHX_GLOBAL_SIZE(0)) {
        const i64 b = t / k, c = t - b * k;
        PHX_GLOBAL const T *const l = PHX_DATA(lower) + b * lb;
        PHX_GLOBAL const T *const x = PHX_DATA(in) + b * xb;
        PHX_GLOBAL T *const y = PHX_DATA(out) + b * yb;
        for (i64 i = 0; i < n; i++) {
            T s = FROM(i, c);
    PHX_ORDERED
            for (i64 j = 0; j < i; j++) s = MINUS_PRODUCT(s, l[i * lr + j * lc], AT(j, c));
            AT(i, c) = unit ? s : QUOTIENT(s, l[i * lr + i * lc]);
        }
    }
}
