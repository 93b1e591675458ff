/* Complex numbers in vectors: real parts in one, imaginary parts in another.
 *
 * For each type X of f32, f64 beside what gemm_simd.h has: X_cell, X_LEN complex numbers, and X_split and
 * X_join between it and two vectors of numbers as they lie in memory. The lanes of a cell are not in
 * memory's order: X_split and X_join agree on one that takes few instructions. X_take and X_give move
 * cells: the next X_LEN numbers, numbers that are `step` apart, or only `count` of them; X_reversed has them
 * from the last to the first; X_known has 0 for a NaN. The butterflies of core/scalar/fourier.h are there for X_v.
 */
#ifndef PHX_CPU_FFT_VECTOR_H_
#define PHX_CPU_FFT_VECTOR_H_

#include "elementwise/dialect.h"
#include "gemm/gemm_simd.h"

#include "fourier.h" /* after the dialect */

#if GEMM_VECTOR_BYTES == 64
#define FFT_F64_EVEN 0, 8, 2, 10, 4, 12, 6, 14
#define FFT_F64_ODD 1, 9, 3, 11, 5, 13, 7, 15
#define FFT_F32_EVEN 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30
#define FFT_F32_ODD 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31
#define FFT_F32_LOW 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29
#define FFT_F32_HIGH 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31
#elif GEMM_VECTOR_BYTES == 32
#define FFT_F64_EVEN 0, 4, 2, 6
#define FFT_F64_ODD 1, 5, 3, 7
#define FFT_F32_EVEN 0, 2, 8, 10, 4, 6, 12, 14
#define FFT_F32_ODD 1, 3, 9, 11, 5, 7, 13, 15
#define FFT_F32_LOW 0, 8, 1, 9, 4, 12, 5, 13
#define FFT_F32_HIGH 2, 10, 3, 11, 6, 14, 7, 15
#else
#define FFT_F32_EVEN 0, 2, 4, 6
#define FFT_F32_ODD 1, 3, 5, 7
#define FFT_F32_LOW 0, 4, 1, 5
#define FFT_F32_HIGH 2, 6, 3, 7
#endif

typedef struct {
    f32_v re, im;
} f32_cell;
typedef struct {
    f64_v re, im;
} f64_cell;

/* ---- between memory's order and cells ------------------------------------------------------------ */

#define FFT_SHUFFLED(X, INT, BYTES, EVEN, ODD, LOW, HIGH)                            \
    typedef INT X##_places __attribute__((vector_size(BYTES)));                      \
    GEMM_INLINE X##_cell X##_split(X##_v a, X##_v b) {                               \
        return (X##_cell){(X##_v)__builtin_shuffle(a, b, (X##_places){EVEN}),        \
                          (X##_v)__builtin_shuffle(a, b, (X##_places){ODD})};        \
    }                                                                                \
    GEMM_INLINE X##_cell X##_join(X##_cell z) {                                      \
        return (X##_cell){(X##_v)__builtin_shuffle(z.re, z.im, (X##_places){LOW}),   \
                          (X##_v)__builtin_shuffle(z.re, z.im, (X##_places){HIGH})}; \
    }                                                                                \
    GEMM_INLINE X##_v X##_known(X##_v x) { return (X##_v)((X##_places)(x == x) & (X##_places)x); }

#if f64_LEN > 1
FFT_SHUFFLED(f64, int64_t, GEMM_VECTOR_BYTES, FFT_F64_EVEN, FFT_F64_ODD, FFT_F64_EVEN, FFT_F64_ODD)
#else
GEMM_INLINE f64_cell f64_split(f64_v a, f64_v b) { return (f64_cell){a, b}; }
GEMM_INLINE f64_cell f64_join(f64_cell z) { return z; }
GEMM_INLINE f64_v f64_known(f64_v x) { return phx_fft_known_f64(x); }
#endif
#if f32_LEN > 1
FFT_SHUFFLED(f32, int32_t, GEMM_VECTOR_BYTES, FFT_F32_EVEN, FFT_F32_ODD, FFT_F32_LOW, FFT_F32_HIGH)
#else
GEMM_INLINE f32_cell f32_split(f32_v a, f32_v b) { return (f32_cell){a, b}; }
GEMM_INLINE f32_cell f32_join(f32_cell z) { return z; }
GEMM_INLINE f32_v f32_known(f32_v x) { return phx_fft_known_f32(x); }
#endif

/* ---- numbers that are apart ---------------------------------------------------------------------- */

#if GEMM_VECTOR_BYTES == 64
GEMM_INLINE f64_v f64_pick(const double *p, int64_t step) {
    __m512d v = _mm512_castpd128_pd512(_mm_loadu_pd(p));
    v = _mm512_insertf64x2(v, _mm_loadu_pd(p + 2 * step), 1);
    v = _mm512_insertf64x2(v, _mm_loadu_pd(p + 4 * step), 2);
    return _mm512_insertf64x2(v, _mm_loadu_pd(p + 6 * step), 3);
}
GEMM_INLINE void f64_put(double *p, int64_t step, f64_v v) {
    _mm_storeu_pd(p, _mm512_castpd512_pd128(v));
    _mm_storeu_pd(p + 2 * step, _mm512_extractf64x2_pd(v, 1));
    _mm_storeu_pd(p + 4 * step, _mm512_extractf64x2_pd(v, 2));
    _mm_storeu_pd(p + 6 * step, _mm512_extractf64x2_pd(v, 3));
}
#elif GEMM_VECTOR_BYTES == 32
GEMM_INLINE f64_v f64_pick(const double *p, int64_t step) {
    return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(p)), _mm_loadu_pd(p + 2 * step), 1);
}
GEMM_INLINE void f64_put(double *p, int64_t step, f64_v v) {
    _mm_storeu_pd(p, _mm256_castpd256_pd128(v));
    _mm_storeu_pd(p + 2 * step, _mm256_extractf128_pd(v, 1));
}
#endif

