/* Large rows of codes of 32 and 64 bits in buckets. */
#include "runtime/parallel.h"
#include "sort/sort_internal.h"

#include <stdlib.h>
#include <string.h>

#ifdef __AVX512F__
#include <immintrin.h>
#endif

/* AVX-512 has the tree of splitters in registers. */
#if defined(__AVX2__) && !defined(__AVX512F__)
#define SORT_PARTS 1
#else
#define SORT_PARTS 0
#endif
#define SORT_BUCKET 4096 /* wanted codes in a bucket */
#define SORT_SAMPLE 16   /* sampled codes per bucket */

#define SORT_NAME(x) x##_32
#define SORT_KEY uint32_t
#define SORT_MASK __mmask16
#define SORT_LEVELS_MIN 5
#define SORT_LEVELS_MAX 6
#define SORT_LOAD phx_sort_load_32
#if SORT_PARTS
#define SORT_PART phx_sort_part_32
#endif
#define SORT_STORE phx_sort_store_32
#define V_LOG 4
#define V_SET1(x) _mm512_set1_epi32(x)
#define V_GE(a, b) _mm512_cmpge_epu32_mask(a, b)
#define V_ADD(a, b) _mm512_add_epi32(a, b)
#define V_MASK_ADD(a, k, b, c) _mm512_mask_add_epi32(a, k, b, c)
#define V_PERM(i, t) _mm512_permutexvar_epi32(i, t)
#define V_PERM2(a, i, b) _mm512_permutex2var_epi32(a, i, b)
#define V_TEST(a, b) _mm512_test_epi32_mask(a, b)
#define V_BLEND(k, a, b) _mm512_mask_blend_epi32(k, a, b)
#define V_STORE_BYTES(p, v) _mm_storeu_si128((__m128i *)(p), _mm512_cvtepi32_epi8(v))
#include "sort/sort_bucket.inc.h"

#undef SORT_NAME
#undef SORT_KEY
#undef SORT_MASK
#undef SORT_LEVELS_MIN
#undef SORT_LEVELS_MAX
#undef SORT_LOAD
#undef SORT_PART
#undef SORT_STORE
#undef V_LOG
#undef V_SET1
#undef V_GE
#undef V_ADD
#undef V_MASK_ADD
#undef V_PERM
#undef V_PERM2
#undef V_TEST
#undef V_BLEND
#undef V_STORE_BYTES

#define SORT_NAME(x) x##_64
#define SORT_KEY uint64_t
#define SORT_MASK __mmask8
#define SORT_LEVELS_MIN 4
#define SORT_LEVELS_MAX 6
#define SORT_LOAD phx_sort_load_64
#if SORT_PARTS
#define SORT_PART phx_sort_part_64
#endif
#define SORT_STORE phx_sort_store_64
#define V_LOG 3
#define V_SET1(x) _mm512_set1_epi64(x)
#define V_GE(a, b) _mm512_cmpge_epu64_mask(a, b)
#define V_ADD(a, b) _mm512_add_epi64(a, b)
#define V_MASK_ADD(a, k, b, c) _mm512_mask_add_epi64(a, k, b, c)
#define V_PERM(i, t) _mm512_permutexvar_epi64(i, t)
#define V_PERM2(a, i, b) _mm512_permutex2var_epi64(a, i, b)
#define V_TEST(a, b) _mm512_test_epi64_mask(a, b)
#define V_BLEND(k, a, b) _mm512_mask_blend_epi64(k, a, b)
#define V_STORE_BYTES(p, v) _mm_storel_epi64((__m128i *)(p), _mm512_cvtepi64_epi8(v))
#include "sort/sort_bucket.inc.h"
