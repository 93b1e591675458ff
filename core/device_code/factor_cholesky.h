PHX_KERNEL_OF(GROUP) cholesky(MATRICES) {
    EACH_MATRIX(b) {
        THIS_MATRIX(b);
        for (i64 k = ME; k < n * n; k += GROUP) {
            const i64 i = k / n, j = k - i * n;
            AT(i, j) = j <= i ? FROM(i, j) : ZERO;
        }
        PHX_BARRIER_GLOBAL();
        for (i64 j = 0; j < n; j++) {
            const F pivot = RE(AT(j, j)), d = pivot > (F)0 ? ROOT(pivot) : NOT_A_NUMBER;
            PHX_BARRIER_GLOBAL();
            for (i64 i = j + ME; i < n; i += GROUP) AT(i, j) = i == j ? OF_PARTS(d, (F)0) : OVER(AT(i, j), d);
            PHX_BARRIER_GLOBAL();
            const i64 left = n - j - 1;
            for (i64 k = ME; k < left * left; k += GROUP) {
                const i64 i = j + 1 + k / left, c = j + 1 + k % left;
                if (c <= i) AT(i, c) = MINUS_PRODUCT(AT(i, c), AT(i, j), CONJUGATE(AT(c, j)));
            }
            PHX_BARRIER_GLOBAL();
        }
    }
}
