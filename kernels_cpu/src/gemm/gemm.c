/* The matrix products of gemm.h: the templates, stamped for every element type. */
#include "gemm/gemm.h"

#include "convert.h"
#include "gemm/gemm_blocks.h"
#include "gemm/gemm_dots.h"
#include "gemm/gemm_join.h"
#include "gemm/gemm_simd.h"

#if GEMM_VECTOR_BYTES == 64
#define FLOAT_MR 14
#define COMPLEX_MR 12
#elif GEMM_VECTOR_BYTES == 32
#define FLOAT_MR 6
#define COMPLEX_MR 6
#else
#define FLOAT_MR 4
#define COMPLEX_MR 4
#endif
#define INTEGER_MR 6

/* Copies of neighbours, into the accumulation type and out of it. */
#define COPY(NAME, TO, FROM, EXPRESSION)                                           \
    GEMM_INLINE void NAME(TO *restrict dst, const FROM *restrict src, int64_t n) { \
        for (int64_t i = 0; i < n; i++) {                                          \
            const FROM x = src[i];                                                 \
            dst[i] = (EXPRESSION);                                                 \
        }                                                                          \
    }
COPY(f32_copy, float, float, x)
COPY(f64_copy, double, double, x)
COPY(u16_copy, uint16_t, uint16_t, x)
COPY(u32_copy, uint32_t, uint32_t, x)
COPY(u64_copy, uint64_t, uint64_t, x)
COPY(u8_widen, uint16_t, uint8_t, x)
COPY(u8_narrow, uint8_t, uint16_t, (uint8_t)x)
COPY(bf16_widen, float, uint16_t, phx_bf16_to_f32(x))
COPY(bf16_narrow, uint16_t, float, phx_f32_to_bf16(x))
COPY(c64_copy, c64, c64, x)
COPY(c128_copy, c128, c128, x)

GEMM_INLINE void f16_widen(float *restrict dst, const uint16_t *restrict src, int64_t n) {
    int64_t i = 0;
#if defined(__F16C__)
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(dst + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(src + i))));
#endif
    for (; i < n; i++)
        dst[i] = phx_f16_to_f32(src[i]);
}

GEMM_INLINE void f16_narrow(uint16_t *restrict dst, const float *restrict src, int64_t n) {
    int64_t i = 0;
#if defined(__F16C__)
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(dst + i), _mm256_cvtps_ph(_mm256_loadu_ps(src + i), 0));
#endif
    for (; i < n; i++)
        dst[i] = phx_f32_to_f16(src[i]);
}

/* A row of finished sums into C. */
#define STORE(NAME, TO, FROM, COPY_)                                      \
    static void NAME(void *to, int64_t cs, const void *from, int64_t n) { \
        TO *dst = to;                                                     \
        const FROM *src = from;                                           \
        if (cs == 1) {                                                    \
            COPY_(dst, src, n);                                           \
            return;                                                       \
        }                                                                 \
        for (int64_t j = 0; j < n; j++)                                   \
            COPY_(dst + j * cs, src + j, 1);                              \
    }
STORE(f32_put, float, float, f32_copy)
STORE(f64_put, double, double, f64_copy)
STORE(f16_put, uint16_t, float, f16_narrow)
STORE(bf16_put, uint16_t, float, bf16_narrow)
STORE(c64_put, c64, c64, c64_copy)
STORE(c128_put, c128, c128, c128_copy)
STORE(u8_put, uint8_t, uint16_t, u8_narrow)
STORE(u16_put, uint16_t, uint16_t, u16_copy)
STORE(u32_put, uint32_t, uint32_t, u32_copy)
STORE(u64_put, uint64_t, uint64_t, u64_copy)

/* Sums onto sums. */
#define ADD(NAME, T, PARTS)                                              \
    static void NAME##_add(void *to, const void *from, int64_t n) {      \
        T *restrict a = to;                                              \
        const T *restrict b = from;                                      \
        for (int64_t i = 0; i < n * PARTS; i++) a[i] = (T)(a[i] + b[i]); \
    }
ADD(f32, float, 1)
ADD(f64, double, 1)
ADD(c64, float, 2)
ADD(c128, double, 2)
ADD(u16, uint16_t, 1)
ADD(u32, uint32_t, 1)
ADD(u64, uint64_t, 1)

/* Real floats. */
#define MR FLOAT_MR
#define TRANSPOSE GEMM_TRANSPOSE
#define X f32
#define V f32
#define T float
#define S float
#define SAME 1
#define CONVERT f32_copy
#include "gemm/gemm_micro.h"
#include "gemm/gemm_pack.h"
#include "gemm/gemm_vector.h"
#undef X
#undef S
#undef SAME
#undef CONVERT
#define SAME 0
#define S uint16_t
#define X f16
#define CONVERT f16_widen
#include "gemm/gemm_pack.h"
#undef X
#undef CONVERT
#define X bf16
#define CONVERT bf16_widen
#include "gemm/gemm_pack.h"
#undef X
#undef V
#undef T
#undef S
#undef SAME
#undef CONVERT
#define X f64
#define V f64
#define T double
#define S double
#define SAME 1
#define CONVERT f64_copy
#include "gemm/gemm_micro.h"
#include "gemm/gemm_pack.h"
#include "gemm/gemm_vector.h"
#undef X
#undef V
#undef T
#undef S
#undef SAME
#undef CONVERT
#undef MR
#undef TRANSPOSE

