/* Inner products: of the blocks of k of two vectors, what is left of a long product with one element, and of the rows
 * of two matrices. */
#ifndef PHX_GEMM_DOTS_H
#define PHX_GEMM_DOTS_H

#include "convert.h"
#include "gemm/gemm_blocks.h"
#include "gemm/gemm_simd.h"

/* X_dots for stored elements S, sums T and a step of the chain as an expression of the elements a, b and the sum c:
 * sums[i] is the chain from step i * GEMM_CHAIN on. Four blocks at a time, the last of which may be short: a chain
 * alone waits for each fma. Places of a group that have no block repeat another one's, and are not kept. X_rows has
 * the chains of last + 1 rows, four at most, an and bn apart. */
#define GEMM_DOTS(X, T, S, EXPRESSION)                                                                          \
    GEMM_INLINE T X##_step(const S a, const S b, const T c) { return (EXPRESSION); }                            \
    GEMM_INLINE void X##_chains(T *s, int last, int64_t begin, int64_t end, const S *a, int64_t an, int64_t as, \
                                const S *b, int64_t bn, int64_t bs) {                                           \
        const int64_t i1 = last < 1 ? last : 1, i2 = last < 2 ? last : 2, i3 = last < 3 ? last : 3;             \
        const S *a1 = a + i1 * an, *a2 = a + i2 * an, *a3 = a + i3 * an;                                        \
        const S *b1 = b + i1 * bn, *b2 = b + i2 * bn, *b3 = b + i3 * bn;                                        \
        T s0 = s[0], s1 = s[1], s2 = s[2], s3 = s[3];                                                           \
        for (int64_t p = begin; p < end; p++) {                                                                 \
            s0 = X##_step(a[p * as], b[p * bs], s0);                                                            \
            s1 = X##_step(a1[p * as], b1[p * bs], s1);                                                          \
            s2 = X##_step(a2[p * as], b2[p * bs], s2);                                                          \
            s3 = X##_step(a3[p * as], b3[p * bs], s3);                                                          \
        }                                                                                                       \
        s[0] = s0, s[1] = s1, s[2] = s2, s[3] = s3;                                                             \
    }                                                                                                           \
    GEMM_INLINE void X##_dots_of(T *sums, int64_t k, const S *a, int64_t as, const S *b, int64_t bs) {          \
        const int64_t an = GEMM_CHAIN * as, bn = GEMM_CHAIN * bs;                                               \
        for (; k > GEMM_CHAIN; k -= 4 * GEMM_CHAIN, sums += 4, a += 4 * an, b += 4 * bn) {                      \
            const int last = (int)gemm_min(3, (k - 1) / GEMM_CHAIN);                                            \
            const int64_t shared = gemm_min(GEMM_CHAIN, k - last * GEMM_CHAIN);                                 \
            T s[4];                                                                                             \
            memset(s, 0, sizeof(s));                                                                            \
            X##_chains(s, last, 0, shared, a, an, as, b, bn, bs);                                               \
            sums[last] = s[last];                                                                               \
            X##_chains(s, last - 1, shared, GEMM_CHAIN, a, an, as, b, bn, bs);                                  \
            for (int i = 0; i < last; i++) sums[i] = s[i];                                                      \
        }                                                                                                       \
        if (k <= 0) return;                                                                                     \
        T s = {0};                                                                                              \
        for (int64_t p = 0; p < k; p++) s = X##_step(a[p * as], b[p * bs], s);                                  \
        sums[0] = s;                                                                                            \
    }                                                                                                           \
    static void X##_dots(void *sums, int64_t k, const void *a, int64_t as, const void *b, int64_t bs) {         \
        if (as == 1 && bs == 1)                                                                                 \
            X##_dots_of(sums, k, a, 1, b, 1);                                                                   \
        else                                                                                                    \
            X##_dots_of(sums, k, a, as, b, bs);                                                                 \
    }                                                                                                           \
    static void X##_rows(void *sums, int last, int64_t k, const void *a, int64_t an, int64_t as, const void *b, \
                         int64_t bn, int64_t bs) {                                                              \
        memset(sums, 0, 4 * sizeof(T));                                                                         \
        if (as == 1 && bs == 1)                                                                                 \
            X##_chains(sums, last, 0, k, a, an, 1, b, bn, 1);                                                   \
        else                                                                                                    \
            X##_chains(sums, last, 0, k, a, an, as, b, bn, bs);                                                 \
    }

/* Four fma in the order of a complex step. */
#define GEMM_COMPLEX_STEP(T, FMA) \
    (T) { FMA(-a.im, b.im, FMA(a.re, b.re, c.re)), FMA(a.im, b.re, FMA(a.re, b.im, c.im)) }

GEMM_INLINE float gemm_half(uint16_t x) {
#if defined(__F16C__)
    return _cvtsh_ss(x);
#else
    return phx_f16_to_f32(x);
#endif
}

GEMM_DOTS(f32, float, float, fmaf(a, b, c))
GEMM_DOTS(f64, double, double, fma(a, b, c))
GEMM_DOTS(f16, float, uint16_t, fmaf(gemm_half(a), gemm_half(b), c))
GEMM_DOTS(bf16, float, uint16_t, fmaf(phx_bf16_to_f32(a), phx_bf16_to_f32(b), c))
GEMM_DOTS(c64, c64, c64, GEMM_COMPLEX_STEP(c64, fmaf))
GEMM_DOTS(c128, c128, c128, GEMM_COMPLEX_STEP(c128, fma))
GEMM_DOTS(u8, uint16_t, uint8_t, (uint16_t)(a * b + c))
GEMM_DOTS(u16, uint16_t, uint16_t, (uint16_t)((uint32_t)a * b + c))
GEMM_DOTS(u32, uint32_t, uint32_t, a *b + c)
GEMM_DOTS(u64, uint64_t, uint64_t, a *b + c)

#endif
