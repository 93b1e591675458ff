/* Products of complex numbers in vectors written by hand: compilers take the parts of AVX2's vectors apart
 * with more shuffles than there is arithmetic, and a pass of its own over the operands found the rare ones.
 * Here a vector of results tells whether one of its elements is rare; its elements then take the complete function
 * one by one, which gives the others the same bits (complex.h). */
#include "elementwise/elementwise.h"

#include "complex.h"

#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__) && defined(__AVX512DQ__)
typedef __m512d wide;
typedef __m512 narrow;
#define WIDE(OP) _mm512_##OP
#define LOAD_FLOATS(P) _mm512_cvtps_pd(_mm256_loadu_ps(P))
#define STORE_FLOATS(P, V) _mm256_storeu_ps(P, _mm512_cvtpd_ps(V))
#define LESS(A, B) _mm512_cmp_pd_mask(A, B, _CMP_LT_OQ)
#define UNORDERED(A, B) _mm512_cmp_pd_mask(A, B, _CMP_UNORD_Q)
#define ANY(MASK) (MASK)
#define SELECT(MASK, A, B) _mm512_mask_blend_pd(MASK, B, A)
#define IS_ZERO(A) _mm512_cmp_pd_mask(A, _mm512_setzero_pd(), _CMP_EQ_OQ)
#define SWAPPED(A) _mm512_permute_pd(A, 0x55)
#define ODD(A) _mm512_permute_pd(A, 0xff)
#define AS_INTEGERS(A) _mm512_castpd_si512(A)
#define AS_FLOATS(A) _mm512_castsi512_pd(A)
#elif defined(__AVX2__) && defined(__FMA__)
typedef __m256d wide;
#define WIDE(OP) _mm256_##OP
#define LOAD_FLOATS(P) _mm256_cvtps_pd(_mm_loadu_ps(P))
#define STORE_FLOATS(P, V) _mm_storeu_ps(P, _mm256_cvtpd_ps(V))
#define LESS(A, B) _mm256_cmp_pd(A, B, _CMP_LT_OQ)
#define UNORDERED(A, B) _mm256_cmp_pd(A, B, _CMP_UNORD_Q)
#define ANY(MASK) _mm256_movemask_pd(MASK)
#define SELECT(MASK, A, B) _mm256_blendv_pd(B, A, MASK)
#define IS_ZERO(A) _mm256_cmp_pd(A, _mm256_setzero_pd(), _CMP_EQ_OQ)
#define SWAPPED(A) _mm256_permute_pd(A, 0x5)
#define ODD(A) _mm256_permute_pd(A, 0xf)
#define AS_INTEGERS(A) _mm256_castpd_si256(A)
#define AS_FLOATS(A) _mm256_castsi256_pd(A)
#endif

#ifdef WIDE
#define LANES ((int64_t)(sizeof(wide) / sizeof(f64)))

/* ---- complex64 --------------------------------------------------------------------------------------- */

/* Products of float32 are exact in float64, so that rounding once or twice is the same. */
static inline wide product_c64(const c64 *x, const c64 *y) {
    const wide z = LOAD_FLOATS((const f32 *)x), w = LOAD_FLOATS((const f32 *)y);
    return WIDE(fmaddsub_pd)(z, WIDE(movedup_pd)(w), WIDE(mul_pd)(SWAPPED(z), ODD(w)));
}

/* Rare is what has a NaN. */
static int64_t multiply_vectors_c64(const c64 *x, const c64 *y, c64 *o, int64_t n) {
    const int64_t half = LANES / 2;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        const wide u = product_c64(x + i, y + i), v = product_c64(x + i + half, y + i + half);
        if (__builtin_expect(ANY(UNORDERED(u, v)) != 0, 0)) {
            for (int64_t k = i; k < i + LANES; k++) o[k] = phx_multiply_c64(x[k], y[k]);
            continue;
        }
        STORE_FLOATS((f32 *)(o + i), u);
        STORE_FLOATS((f32 *)(o + i + half), v);
    }
    return i;
}

/* ---- complex128 -------------------------------------------------------------------------------------- */

static inline wide low_of_sum(wide x, wide y, wide sum) {
    const wide t = sum - x;
    return (x - (sum - t)) + (y - t);
}

/* phx_dot2(a, b, c, d).hi */
static inline wide dot2(wide a, wide b, wide c, wide d) {
    const wide p = a * b, q = c * d;
    const wide p_low = WIDE(fmsub_pd)(a, b, p), q_low = WIDE(fmsub_pd)(c, d, q);
    const wide s = p + q, t = p_low + q_low, r = s + t;
    const wide s_low = low_of_sum(p, q, s), t_low = low_of_sum(p_low, q_low, t);
    const wide r_low = low_of_sum(s, t, r);
    const wide v = r + (r_low + (s_low + t_low));
    return SELECT(IS_ZERO(v), s, v);
}

/* The smaller of least and |x|, whose integer one below makes a NaN of zero: the minimum then is its second operand. */
static inline wide least_of(wide x, wide least) {
    const wide size = WIDE(andnot_pd)(WIDE(set1_pd)(-0.0), x);
    return WIDE(min_pd)(AS_FLOATS(WIDE(add_epi64)(AS_INTEGERS(size), WIDE(set1_epi8)(-1))), least);
}

/* Rare is what has a part other than zero below 2^-400, whose products may lose bits, or a result that is not finite. */
static int64_t multiply_vectors_c128(const c128 *x, const c128 *y, c128 *o, int64_t n) {
    const wide low = WIDE(set1_pd)(0x1p-400);
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        const f64 *const z = (const f64 *)(x + i), *const w = (const f64 *)(y + i);
        const wide z0 = WIDE(loadu_pd)(z), z1 = WIDE(loadu_pd)(z + LANES);
        const wide w0 = WIDE(loadu_pd)(w), w1 = WIDE(loadu_pd)(w + LANES);
        const wide a = WIDE(unpacklo_pd)(z0, z1), b = WIDE(unpackhi_pd)(z0, z1);
        const wide c = WIDE(unpacklo_pd)(w0, w1), d = WIDE(unpackhi_pd)(w0, w1);
        const wide re = dot2(a, c, -b, d), im = dot2(a, d, b, c);
        const wide zero = WIDE(setzero_pd)();
        const wide least = least_of(a, least_of(b, least_of(c, least_of(d, WIDE(set1_pd)(1.0)))));
        if (__builtin_expect(ANY(LESS(least, low)) | ANY(UNORDERED(re * zero, im * zero)), 0)) {
            for (int64_t k = i; k < i + LANES; k++) o[k] = phx_multiply_c128(x[k], y[k]);
            continue;
        }
        WIDE(storeu_pd)((f64 *)(o + i), WIDE(unpacklo_pd)(re, im));
        WIDE(storeu_pd)((f64 *)(o + i) + LANES, WIDE(unpackhi_pd)(re, im));
    }
    return i;
}

#else
#define multiply_vectors_c64(X, Y, O, N) ((void)(X), (void)(Y), (void)(O), (void)(N), 0)
#define multiply_vectors_c128(X, Y, O, N) multiply_vectors_c64(X, Y, O, N)
#endif

int64_t cpu_multiply_c64(char *const *p, int64_t n) {
    return multiply_vectors_c64((const c64 *)p[0], (const c64 *)p[1], (c64 *)p[2], n);
}

int64_t cpu_multiply_c128(char *const *p, int64_t n) {
    return multiply_vectors_c128((const c128 *)p[0], (const c128 *)p[1], (c128 *)p[2], n);
}
