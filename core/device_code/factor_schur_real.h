/* Schur's form of real matrices: QR with two shifts; a work-item solves for an eigenvector or a pair of them. */

/* Rows k to k + count - 1, then these columns of rows above r and of Q, become those less v tau v^T x.
 * The caller has the barriers around it. */
PHX_FN void mirror(PHX_GLOBAL T *const y, const i64 rs, const i64 cs, const i64 n, const i64 k, const i64 count,
        const i64 r, const T v1, const T v2, const T tau) {
    for (i64 j = k + ME; j < n; j += GROUP) {
        const T part = FUSED(v1, AT(k + 1, j), AT(k, j));
        const T s = tau * (count == 2 ? part : FUSED(v2, AT(k + 2, j), part));
        AT(k, j) = AT(k, j) - s;
        AT(k + 1, j) = FUSED(-v1, s, AT(k + 1, j));
        if (count == 3) AT(k + 2, j) = FUSED(-v2, s, AT(k + 2, j));
    }
    PHX_BARRIER_GLOBAL();
    for (i64 from = 0; from < r + n; from += GROUP) { /* a CPU compiler loses the bound of a loop from ME on here */
        const i64 t = from + ME, i = t < r ? t : t - r + n;
        if (t >= r + n) continue;
        const T part = FUSED(v1, AT(i, k + 1), AT(i, k));
        const T s = tau * (count == 2 ? part : FUSED(v2, AT(i, k + 2), part));
        AT(i, k) = AT(i, k) - s;
        AT(i, k + 1) = FUSED(-v1, s, AT(i, k + 1));
        if (count == 3) AT(i, k + 2) = FUSED(-v2, s, AT(i, k + 2));
    }
}

/* One sweep from row `first` to row `last`, three rows at least. The caller has the barrier behind it. */
PHX_FN void sweep(PHX_GLOBAL T *const y, const i64 rs, const i64 cs, const i64 n, const i64 first, const i64 last,
        const i64 tries) {
    T corner[4] = {AT(last - 1, last - 1), AT(last - 1, last), AT(last, last - 1), AT(last, last)};
    if (tries % 10 == 9) {
        const T size = SIZE(AT(last, last - 1)) + SIZE(AT(last - 1, last - 2));
        corner[0] = FUSED((T)0.75, size, AT(last, last));
        corner[1] = (T)-0.4375 * size;
        corner[2] = size;
        corner[3] = corner[0];
    }
    const T top[5] = {AT(first, first), AT(first, first + 1), AT(first + 1, first), AT(first + 1, first + 1),
            AT(first + 2, first + 1)};
    T v[3];
    TWO_SHIFTS(v, corner, top);
    for (i64 k = first; k < last; k++) {
        const i64 count = k + 1 < last ? 3 : 2;
        PHX_BARRIER_GLOBAL();
        if (k > first)
            for (i64 i = 0; i < 3; i++) v[i] = i < count ? AT(k + i, k - 1) : (T)0;
        const T tau = REFLECTOR(v);
        PHX_BARRIER_GLOBAL();
        if (k > first && ME == 0)
            for (i64 i = 0; i < count; i++) AT(k + i, k - 1) = i > 0 ? (T)0 : v[0];
        if (tau != (T)0) mirror(y, rs, cs, n, k, count, k + 3 < last ? k + 4 : last + 1, v[1], v[2], tau);
    }
}

/* The block of rows k and k + 1 takes its standard form. The caller has the barrier behind it. */
PHX_FN void standardize(PHX_GLOBAL T *const y, const i64 rs, const i64 cs, const i64 n, const i64 k) {
    T m[4] = {AT(k, k), AT(k, k + 1), AT(k + 1, k), AT(k + 1, k + 1)}, turn[2];
    TWO_ROWS(m, turn);
    const T c = turn[0], s = turn[1];
    PHX_BARRIER_GLOBAL();
    for (i64 j = k + 2 + ME; j < n; j += GROUP) {
        const T u = AT(k, j), v = AT(k + 1, j);
        AT(k, j) = FUSED(s, v, c * u);
        AT(k + 1, j) = FUSED(-s, u, c * v);
    }
    for (i64 t = ME; t < k + n; t += GROUP) {
        const i64 i = t < k ? t : t - k + n;
        const T u = AT(i, k), v = AT(i, k + 1);
        AT(i, k) = FUSED(s, v, c * u);
        AT(i, k + 1) = FUSED(-s, u, c * v);
    }
    for (i64 i = ME; i < 4; i += GROUP) AT(k + i / 2, k + i % 2) = m[i];
}

