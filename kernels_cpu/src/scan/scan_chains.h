/* Eight running sums or products side by side in vectors: eight elements of each become vectors of one element of
 * each, and back. One by one, each store would go to another line of the cache than the one before it.
 *
 *   SCAN_CHAINS_OF(NAME, D, OP)   NAME(x, y, n, xs, ys), which does as many elements of eight sequences as vectors
 *                                 hold, and tells how many; D is f32 or f64
 */
#ifndef PHX_CPU_SCAN_CHAINS_H_
#define PHX_CPU_SCAN_CHAINS_H_

#ifdef __AVX2__
#include <immintrin.h>

typedef __m256 scan_vector_f32;
typedef __m256d scan_vector_f64;

enum { SCAN_LANES_f32 = 8,
       SCAN_LANES_f64 = 4 };

/* The transpose of a square. */
static inline __attribute__((always_inline)) void scan_turn_f32(__m256 *r) {
    __m256 t[8], u[8];
    for (int k = 0; k < 4; k++) {
        t[2 * k] = _mm256_unpacklo_ps(r[2 * k], r[2 * k + 1]);
        t[2 * k + 1] = _mm256_unpackhi_ps(r[2 * k], r[2 * k + 1]);
    }
    for (int k = 0; k < 8; k += 4) {
        u[k] = _mm256_shuffle_ps(t[k], t[k + 2], 0x44);
        u[k + 1] = _mm256_shuffle_ps(t[k], t[k + 2], 0xee);
        u[k + 2] = _mm256_shuffle_ps(t[k + 1], t[k + 3], 0x44);
        u[k + 3] = _mm256_shuffle_ps(t[k + 1], t[k + 3], 0xee);
    }
    for (int k = 0; k < 4; k++) {
        r[k] = _mm256_permute2f128_ps(u[k], u[k + 4], 0x20);
        r[k + 4] = _mm256_permute2f128_ps(u[k], u[k + 4], 0x31);
    }
}

static inline __attribute__((always_inline)) void scan_turn_f64(__m256d *r) {
    __m256d t[4];
    for (int k = 0; k < 4; k += 2) {
        t[k] = _mm256_unpacklo_pd(r[k], r[k + 1]);
        t[k + 1] = _mm256_unpackhi_pd(r[k], r[k + 1]);
    }
    for (int k = 0; k < 2; k++) {
        r[k] = _mm256_permute2f128_pd(t[k], t[k + 2], 0x20);
        r[k + 2] = _mm256_permute2f128_pd(t[k], t[k + 2], 0x31);
    }
}

static inline __m256 scan_load_f32(const float *p) { return _mm256_loadu_ps(p); }
static inline __m256d scan_load_f64(const double *p) { return _mm256_loadu_pd(p); }
static inline void scan_put_f32(float *p, __m256 v) { _mm256_storeu_ps(p, v); }
static inline void scan_put_f64(double *p, __m256d v) { _mm256_storeu_pd(p, v); }

#define SCAN_CHAINS_OF(NAME, D, OP) SCAN_CHAINS_OF_(NAME, D, OP)
#define SCAN_CHAINS_OF_(NAME, TYPE, OP)                                                                            \
    static inline __attribute__((always_inline)) int64_t NAME(const TYPE *restrict x, TYPE *restrict y, int64_t n, \
                                                              int64_t xs, int64_t ys) {                            \
        enum { LANES = SCAN_LANES_##TYPE,                                                                          \
               SQUARES = SCAN_CHAINS / LANES };                                                                    \
        scan_vector_##TYPE before[SQUARES];                                                                        \
        int64_t i = 0;                                                                                             \
        for (; i + LANES <= n; i += LANES)                                                                         \
            for (int s = 0; s < SQUARES; s++) {                                                                    \
                scan_vector_##TYPE r[LANES];                                                                       \
                for (int c = 0; c < LANES; c++) r[c] = scan_load_##TYPE(x + (s * LANES + c) * xs + i);             \
                scan_turn_##TYPE(r);                                                                               \
                if (i) r[0] = OP(before[s], r[0]);                                                                 \
                for (int k = 1; k < LANES; k++) r[k] = OP(r[k - 1], r[k]);                                         \
                before[s] = r[LANES - 1];                                                                          \
                scan_turn_##TYPE(r);                                                                               \
                for (int c = 0; c < LANES; c++) scan_put_##TYPE(y + (s * LANES + c) * ys + i, r[c]);               \
            }                                                                                                      \
        return i;                                                                                                  \
    }
#endif

#endif
