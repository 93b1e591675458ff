/* Vectors of the matrix product: one small set of operations per accumulation type and instruction
 * set.
 *
 * For each type X of f32, f64, u16, u32, u64: the vector X_v with X_LEN lanes, the lane mask X_m of
 * the first lanes, and X_zero, X_set1, X_load, X_loadm, X_store, X_storem, X_mask, X_fma. The float
 * types add X_fnma (c - a*b, rounded once) and, where GEMM_TRANSPOSE is 1, X_transpose.
 *
 * X_fma of a float type rounds once on every instruction set: that is what makes the results equal.
 */
#ifndef PHX_GEMM_SIMD_H
#define PHX_GEMM_SIMD_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#define GEMM_INLINE static inline __attribute__((always_inline, unused))
#define GEMM_CAT_(a, b) a##_##b
#define GEMM_CAT(a, b) GEMM_CAT_(a, b)

/* The operations of a float type X over intrinsics SET_..._KIND; LOADM and STOREM are of p, m and v. */
#define GEMM_FLOATS(X, T, SET, KIND, LOADM, STOREM)                                              \
    GEMM_INLINE X##_v X##_zero(void) { return SET##_setzero_##KIND(); }                          \
    GEMM_INLINE X##_v X##_set1(T x) { return SET##_set1_##KIND(x); }                             \
    GEMM_INLINE X##_v X##_load(const T *p) { return SET##_loadu_##KIND(p); }                     \
    GEMM_INLINE X##_v X##_loadm(X##_m m, const T *p) { return LOADM; }                           \
    GEMM_INLINE void X##_store(T *p, X##_v v) { SET##_storeu_##KIND(p, v); }                     \
    GEMM_INLINE void X##_storem(T *p, X##_m m, X##_v v) { STOREM; }                              \
    GEMM_INLINE X##_v X##_fma(X##_v a, X##_v b, X##_v c) { return SET##_fmadd_##KIND(a, b, c); } \
    GEMM_INLINE X##_v X##_fnma(X##_v a, X##_v b, X##_v c) { return SET##_fnmadd_##KIND(a, b, c); }

#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512BW__)
#define GEMM_VECTOR_BYTES 64
#define GEMM_TRANSPOSE 1

/* clang-format off */
typedef __m512 f32_v;
typedef __mmask16 f32_m;
#define f32_LEN 16
GEMM_INLINE f32_m f32_mask(int n) { return (f32_m)(n >= 16 ? 0xffffu : (1u << n) - 1u); }
GEMM_FLOATS(f32, float, _mm512, ps, _mm512_maskz_loadu_ps(m, p), _mm512_mask_storeu_ps(p, m, v))

typedef __m512d f64_v;
typedef __mmask8 f64_m;
#define f64_LEN 8
GEMM_INLINE f64_m f64_mask(int n) { return (f64_m)(n >= 8 ? 0xffu : (1u << n) - 1u); }
GEMM_FLOATS(f64, double, _mm512, pd, _mm512_maskz_loadu_pd(m, p), _mm512_mask_storeu_pd(p, m, v))
/* clang-format on */

/* Transposes the 16x16 block rows[0..15][at..at+15]: out[j] is column j. Half rows are put side by side by loads with
 * a mask, which need no unit of shuffles; where there is one such unit (Sapphire Rapids) 100 to 500 rows times a vector
 * are a sixth faster than by shuffles of whole rows, more rows as fast. Slower there: quarters of rows; on Zen 5:
 * prefetches, four vectors aside and a copy of the rows in a buffer. */
GEMM_INLINE void f32_transpose(f32_v out[16], const float *const rows[16], int64_t at) {
    const __m512i near = _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27);
    const __m512i far = _mm512_setr_epi32(4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31);
