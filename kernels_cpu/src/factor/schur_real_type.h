/* Template: Schur's form of one real dtype, by the steps of core/device_code/factor_schur_real.h. Included by
 * factor_type.h behind hessenberg_type.h, whose macros it takes, with C the complex type of its parts.
 */
#define CSTEP(f) STEP_OF(f, C)

/* Rows, then columns, from k on become those less v tau v^T x; `count` of them, 2 or 3. */
static void NAME(mirror)(T *restrict a, int64_t n, int64_t k, int64_t count, int64_t r, const T *v, T tau) {
    const T v1 = v[1], v2 = v[2];
    T *restrict x = &AT(k, 0), *restrict y = x + n, *restrict z = y + n;
    for (int64_t j = k; j < n && count == 2; j++) {
        const T s = tau * REAL(fma)(v1, y[j], x[j]);
        x[j] = x[j] - s;
        y[j] = REAL(fma)(-v1, s, y[j]);
    }
    for (int64_t j = k; j < n && count == 3; j++) {
        const T s = tau * REAL(fma)(v2, z[j], REAL(fma)(v1, y[j], x[j]));
        x[j] = x[j] - s;
        y[j] = REAL(fma)(-v1, s, y[j]);
        z[j] = REAL(fma)(-v2, s, z[j]);
    }
    for (int64_t i = 0; i < 2 * n; i = i + 1 == r ? n : i + 1) {
        T *restrict row = &AT(i, k);
        const T part = REAL(fma)(v1, row[1], row[0]);
        const T s = tau * (count == 2 ? part : REAL(fma)(v2, row[2], part));
        row[0] = row[0] - s;
        row[1] = REAL(fma)(-v1, s, row[1]);
        if (count == 3) row[2] = REAL(fma)(-v2, s, row[2]);
    }
}

/* One sweep of QR with two shifts from row `first` to row `last`, three rows at least. */
static void NAME(sweep)(T *restrict a, int64_t n, int64_t first, int64_t last, int64_t tries) {
    T corner[4] = {AT(last - 1, last - 1), AT(last - 1, last), AT(last, last - 1), AT(last, last)};
    if (tries % 10 == 9) {
        const T size = STEP(size)(AT(last, last - 1)) + STEP(size)(AT(last - 1, last - 2));
        corner[0] = corner[3] = REAL(fma)((T)0.75, size, AT(last, last));
        corner[1] = (T)-0.4375 * size;
        corner[2] = size;
    }
    const T top[5] = {AT(first, first), AT(first, first + 1), AT(first + 1, first), AT(first + 1, first + 1),
                      AT(first + 2, first + 1)};
    T v[3];
    STEP(two_shifts)(v, corner, top);
    for (int64_t k = first; k < last; k++) {
        const int64_t count = k + 1 < last ? 3 : 2;
        if (k > first)
            for (int64_t i = 0; i < 3; i++) v[i] = i < count ? AT(k + i, k - 1) : (T)0;
        const T tau = STEP(reflector)(v);
        if (k > first)
            for (int64_t i = 0; i < count; i++) AT(k + i, k - 1) = i ? (T)0 : v[0];
        if (tau == (T)0) continue;
        NAME(mirror)(a, n, k, count, k + 3 < last ? k + 4 : last + 1, v, tau);
    }
}

/* The block of rows k and k + 1 takes its standard form. */
static void NAME(standardize)(T *restrict a, int64_t n, int64_t k) {
    T m[4] = {AT(k, k), AT(k, k + 1), AT(k + 1, k), AT(k + 1, k + 1)}, turn[2];
    STEP(two_rows)(m, turn);
    const T c = turn[0], s = turn[1];
    T *restrict x = &AT(k, 0), *restrict y = x + n;
    for (int64_t j = k + 2; j < n; j++) {
        const T u = x[j], v = y[j];
        x[j] = REAL(fma)(s, v, c * u);
        y[j] = REAL(fma)(-s, u, c * v);
    }
    for (int64_t i = 0; i < 2 * n; i++) {
        const T u = AT(i, k), v = AT(i, k + 1);
        if (i >= k && i < n) continue;
        AT(i, k) = REAL(fma)(s, v, c * u);
        AT(i, k + 1) = REAL(fma)(-s, u, c * v);
    }
    for (int64_t i = 0; i < 4; i++) AT(k + i / 2, k + i % 2) = m[i];
}

