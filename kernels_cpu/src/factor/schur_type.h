/* Template: Schur's form of one complex dtype, by the steps of core/device_code/factor_schur.h. Included by
 * factor_type.h, whose macros it takes.
 */
#define NORMAL STEP_OF(power_below, F)((F)0)

/* Rotate rows k and k + 1 from column c on, columns k and k + 1 of rows above r and of Q: g becomes 0. */
static void NAME(rotate)(T *restrict a, int64_t n, int64_t k, int64_t c, int64_t r, T f, T g) {
    const T p = STEP(unit)(f, g, f), q = STEP(unit)(f, g, g);
    const T less = STEP(of_parts)(-STEP(re)(q), -STEP(im)(q));
    T *restrict upper = &AT(k, 0);
    T *restrict lower = &AT(k + 1, 0);
    for (int64_t j = c; j < n; j++) {
        const T u = upper[j], v = lower[j];
        upper[j] = STEP(plus_inner)(STEP(plus_inner)(ZERO, p, u), q, v);
        lower[j] = STEP(minus_product)(STEP(plus_product)(ZERO, p, v), q, u);
    }
    for (int64_t i = 0; i < 2 * n; i = i + 1 == r ? n : i + 1) {
        const T u = AT(i, k), v = AT(i, k + 1);
        AT(i, k) = STEP(plus_product)(STEP(plus_product)(ZERO, u, p), v, q);
        AT(i, k + 1) = STEP(plus_inner)(STEP(plus_inner)(ZERO, p, v), less, u);
    }
}

static void NAME(hessenberg)(T *restrict a, int64_t n) {
    for (int64_t k = 0; k + 2 < n; k++)
        for (int64_t i = n - 1; i > k + 1; i--) {
            if (STEP(size)(AT(i, k)) == (F)0) continue;
            NAME(rotate)(a, n, i - 1, k, n, AT(i - 1, k), AT(i, k));
            AT(i, k) = ZERO;
        }
}

/* One sweep of QR from row `first` to row `last`. */
static void NAME(sweep)(T *restrict a, int64_t n, int64_t first, int64_t last, int64_t tries) {
    const T r = AT(last, last - 1), s = AT(last, last);
    T shift = STEP(shift)(AT(last - 1, last - 1), AT(last - 1, last), r, s);
    if (tries % 10 == 9) shift = STEP(of_parts)(STEP(re)(s) + (F)0.75 * STEP(size)(r), STEP(im)(s));
    for (int64_t k = first; k < last; k++) {
        const int64_t c = k == first ? k : k - 1;
        const T head = AT(k, k), g = AT(k + 1, c);
        T f = AT(k, c);
        if (k == first)
            f = STEP(of_parts)(STEP(re)(head) - STEP(re)(shift), STEP(im)(head) - STEP(im)(shift));
        if (STEP(size)(g) == (F)0) continue;
        NAME(rotate)(a, n, k, c, k + 2 < last ? k + 3 : last + 1, f, g);
        if (k > first) AT(k + 1, c) = ZERO;
    }
}

/* The row at which the block that ends with row `last` begins. */
static int64_t NAME(block)(const T *restrict a, int64_t n, int64_t last) {
    int64_t first = last;
    for (; first > 0; first--) {
        const F below = STEP(size)(AT(first, first - 1));
        const F near = STEP(size)(AT(first - 1, first - 1)) + STEP(size)(AT(first, first));
        if (!(below > (F)TINY * near && below > NORMAL)) break;
    }
    return first;
}

/* The eigenvectors of T in rows from 2 n on, by back substitution. */
static void NAME(vectors)(T *restrict a, int64_t n) {
    F most = (F)0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i; j < n; j++) {
            const F part = STEP(largest_part)(AT(i, j));
            most = part > most ? part : most;
        }
    const F least = (F)TINY * most > NORMAL ? (F)TINY * most : NORMAL;
    for (int64_t k = 0; k < n; k++) {
        T *restrict y = &AT(2 * n + k, 0); /* by rows here */
        y[k] = ONE;
        for (int64_t i = k - 1; i >= 0; i--) {
            T s = ZERO;
            for (int64_t j = i + 1; j <= k; j++) s = STEP(minus_product)(s, AT(i, j), y[j]);
            const T p = AT(i, i), q = AT(k, k);
            T d = STEP(of_parts)(STEP(re)(p) - STEP(re)(q), STEP(im)(p) - STEP(im)(q));
            if (STEP(size)(d) < least) d = STEP(of_parts)(least, (F)0);
            y[i] = STEP(quotient)(s, d);
            const F size = STEP(largest_part)(y[i]);
            if (size > (F)0x1p40)
                for (int64_t j = i; j <= k; j++) y[j] = STEP(over)(y[j], STEP_OF(power_below, F)(size));
        }
    }
}

static void NAME(schur)(const factor_job *job, const char *in, char *out, void *room) {
    const int64_t n = job->n;
    T *restrict a = room;
    NAME(move)(a, n, 1, (const T *)in, job->x[0], job->x[1], n, n);
    for (int64_t i = n * n; i < 3 * n * n; i++) a[i] = ZERO;
    for (int64_t i = 0; i < n; i++) AT(n + i, i) = ONE;
    NAME(hessenberg)(a, n);
    const int64_t most = FACTOR_SWEEPS_A_ROW * (n > 10 ? n : 10);
    int64_t sweeps = 0, tries = 0, last = n - 1;
    while (last > 0 && sweeps < most) {
        const int64_t first = NAME(block)(a, n, last);
        if (first > 0) AT(first, first - 1) = ZERO;
        if (first == last) {
            last--;
            tries = 0;
            continue;
        }
        NAME(sweep)(a, n, first, last, tries);
        sweeps++;
        tries++;
    }
    NAME(vectors)(a, n);
    NAME(move)((T *)out, job->y[0], job->y[1], a, n, 1, 2 * n, n);
    T *const made = (T *)out + 2 * n * job->y[0];
    NAME(move)(made, job->y[1], job->y[0], a + 2 * n * n, n, 1, n, n);
    const T count = STEP(of_parts)(last > 0 ? (F)-1 : (F)sweeps, (F)0);
    for (int64_t j = 0; j < n; j++) made[n * job->y[0] + j * job->y[1]] = count;
}

#undef NORMAL
