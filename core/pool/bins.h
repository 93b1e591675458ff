/* Two-level segregated lists of free blocks (Masmano et al. 2004), one set per stream and kind of
 * segment.
 *
 * Sizes are counted in granules, the pool's alignment. The first level is the power of two, the
 * second divides it into 32 equal steps, so that two sizes of one list differ by at most 1/32;
 * below 32 granules each size has its own list. One bitmap per level finds the next filled list
 * with two instructions.
 */
#ifndef PHALANX_POOL_BINS_H_
#define PHALANX_POOL_BINS_H_

#include <stddef.h>

#include "pool.h"

#define BIN_SL_BITS 5
#define BIN_SL (1u << BIN_SL_BITS)
#define BIN_FL 40u /* 2^47 bytes in granules of 64 bytes need 38 */
#define BIN_PEEK \
    4 /* entries of the request's own list that are looked at before a larger list is split */

typedef struct {
    uint64_t fl_map;
    uint32_t sl_map[BIN_FL];
    phx_block *head[BIN_FL][BIN_SL];
} bin_set;

typedef struct {
    uint32_t fl, sl;
} bin_index;

static inline bin_index bin_of(uint64_t granules) {
    if (granules < BIN_SL)
        return (bin_index){0, (uint32_t)granules};
    uint32_t top = 63u - (uint32_t)__builtin_clzll(granules);
    return (bin_index){top - BIN_SL_BITS + 1,
                       (uint32_t)(granules >> (top - BIN_SL_BITS)) & (BIN_SL - 1)};
}

static inline void bin_insert(bin_set *bins, phx_block *block, uint32_t shift) {
    bin_index at = bin_of(block->size >> shift);
    phx_block *head = bins->head[at.fl][at.sl];
    block->prev_free = NULL;
    block->next_free = head;
    if (head)
        head->prev_free = block;
    bins->head[at.fl][at.sl] = block;
    bins->sl_map[at.fl] |= 1u << at.sl;
    bins->fl_map |= UINT64_C(1) << at.fl;
}

static inline void bin_remove(bin_set *bins, phx_block *block, uint32_t shift) {
    phx_block *next = block->next_free, *prev = block->prev_free;
    if (next)
        next->prev_free = prev;
    if (prev) {
        prev->next_free = next;
        return;
    }
    bin_index at = bin_of(block->size >> shift);
    bins->head[at.fl][at.sl] = next;
    if (!next && !(bins->sl_map[at.fl] &= ~(1u << at.sl)))
        bins->fl_map &= ~(UINT64_C(1) << at.fl);
}

/* The first block of the smallest filled list above `at`, or null. */
static inline phx_block *bin_first_above(const bin_set *bins, bin_index at) {
    uint32_t sl_map = bins->sl_map[at.fl] & (UINT32_MAX << at.sl << 1);
    if (!sl_map) {
        uint64_t fl_map = bins->fl_map & (UINT64_MAX << at.fl << 1);
        if (!fl_map)
            return NULL;
        at.fl = (uint32_t)__builtin_ctzll(fl_map);
        sl_map = bins->sl_map[at.fl];
    }
    return bins->head[at.fl][__builtin_ctz(sl_map)];
}

/* A free block of at least `size` bytes, or null; the block stays in its list.
 *
 * Textbook TLSF rounds the request up to the next list and so misses a block of just the size that
 * was freed a moment ago. Here the head of the request's own list is looked at first, which makes
 * reuse exact, and the whole of that list before giving up, since a new segment costs far more than
 * the walk. */
static inline phx_block *bin_find(const bin_set *bins, uint64_t size, uint32_t shift) {
    bin_index at = bin_of(size >> shift);
    phx_block *own = bins->head[at.fl][at.sl];
    for (int i = 0; own && i < BIN_PEEK; i++, own = own->next_free)
        if (own->size >= size)
            return own;
    phx_block *found = bin_first_above(bins, at);
    if (found)
        return found;
    while (own && own->size < size)
        own = own->next_free;
    return own;
}

/* Bytes of the largest block, 0 if there is none. */
static inline uint64_t bin_largest(const bin_set *bins) {
    if (!bins->fl_map)
        return 0;
    uint32_t fl = 63u - (uint32_t)__builtin_clzll(bins->fl_map);
    uint32_t sl = 31u - (uint32_t)__builtin_clz(bins->sl_map[fl]);
    uint64_t largest = 0;
    for (const phx_block *block = bins->head[fl][sl]; block; block = block->next_free)
        if (block->size > largest)
            largest = block->size;
    return largest;
}

#endif