#pragma GCC unroll 2
    for (int h = 0; h < 16; h += 8) {
        __m512 r[8], s[8], t[8];
#pragma GCC unroll 8
        for (int q = 0; q < 8; q++)
            r[q] = _mm512_mask_broadcast_f32x8(_mm512_castps256_ps512(_mm256_loadu_ps(rows[q] + at + h)), 0xff00,
                                               _mm256_loadu_ps(rows[q + 8] + at + h));
#pragma GCC unroll 4
        for (int q = 0; q < 8; q += 2) {
            s[q] = _mm512_unpacklo_ps(r[q], r[q + 1]);
            s[q + 1] = _mm512_unpackhi_ps(r[q], r[q + 1]);
        }
#pragma GCC unroll 2
        for (int q = 0; q < 8; q += 4) {
            t[q] = _mm512_shuffle_ps(s[q], s[q + 2], 0x44);
            t[q + 1] = _mm512_shuffle_ps(s[q], s[q + 2], 0xee);
            t[q + 2] = _mm512_shuffle_ps(s[q + 1], s[q + 3], 0x44);
            t[q + 3] = _mm512_shuffle_ps(s[q + 1], s[q + 3], 0xee);
        }
#pragma GCC unroll 4
        for (int j = 0; j < 4; j++) {
            out[h + j] = _mm512_permutex2var_ps(t[j], near, t[4 + j]);
            out[h + 4 + j] = _mm512_permutex2var_ps(t[j], far, t[4 + j]);
        }
    }
}

GEMM_INLINE void f64_transpose(f64_v out[8], const double *const rows[8], int64_t at) {
    const __m512i near = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
    const __m512i far = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
#pragma GCC unroll 2
    for (int h = 0; h < 8; h += 4) {
        __m512d r[4], s[4];
#pragma GCC unroll 4
        for (int q = 0; q < 4; q++)
            r[q] = _mm512_mask_broadcast_f64x4(_mm512_castpd256_pd512(_mm256_loadu_pd(rows[q] + at + h)), 0xf0,
                                               _mm256_loadu_pd(rows[q + 4] + at + h));
#pragma GCC unroll 2
        for (int q = 0; q < 4; q += 2) {
            s[q] = _mm512_unpacklo_pd(r[q], r[q + 1]);
            s[q + 1] = _mm512_unpackhi_pd(r[q], r[q + 1]);
        }
#pragma GCC unroll 2
        for (int j = 0; j < 2; j++) {
            out[h + j] = _mm512_permutex2var_pd(s[j], near, s[2 + j]);
            out[h + 2 + j] = _mm512_permutex2var_pd(s[j], far, s[2 + j]);
        }
    }
}

#elif defined(__AVX2__) && defined(__FMA__)
#define GEMM_VECTOR_BYTES 32
#define GEMM_TRANSPOSE 1

