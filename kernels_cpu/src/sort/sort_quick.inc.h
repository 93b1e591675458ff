/* Quicksort of unsigned keys in vectors for one key width; sort_quick.c includes it with AVX-512,
 * sort_quick_avx2.c with AVX2, twice each.
 *
 * A task has its keys in `data` and an equally long `spare`; one of the two is `dest`, where the
 * result goes. A partition streams the lesser keys to the front of dest and the others to the other array; one of
 * the two streams is in place, behind the reader. The l lesser of n keys leave a gap of l places there, which begins
 * at SPARE_AT(l, n), and the others begin at HIGH_AT(l). From SORT_BLOCKS blocks of 16 registers on, a power of two above
 * one, a partition is faster than merges. */

#define SORT_LEAF (16 * SORT_LANES)
#define SORT_MERGED (SORT_BLOCKS * SORT_LEAF)

#include "sort/sort_network.inc.h"

/* The median of a sample; the places are spread evenly with a jitter against periodic data. */
static SORT_KEY SORT_NAME(pivot)(const SORT_KEY *data, size_t n) {
    SORT_KEY sample[256];
    size_t count = n < 2048 ? 16 : n < 32768 ? 64
                                             : SORT_LEAF;
    size_t step = n / count;
    uint32_t jitter = (uint32_t)n * 2654435769u;
    for (size_t i = 0; i < count; i++) {
        sample[i] = data[i * step + (((uint64_t)jitter * step) >> 32)];
        jitter = jitter * 1664525u + 1013904223u;
    }
    SORT_NAME(leaf)(sample, sample, count);
    return sample[count / 2];
}

#include SORT_SPLIT

/* Sort n keys; see the head of the file. After `depth` bad pivots a radix sort takes over. */
static void SORT_NAME(task)(SORT_KEY *data, SORT_KEY *spare, SORT_KEY *dest, size_t n, int depth) {
    while (n > SORT_MERGED) {
        SORT_KEY *src = data, *other = data == dest ? spare : data;
        if (depth-- == 0) {
            SORT_RADIX(data, spare, dest, n, 0);
            return;
        }
        SORT_KEY pivot = SORT_NAME(pivot)(src, n);
        size_t l = SORT_NAME(split)(src, dest, other, n, pivot);
        if (l == 0) { /* the pivot is the minimum: take out all keys equal to it */
            if (pivot == (SORT_KEY)-1) {
                for (size_t i = 0; i < n; i++) dest[i] = pivot;
                return;
            }
            l = SORT_NAME(split)(other, dest, other, n, (SORT_KEY)(pivot + 1));
        } else {
            SORT_NAME(task)(dest, other + SPARE_AT(l, n), dest, l, depth);
        }
        data = other + HIGH_AT(l);
        dest += l;
        spare = dest;
        n -= l;
    }
    if (n <= SORT_LEAF)
        SORT_NAME(leaf)(data, dest, n);
    else
        SORT_NAME(merged)(data, dest, n);
}

void SORT_NAME(phx_sort_quick)(SORT_KEY *data, SORT_KEY *spare, SORT_KEY *dest, size_t n) {
    int depth = 8;
    for (size_t m = n; m; m >>= 1) depth += 2;
    SORT_NAME(task)(data, spare, dest, n, depth);
}

#undef HIGH_AT
#undef SPARE_AT
#undef SORT_MERGED
#undef SORT_LEAF