/* Complex. */
#define CMR COMPLEX_MR
#define X c64
#define V f32
#define T float
#include "gemm/gemm_complex.h"
#undef X
#undef V
#undef T
#define X c128
#define V f64
#define T double
#include "gemm/gemm_complex.h"
#undef X
#undef V
#undef T

/* Integers, all unsigned: modulo 2^bits the sign does not matter, and 8 bits are the low half
 * of 16. */
#define MR INTEGER_MR
#define TRANSPOSE 0
#define X u16
#define V u16
#define T uint16_t
#define S uint16_t
#define SAME 1
#define CONVERT u16_copy
#include "gemm/gemm_micro.h"
#include "gemm/gemm_pack.h"
#undef X
#undef S
#undef SAME
#undef CONVERT
#define X u8
#define S uint8_t
#define SAME 0
#define CONVERT u8_widen
#include "gemm/gemm_pack.h"
#undef X
#undef V
#undef T
#undef S
#undef SAME
#undef CONVERT
#define SAME 1
#define X u32
#define V u32
#define T uint32_t
#define S uint32_t
#define CONVERT u32_copy
#include "gemm/gemm_micro.h"
#include "gemm/gemm_pack.h"
#undef X
#undef V
#undef T
#undef S
#undef CONVERT
#define X u64
#define V u64
#define T uint64_t
#define S uint64_t
#define CONVERT u64_copy
#include "gemm/gemm_micro.h"
#include "gemm/gemm_pack.h"

#if GEMM_VECTOR_BYTES == 64
#define F32_KC 512
#else
#define F32_KC 384
#endif

/* Steps of k per pass: strips of A and B then fill most of the first cache (or, for complex, the
 * nearest part of the second); measured on Sapphire Rapids. */
#define REAL_ROW(NAME, V, MR_, KC, STORED, SUM, DIRECT, VECTOR)                            \
    static const gemm_type type_##NAME = {MR_, 2 * V##_LEN, KC, STORED, SUM, DIRECT,       \
                                          true, NAME##_pack, V##_tile, NAME##_put, VECTOR, \
                                          V##_add, NAME##_dots, NAME##_rows};
#define COMPLEX_ROW(NAME, V, KC, SIZE)                                     \
    static const gemm_type type_##NAME = {COMPLEX_MR, V##_LEN, KC,         \
                                          SIZE, SIZE, false,               \
                                          false, NAME##_pack, NAME##_tile, \
                                          NAME##_put, NULL, NAME##_add,    \
                                          NAME##_dots, NAME##_rows};
REAL_ROW(f32, f32, FLOAT_MR, F32_KC, 4, 4, true, f32_vector)
REAL_ROW(f64, f64, FLOAT_MR, 384, 8, 8, true, f64_vector)
REAL_ROW(f16, f32, FLOAT_MR, F32_KC, 2, 4, false, NULL)
REAL_ROW(bf16, f32, FLOAT_MR, F32_KC, 2, 4, false, NULL)
REAL_ROW(u8, u16, INTEGER_MR, 512, 1, 2, false, NULL)
REAL_ROW(u16, u16, INTEGER_MR, 512, 2, 2, true, NULL)
REAL_ROW(u32, u32, INTEGER_MR, 384, 4, 4, true, NULL)
REAL_ROW(u64, u64, INTEGER_MR, 256, 8, 8, true, NULL)
COMPLEX_ROW(c64, f32, 384, 8)
COMPLEX_ROW(c128, f64, 192, 16)

#define DEFINE(NAME, C_TYPE, TYPE)                                                           \
    PHX_GEMM(NAME, C_TYPE) {                                                                 \
        return gemm_run(&type_##TYPE, m, n, k, a, a_rs, a_cs, b, b_rs, b_cs, c, c_rs, c_cs); \
    }                                                                                        \
    PHX_GEMM_ROWS(NAME, C_TYPE) {                                                            \
        gemm_rows(&type_##TYPE, count, k, (const char *)a, an, a_cs, (const char *)b, bn,    \
                  b_rs, (char *)c, cn);                                                      \
    }
DEFINE(f32, float, f32)
DEFINE(f64, double, f64)
DEFINE(f16, uint16_t, f16)
DEFINE(bf16, uint16_t, bf16)
DEFINE(c64, c64, c64)
DEFINE(c128, c128, c128)
DEFINE(i8, int8_t, u8)
DEFINE(i16, int16_t, u16)
DEFINE(i32, int32_t, u32)
DEFINE(i64, int64_t, u64)
DEFINE(u8, uint8_t, u8)
DEFINE(u16, uint16_t, u16)
DEFINE(u32, uint32_t, u32)
DEFINE(u64, uint64_t, u64)