/* The vector's elements from i to k over a power of two where those of rows i and i + rows - 1 are large. */
static void NAME(shrink)(T *y, int64_t n, int64_t i, int64_t rows, int64_t k, int64_t wide) {
    T most = (T)0;
    for (int64_t p = 0; p < wide; p++)
        for (int64_t j = i; j < i + rows; j++) most = STEP(larger)(most, y[p * n + j]);
    if (!(most > (T)0x1p40)) return;
    for (int64_t p = 0; p < wide; p++)
        for (int64_t j = i; j <= k; j++) y[p * n + j] = STEP(over)(y[p * n + j], STEP(power_below)(most));
}

/* Row i of T times the vector, from column j on, with a minus sign. */
static C NAME(remainder)(const T *restrict a, int64_t n, int64_t i, int64_t j, int64_t k, const T *y, int64_t wide) {
    C s = CSTEP(make)((T)0, (T)0);
    for (int64_t q = j; q <= k; q++) s.re = STEP(minus_product)(s.re, AT(i, q), y[q]);
    for (int64_t q = j; q <= k && wide == 2; q++) s.im = STEP(minus_product)(s.im, AT(i, q), y[n + q]);
    return s;
}

/* The eigenvector that belongs to the `wide` rows that end with row k, in a row of its own or two. */
static void NAME(vector)(T *restrict a, int64_t n, int64_t k, int64_t wide, T least) {
    T *y = &AT(2 * n + k - wide + 1, 0);
    C w = CSTEP(make)(AT(k, k), (T)0), s[2];
    y[k] = (T)1;
    if (wide == 2) {
        const T m[4] = {AT(k - 1, k - 1), AT(k - 1, k), AT(k, k - 1), AT(k, k)};
        w.im = STEP(half_gap)(m);
        const int tall = STEP(size)(m[1]) >= STEP(size)(m[2]);
        y[k - 1] = tall ? (T)1 : STEP(quotient)(m[1], w.im);
        y[k] = (T)0;
        y[n + k - 1] = (T)0;
        y[n + k] = tall ? STEP(quotient)(w.im, m[1]) : (T)1;
    }
    for (int64_t i = k - wide; i >= 0; i--) {
        const int64_t rows = i > 0 && AT(i, i - 1) != (T)0 ? 2 : 1, end = i + 1;
        i -= rows - 1;
        for (int64_t r = 0; r < rows; r++) s[r] = NAME(remainder)(a, n, i + r, end, k, y, wide);
        if (rows == 2) {
            const T m[4] = {AT(i, i), AT(i, i + 1), AT(i + 1, i), AT(i + 1, i + 1)};
            CSTEP(solve_two)(s, m, w, least);
        } else {
            const C d = CSTEP(make)(AT(i, i) - w.re, -w.im);
            s[0] = CSTEP(quotient)(s[0], CSTEP(apart)(d, least));
        }
        for (int64_t r = 0; r < rows; r++) {
            y[i + r] = s[r].re;
            if (wide == 2) y[n + i + r] = s[r].im;
        }
        NAME(shrink)(y, n, i, rows, k, wide);
    }
}

static void NAME(vectors)(T *restrict a, int64_t n) {
    T most = (T)0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i; j < n; j++) most = STEP(larger)(most, AT(i, j));
    const T least = (T)TINY * most > NORMAL ? (T)TINY * most : NORMAL;
    for (int64_t k = 0; k < n; k++) {
        const int64_t wide = k + 1 < n && AT(k + 1, k) != (T)0 ? 2 : 1;
        k += wide - 1;
        NAME(vector)(a, n, k, wide, least);
    }
}

static int64_t NAME(triangle)(T *restrict a, int64_t n) {
    const int64_t most = FACTOR_SWEEPS_A_ROW * (n > 10 ? n : 10);
    int64_t sweeps = 0, tries = 0, last = n - 1;
    while (last > 0 && sweeps < most) {
        const int64_t first = NAME(block)(a, n, last);
        if (first > 0) AT(first, first - 1) = ZERO;
        if (last - first > 1) {
            NAME(sweep)(a, n, first, last, tries);
            sweeps++;
            tries++;
            continue;
        }
        if (first < last) NAME(standardize)(a, n, first);
        last = first - 1;
        tries = 0;
    }
    return last > 0 ? -1 : sweeps;
}
#undef CSTEP