/* Rows i and on, `rows` of them, of the eigenvector of w in columns from `to` on, which reaches row k. */
PHX_FN void vector_rows(PHX_GLOBAL T *const y, const i64 rs, const i64 cs, const i64 n, const i64 i, const i64 rows,
        const i64 k, const i64 to, const C w, const F least) {
    const i64 wide = k + 1 - to;
    C s[2];
    for (i64 r = 0; r < rows; r++) {
        F re = (F)0, im = (F)0;
    PHX_ORDERED
        for (i64 j = i + rows; j <= k; j++) re = MINUS_PRODUCT(re, AT(i + r, j), AT(2 * n + j, to));
        PHX_ORDERED
        for (i64 j = i + rows; j <= k && wide == 2; j++) im = MINUS_PRODUCT(im, AT(i + r, j), AT(2 * n + j, k));
        s[r] = MAKE_C(re, im);
    }
    if (rows == 2) {
        const T m[4] = {AT(i, i), AT(i, i + 1), AT(i + 1, i), AT(i + 1, i + 1)};
        SOLVE_TWO(s, m, w, least);
    } else {
        const C d = MAKE_C(AT(i, i) - w.re, -w.im);
        s[0] = QUOTIENT_C(s[0], APART(d, least));
    }
    F most = (F)0;
    for (i64 r = 0; r < rows; r++) {
        AT(2 * n + i + r, to) = s[r].re;
        most = LARGER(most, s[r].re);
        if (wide == 2) AT(2 * n + i + r, k) = s[r].im;
        if (wide == 2) most = LARGER(most, s[r].im);
    }
    if (!(most > FAR_VECTOR)) return;
    for (i64 c = to; c <= k; c++)
        for (i64 j = i; j <= k; j++) AT(2 * n + j, c) = OVER(AT(2 * n + j, c), POWER_BELOW(most));
}

/* The eigenvector of the rows that begin with `to` and end with k, one or two. */
PHX_FN void vector_of(PHX_GLOBAL T *const y, const i64 rs, const i64 cs, const i64 n, const i64 to, const i64 k,
        const F least) {
    F im = (F)0;
    if (k > to) {
        const T m[4] = {AT(to, to), AT(to, k), AT(k, to), AT(k, k)};
        im = HALF_GAP(m);
        const i32 tall = SIZE(m[1]) >= SIZE(m[2]);
        AT(2 * n + to, to) = tall ? ONE : QUOTIENT(m[1], im);
        AT(2 * n + k, to) = ZERO;
        AT(2 * n + to, k) = ZERO;
        AT(2 * n + k, k) = tall ? QUOTIENT(im, m[1]) : ONE;
    }
    const C w = MAKE_C(AT(k, k), im);
    for (i64 i = to - 1; i >= 0; i--) {
        const i64 rows = i > 0 && AT(i, i - 1) != ZERO ? 2 : 1;
        i -= rows - 1;
        vector_rows(y, rs, cs, n, i, rows, k, to, w, least);
    }
}

PHX_KERNEL_OF(GROUP) schur(MATRICES) {
    PHX_LOCAL_ARRAY(F, room, GROUP);
    const i64 most_sweeps = SWEEPS_A_ROW * (n > 10 ? n : 10);
    EACH_MATRIX(b) {
        THIS_MATRIX(b);
        hessenberg(x, xr, xc, y, rs, cs, n);
        i64 sweeps = 0, tries = 0, last = n - 1;
        while (last > 0 && sweeps < most_sweeps) {
            const i64 first = block_of(y, rs, cs, last);
            /* no barrier: whoever still reads what was there stops at it, too, and only this loop reads it */
            if (ME == 0 && first > 0) AT(first, first - 1) = ZERO;
            if (last - first > 1) {
                sweep(y, rs, cs, n, first, last, tries);
                sweeps++;
                tries++;
            } else {
                if (first < last) standardize(y, rs, cs, n, first);
                last = first - 1;
                tries = 0;
            }
            PHX_BARRIER_GLOBAL();
        }
        const F least = least_of(y, rs, cs, n, room);
        for (i64 k = ME; k < n; k += GROUP) {
            const i32 second = k > 0 && AT(k, k - 1) != ZERO;
            if (!second) vector_of(y, rs, cs, n, k, k + 1 < n && AT(k + 1, k) != ZERO ? k + 1 : k, least);
            AT(3 * n, k) = last > 0 ? (F)-1 : TO_F(sweeps);
        }
    }
}
