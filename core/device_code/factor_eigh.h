/* Eigenvalues of Hermitian matrices: reflectors to a tridiagonal form, their product, then QR with a shift. A
 * work-item has every GROUPth column of A, of Q, and of the vectors in rows.
 */
#define TURNS 64
#define SIDE(k) AT(n + 1, k) /* what is beside the diagonal */

/* Row k: v from column k + 1 on; column k: w; row n: tau; A behind them loses v w^H + w v^H. */
PHX_FN void reduce_row(PHX_GLOBAL T *const y, const i64 rs, const i64 cs, const i64 n, const i64 k,
        PHX_LOCAL_PTR(F) room, PHX_LOCAL_PTR(F) squares, PHX_LOCAL_PTR(T) sums) {
    const T alpha = CONJUGATE(AT(k, k + 1));
    F most = (F)0;
    for (i64 i = k + 1 + ME; i < n; i += GROUP) {
        const F part = LARGEST_PART(AT(k, i));
        most = part > most ? part : most;
    }
    const F power = POWER_BELOW(largest_of_group(most, room));
    for (i64 l = ME; l < LANES; l += GROUP) {
        F s = (F)0;
    PHX_ORDERED
        for (i64 i = lane_from(k + 2, l); i < n; i += LANES) s = PLUS_SQUARE(s, OVER(AT(k, i), power));
        squares[l] = s;
    }
    PHX_BARRIER();
    const F below = real_tree_of(squares);
    const T small = OVER(alpha, power);
    const i32 turns = !(below == (F)0 && IM(alpha) == (F)0);
    const F length = -COPYSIGN(ROOT(PLUS_SQUARE(below, small)), RE(alpha));
    const F beta = turns ? power * length : RE(alpha);
    const T tau = turns ? OF_PARTS(DIVIDE(length - RE(small), length), DIVIDE(-IM(small), length)) : ZERO;
    const T head = OF_PARTS(RE(small) - length, IM(small));
    for (i64 i = k + 1 + ME; i < n; i += GROUP)
        AT(k, i) = i == k + 1 ? ONE
                 : turns      ? QUOTIENT(OVER(CONJUGATE(AT(k, i)), power), head)
                              : ZERO;
    if (ME == 0) {
        AT(n, k) = tau;
        SIDE(k) = OF_PARTS(beta, (F)0);
    }
    PHX_BARRIER_GLOBAL();
    if (!turns) return;
    for (i64 i = k + 1 + ME; i < n; i += GROUP) {
        T s = ZERO;
        PHX_ORDERED
        for (i64 j = k + 1; j < n; j++) s = PLUS_INNER(s, AT(j, i), AT(k, j));
        AT(i, k) = s;
    }
    PHX_BARRIER_GLOBAL();
    for (i64 l = ME; l < LANES; l += GROUP) {
        T s = ZERO;
        PHX_ORDERED
        for (i64 i = lane_from(k + 1, l); i < n; i += LANES) s = PLUS_INNER(s, AT(k, i), AT(i, k));
        sums[l] = s;
    }
    PHX_BARRIER_GLOBAL();
    const F part = (F)0.5 * PLUS_SQUARE((F)0, tau) * RE(tree_of(sums, 1));
    const T share = OF_PARTS(part, (F)0);
    for (i64 i = k + 1 + ME; i < n; i += GROUP)
        AT(i, k) = MINUS_PRODUCT(PLUS_PRODUCT(ZERO, tau, AT(i, k)), share, AT(k, i));
    PHX_BARRIER_GLOBAL();
    for (i64 i = k + 1 + ME; i < n; i += GROUP) {
        const T v = CONJUGATE(AT(k, i)), w = CONJUGATE(AT(i, k));
        for (i64 j = k + 1; j < n; j++)
            AT(j, i) = MINUS_PRODUCT(MINUS_PRODUCT(AT(j, i), AT(k, j), w), AT(j, k), v);
    }
    PHX_BARRIER_GLOBAL();
}

/* Q in rows and columns from k + 1 on, where there was v and w; the diagonal goes to row n. */
PHX_FN void reflect_columns(PHX_GLOBAL T *const y, const i64 rs, const i64 cs, const i64 n, const i64 k) {
    const T tau = k < 0 ? ZERO : AT(n, k);
    for (i64 c = k + 1 + ME; c < n; c += GROUP) {
        if (c == k + 1) AT(n, c) = OF_PARTS(RE(AT(c, c)), (F)0);
        AT(k + 1, c) = c == k + 1 ? ONE : ZERO;
        for (i64 i = k + 2; c == k + 1 && i < n; i++) AT(i, c) = ZERO;
        if (SIZE(tau) == (F)0) continue;
        T s = ZERO;
        PHX_ORDERED
        for (i64 i = k + 1; i < n; i++) s = PLUS_INNER(s, AT(k, i), AT(i, c));
        s = PLUS_PRODUCT(ZERO, tau, s);
        for (i64 i = k + 1; i < n; i++) AT(i, c) = MINUS_PRODUCT(AT(i, c), AT(k, i), s);
    }
    PHX_BARRIER_GLOBAL();
}

