/* Vectors of float32, of 512 bits or of 256, and what functions need of them that are tried by a shorter way. A verdict
 * has a bit for each lane, the lowest for the first. LANES is 0 where there are no such vectors. */
#ifndef PHX_CPU_FLOAT_VECTORS_H_
#define PHX_CPU_FLOAT_VECTORS_H_

#include "elementwise/elementwise.h"

#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#include <immintrin.h>

#define LANES 16
#define V(NAME) _mm512_##NAME
#define BITS _mm512_castps_si512
#define FLOATS _mm512_castsi512_ps
typedef __m512 narrow;
typedef __m512i words;

static inline unsigned is_equal(narrow a, narrow b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
static inline unsigned is_above(narrow a, narrow b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
static inline unsigned is_less_word(words a, words b) { return _mm512_cmplt_epu32_mask(a, b); }

/* Of each lane the number of a table of 32 that the low bits of a word choose. */
static inline narrow look_up(const f32 *table, words place) {
    return _mm512_permutex2var_ps(_mm512_load_ps(table), place, _mm512_load_ps(table + 16));
}

/* The same of a table of 8, in the room of 16. */
static inline narrow look_up_few(const f32 *table, words place) {
    return _mm512_permutexvar_ps(place, _mm512_load_ps(table));
}

static inline __mmask16 first_lanes(int64_t n) { return n < 16 ? (__mmask16)((1u << n) - 1u) : (__mmask16)0xffff; }
static inline narrow load_first(const f32 *x, int64_t n) { return _mm512_maskz_loadu_ps(first_lanes(n), x); }
static inline void store_first(f32 *x, int64_t n, narrow y) { _mm512_mask_storeu_ps(x, first_lanes(n), y); }

#elif defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>

#define LANES 8
#define V(NAME) _mm256_##NAME
#define BITS _mm256_castps_si256
#define FLOATS _mm256_castsi256_ps
typedef __m256 narrow;
typedef __m256i words;

static inline unsigned is_equal(narrow a, narrow b) {
    return (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_EQ_OQ));
}
static inline unsigned is_above(narrow a, narrow b) {
    return (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GT_OQ));
}
static inline unsigned is_less_word(words a, words b) {
    const words not_less = _mm256_cmpeq_epi32(_mm256_max_epu32(a, b), a);
    return 0xffu ^ (unsigned)_mm256_movemask_ps(FLOATS(not_less));
}

static inline narrow look_up(const f32 *table, words place) {
    const narrow a = _mm256_permutevar8x32_ps(_mm256_load_ps(table), place);
    const narrow b = _mm256_permutevar8x32_ps(_mm256_load_ps(table + 8), place);
    const narrow c = _mm256_permutevar8x32_ps(_mm256_load_ps(table + 16), place);
    const narrow d = _mm256_permutevar8x32_ps(_mm256_load_ps(table + 24), place);
    const narrow eight = FLOATS(_mm256_slli_epi32(place, 28)), sixteen = FLOATS(_mm256_slli_epi32(place, 27));
    return _mm256_blendv_ps(_mm256_blendv_ps(a, b, eight), _mm256_blendv_ps(c, d, eight), sixteen);
}

static inline narrow look_up_few(const f32 *table, words place) {
    return _mm256_permutevar8x32_ps(_mm256_load_ps(table), place);
}

static inline words first_lanes(int64_t n) {
    const int count = n < 8 ? (int)n : 8;
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
static inline narrow load_first(const f32 *x, int64_t n) { return _mm256_maskload_ps(x, first_lanes(n)); }
static inline void store_first(f32 *x, int64_t n, narrow y) { _mm256_maskstore_ps(x, first_lanes(n), y); }

#else
#define LANES 0
#endif

#if LANES
#define SET V(set1_ps)
#define FMA V(fmadd_ps)

static inline narrow size_of(narrow x) { return V(andnot_ps)(SET(-0.0f), x); }
static inline narrow with_sign(narrow size, narrow x) { return V(or_ps)(size, V(and_ps)(SET(-0.0f), x)); }

static inline unsigned is_normal(narrow x) {
    return is_less_word(V(sub_epi32)(BITS(x), V(set1_epi32)(0x00800000)), V(set1_epi32)(0x7f000000));
}

/* y times 2 to the power of a whole number of -252 to 254, exactly where the result is a normal number. */
static inline narrow scaled(narrow y, words k) {
    const words half = V(srai_epi32)(k, 1), one = V(set1_epi32)(127);
    const narrow first = FLOATS(V(slli_epi32)(V(add_epi32)(half, one), 23));
    return y * first * FLOATS(V(slli_epi32)(V(add_epi32)(V(sub_epi32)(k, half), one), 23));
}
#endif
#endif
