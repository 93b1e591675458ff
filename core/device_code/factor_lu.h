PHX_KERNEL_OF(GROUP) lu(MATRICES) {
    PHX_LOCAL_ARRAY(F, sizes, GROUP);
    PHX_LOCAL_ARRAY(i64, rows, GROUP);
    EACH_MATRIX(b) {
        THIS_MATRIX(b);
        for (i64 k = ME; k < m * (n + 1); k += GROUP) {
            const i64 i = k / (n + 1), j = k - i * (n + 1);
            AT(i, j) = j < n ? FROM(i, j) : OF_PARTS(TO_F(i), (F)0);
        }
        PHX_BARRIER_GLOBAL();
        for (i64 j = 0; j < n && j < m; j++) {
            F most = (F)-1;
            i64 row = j;
            for (i64 i = j + ME; i < m; i += GROUP) {
                const F size = SIZE(AT(i, j));
                row = size > most ? i : row;
                most = size > most ? size : most;
            }
            sizes[ME] = most;
            rows[ME] = row;
            for (i64 gap = GROUP / 2; gap > 0; gap /= 2) {
                PHX_BARRIER();
                if (ME < gap) {
                    const F other = sizes[ME + gap];
                    const i64 place = rows[ME + gap];
                    if (other > sizes[ME] || (other == sizes[ME] && place < rows[ME])) {
                        sizes[ME] = other;
                        rows[ME] = place;
                    }
                }
            }
            PHX_BARRIER();
            row = rows[0];
            if (row != j)
                for (i64 k = ME; k <= n; k += GROUP) {
                    const T v = AT(j, k);
                    AT(j, k) = AT(row, k);
                    AT(row, k) = v;
                }
            PHX_BARRIER_GLOBAL();
            const T pivot = AT(j, j);
            if (SIZE(pivot) != (F)0)
                for (i64 i = j + 1 + ME; i < m; i += GROUP) AT(i, j) = QUOTIENT(AT(i, j), pivot);
            PHX_BARRIER_GLOBAL();
            const i64 left = n - j - 1;
            for (i64 k = ME; k < (m - j - 1) * left; k += GROUP) {
                const i64 i = j + 1 + k / left, c = j + 1 + k % left;
                AT(i, c) = MINUS_PRODUCT(AT(i, c), AT(i, j), AT(j, c));
            }
            PHX_BARRIER_GLOBAL();
        }
    }
}