/* One sweep of QR from row `first` to row `last`: one work-item turns the tridiagonal form, all the vectors. */
PHX_FN void sweep(PHX_GLOBAL T *const y, const i64 rs, const i64 cs, const i64 n, const i64 first, const i64 last,
        PHX_LOCAL_PTR(F) cosines, PHX_LOCAL_PTR(F) sines) {
    const F low = RE(AT(n, last)), beside = RE(SIDE(last - 1));
    const F x = DIVIDE(RE(AT(n, last - 1)) - low, (F)2 * beside);
    const F root = COPYSIGN(ROOT(PLUS_SQUARE_REAL((F)1, x)), x);
    F g = RE(AT(n, first)) - low + DIVIDE(beside, x + root), c = (F)1, s = (F)1, p = (F)0;
    for (i64 begin = first; begin < last; begin += TURNS) {
        PHX_BARRIER_GLOBAL(); /* all have read the form, and the cosines before these */
        const i64 end = PHX_MIN(begin + TURNS, last);
        for (i64 i = begin; ME == 0 && i < end; i++) {
            const F side = RE(SIDE(i)), f = s * side, b = c * side;
            const F big = FABS(f), other = FABS(g);
            F r = g;
            c = (F)1;
            s = (F)0;
            if (f != (F)0) {
                const F power = POWER_BELOW(big > other ? big : other);
                const F u = DIVIDE(g, power), v = DIVIDE(f, power);
                const F length = ROOT(PLUS_SQUARE_REAL(u * u, v));
                c = DIVIDE(u, length);
                s = DIVIDE(v, length);
                r = power * length;
            }
            if (i > first) SIDE(i - 1) = OF_PARTS(r, (F)0);
            const F here = RE(AT(n, i)) - p;
            const F t = FUSED(RE(AT(n, i + 1)) - here, s, (F)2 * c * b);
            p = s * t;
            AT(n, i) = OF_PARTS(here + p, (F)0);
            g = FUSED(c, t, -b);
            cosines[i - begin] = c;
            sines[i - begin] = s;
        }
        if (ME == 0 && end == last) {
            AT(n, last) = OF_PARTS(low - p, (F)0);
            SIDE(last - 1) = OF_PARTS(g, (F)0);
        }
        PHX_BARRIER_GLOBAL();
        for (i64 j = ME; j < n; j += GROUP) {
            T u = AT(begin, j);
            for (i64 i = begin; i < end; i++) {
                const F cosine = cosines[i - begin], sine = sines[i - begin];
                const T v = AT(i + 1, j);
                AT(i, j) = TURNED(u, cosine, v, sine);
                u = TURNED(v, cosine, u, -sine);
            }
            AT(end, j) = u;
        }
    }
}

PHX_KERNEL_OF(GROUP) eigh(MATRICES) {
    PHX_LOCAL_ARRAY(F, room, GROUP);
    PHX_LOCAL_ARRAY(F, squares, LANES);
    PHX_LOCAL_ARRAY(T, sums, LANES);
    PHX_LOCAL_ARRAY(F, cosines, TURNS);
    PHX_LOCAL_ARRAY(F, sines, TURNS);
    const i64 most_sweeps = SWEEPS_A_ROW * (n > 10 ? n : 10);
    EACH_MATRIX(b) {
        THIS_MATRIX(b);
        for (i64 k = ME; k < m * n; k += GROUP) {
            const i64 i = k / n, j = k - i * n;
            AT(i, j) = i > j  ? FROM(i, j)
                     : i == j ? OF_PARTS(RE(FROM(i, i)), (F)0)
                              : CONJUGATE(FROM(j, i));
        }
        PHX_BARRIER_GLOBAL();
        for (i64 k = 0; k + 1 < n; k++) reduce_row(y, rs, cs, n, k, room, squares, sums);
        for (i64 k = n - 2; k >= -1; k--) reflect_columns(y, rs, cs, n, k);
        for (i64 k = ME; k < n * n; k += GROUP) {
            const i64 i = k / n, j = k - i * n;
            if (i <= j) continue;
            const T t = AT(i, j);
            AT(i, j) = AT(j, i);
            AT(j, i) = t;
        }
        i64 sweeps = 0, last = n - 1;
        while (last > 0 && sweeps < most_sweeps) {
            i64 first = last;
            for (; first > 0; first--) {
                const F beside = FABS(RE(SIDE(first - 1)));
                const F near = FABS(RE(AT(n, first - 1))) + FABS(RE(AT(n, first)));
                if (!(beside > EPSILON * near && beside > POWER_BELOW((F)0))) break;
            }
            /* no barrier: whoever still reads what was there stops at it, too */
            if (ME == 0 && first > 0) SIDE(first - 1) = ZERO;
            if (first == last) {
                last--;
                continue;
            }
            sweep(y, rs, cs, n, first, last, cosines, sines);
            sweeps++;
        }
        PHX_BARRIER_GLOBAL();
        for (i64 j = ME; j < n; j += GROUP) SIDE(j) = OF_PARTS(last > 0 ? (F)-1 : TO_F(sweeps), (F)0);
    }
}
