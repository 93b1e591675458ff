/* Quicksort of unsigned keys with AVX-512 for one key width; included by sort_quick.c twice.
 *
 * A task has its keys in `data` and an equally long `spare`; one of the two is `dest`, where the
 * result goes. A partition streams the lesser keys to the front of dest and the others to the front
 * of the other array; one of the two streams is in place, behind the reader. */

#define SORT_LEAF (16 * SORT_LANES)

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

#define SPLIT_FULL(v)                                \
    do {                                             \
        SORT_MASK k = V_LESS(v, p);                  \
        size_t c = (size_t)__builtin_popcount(k);    \
        V_STORE(low, V_COMPRESS(k, v));              \
        V_STORE(high, V_COMPRESS((SORT_MASK)~k, v)); \
        low += c;                                    \
        high += SORT_LANES - c;                      \
    } while (0)

/* Stream keys below the pivot to low and the others to high; returns how many were below. Either
 * may be src. */
static size_t SORT_NAME(split)(const SORT_KEY *src, SORT_KEY *low, SORT_KEY *high, size_t n,
                               SORT_KEY pivot) {
    const SORT_VEC p = V_SET1(pivot);
    const SORT_KEY *first = low;
    size_t i = 0;
    for (; i + 4 * SORT_LANES <= n; i += 4 * SORT_LANES) {
        SORT_VEC a = V_LOAD(src + i), b = V_LOAD(src + i + SORT_LANES);
        SORT_VEC c4 = V_LOAD(src + i + 2 * SORT_LANES), d = V_LOAD(src + i + 3 * SORT_LANES);
        SPLIT_FULL(a);
        SPLIT_FULL(b);
        SPLIT_FULL(c4);
        SPLIT_FULL(d);
    }
    for (; i < n; i += SORT_LANES) {
        SORT_MASK live = SORT_NAME(row_mask)(n, i);
        SORT_VEC v = V_LOAD_OR_ONES(live, src + i);
        SORT_MASK k = (SORT_MASK)(V_LESS(v, p) & live), other = (SORT_MASK)(live & ~k);
        size_t c = (size_t)__builtin_popcount(k), g = (size_t)__builtin_popcount(other);
        V_STORE_MASK(low, (SORT_MASK)((1u << c) - 1), V_COMPRESS(k, v));
        V_STORE_MASK(high, (SORT_MASK)((1u << g) - 1), V_COMPRESS(other, v));
        low += c;
        high += g;
    }
    return (size_t)(low - first);
}

/* Sort n keys; see the head of the file. After `depth` bad pivots a radix sort takes over. */
static void SORT_NAME(task)(SORT_KEY *data, SORT_KEY *spare, SORT_KEY *dest, size_t n, int depth) {
    while (n > SORT_LEAF) {
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
            SORT_NAME(task)(dest, other + (n - l), dest, l, depth);
        }
        data = other;
        dest += l;
        spare = dest;
        n -= l;
    }
    SORT_NAME(leaf)(data, dest, n);
}

void SORT_NAME(phx_sort_quick)(SORT_KEY *data, SORT_KEY *spare, SORT_KEY *dest, size_t n) {
    int depth = 8;
    for (size_t m = n; m; m >>= 1) depth += 2;
    SORT_NAME(task)(data, spare, dest, n, depth);
}

#undef SPLIT_FULL
#undef SORT_LEAF
