/* Tiles and packing of the complex matrix product. A template: define X (name prefix), V (prefix of
 * gemm_simd.h), T (real element) and CMR (rows of a tile: 12, 6 or 4).
 *
 * Per step of k: re = fma(ar, br, re); re = fma(-ai, bi, re); im = fma(ar, bi, im); im = fma(ai,
 * br, im). Packed, a group is the real parts, then the imaginary parts.
 */
#define X_(name) GEMM_CAT(X, name)
#define V_(name) GEMM_CAT(V, name)
#define LEN V_(LEN)

static void X_(pack)(void *to, int width, const void *from, int count, int64_t ws, int64_t k,
                     int64_t ks) {
    T *restrict dst = to;
    const T *restrict src = from;
    memset(to, 0, (size_t)(2 * width * k) * sizeof(T));
    if (ws == 1) {
        for (int64_t p = 0; p < k; p++, dst += 2 * width, src += 2 * ks)
            for (int i = 0; i < count; i++) {
                dst[i] = src[2 * i];
                dst[width + i] = src[2 * i + 1];
            }
        return;
    }
    for (int i = 0; i < count; i++)
        for (int64_t p = 0; p < k; p++) {
            dst[2 * p * width + i] = src[2 * (i * ws + p * ks)];
            dst[(2 * p + 1) * width + i] = src[2 * (i * ws + p * ks) + 1];
        }
}

/* Real and imaginary parts of a tile, apart: [2][CMR][LEN]. */
__attribute__((noinline)) static void X_(tile_full)(int64_t k, const T *a, const T *b, T *parts) {
    V_(v)
    re[CMR], im[CMR];
#pragma GCC unroll 12
    for (int i = 0; i < CMR; i++) {
        re[i] = V_(load)(parts + i * LEN);
        im[i] = V_(load)(parts + (CMR + i) * LEN);
    }
    for (int64_t p = 0; p < k; p++, a += 2 * CMR, b += 2 * LEN) {
        const V_(v) br = V_(load)(b), bi = V_(load)(b + LEN);
#pragma GCC unroll 12
        for (int i = 0; i < CMR; i++) {
            const V_(v) ar = V_(set1)(a[i]), ai = V_(set1)(a[CMR + i]);
            re[i] = V_(fma)(ar, br, re[i]);
            im[i] = V_(fma)(ar, bi, im[i]);
            re[i] = V_(fnma)(ai, bi, re[i]);
            im[i] = V_(fma)(ai, br, im[i]);
        }
    }
#pragma GCC unroll 12
    for (int i = 0; i < CMR; i++) {
        V_(store)(parts + i * LEN, re[i]);
        V_(store)(parts + (CMR + i) * LEN, im[i]);
    }
}

static void X_(tile)(const gemm_tile *t) {
    T parts[2 * CMR * LEN] = {0};
    T *re = parts, *im = parts + CMR * LEN;
    T *const c = t->c;
    for (int i = 0; t->accumulate && i < t->mr; i++) {
        const T *restrict row = c + 2 * i * t->c_rs;
        for (int j = 0; j < t->nr; j++) {
            re[i * LEN + j] = row[2 * j];
            im[i * LEN + j] = row[2 * j + 1];
        }
    }
    X_(tile_full)(t->k, t->a, t->b, parts);
    for (int i = 0; i < t->mr; i++) {
        T *restrict row = c + 2 * i * t->c_rs;
        for (int j = 0; j < t->nr; j++) {
            row[2 * j] = re[i * LEN + j];
            row[2 * j + 1] = im[i * LEN + j];
        }
    }
}

#undef X_
#undef V_
#undef LEN
