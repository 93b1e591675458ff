/* Packing: copies a strip of A or B into the order in which the tiles read it.
 *
 * A strip is `count` rows of A (or columns of B) of the `width` that a tile has room for; packed,
 * it is k groups of `width` elements, one group per step of the sum. Lanes from count to width hold
 * anything. A template: define X (prefix of the names), V (prefix of gemm_simd.h), T (packed
 * element), S (stored element), MR, CONVERT(T *, const S *, n), which copies n neighbours, SAME (1:
 * S is T) and TRANSPOSE (1: V has a transpose). It gives X_pack(dst, width, src, count, ws, k, ks)
 * with the strides along the width and along k. Behind dst, GEMM_STRIP_SLACK bytes may be
 * overwritten.
 */
#define X_(name) GEMM_CAT(X, name)
#define V_(name) GEMM_CAT(V, name)
#define LEN V_(LEN)

/* Any strides. */
static void X_(pack_strided)(T *dst, int width, const S *src, int count, int64_t ws, int64_t k,
                             int64_t ks) {
    for (int i = 0; i < count; i++)
        for (int64_t p = 0; p < k; p++)
            CONVERT(dst + p * width + i, src + i * ws + p * ks, 1);
}

#if TRANSPOSE
/* Neighbours along k: blocks of LEN x LEN are transposed in registers. A store may write a few
 * lanes too many; they belong to the next group's first lanes, which are written later (hence w
 * from the end). */
GEMM_INLINE void X_(pack_rows)(T *dst, const int width, const T *src, int count, int64_t ws,
                               int64_t k) {
    for (int w = (count - 1) / LEN * LEN; w >= 0; w -= LEN) {
        const T *rows[LEN];
        for (int i = 0; i < LEN; i++)
            rows[i] = src + (w + i < count ? w + i : count - 1) * ws;
        int64_t p = 0;
        for (; p + LEN <= k; p += LEN) {
            V_(v)
            block[LEN];
            V_(transpose)(block, rows, p);
#pragma GCC unroll 16
            for (int j = 0; j < LEN; j++)
                V_(store)(dst + (p + j) * width + w, block[j]);
        }
        for (; p < k; p++)
            for (int i = 0; i < LEN && w + i < width; i++)
                dst[p * width + w + i] = rows[i][p];
    }
}
#endif

GEMM_INLINE void X_(pack_width)(T *dst, const int width, const S *src, int count, int64_t ws,
                                int64_t k, int64_t ks) {
    if (ws == 1 && count == width) {
        for (int64_t p = 0; p < k; p++, src += ks, dst += width) {
            __builtin_prefetch(src + 8 * ks);
            CONVERT(dst, src, width);
        }
    } else if (ws == 1) {
        for (int64_t p = 0; p < k; p++, src += ks, dst += width)
            CONVERT(dst, src, count);
#if TRANSPOSE && SAME
    } else if (ks == 1) {
        X_(pack_rows)(dst, width, src, count, ws, k);
#elif TRANSPOSE
    } else if (ks == 1) {
        /* A few steps of k at a time are converted row by row, and these transposed. */
        T staged[2 * LEN][GEMM_STAGE];
        for (int64_t p = 0; p < k; p += GEMM_STAGE) {
            const int64_t steps = k - p < GEMM_STAGE ? k - p : GEMM_STAGE;
            for (int i = 0; i < count; i++)
                CONVERT(staged[i], src + i * ws + p, steps);
            X_(pack_rows)(dst + p * width, width, staged[0], count, GEMM_STAGE, steps);
        }
#endif
    } else {
        X_(pack_strided)(dst, width, src, count, ws, k, ks);
    }
}

static void X_(pack)(void *dst, int width, const void *src, int count, int64_t ws, int64_t k,
                     int64_t ks) {
    if (width == MR)
        X_(pack_width)(dst, MR, src, count, ws, k, ks);
    else
        X_(pack_width)(dst, 2 * LEN, src, count, ws, k, ks);
}

#undef X_
#undef V_
#undef LEN
