/* Tiles of the matrix product in one accumulation type. A template: define X (prefix of
 * gemm_simd.h), T (element) and MR (rows of a full tile: 4, 6 or 14) and include it once per type.
 *
 * A tile is mr x nr elements of C, mr <= MR and nr <= NR = 2 vectors. Each element is one chain
 * c = fma(a, b, c) over increasing k; tiles differ in how many chains run side by side, never in a
 * chain.
 */
#define X_(name) GEMM_CAT(X, name)
#define LEN X_(LEN)
#define NR (2 * LEN)

/* One step of k: acc[i][v] = fma(a[i], b[v], acc[i][v]). Rows are addressed from every fourth one,
 * since a load can add one, two or three strides by itself. With nv == 1 only acc[i][1] is used. */
GEMM_INLINE void X_(tile_step)(const int mr, const int nv, const bool masked, X_(v) acc[14][2],
                               const T *const quad[4], const int64_t a_rs, const T *b,
                               const X_(m) last) {
    const T *tail = b + (nv - 1) * LEN;
    const X_(v) b0 = nv == 2 ? X_(load)(b) : X_(zero)();
    const X_(v) b1 = masked ? X_(loadm)(last, tail) : X_(load)(tail);
#pragma GCC unroll 14
    for (int i = 0; i < mr; i++) {
        const X_(v) x = X_(set1)(quad[i / 4][(i % 4) * a_rs]);
        if (nv == 2)
            acc[i][0] = X_(fma)(x, b0, acc[i][0]);
        acc[i][1] = X_(fma)(x, b1, acc[i][1]);
    }
}

GEMM_INLINE void X_(tile_body)(const int mr, const int nv, const bool masked, int64_t k, const T *a,
                               const int64_t a_rs, const int64_t a_cs, const T *b,
                               const int64_t b_rs, T *c, int64_t c_rs, const X_(m) last,
                               bool accumulate) {
    X_(v)
    acc[14][2];
#pragma GCC unroll 14
    for (int i = 0; i < mr; i++) {
        const T *row = c + i * c_rs, *tail = row + (nv - 1) * LEN;
        acc[i][0] = acc[i][1] = X_(zero)();
        if (accumulate) {
            if (nv == 2)
                acc[i][0] = X_(load)(row);
            acc[i][1] = masked ? X_(loadm)(last, tail) : X_(load)(tail);
        }
    }
    const T *quad[4] = {a, a + 4 * a_rs, a + 8 * a_rs, a + 12 * a_rs};
    const int unroll = masked ? 1 : 4;
    int64_t p = 0;
    for (; p + unroll <= k; p += unroll) {
#pragma GCC unroll 4
        for (int u = 0; u < unroll; u++) {
            if (!masked) { /* what comes next of B, one line or two */
                __builtin_prefetch(b + 12 * b_rs);
                if (NR * sizeof(T) > 64)
                    __builtin_prefetch(b + 12 * b_rs + NR - 1);
            }
            X_(tile_step)(mr, nv, masked, acc, quad, a_rs, b, last);
#pragma GCC unroll 4
            for (int q = 0; q < 4; q++)
                quad[q] += a_cs;
            b += b_rs;
        }
    }
    for (; !masked && p < k; p++) {
        X_(tile_step)(mr, nv, masked, acc, quad, a_rs, b, last);
#pragma GCC unroll 4
        for (int q = 0; q < 4; q++)
            quad[q] += a_cs;
        b += b_rs;
    }
#pragma GCC unroll 14
    for (int i = 0; i < mr; i++) {
        T *row = c + i * c_rs, *tail = row + (nv - 1) * LEN;
        if (nv == 2)
            X_(store)(row, acc[i][0]);
        if (masked)
            X_(storem)(tail, last, acc[i][1]);
        else
            X_(store)(tail, acc[i][1]);
    }
}

/* The tile that does nearly all the work of a large product: full, from packed operands. The rows
 * of C that come next are fetched meanwhile. */
__attribute__((noinline)) static void X_(tile_full)(int64_t k, const T *a, const T *b, T *c,
                                                    int64_t c_rs, bool accumulate) {
    for (int i = 0; i < MR; i++) {
        __builtin_prefetch(c + (MR + i) * c_rs, 1);
        __builtin_prefetch(c + (MR + i) * c_rs + NR - 1, 1);
    }
    X_(tile_body)(MR, 2, false, k, a, 1, MR, b, NR, c, c_rs, X_(mask)(LEN), accumulate);
}

#define TILE(MR_)                                                                          \
    __attribute__((noinline)) static void X_(tile_##MR_)(                                  \
        int nr, X_(m) last, int64_t k, const T *a, int64_t a_rs, int64_t a_cs, const T *b, \
        int64_t b_rs, T *c, int64_t c_rs, bool acc) {                                      \
        if (nr == NR)                                                                      \
            X_(tile_body)(MR_, 2, false, k, a, a_rs, a_cs, b, b_rs, c, c_rs, last, acc);   \
        else if (nr > LEN)                                                                 \
            X_(tile_body)(MR_, 2, true, k, a, a_rs, a_cs, b, b_rs, c, c_rs, last, acc);    \
        else                                                                               \
            X_(tile_body)(MR_, 1, true, k, a, a_rs, a_cs, b, b_rs, c, c_rs, last, acc);    \
    }
/* TILE for every number of rows that a tile may have. */
/* clang-format off */
#if MR > 6
#define TILES \
    TILE(1) TILE(2) TILE(3) TILE(4) TILE(5) TILE(6) TILE(7) \
    TILE(8) TILE(9) TILE(10) TILE(11) TILE(12) TILE(13) TILE(14)
#elif MR > 4
#define TILES TILE(1) TILE(2) TILE(3) TILE(4) TILE(5) TILE(6)
#else
#define TILES TILE(1) TILE(2) TILE(3) TILE(4)
#endif
/* clang-format on */
TILES
#undef TILE

/* C[mr, nr] = A @ B or, with accumulate, C + A @ B continued in order. A has any strides, B and C
 * unit column stride. */
static void X_(tile)(const gemm_tile *t) {
    const T *a = t->a, *b = t->b;
    T *c = t->c;
    if (t->mr == MR && t->nr == NR && t->a_rs == 1 && t->a_cs == MR && t->b_rs == NR) {
        X_(tile_full)(t->k, a, b, c, t->c_rs, t->accumulate);
        return;
    }
    const X_(m) last = X_(mask)(t->nr > LEN ? t->nr - LEN : t->nr);
#define TILE(MR_)                                                                      \
    case MR_:                                                                          \
        X_(tile_##MR_)(t->nr, last, t->k, a, t->a_rs, t->a_cs, b, t->b_rs, c, t->c_rs, \
                       t->accumulate);                                                 \
        break;
    switch (t->mr) {
        TILES
    }
#undef TILE
}

#undef X_
#undef LEN
#undef NR
#undef TILES
