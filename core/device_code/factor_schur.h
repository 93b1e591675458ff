/* Schur's form: rotations to Hessenberg's, then QR with a shift; a work-item solves for an eigenvector. */
#define MINUS(a) OF_PARTS(-RE(a), -IM(a))
#define FAR_VECTOR ((F)1099511627776.0)

/* Rotate rows k and k + 1 from column c on, columns k and k + 1 of rows above r and of Q: g becomes 0.
 * The caller has the barrier behind it. */
PHX_FN void rotate(PHX_GLOBAL T *const y, const i64 rs, const i64 cs, const i64 n, const i64 k, const i64 c,
        const i64 r, const T f, const T g) {
    const T a = UNIT(f, g, f), b = UNIT(f, g, g);
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

PHX_KERNEL_OF(GROUP) schur(MATRICES) {
    PHX_LOCAL_ARRAY(F, room, GROUP);
    const i64 most_sweeps = SWEEPS_A_ROW * (n > 10 ? n : 10);
    EACH_MATRIX(b) {
        THIS_MATRIX(b);
        for (i64 k = ME; k < 3 * n * n; k += GROUP) {
            const i64 i = k / n, j = k - i * n;
            AT(i, j) = i < m ? FROM(i, j) : i - n == j || i - 2 * n == j ? ONE
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
        i64 sweeps = 0, tries = 0, last = n - 1;
        while (last > 0 && sweeps < most_sweeps) {
            i64 first = last;
            for (; first > 0; first--) {
                const F below = SIZE(AT(first, first - 1));
                const F near = SIZE(AT(first - 1, first - 1)) + SIZE(AT(first, first));
                if (!(below > EPSILON * near && below > POWER_BELOW((F)0))) break;
            }
            /* no barrier: whoever still reads what was there stops at it, too, and only this loop reads it */
            if (ME == 0 && first > 0) AT(first, first - 1) = ZERO;
            if (first == last) {
                last--;
                tries = 0;
                continue;
            }
            const T r = AT(last, last - 1), s = AT(last, last);
            T shift = SHIFT(AT(last - 1, last - 1), AT(last - 1, last), r, s);
            if (tries % 10 == 9) shift = OF_PARTS(RE(s) + (F)0.75 * SIZE(r), IM(s));
            for (i64 k = first; k < last; k++) {
                const T head = AT(k, k);
                const T f = k == first ? OF_PARTS(RE(head) - RE(shift), IM(head) - IM(shift)) : AT(k, k - 1);
                const T g = k == first ? AT(k + 1, k) : AT(k + 1, k - 1);
                if (SIZE(g) == (F)0) continue;
                rotate(y, rs, cs, n, k, k == first ? k : k - 1, PHX_MIN(k + 3, last + 1), f, g);
                if (ME == 0 && k > first) AT(k + 1, k - 1) = ZERO;
                PHX_BARRIER_GLOBAL();
            }
            sweeps++;
            tries++;
        }
        F most = (F)0;
        for (i64 k = ME; k < n * n; k += GROUP) {
            const F part = LARGEST_PART(AT(k / n, k % n));
            most = k / n <= k % n && part > most ? part : most;
        }
        most = largest_of_group(most, room);
        const F least = EPSILON * most > POWER_BELOW((F)0) ? EPSILON * most : POWER_BELOW((F)0);
        for (i64 k = ME; k < n; k += GROUP) {
            for (i64 i = k - 1; i >= 0; i--) {
                T s = ZERO;
        PHX_ORDERED
                for (i64 j = i + 1; j <= k; j++) s = MINUS_PRODUCT(s, AT(i, j), AT(2 * n + j, k));
                T d = OF_PARTS(RE(AT(i, i)) - RE(AT(k, k)), IM(AT(i, i)) - IM(AT(k, k)));
                if (SIZE(d) < least) d = OF_PARTS(least, (F)0);
                AT(2 * n + i, k) = QUOTIENT(s, d);
                const F size = LARGEST_PART(AT(2 * n + i, k));
                if (size > FAR_VECTOR)
                    for (i64 j = i; j <= k; j++) AT(2 * n + j, k) = OVER(AT(2 * n + j, k), POWER_BELOW(size));
            }
            AT(3 * n, k) = OF_PARTS(last > 0 ? (F)-1 : TO_F(sweeps), (F)0);
        }
    }
}
