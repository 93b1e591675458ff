/* Schur's form of complex matrices: QR with a shift; a work-item solves for an eigenvector. */
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
        const F least = least_of(y, rs, cs, n, room);
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
