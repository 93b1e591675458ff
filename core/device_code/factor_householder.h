/* Columns whose inner products with a reflector are taken at once. */
#define WIDE 32

PHX_KERNEL_OF(GROUP) householder(MATRICES) {
    PHX_LOCAL_ARRAY(F, room, GROUP);
    PHX_LOCAL_ARRAY(F, squares, LANES);
    PHX_LOCAL_ARRAY(T, sums, LANES * WIDE);
    EACH_MATRIX(b) {
        THIS_MATRIX(b);
        for (i64 k = ME; k < (m + n) * n; k += GROUP) {
            const i64 i = k / n, j = k - i * n;
            AT(i, j) = i < m ? FROM(i, j) : ZERO;
        }
        PHX_BARRIER_GLOBAL();
        for (i64 j = 0; j < n && j < m; j++) {
            F most = (F)0;
            for (i64 i = j + ME; i < m; i += GROUP) {
                const F part = LARGEST_PART(AT(i, j));
                most = part > most ? part : most;
            }
            const F power = POWER_BELOW(largest_of_group(most, room));
            for (i64 l = ME; l < LANES; l += GROUP) {
                F s = (F)0;
        PHX_ORDERED
                for (i64 i = lane_from(j + 1, l); i < m; i += LANES) s = PLUS_SQUARE(s, OVER(AT(i, j), power));
                squares[l] = s;
            }
            PHX_BARRIER();
            const F below = real_tree_of(squares);
            const T alpha = AT(j, j);
            const T small = OVER(alpha, power);
            const i32 turns = !(below == (F)0 && IM(alpha) == (F)0);
            const F length = -COPYSIGN(ROOT(PLUS_SQUARE(below, small)), RE(alpha));
            const F beta = turns ? power * length : RE(alpha);
            const T tau = turns ? OF_PARTS(DIVIDE(length - RE(small), length), DIVIDE(-IM(small), length)) : ZERO;
            const T head = OF_PARTS(RE(small) - length, IM(small));
            PHX_BARRIER_GLOBAL();
            for (i64 i = j + ME; i < m; i += GROUP)
                AT(i, j) = i == j ? OF_PARTS(beta, (F)0)
                         : turns  ? QUOTIENT(OVER(AT(i, j), power), head)
                                  : ZERO;
            PHX_BARRIER_GLOBAL();
            for (i64 first = 0; first < n; first += WIDE) {
                const i64 wide = PHX_MIN(WIDE, n - first);
                for (i64 t = ME; t < LANES * WIDE; t += GROUP) {
                    const i64 l = t / WIDE, k = first + t % WIDE;
                    T s = ZERO;
                    if (k < n && k != j) {
                        PHX_ORDERED
                        for (i64 i = lane_from(j + 1, l); i < m; i += LANES) s = PLUS_INNER(s, AT(i, j), AT(i, k));
                    }
                    sums[t] = s;
                }
                PHX_BARRIER();
                for (i64 c = ME; c < wide; c += GROUP) {
                    const i64 k = first + c;
                    const T s = SUM(tree_of(sums + c, WIDE), AT(j, k));
                    sums[c] = PLUS_PRODUCT(ZERO, CONJUGATE(tau), s);
                    if (k < j) AT(m + k, j) = CONJUGATE(s);
                }
                PHX_BARRIER_GLOBAL();
                for (i64 t = ME; t < (m - j) * wide; t += GROUP) {
                    const i64 i = j + t / wide, c = t % wide, k = first + c;
                    if (k > j) AT(i, k) = MINUS_PRODUCT(AT(i, k), i == j ? ONE : AT(i, j), sums[c]);
                }
                PHX_BARRIER_GLOBAL();
            }
            /* column j of T: no row needs what an earlier one has written */
            for (i64 first = 0; first < j; first += GROUP) {
                const i64 r = first + ME;
                T s = ZERO;
                if (r < j) {
                    PHX_ORDERED
                    for (i64 q = r; q < j; q++) s = PLUS_PRODUCT(s, AT(m + r, q), AT(m + q, j));
                }
                PHX_BARRIER_GLOBAL();
                if (r < j) AT(m + r, j) = MINUS_PRODUCT(ZERO, tau, s);
            }
            if (ME == 0) AT(m + j, j) = tau;
        }
    }
}
