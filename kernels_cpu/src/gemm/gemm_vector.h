/* Vector times matrix, y = x @ B, in one float type. A template: define X (prefix of gemm_simd.h)
 * and T.
 *
 * The sum of an element is one chain over k, so the lanes of a vector are always different elements
 * of y.
 */
#define X_(name) GEMM_CAT(X, name)
#define LEN X_(LEN)
/* Vectors of columns side by side: one chain of LEN fma, of four cycles each, takes longer than a transposition. */
#define ASIDE 2
/* Steps of k at a time: a line of the cache of each row, as lines of rows a power of two apart push each other out.
 * The second vector follows the first, in other places of the cache. */
#define STEPS (64 / (int)sizeof(T))
#define LAG (2 * STEPS)

/* Some steps of k for y[0..n), rows of B contiguous: y = fma(x[p], B[p, :], y) for p = 0..steps-1.
 */
GEMM_INLINE void X_(axpy)(const int steps, T *y, int64_t n, const T *x, const T *b, int64_t rs,
                          bool first) {
    X_(v)
    xs[8];
#pragma GCC unroll 8
    for (int p = 0; p < steps; p++)
        xs[p] = X_(set1)(x[p]);
    int64_t j = 0;
    for (; j + LEN <= n; j += LEN) {
        X_(v)
        sum = first ? X_(zero)() : X_(load)(y + j);
#pragma GCC unroll 8
        for (int p = 0; p < steps; p++)
            sum = X_(fma)(xs[p], X_(load)(b + p * rs + j), sum);
        X_(store)(y + j, sum);
    }
    if (j < n) {
        const X_(m) rest = X_(mask)((int)(n - j));
        X_(v)
        sum = first ? X_(zero)() : X_(loadm)(rest, y + j);
#pragma GCC unroll 8
        for (int p = 0; p < steps; p++)
            sum = X_(fma)(xs[p], X_(loadm)(rest, b + p * rs + j), sum);
        X_(storem)(y + j, rest, sum);
    }
}

/* y[0..n) for B with contiguous rows, row stride rs. */
static void X_(vector_rows)(T *y, int64_t n, int64_t k, const T *x, const T *b, int64_t rs) {
    int64_t p = 0;
    for (; p + 8 <= k; p += 8)
        X_(axpy)(8, y, n, x + p, b + p * rs, rs, p == 0);
    for (; p < k; p++)
        X_(axpy)(1, y, n, x + p, b + p * rs, rs, p == 0);
}

#if TRANSPOSE
/* sum = fma(x[p + j], column[p + j], sum) for LEN columns and the steps j < steps <= LEN of their transposed block. */
GEMM_INLINE X_(v) X_(block)(X_(v) sum, const T *const columns[LEN], const T *x, int64_t p, int steps) {
    X_(v)
    block[LEN];
    X_(transpose)(block, columns, p);
#pragma GCC unroll 16
    for (int j = 0; j < LEN; j++)
        if (j < steps) sum = X_(fma)(X_(set1)(x[p + j]), block[j], sum);
    return sum;
}

/* The same of the last steps, behind which nothing may be read. */
GEMM_INLINE X_(v) X_(last_block)(X_(v) sum, const T *const columns[LEN], const T *x, int64_t p, int steps) {
    T copy[LEN][LEN];
    const T *copies[LEN];
    for (int i = 0; i < LEN; i++) {
        X_(store)(copy[i], X_(loadm)(X_(mask)(steps), columns[i] + p));
        copies[i] = copy[i];
    }
    return X_(block)(sum, copies, x + p, 0, steps);
}

/* y[0..count) for count <= ASIDE LEN contiguous columns of B, column stride cs. */
static void X_(vector_columns_aside)(T *y, int count, int64_t k, const T *x, const T *b, int64_t cs) {
    const int aside = (count + LEN - 1) / LEN;
    const T *columns[ASIDE][LEN];
    for (int i = 0; i < ASIDE * LEN; i++)
        columns[i / LEN][i % LEN] = b + (i < count ? i : count - 1) * cs;
    X_(v)
    sum[ASIDE];
    for (int h = 0; h < ASIDE; h++)
        sum[h] = X_(zero)();
    const int64_t p_end = k / STEPS * STEPS;
    for (int64_t step = 0; step < p_end + (aside - 1) * LAG; step += STEPS) {
#pragma GCC unroll 2
        for (int h = 0; h < ASIDE; h++) {
            const int64_t begin = step - h * LAG;
            if (h >= aside || begin < 0 || begin >= p_end) continue;
#pragma GCC unroll 2
            for (int64_t p = begin; p < begin + STEPS; p += LEN)
                sum[h] = X_(block)(sum[h], columns[h], x, p, LEN);
        }
    }
    T part[ASIDE * LEN];
    for (int h = 0; h < ASIDE; h++) {
        for (int64_t p = p_end; p < k && h < aside; p += LEN)
            sum[h] = X_(last_block)(sum[h], columns[h], x, p, k - p < LEN ? (int)(k - p) : LEN);
        X_(store)(part + h * LEN, sum[h]);
    }
    memcpy(y, part, (size_t)count * sizeof(T));
}
#else
static void X_(vector_columns_aside)(T *y, int count, int64_t k, const T *x, const T *b, int64_t cs) {
    T part[ASIDE * LEN] = {0};
    for (int64_t p = 0; p < k; p++)
        for (int i = 0; i < count; i += LEN) {
            T lanes[LEN];
            for (int j = 0; j < LEN; j++)
                lanes[j] = b[(i + j < count ? i + j : count - 1) * cs + p];
            X_(store)(part + i, X_(fma)(X_(set1)(x[p]), X_(load)(lanes), X_(load)(part + i)));
        }
    memcpy(y, part, (size_t)count * sizeof(T));
}
#endif

/* y[0..n) = x @ B; one of the strides of B is 1. */
static void X_(vector)(void *y, int64_t n, int64_t k, const void *x, const void *b, int64_t rs,
                       int64_t cs) {
    if (cs == 1) {
        X_(vector_rows)(y, n, k, x, b, rs);
        return;
    }
    for (int64_t j = 0; j < n; j += ASIDE * LEN)
        X_(vector_columns_aside)((T *)y + j, (int)(n - j < ASIDE * LEN ? n - j : ASIDE * LEN), k, x,
                                 (const T *)b + j * cs, cs);
}

#undef X_
#undef LEN
#undef ASIDE
#undef LAG
#undef STEPS
