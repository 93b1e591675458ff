/* Quicksort of unsigned keys of 32 and 64 bits with AVX2. */
#include "sort/sort_internal.h"

#if defined(__AVX2__) && !defined(__AVX512F__)
#include <immintrin.h>
#include <string.h>

/* Which lanes a permutation takes to bring those of a mask to the front and the others to the end, a byte each. */
#define BELOW(k, l) __builtin_popcount((k) & ((1 << (l)) - 1))
#define PLACE(k, l) \
    ((uint64_t)(l) << 8 * ((k) >> (l) & 1 ? BELOW(k, l) : __builtin_popcount(k) + (l) - BELOW(k, l)))
#define PARTS(k)                                                                        \
    PLACE(k, 0) | PLACE(k, 1) | PLACE(k, 2) | PLACE(k, 3) | PLACE(k, 4) | PLACE(k, 5) | \
        PLACE(k, 6) | PLACE(k, 7)
#define PARTS_4(k) PARTS(k), PARTS((k) + 1), PARTS((k) + 2), PARTS((k) + 3)
#define PARTS_16(k) PARTS_4(k), PARTS_4((k) + 4), PARTS_4((k) + 8), PARTS_4((k) + 12)
#define PARTS_64(k) PARTS_16(k), PARTS_16((k) + 16), PARTS_16((k) + 32), PARTS_16((k) + 48)
static const uint64_t parted_lanes_32[256] = {PARTS_64(0), PARTS_64(64), PARTS_64(128), PARTS_64(192)};

/* A mask of lanes of 64 bits as one of 32. */
#define PAIRS(k) (((k) & 1) * 3 | ((k) & 2) * 6 | ((k) & 4) * 12 | ((k) & 8) * 24)
static const uint8_t pairs[16] = {PAIRS(0), PAIRS(1), PAIRS(2), PAIRS(3), PAIRS(4), PAIRS(5),
                                  PAIRS(6), PAIRS(7), PAIRS(8), PAIRS(9), PAIRS(10), PAIRS(11),
                                  PAIRS(12), PAIRS(13), PAIRS(14), PAIRS(15)};

/* The same as `parted_lanes_32` for lanes of 64 bits, ready for the permutation. */
#define LANE_OF(k, i) (int32_t)((PARTS(PAIRS(k))) >> 8 * (i) & 7)
#define ROW_64(k)                                                \
    {LANE_OF(k, 0), LANE_OF(k, 1), LANE_OF(k, 2), LANE_OF(k, 3), \
     LANE_OF(k, 4), LANE_OF(k, 5), LANE_OF(k, 6), LANE_OF(k, 7)}
static const int32_t parted_lanes_64[16][8] __attribute__((aligned(32))) = {
    ROW_64(0), ROW_64(1), ROW_64(2), ROW_64(3), ROW_64(4), ROW_64(5), ROW_64(6), ROW_64(7),
    ROW_64(8), ROW_64(9), ROW_64(10), ROW_64(11), ROW_64(12), ROW_64(13), ROW_64(14), ROW_64(15)};

static inline __m256i parted_64(uint8_t k, __m256i v) {
    return _mm256_permutevar8x32_epi32(v, _mm256_load_si256((const __m256i *)parted_lanes_64[k & 15]));
}

static inline __m256i parted_32(uint8_t k, __m256i v) {
    const __m128i lanes = _mm_cvtsi64_si128((long long)parted_lanes_32[k]);
    return _mm256_permutevar8x32_epi32(v, _mm256_cvtepu8_epi32(lanes));
}

static inline __m256i lanes_32(uint8_t k) {
    const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(k), bit), bit);
}

static inline __m256i load_or_ones(uint8_t k, const void *p) {
    const __m256i live = lanes_32(k), ones = _mm256_set1_epi32(-1);
    if (k == 0xFF) return _mm256_loadu_si256(p);
    return _mm256_or_si256(_mm256_maskload_epi32(p, live), _mm256_andnot_si256(live, ones));
}

static inline void store_lanes(void *p, uint8_t k, __m256i v) {
    if (k == 0xFF)
        _mm256_storeu_si256(p, v);
    else
        _mm256_maskstore_epi32(p, lanes_32(k), v);
}

static inline __attribute__((always_inline)) __m256i swap_32(__m256i v, int x) {
    switch (x) {
    case 1: return _mm256_shuffle_epi32(v, 0xB1);
    case 2: return _mm256_shuffle_epi32(v, 0x4E);
    case 3: return _mm256_shuffle_epi32(v, 0x1B);
    case 4: return _mm256_permute4x64_epi64(v, 0x4E);
    default: return _mm256_shuffle_epi32(_mm256_permute4x64_epi64(v, 0x4E), 0x1B); /* 7 */
    }
}