#if GEMM_VECTOR_BYTES > 16
/* A complex number of f32 moves as one double does. */
GEMM_INLINE __m128d fft_pick2(const float *p, int64_t step) {
    const __m128d low = _mm_load_sd((const double *)(const void *)p);
    return _mm_loadh_pd(low, (const double *)(const void *)(p + 2 * step));
}
GEMM_INLINE void fft_put2(float *p, int64_t step, __m128d v) {
    _mm_store_sd((double *)(void *)p, v);
    _mm_storeh_pd((double *)(void *)(p + 2 * step), v);
}
#endif
#if GEMM_VECTOR_BYTES == 64
GEMM_INLINE f32_v f32_pick(const float *p, int64_t step) {
    __m512d v = _mm512_castpd128_pd512(fft_pick2(p, step));
    v = _mm512_insertf64x2(v, fft_pick2(p + 4 * step, step), 1);
    v = _mm512_insertf64x2(v, fft_pick2(p + 8 * step, step), 2);
    return _mm512_castpd_ps(_mm512_insertf64x2(v, fft_pick2(p + 12 * step, step), 3));
}
GEMM_INLINE void f32_put(float *p, int64_t step, f32_v v) {
    const __m512d d = _mm512_castps_pd(v);
    fft_put2(p, step, _mm512_castpd512_pd128(d));
    fft_put2(p + 4 * step, step, _mm512_extractf64x2_pd(d, 1));
    fft_put2(p + 8 * step, step, _mm512_extractf64x2_pd(d, 2));
    fft_put2(p + 12 * step, step, _mm512_extractf64x2_pd(d, 3));
}
#elif GEMM_VECTOR_BYTES == 32
GEMM_INLINE f32_v f32_pick(const float *p, int64_t step) {
    const __m256d v = _mm256_castpd128_pd256(fft_pick2(p, step));
    return _mm256_castpd_ps(_mm256_insertf128_pd(v, fft_pick2(p + 4 * step, step), 1));
}
GEMM_INLINE void f32_put(float *p, int64_t step, f32_v v) {
    const __m256d d = _mm256_castps_pd(v);
    fft_put2(p, step, _mm256_castpd256_pd128(d));
    fft_put2(p + 4 * step, step, _mm256_extractf128_pd(d, 1));
}
#endif

/* ---- cells in memory ------------------------------------------------------------------------------ */

