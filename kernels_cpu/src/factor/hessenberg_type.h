/* Template: Hessenberg's form of one dtype, by rotations, and where a block of it begins. Included by
 * factor_type.h, whose macros it takes.
 */
#define NORMAL STEP_OF(power_below, F)((F)0)

/* Rotate rows k and k + 1 from column c on, columns k and k + 1 of rows above r and of Q: g becomes 0. */
static void NAME(rotate)(T *restrict a, int64_t n, int64_t k, int64_t c, int64_t r, T f, T g) {
    const T p = STEP(share)(f, g, f), q = STEP(share)(f, g, g);
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
