/* Quicksort of unsigned keys of 32 and 64 bits with AVX-512. */
#include "sort/sort_internal.h"

#ifdef __AVX512F__
#include <immintrin.h>
#include <string.h>

#define SORT_NAME(x) x##_32
#define SORT_KEY uint32_t
#define SORT_LANES 16
#define SORT_MASK __mmask16
#define SORT_VEC __m512i
#define SORT_SPLIT "sort/sort_split_compress.inc.h"
#define SORT_BLOCKS 4
#define SORT_RADIX phx_sort_radix_32
#define V_LOAD(p) _mm512_loadu_si512(p)
#define V_STORE(p, v) _mm512_storeu_si512(p, v)
#define V_LOAD_OR_ONES(k, p) _mm512_mask_loadu_epi32(_mm512_set1_epi32(-1), k, p)
#define V_STORE_MASK(p, k, v) _mm512_mask_storeu_epi32(p, k, v)
#define V_SET1(x) _mm512_set1_epi32((int)(x))
#define V_MIN(a, b) _mm512_min_epu32(a, b)
#define V_LESS(a, b) _mm512_cmplt_epu32_mask(a, b)
#define V_COMPRESS(k, v) _mm512_maskz_compress_epi32(k, v)
#define V_BIAS(v) (v)
/* The larger of two keys is a ^ b ^ min(a, b): the minimum runs on one port and xor on two. */
#define V_ORDER(a, b)                                   \
    do {                                                \
        SORT_VEC low = V_MIN(a, b);                     \
        b = _mm512_ternarylogic_epi32(a, b, low, 0x96); \
        a = low;                                        \
    } while (0);
#define V_PICK(a, b, k) _mm512_mask_ternarylogic_epi32(V_MIN(a, b), k, a, b, 0x96)
#define V_IOTA _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#define V_SWAP(v, x) _mm512_permutexvar_epi32(_mm512_xor_si512(V_IOTA, _mm512_set1_epi32(x)), v)
#define V_ZIP_LOW(a, b)        \
    _mm512_permutex2var_epi32( \
        a, _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23), b)
#define V_ZIP_HIGH(a, b)       \
    _mm512_permutex2var_epi32( \
        a, _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31), b)
#include "sort/sort_quick.inc.h"

#undef SORT_NAME
#undef SORT_KEY
#undef SORT_LANES
#undef SORT_MASK
#undef SORT_RADIX
#undef V_LOAD_OR_ONES
#undef V_STORE_MASK
#undef V_SET1
#undef V_MIN
#undef V_LESS
#undef V_COMPRESS
#undef V_IOTA
#undef V_SWAP
#undef V_ZIP_LOW
#undef V_ZIP_HIGH
#undef V_PICK

#define SORT_NAME(x) x##_64
#define SORT_KEY uint64_t
#define SORT_LANES 8
#define SORT_MASK __mmask8
#define SORT_RADIX phx_sort_radix_64
#define V_LOAD_OR_ONES(k, p) _mm512_mask_loadu_epi64(_mm512_set1_epi64(-1), k, p)
#define V_STORE_MASK(p, k, v) _mm512_mask_storeu_epi64(p, k, v)
#define V_SET1(x) _mm512_set1_epi64((long long)(x))
#define V_MIN(a, b) _mm512_min_epu64(a, b)
#define V_LESS(a, b) _mm512_cmplt_epu64_mask(a, b)
#define V_COMPRESS(k, v) _mm512_maskz_compress_epi64(k, v)
#define V_PICK(a, b, k) _mm512_mask_ternarylogic_epi64(V_MIN(a, b), k, a, b, 0x96)
#define V_IOTA _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7)
#define V_SWAP(v, x) _mm512_permutexvar_epi64(_mm512_xor_si512(V_IOTA, _mm512_set1_epi64(x)), v)
#define V_ZIP_LOW(a, b) _mm512_permutex2var_epi64(a, _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), b)
#define V_ZIP_HIGH(a, b) \
    _mm512_permutex2var_epi64(a, _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15), b)
#include "sort/sort_quick.inc.h"

#endif
typedef int phx_sort_quick_is_optional;