static inline __attribute__((always_inline)) __m256i swap_64(__m256i v, int x) {
    switch (x) {
    case 1: return _mm256_shuffle_epi32(v, 0x4E);
    case 2: return _mm256_permute4x64_epi64(v, 0x4E);
    default: return _mm256_permute4x64_epi64(v, 0x1B); /* 3 */
    }
}

/* The larger lane where the mask is all ones, else the lesser. */
static inline __m256i pick_64(__m256i a, __m256i b, __m256i mask) {
    return _mm256_blendv_epi8(a, b, _mm256_xor_si256(_mm256_cmpgt_epi64(a, b), mask));
}

#define ZIPPED(low, high, half) _mm256_permute2x128_si256(low, high, half)

#define SORT_NAME(x) x##_32
#define SORT_KEY uint32_t
#define SORT_LANES 8
#define SORT_MASK uint8_t
#define SORT_VEC __m256i
#define SORT_SPLIT "sort/sort_split_permute.inc.h"
#define SORT_BLOCKS 8
#define SORT_RADIX phx_sort_radix_32
#define V_LOAD(p) _mm256_loadu_si256((const __m256i *)(p))
#define V_STORE(p, v) _mm256_storeu_si256((__m256i *)(p), v)
#define V_LOAD_OR_ONES(k, p) load_or_ones(k, p)
#define V_STORE_MASK(p, k, v) store_lanes(p, k, v)
#define V_SET1(x) _mm256_set1_epi32((int)(x))
/* Comparisons are signed. */
#define V_BIAS(v) _mm256_xor_si256(v, _mm256_set1_epi32((int)0x80000000))
#define V_ORDER(a, b)                               \
    do {                                            \
        const __m256i low = _mm256_min_epi32(a, b); \
        b = _mm256_max_epi32(a, b);                 \
        a = low;                                    \
    } while (0);
#define V_PICK(a, b, m) _mm256_blend_epi32(_mm256_min_epi32(a, b), _mm256_max_epi32(a, b), m)
#define V_LESS(a, b) (SORT_MASK) _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(b, a)))
#define V_PART(k, v) parted_32(k, v)
#define V_SWAP(v, x) swap_32(v, x)
#define V_ZIP_LOW(a, b) \
    ZIPPED(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b), 0x20)
#define V_ZIP_HIGH(a, b) \
    ZIPPED(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b), 0x31)
#include "sort/sort_quick.inc.h"
#include "sort/sort_part.inc.h"

#undef SORT_NAME
#undef SORT_KEY
#undef SORT_LANES
#undef SORT_BLOCKS
#undef SORT_RADIX
#undef V_LOAD_OR_ONES
#undef V_STORE_MASK
#undef V_SET1
#undef V_BIAS
#undef V_ORDER
#undef V_LESS
#undef V_PART
#undef V_PICK
#undef V_SWAP
#undef V_ZIP_LOW
#undef V_ZIP_HIGH

#define SORT_NAME(x) x##_64
#define SORT_KEY uint64_t
#define SORT_LANES 4
#define SORT_BLOCKS 4
#define SORT_RADIX phx_sort_radix_64
#define V_LOAD_OR_ONES(k, p) load_or_ones(pairs[(k) & 15], p)
#define V_STORE_MASK(p, k, v) store_lanes(p, pairs[(k) & 15], v)
#define V_SET1(x) _mm256_set1_epi64x((long long)(x))
#define V_BIAS(v) _mm256_xor_si256(v, _mm256_set1_epi64x((long long)((uint64_t)1 << 63)))
#define V_ORDER(a, b)                                        \
    do {                                                     \
        const __m256i above = _mm256_cmpgt_epi64(a, b);      \
        const __m256i low = _mm256_blendv_epi8(a, b, above); \
        b = _mm256_blendv_epi8(b, a, above);                 \
        a = low;                                             \
    } while (0);
#define V_PICK(a, b, m) pick_64(a, b, _mm256_blend_epi32(_mm256_setzero_si256(), _mm256_set1_epi32(-1), PAIRS(m)))
#define V_LESS(a, b) (SORT_MASK) _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(b, a)))
#define V_PART(k, v) parted_64(k, v)
#define V_SWAP(v, x) swap_64(v, x)
#define V_ZIP_LOW(a, b) \
    ZIPPED(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b), 0x20)
#define V_ZIP_HIGH(a, b) \
    ZIPPED(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b), 0x31)
#include "sort/sort_quick.inc.h"
#include "sort/sort_part.inc.h"

#endif
typedef int phx_sort_quick_avx2_is_optional;
