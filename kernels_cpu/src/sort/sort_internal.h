/* What the files of the sort kernels share: rows, keys, and the sorts of keys. */
#ifndef PHX_CPU_SORT_INTERNAL_H_
#define PHX_CPU_SORT_INTERNAL_H_

#include <stddef.h>
#include <stdint.h>

#include "elementwise/dialect.h"

#include "order.h"

#define SORT_BLOCK 256 /* elements that are encoded at a time */

/* How the elements of a row become unsigned keys in the wanted order: (phx_order(x) ^ sign) ^ flip, with the
 * masks of core/scalar/order.h in the element's width. */
typedef struct {
    uint64_t magnitude, infinite, one_zero;
    uint64_t sign; /* the sign bit of signed types, 0 otherwise */
    uint64_t flip; /* all ones for descending order, in which NaN comes first */
    int width;     /* bytes of an element: 1, 2, 4, 8 */
    int is_float;
} sort_order;

/* One row to sort. For argsort a key is the code's upper part and the place the lower `index_bits`.
 */
typedef struct {
    sort_order order;
    const char *x;
    int64_t x_stride; /* bytes */
    char *out;
    int64_t out_stride; /* bytes */
    size_t n;
    int index_bits; /* 0: sort */
    int up,
        down; /* code = (key << up >> down) above the index; the rest of the key is refined later */
    int rest; /* lower bits of the key that the code does not hold */
} sort_row;

/* Keys or codes of the elements [first, first + count) of a row. */
void phx_sort_load_32(const sort_row *row, uint32_t *codes, size_t first, size_t count);
void phx_sort_load_64(const sort_row *row, uint64_t *codes, size_t first, size_t count);
/* Write sorted codes to the places [first, first + count) of the output; codes may lie in the
 * output. */
void phx_sort_store_32(const sort_row *row, const uint32_t *codes, size_t first, size_t count);
void phx_sort_store_64(const sort_row *row, const uint64_t *codes, size_t first, size_t count);
/* The key of one element, with all its bits. */
uint64_t phx_sort_key(const sort_row *row, size_t place);
/* Give NaNs, which share one key, their own bits back, in the order of the input. */
void phx_sort_restore_nans(const sort_row *row);

/* Sort n codes by the bits from `low` up, stable; data or spare is dest. */
void phx_sort_radix_32(uint32_t *data, uint32_t *spare, uint32_t *dest, size_t n, int low);
void phx_sort_radix_64(uint64_t *data, uint64_t *spare, uint64_t *dest, size_t n, int low);

/* AVX2 and AVX-512 only. Sort n codes; data or spare, of n places each, is dest. */
void phx_sort_quick_32(uint32_t *data, uint32_t *spare, uint32_t *dest, size_t n);
void phx_sort_quick_64(uint64_t *data, uint64_t *spare, uint64_t *dest, size_t n);
/* AVX2 only. Bring n codes, which are lost, to parts in the order of 1 << levels buckets, and write how many each has;
 * the splitters are a tree by levels from index 1. */
void phx_sort_part_32(uint32_t *codes, uint32_t *parts, size_t n, const uint32_t *tree, int levels, size_t *counts);
void phx_sort_part_64(uint64_t *codes, uint64_t *parts, size_t n, const uint64_t *tree, int levels, size_t *counts);
/* Scratch memory, in huge pages if it is large; NULL if there is none. Free with free(). */
void *phx_sort_scratch(size_t bytes);

/* Sort a whole row; returns 0, or -1 if there is no memory. */
int phx_sort_row_32(const sort_row *row);
int phx_sort_row_64(const sort_row *row);
/* The same for large rows, in buckets; codes has n places, which may be the output's. */
int phx_sort_buckets_32(const sort_row *row, uint32_t *codes);
int phx_sort_buckets_64(const sort_row *row, uint64_t *codes);
/* Sort a row of elements of 1 or 2 bytes by counting; returns like phx_sort_row_32. */
int phx_sort_count(const sort_row *row);
/* Put runs of equal codes in the order of the keys' remaining bits. */
void phx_sort_refine(const sort_row *row, uint64_t *codes, uint64_t *spare, size_t n, int rest);

static inline void phx_sort_codes_32(uint32_t *dest, uint32_t *spare, size_t n, int low) {
#ifdef __AVX2__
    (void)low;
    phx_sort_quick_32(dest, spare, dest, n);
#else
    phx_sort_radix_32(dest, spare, dest, n, low);
#endif
}

static inline void phx_sort_codes_64(uint64_t *dest, uint64_t *spare, size_t n, int low) {
#ifdef __AVX2__
    (void)low;
    phx_sort_quick_64(dest, spare, dest, n);
#else
    phx_sort_radix_64(dest, spare, dest, n, low);
#endif
}

#endif