/* Ones, then zeros: a window of a vector's length is the mask of the first n lanes. */
static const int32_t gemm_mask32[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
static const int64_t gemm_mask64[8] = {-1, -1, -1, -1, 0, 0, 0, 0};

/* clang-format off */
typedef __m256 f32_v;
typedef __m256i f32_m;
#define f32_LEN 8
GEMM_INLINE f32_m f32_mask(int n) {
    return _mm256_loadu_si256((const __m256i *)(gemm_mask32 + 8 - (n < 8 ? n : 8)));
}
GEMM_FLOATS(f32, float, _mm256, ps, _mm256_maskload_ps(p, m), _mm256_maskstore_ps(p, m, v))

typedef __m256d f64_v;
typedef __m256i f64_m;
#define f64_LEN 4
GEMM_INLINE f64_m f64_mask(int n) {
    return _mm256_loadu_si256((const __m256i *)(gemm_mask64 + 4 - (n < 4 ? n : 4)));
}
GEMM_FLOATS(f64, double, _mm256, pd, _mm256_maskload_pd(p, m), _mm256_maskstore_pd(p, m, v))
/* clang-format on */

GEMM_INLINE void f32_transpose(f32_v out[8], const float *const rows[8], int64_t at) {
#pragma GCC unroll 2
    for (int g = 0; g < 2; g++) {
        __m256 r[4];
#pragma GCC unroll 4
        for (int q = 0; q < 4; q++) {
            r[q] = _mm256_castps128_ps256(_mm_loadu_ps(rows[q] + at + 4 * g));
            r[q] = _mm256_insertf128_ps(r[q], _mm_loadu_ps(rows[q + 4] + at + 4 * g), 1);
        }
        const __m256 lo01 = _mm256_unpacklo_ps(r[0], r[1]), hi01 = _mm256_unpackhi_ps(r[0], r[1]);
        const __m256 lo23 = _mm256_unpacklo_ps(r[2], r[3]), hi23 = _mm256_unpackhi_ps(r[2], r[3]);
        out[4 * g] = _mm256_shuffle_ps(lo01, lo23, 0x44);
        out[4 * g + 1] = _mm256_shuffle_ps(lo01, lo23, 0xee);
        out[4 * g + 2] = _mm256_shuffle_ps(hi01, hi23, 0x44);
        out[4 * g + 3] = _mm256_shuffle_ps(hi01, hi23, 0xee);
    }
}

GEMM_INLINE void f64_transpose(f64_v out[4], const double *const rows[4], int64_t at) {
#pragma GCC unroll 2
    for (int g = 0; g < 2; g++) {
        __m256d r[2];
#pragma GCC unroll 2
        for (int q = 0; q < 2; q++) {
            r[q] = _mm256_castpd128_pd256(_mm_loadu_pd(rows[q] + at + 2 * g));
            r[q] = _mm256_insertf128_pd(r[q], _mm_loadu_pd(rows[q + 2] + at + 2 * g), 1);
        }
        out[2 * g] = _mm256_unpacklo_pd(r[0], r[1]);
        out[2 * g + 1] = _mm256_unpackhi_pd(r[0], r[1]);
    }
}

#else
#define GEMM_VECTOR_BYTES 16
#define GEMM_TRANSPOSE 0

#if defined(__SSE2__) && !defined(__FMA__)
/* clang-format off */
typedef __m128 f32_v;
typedef int f32_m;
#define f32_LEN 4
GEMM_INLINE f32_m f32_mask(int n) { return n < 4 ? n : 4; }
GEMM_INLINE f32_v f32_zero(void) { return _mm_setzero_ps(); }
GEMM_INLINE f32_v f32_set1(float x) { return _mm_set1_ps(x); }
GEMM_INLINE f32_v f32_load(const float *p) { return _mm_loadu_ps(p); }
GEMM_INLINE void f32_store(float *p, f32_v v) { _mm_storeu_ps(p, v); }
/* clang-format on */

GEMM_INLINE f32_v f32_loadm(f32_m m, const float *p) {
    float lanes[4] = {0};
    for (int i = 0; i < m; i++)
        lanes[i] = p[i];
    return _mm_loadu_ps(lanes);
}

GEMM_INLINE void f32_storem(float *p, f32_m m, f32_v v) {
    float lanes[4];
    _mm_storeu_ps(lanes, v);
    for (int i = 0; i < m; i++)
        p[i] = lanes[i];
}

__attribute__((noinline, cold, unused)) static f32_v f32_fma_careful(f32_v a, f32_v b, f32_v c) {
    float x[4], y[4], z[4];
    _mm_storeu_ps(x, a);
    _mm_storeu_ps(y, b);
    _mm_storeu_ps(z, c);
    for (int i = 0; i < 4; i++)
        z[i] = fmaf(x[i], y[i], z[i]);
    return _mm_loadu_ps(z);
}

/* All ones in the lanes of s = a*b + c (double) whose rounding to float may differ from fmaf: s
 * lies on a midpoint of two floats, or float would be subnormal and its midpoints lie elsewhere. */
GEMM_INLINE __m128i f32_doubtful(__m128d s) {
    const __m128i low = _mm_and_si128(_mm_castpd_si128(s), _mm_set1_epi64x(0x1fffffff));
    const __m128i midpoint = _mm_cmpeq_epi32(low, _mm_set1_epi64x(0x10000000));
    const __m128d size = _mm_andnot_pd(_mm_set1_pd(-0.0), s);
    const __m128d tiny =
        _mm_and_pd(_mm_cmplt_pd(size, _mm_set1_pd(0x1p-125)), _mm_cmpneq_pd(s, _mm_setzero_pd()));
    const __m128i even = _mm_set_epi32(0, -1, 0, -1);
    return _mm_and_si128(_mm_or_si128(midpoint, _mm_castpd_si128(tiny)), even);
}

/* fmaf without FMA hardware: the product of two floats is exact in double, so rounding the double
 * sum to float is right except where f32_doubtful says so. */
GEMM_INLINE f32_v f32_fma(f32_v a, f32_v b, f32_v c) {
    const __m128d lo = _mm_add_pd(_mm_mul_pd(_mm_cvtps_pd(a), _mm_cvtps_pd(b)), _mm_cvtps_pd(c));
    const __m128d hi =
        _mm_add_pd(_mm_mul_pd(_mm_cvtps_pd(_mm_movehl_ps(a, a)), _mm_cvtps_pd(_mm_movehl_ps(b, b))),
                   _mm_cvtps_pd(_mm_movehl_ps(c, c)));
    if (__builtin_expect(_mm_movemask_epi8(_mm_or_si128(f32_doubtful(lo), f32_doubtful(hi))), 0))
        return f32_fma_careful(a, b, c);
    return _mm_movelh_ps(_mm_cvtpd_ps(lo), _mm_cvtpd_ps(hi));
}

GEMM_INLINE f32_v f32_fnma(f32_v a, f32_v b, f32_v c) {
    return f32_fma(_mm_xor_ps(a, _mm_set1_ps(-0.0f)), b, c);
}
#endif

/* One lane, for the types without a vector fma here. */
#define GEMM_SCALAR_VECTOR(X, T, FMA)                                             \
    typedef T X##_v;                                                              \
    typedef int X##_m;                                                            \
    GEMM_INLINE X##_m X##_mask(int n) { return n > 0; }                           \
    GEMM_INLINE X##_v X##_zero(void) { return 0; }                                \
    GEMM_INLINE X##_v X##_set1(T x) { return x; }                                 \
    GEMM_INLINE X##_v X##_load(const T *p) { return *p; }                         \
    GEMM_INLINE X##_v X##_loadm(X##_m m, const T *p) { return m ? *p : 0; }       \
    GEMM_INLINE void X##_store(T *p, X##_v v) { *p = v; }                         \
    GEMM_INLINE void X##_storem(T *p, X##_m m, X##_v v) {                         \
        if (m)                                                                    \
            *p = v;                                                               \
    }                                                                             \
    GEMM_INLINE X##_v X##_fma(X##_v a, X##_v b, X##_v c) { return FMA(a, b, c); } \
    GEMM_INLINE X##_v X##_fnma(X##_v a, X##_v b, X##_v c) { return FMA(-a, b, c); }

