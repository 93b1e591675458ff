/* Template: Schur's form of one complex dtype, by the steps of core/device_code/factor_schur.h. Included by
 * factor_type.h behind hessenberg_type.h, whose macros it takes.
 */
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

static int64_t NAME(triangle)(T *restrict a, int64_t n) {
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
    return last > 0 ? -1 : sweeps;
}
