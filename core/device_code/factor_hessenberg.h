/* Hessenberg's form by rotations, and where a block of it begins: the first steps of Schur's form. */
#define MINUS(a) OF_PARTS(-RE(a), -IM(a))
#define FAR_VECTOR ((F)1099511627776.0)

/* Rotate rows k and k + 1 from column c on, columns k and k + 1 of rows above r and of Q: g becomes 0.
 * The caller has the barrier behind it. */
PHX_FN void rotate(PHX_GLOBAL T *const y, const i64 rs, const i64 cs, const i64 n, const i64 k, const i64 c,
        const i64 r, const T f, const T g) {
    const T a = SHARE(f, g, f), b = SHARE(f, g, g);
    PHX_BARRIER_GLOBAL();
    for (i64 j = c + ME; j < n; j += GROUP) {
        const T u = AT(k, j), v = AT(k + 1, j);
        AT(k, j) = PLUS_INNER(PLUS_INNER(ZERO, a, u), b, v);
        AT(k + 1, j) = MINUS_PRODUCT(PLUS_PRODUCT(ZERO, a, v), b, u);
    }
    PHX_BARRIER_GLOBAL();
    for (i64 t = ME; t < r + n; t += GROUP) {
        const i64 i = t < r ? t : t - r + n;
        const T u = AT(i, k), v = AT(i, k + 1);
        AT(i, k) = PLUS_PRODUCT(PLUS_PRODUCT(ZERO, u, a), v, b);
        AT(i, k + 1) = PLUS_INNER(PLUS_INNER(ZERO, a, v), MINUS(b), u);
    }
}

/* Rows of x, of a unit matrix and of another; then the rotations. */
PHX_FN void hessenberg(PHX_GLOBAL const T *const x, const i64 xr, const i64 xc, PHX_GLOBAL T *const y, const i64 rs,
        const i64 cs, const i64 n) {
    for (i64 k = ME; k < 3 * n * n; k += GROUP) {
        const i64 i = k / n, j = k - i * n;
        AT(i, j) = i < n ? FROM(i, j) : i - n == j || i - 2 * n == j ? ONE
                                                                     : ZERO;
    }
    PHX_BARRIER_GLOBAL();
    for (i64 k = 0; k + 2 < n; k++)
        for (i64 i = n - 1; i > k + 1; i--) {
            const T f = AT(i - 1, k), g = AT(i, k);
            if (SIZE(g) == (F)0) continue;
            rotate(y, rs, cs, n, i - 1, k, n, f, g);
            if (ME == 0) AT(i, k) = ZERO;
            PHX_BARRIER_GLOBAL();
        }
}

/* The row at which the block that ends with row `last` begins. */
PHX_FN i64 block_of(PHX_GLOBAL T *const y, const i64 rs, const i64 cs, const i64 last) {
    i64 first = last;
    for (; first > 0; first--) {
        const F below = SIZE(AT(first, first - 1));
        const F near = SIZE(AT(first - 1, first - 1)) + SIZE(AT(first, first));
        if (!(below > EPSILON * near && below > POWER_BELOW((F)0))) break;
    }
    return first;
}

/* What a divisor of an eigenvector may not be below. */
PHX_FN F least_of(PHX_GLOBAL T *const y, const i64 rs, const i64 cs, const i64 n, PHX_LOCAL_PTR(F) room) {
    F most = (F)0;
    for (i64 k = ME; k < n * n; k += GROUP) {
        const F part = LARGEST_PART(AT(k / n, k % n));
        most = k / n <= k % n && part > most ? part : most;
    }
    most = largest_of_group(most, room);
    return EPSILON * most > POWER_BELOW((F)0) ? EPSILON * most : POWER_BELOW((F)0);
}
