/* Inner products of the blocks of k of two vectors: what is left of a long product with one element. */
#ifndef PHX_GEMM_DOTS_H
#define PHX_GEMM_DOTS_H

#include "convert.h"
#include "gemm/gemm_blocks.h"
#include "gemm/gemm_simd.h"

/* X_dots for stored elements S, sums T and a step of the chain as an expression of the elements a, b and the sum c:
 * sums[i] is the chain from step i * GEMM_CHAIN on. Four blocks at a time: a chain alone waits for each fma. */
#define GEMM_DOTS(X, T, S, EXPRESSION)                                                                           \
    GEMM_INLINE T X##_step(const S a, const S b, const T c) { return (EXPRESSION); }                             \
    GEMM_INLINE void X##_dots_of(T *sums, int64_t k, const S *a, int64_t as, const S *b, int64_t bs) {           \
        const int64_t an = GEMM_CHAIN * as, bn = GEMM_CHAIN * bs;                                                \
        for (; k >= 4 * GEMM_CHAIN; k -= 4 * GEMM_CHAIN, sums += 4, a += 3 * an, b += 3 * bn) {                  \
            T s = {0}, t = {0}, u = {0}, v = {0};                                                                \
            for (int64_t p = 0; p < GEMM_CHAIN; p++, a += as, b += bs) {                                         \
                s = X##_step(a[0], b[0], s);                                                                     \
                t = X##_step(a[an], b[bn], t);                                                                   \
                u = X##_step(a[2 * an], b[2 * bn], u);                                                           \
                v = X##_step(a[3 * an], b[3 * bn], v);                                                           \
            }                                                                                                    \
            sums[0] = s, sums[1] = t, sums[2] = u, sums[3] = v;                                                  \
        }                                                                                                        \
        for (; k > 0; k -= GEMM_CHAIN, sums++) {                                                                 \
            T s = {0};                                                                                           \
            for (int64_t p = 0; p < gemm_min(k, GEMM_CHAIN); p++, a += as, b += bs) s = X##_step(a[0], b[0], s); \
            sums[0] = s;                                                                                         \
        }                                                                                                        \
    }                                                                                                            \
    static void X##_dots(void *sums, int64_t k, const void *a, int64_t as, const void *b, int64_t bs) {          \
        if (as == 1 && bs == 1)                                                                                  \
            X##_dots_of(sums, k, a, 1, b, 1);                                                                    \
        else                                                                                                     \
            X##_dots_of(sums, k, a, as, b, bs);                                                                  \
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