#define FFT_CELLS(X, T)                                                             \
    GEMM_INLINE X##_cell X##_take_next(const T *p) {                                \
        return X##_split(X##_load(p), X##_load(p + X##_LEN));                       \
    }                                                                               \
    GEMM_INLINE void X##_give_next(T *p, X##_cell z) {                              \
        const X##_cell w = X##_join(z);                                             \
        X##_store(p, w.re);                                                         \
        X##_store(p + X##_LEN, w.im);                                               \
    }                                                                               \
    GEMM_INLINE X##_cell X##_take_some(const T *p, int64_t step, int64_t count) {   \
        T lanes[2 * X##_LEN] = {0};                                                 \
        for (int64_t i = 0; i < count; i++) {                                       \
            lanes[2 * i] = p[2 * i * step];                                         \
            lanes[2 * i + 1] = p[2 * i * step + 1];                                 \
        }                                                                           \
        return X##_take_next(lanes);                                                \
    }                                                                               \
    GEMM_INLINE void X##_give_some(T *p, int64_t step, int64_t count, X##_cell z) { \
        T lanes[2 * X##_LEN];                                                       \
        X##_give_next(lanes, z);                                                    \
        for (int64_t i = 0; i < count; i++) {                                       \
            p[2 * i * step] = lanes[2 * i];                                         \
            p[2 * i * step + 1] = lanes[2 * i + 1];                                 \
        }                                                                           \
    }
FFT_CELLS(f32, float)
FFT_CELLS(f64, double)

#define FFT_APART(X, T)                                                          \
    GEMM_INLINE X##_cell X##_take_apart(const T *p, int64_t step) {              \
        return X##_split(X##_pick(p, step), X##_pick(p + X##_LEN * step, step)); \
    }                                                                            \
    GEMM_INLINE void X##_give_apart(T *p, int64_t step, X##_cell z) {            \
        const X##_cell w = X##_join(z);                                          \
        X##_put(p, step, w.re);                                                  \
        X##_put(p + X##_LEN * step, step, w.im);                                 \
    }
#define FFT_APART_ONE_BY_ONE(X, T)                                  \
    GEMM_INLINE X##_cell X##_take_apart(const T *p, int64_t step) { \
        return X##_take_some(p, step, X##_LEN);                     \
    }                                                               \
    GEMM_INLINE void X##_give_apart(T *p, int64_t step, X##_cell z) { X##_give_some(p, step, X##_LEN, z); }
#if GEMM_VECTOR_BYTES > 16
FFT_APART(f32, float)
FFT_APART(f64, double)
#else
FFT_APART_ONE_BY_ONE(f32, float)
FFT_APART_ONE_BY_ONE(f64, double)
#endif

/* In all of these orders the numbers count up from one end as they count down from the other. */
#define FFT_REVERSED(X, ...)                                                          \
    GEMM_INLINE X##_cell X##_reversed(X##_cell z) {                                   \
        return (X##_cell){(X##_v)__builtin_shuffle(z.re, (X##_places){__VA_ARGS__}),  \
                          (X##_v)__builtin_shuffle(z.im, (X##_places){__VA_ARGS__})}; \
    }
#define FFT_ALONE(X) \
    GEMM_INLINE X##_cell X##_reversed(X##_cell z) { return z; }
#if f64_LEN == 8
FFT_REVERSED(f64, 7, 6, 5, 4, 3, 2, 1, 0)
#elif f64_LEN == 4
FFT_REVERSED(f64, 3, 2, 1, 0)
#else
FFT_ALONE(f64)
#endif
#if f32_LEN == 16
FFT_REVERSED(f32, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#elif f32_LEN == 8
FFT_REVERSED(f32, 7, 6, 5, 4, 3, 2, 1, 0)
#elif f32_LEN == 4
FFT_REVERSED(f32, 3, 2, 1, 0)
#else
FFT_ALONE(f32)
#endif

#define FFT_OF_VECTORS(X, K) PHX_FOURIER(X##_v, K, X##_fma, X##_fnma, X##_known)
#define FFT_SPLAT_F32(x) f32_set1(x##f)
#define FFT_SPLAT_F64(x) f64_set1(x)
FFT_OF_VECTORS(f32, FFT_SPLAT_F32)
FFT_OF_VECTORS(f64, FFT_SPLAT_F64)

#endif
