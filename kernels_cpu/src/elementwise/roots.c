/* Square roots: processors take longer for vectors of them than for a dozen products. So a root is that of Newton's
 * steps from an estimate of its inverse of 14 bits, and counts where both ends of what the last step may be off round
 * to it; the processor takes those of a vector with another element, or with one that is zero, negative, infinite, NaN
 * or near the ends of the format. */
#include "elementwise/elementwise.h"

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#include <immintrin.h>

/* For g near sqrt(x) and h near 1 / (2 sqrt(x)), both off by e of their size, one step of Newton's leaves 1.5 e^2: of
 * 2^-14 it leaves 2^-27.4. Within an ulp of the root x - g^2 is exact (Markstein 1990), and the root lies between
 * g + (x - g^2) h less and more of OFF of the last term. */
static inline __m512d roots_of_f64(__m512d x, __mmask8 *sure) {
    const __m512d half = _mm512_set1_pd(0.5), y = _mm512_rsqrt14_pd(x), h0 = y * half, g0 = x * y;
    const __m512d r = _mm512_fnmadd_pd(g0, h0, half);
    const __m512d h = _mm512_fmadd_pd(h0, r, h0), g1 = _mm512_fmadd_pd(g0, r, g0);
    const __m512d g = _mm512_fmadd_pd(_mm512_fnmadd_pd(g1, g1, x), h, g1), d = _mm512_fnmadd_pd(g, g, x);
    const __m512d low = _mm512_fmadd_pd(d, h * _mm512_set1_pd(1 - 0x1p-25), g);
    const __m512d root = _mm512_fmadd_pd(d, h * _mm512_set1_pd(1 + 0x1p-25), g);
    const __m512i place = _mm512_sub_epi64(_mm512_castpd_si512(x), _mm512_castpd_si512(_mm512_set1_pd(0x1p-900)));
    const __mmask8 usual = _mm512_cmplt_epu64_mask(place, _mm512_set1_epi64((int64_t)1800 << 52));
    *sure = _mm512_mask_cmp_pd_mask(usual, low, root, _CMP_EQ_OQ);
    return root;
}

static inline __m512 roots_of_f32(__m512 x, __mmask16 *sure) {
    const __m512 half = _mm512_set1_ps(0.5f), y = _mm512_rsqrt14_ps(x), h = y * half, g0 = x * y;
    const __m512 g = _mm512_fmadd_ps(g0, _mm512_fnmadd_ps(g0, h, half), g0), d = _mm512_fnmadd_ps(g, g, x);
    const __m512 low = _mm512_fmadd_ps(d, h * _mm512_set1_ps(1 - 0x1p-13f), g);
    const __m512 root = _mm512_fmadd_ps(d, h * _mm512_set1_ps(1 + 0x1p-13f), g);
    const __m512i place = _mm512_sub_epi32(_mm512_castps_si512(x), _mm512_castps_si512(_mm512_set1_ps(0x1p-100f)));
    const __mmask16 usual = _mm512_cmplt_epu32_mask(place, _mm512_set1_epi32(220 << 23));
    *sure = _mm512_mask_cmp_ps_mask(usual, low, root, _CMP_EQ_OQ);
    return root;
}

#define ROOTS(F, PART, VECTOR, MASK, ALL, LANES)                                \
    static int64_t roots_##F(const F *x, F *out, int64_t n) {                   \
        int64_t i = 0;                                                          \
        for (; i + LANES <= n; i += LANES) {                                    \
            const VECTOR v = _mm512_loadu_##PART(x + i);                        \
            MASK sure;                                                          \
            VECTOR root = roots_of_##F(v, &sure);                               \
            if (__builtin_expect(sure != ALL, 0)) root = _mm512_sqrt_##PART(v); \
            _mm512_storeu_##PART(out + i, root);                                \
        }                                                                       \
        return i;                                                               \
    }

ROOTS(f32, ps, __m512, __mmask16, 0xffff, 16)
ROOTS(f64, pd, __m512d, __mmask8, 0xff, 8)
#else
#define roots_f32(X, OUT, N) 0
#define roots_f64(X, OUT, N) 0
#endif

#define LOOP(F, ROOT)                                                                           \
    void cpu_sqrt_##F(CPU_LOOP_ARGS) {                                                          \
        if (s_[0] == sizeof(F) && s_[1] == sizeof(F)) {                                         \
            const F *x = (const F *)p_[0];                                                      \
            F *out = (F *)p_[1];                                                                \
            CPU_IVDEP for (int64_t i = roots_##F(x, out, n_); i < n_; i++) out[i] = ROOT(x[i]); \
        } else                                                                                  \
            CPU_PASS_STRIDED_1_(F, F, ROOT(a))                                                  \
    }

LOOP(f32, phx_sqrtf)
LOOP(f64, phx_sqrt)