#ifndef f32_LEN
#define f32_LEN 1
GEMM_SCALAR_VECTOR(f32, float, fmaf)
#endif
#define f64_LEN 1
GEMM_SCALAR_VECTOR(f64, double, fma)
#endif

/* Unsigned integers: the compiler's vector arithmetic, which wraps. */
#define GEMM_INTEGER_VECTOR(X, T)                                           \
    typedef T X##_v __attribute__((vector_size(GEMM_VECTOR_BYTES)));        \
    typedef int X##_m;                                                      \
    GEMM_INLINE X##_m X##_mask(int n) { return n < X##_LEN ? n : X##_LEN; } \
    GEMM_INLINE X##_v X##_zero(void) { return (X##_v){0}; }                 \
    GEMM_INLINE X##_v X##_set1(T x) { return (X##_v){0} + x; }              \
    GEMM_INLINE X##_v X##_load(const T *p) {                                \
        X##_v v;                                                            \
        memcpy(&v, p, sizeof v);                                            \
        return v;                                                           \
    }                                                                       \
    GEMM_INLINE X##_v X##_loadm(X##_m m, const T *p) {                      \
        X##_v v = {0};                                                      \
        if (m == X##_LEN)                                                   \
            memcpy(&v, p, sizeof v);                                        \
        else                                                                \
            memcpy(&v, p, (size_t)m * sizeof(T));                           \
        return v;                                                           \
    }                                                                       \
    GEMM_INLINE void X##_store(T *p, X##_v v) { memcpy(p, &v, sizeof v); }  \
    GEMM_INLINE void X##_storem(T *p, X##_m m, X##_v v) {                   \
        if (m == X##_LEN)                                                   \
            memcpy(p, &v, sizeof v);                                        \
        else                                                                \
            memcpy(p, &v, (size_t)m * sizeof(T));                           \
    }                                                                       \
    GEMM_INLINE X##_v X##_fma(X##_v a, X##_v b, X##_v c) { return a * b + c; }

#define u16_LEN (GEMM_VECTOR_BYTES / 2)
#define u32_LEN (GEMM_VECTOR_BYTES / 4)
#define u64_LEN (GEMM_VECTOR_BYTES / 8)
GEMM_INTEGER_VECTOR(u16, uint16_t)
GEMM_INTEGER_VECTOR(u32, uint32_t)
GEMM_INTEGER_VECTOR(u64, uint64_t)

#endif
