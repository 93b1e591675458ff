/* Ranges of addresses that memory comes and goes behind, page by page. See pool.h for the contract.
 *
 * A range is a segment whose blocks may have no memory (holes, in a list of the segment's own) or be between
 * the two (moving, in no list but the one that phx_pool_begin_unmap returns).
 */
#include "internal.h"

#include <stdlib.h>

static void hole_insert(phx_segment *range, phx_block *hole) {
    hole->prev_free = NULL;
    hole->next_free = range->holes;
    if (range->holes)
        range->holes->prev_free = hole;
    range->holes = hole;
}

static void hole_remove(phx_segment *range, phx_block *hole) {
    if (hole->next_free)
        hole->next_free->prev_free = hole->prev_free;
    *(hole->prev_free ? &hole->prev_free->next_free : &range->holes) = hole->next_free;
}

/* Makes a block that is in no list a hole, joined with those beside it. */
static void put_hole(phx_pool *pool, phx_block *block) {
    phx_segment *range = block->segment;
    phx_block *next = block->next_phys, *prev = block->prev_phys;
    if (next && block_state(next) == PHX_BLOCK_HOLE) {
        hole_remove(range, next);
        pool_join(pool, block, next);
    }
    if (prev && block_state(prev) == PHX_BLOCK_HOLE) {
        hole_remove(range, prev);
        pool_join(pool, prev, block);
        block = prev;
    }
    block_set_state(block, PHX_BLOCK_HOLE);
    hole_insert(range, block);
}

static void count_reserved(phx_pool *pool, phx_segment *range, uint64_t more, uint64_t less) {
    range->size += more - less;
    pool->streams[range->stream]->reserved += more - less;
    pool->stats.reserved += more - less;
}

static void count_usable(phx_pool *pool, phx_segment *range, uint64_t more, uint64_t less) {
    range->usable += more - less;
    pool->usable += more - less;
}

phx_pool_status phx_pool_add_range(phx_pool *pool, void *handle, uint64_t size, uint64_t page, uint32_t stream,
                                   uint64_t request) {
    if (size > PHX_POOL_MAX_SIZE)
        return PHX_POOL_TOO_LARGE;
    if (!page || page % (UINT64_C(1) << pool->shift) || !size || size % page || stream >= PHX_POOL_MAX_STREAMS)
        return PHX_POOL_BAD_ARGUMENT;
    phx_segment *range = calloc(1, sizeof *range);
    if (!range)
        return PHX_POOL_NO_HOST_MEMORY;
    range->handle = handle;
    range->page = page;
    range->extent = size;
    range->kind = pool_kind(request);
    pool_enter(pool);
    phx_pool_status status = pool_attach(pool, range, stream);
    pool_leave(pool);
    if (status != PHX_POOL_OK)
        free(range);
    return status;
}

void pool_begin_range(phx_pool *pool, phx_block *block) {
    block->size = block->segment->extent;
    put_hole(pool, block);
}

/* ---- memory comes ---- */

/* Where memory would serve a request: the least that does, at the front or the end of a hole. */
typedef struct {
    phx_block *hole;
    uint64_t need;
    bool at_end;
} opening;

static uint64_t free_beside(const phx_block *block, const phx_segment *range) {
    bool ours = block && block_state(block) == PHX_BLOCK_FREE && block->stream == range->stream;
    return ours ? block->size : 0;
}

static uint64_t pages_for(uint64_t size, uint64_t have, uint64_t page) {
    uint64_t missing = size > have ? size - have : 1;
    return (missing + page - 1) / page * page;
}

static void consider(opening *best, phx_block *hole, uint64_t size) {
    const phx_segment *range = hole->segment;
    uint64_t before = free_beside(hole->prev_phys, range), behind = free_beside(hole->next_phys, range);
    uint64_t front = pages_for(size, before, range->page), end = pages_for(size, behind, range->page);
    bool at_end = end < front;
    uint64_t need = at_end ? end : front;
    if (need > hole->size) {
        if (before + hole->size + behind < size)
            return;
        need = hole->size;
    }
    if (!best->hole || need < best->need)
        *best = (opening){hole, need, at_end};
}

static opening find_opening(const phx_pool *pool, uint64_t size, uint32_t stream) {
    opening best = {NULL, 0, false};
    for (const phx_segment *range = pool->oldest; range; range = range->next)
        if (range->page && range->stream == stream && range->kind == pool_kind(size))
            for (phx_block *hole = range->holes; hole; hole = hole->next_free)
                consider(&best, hole, size);
    return best;
}

/* Cuts `size` bytes off a hole, which may be all of it. Null if the host has no memory. */
static phx_block *cut_hole(phx_pool *pool, opening at, uint64_t size) {
    phx_block *hole = at.hole, *rest = NULL;
    if (size < hole->size && !(rest = pool_new_block(pool)))
        return NULL;
    hole_remove(hole->segment, hole);
    if (rest) {
        pool_split(hole, rest, at.at_end ? hole->size - size : size);
        phx_block *kept = at.at_end ? hole : rest;
        hole = at.at_end ? rest : hole;
        block_set_state(kept, PHX_BLOCK_HOLE);
        hole_insert(kept->segment, kept);
    }
    block_set_state(hole, PHX_BLOCK_MOVING);
    return hole;
}

static uint64_t granted(const phx_pool *pool, opening at, bool least) {
    uint64_t page = at.hole->segment->page, room = pool_room(pool) / page * page;
    uint64_t wished = least ? 0 : pool_growth(pool, at.hole->segment->stream) / page * page;
    if (wished > room)
        wished = room;
    if (wished > at.hole->size)
        wished = at.hole->size;
    return wished > at.need ? wished : at.need;
}

phx_pool_status phx_pool_begin_map(phx_pool *pool, uint64_t size, uint32_t stream, bool least, phx_block **out) {
    phx_pool_status status = PHX_POOL_OK;
    uint64_t rounded = phx_pool_round_size(pool, size);
    if (!rounded)
        return PHX_POOL_TOO_LARGE;
    pool_enter(pool);
    opening at = find_opening(pool, rounded, stream);
    if (pool->closed)
        status = PHX_POOL_CLOSED;
    else if (!at.hole)
        status = PHX_POOL_NEEDS_SEGMENT;
    else if (at.need > pool_room(pool))
        status = PHX_POOL_OVER_LIMIT;
    else if (!(*out = cut_hole(pool, at, granted(pool, at, least))))
        status = PHX_POOL_NO_HOST_MEMORY;
    else
        count_reserved(pool, at.hole->segment, (*out)->size, 0);
    pool_leave(pool);
    return status;
}

void phx_pool_end_map(phx_pool *pool, phx_block *block, bool mapped) {
    pool_enter(pool);
    if (mapped) {
        count_usable(pool, block->segment, block->size, 0);
        pool_note_reserved(pool);
        block->stream = (uint16_t)block->segment->stream;
        pool_put_free(pool, block);
    } else {
        count_reserved(pool, block->segment, 0, block->size);
        put_hole(pool, block);
    }
    pool_leave(pool);
}

/* ---- memory goes ---- */

static bool is_free(const phx_block *block) {
    return block && block_state(block) == PHX_BLOCK_FREE;
}

static void out_of_bins(phx_pool *pool, phx_block *block) {
    bin_remove(&pool->streams[block->stream]->bins[block->segment->kind], block, pool->shift);
    pool->free_blocks--;
}

/* Cuts a free block in two free ones at an offset of the segment; nothing if that is an end of it. */
static phx_block *cut_free(phx_pool *pool, phx_block *block, uint64_t offset, phx_block *rest) {
    if (offset == block->offset)
        return block;
    bin_set *bins = &pool->streams[block->stream]->bins[block->segment->kind];
    bin_remove(bins, block, pool->shift);
    pool_split(block, rest, offset - block->offset);
    block_set_state(rest, PHX_BLOCK_FREE);
    bin_insert(bins, block, pool->shift);
    bin_insert(bins, rest, pool->shift);
    pool->free_blocks++;
    return rest;
}

/* Takes the whole pages from `start` to `end` out of the free blocks, of whatever streams, that hold them: the
 * first of which is `block`. Null if the host has no memory; nothing has changed then. */
static phx_block *take_pages(phx_pool *pool, phx_block *block, uint64_t start, uint64_t end) {
    phx_block *spare[2] = {pool_new_block(pool), NULL};
    if (!spare[0] || !(spare[1] = pool_new_block(pool))) {
        if (spare[0])
            pool_drop_block(pool, spare[0]);
        return NULL;
    }
    while (block->offset + block->size <= start)
        block = block->next_phys;
    phx_block *first = cut_free(pool, block, start, spare[0]), *last = first;
    if (first != spare[0])
        pool_drop_block(pool, spare[0]);
    while (last->offset + last->size < end)
        last = last->next_phys;
    if (last->offset + last->size > end)
        cut_free(pool, last, end, spare[1]);
    else
        pool_drop_block(pool, spare[1]);
    out_of_bins(pool, first);
    while (first->offset + first->size < end) {
        out_of_bins(pool, first->next_phys);
        pool_join(pool, first, first->next_phys);
    }
    block_set_state(first, PHX_BLOCK_MOVING);
    count_usable(pool, first->segment, 0, first->size);
    count_reserved(pool, first->segment, 0, first->size);
    return first;
}

static void take_from_range(phx_pool *pool, phx_segment *range, phx_block **taken) {
    for (phx_block *block = range->first; block; block = block->next_phys) {
        if (!is_free(block))
            continue;
        phx_block *last = block;
        while (is_free(last->next_phys))
            last = last->next_phys;
        uint64_t start = (block->offset + range->page - 1) / range->page * range->page;
        uint64_t end = (last->offset + last->size) / range->page * range->page;
        phx_block *found = start < end ? take_pages(pool, block, start, end) : NULL;
        if (found) {
            found->next_free = *taken;
            *taken = found;
        }
        block = found ? found : last;
    }
}

phx_block *phx_pool_begin_unmap(phx_pool *pool) {
    phx_block *taken = NULL;
    pool_enter(pool);
    for (phx_segment *range = pool->oldest; range; range = range->next)
        if (range->page)
            take_from_range(pool, range, &taken);
    pool_leave(pool);
    return taken;
}

void phx_pool_end_unmap(phx_pool *pool, phx_block *block, bool unmapped) {
    pool_enter(pool);
    if (unmapped) {
        put_hole(pool, block);
    } else {
        count_usable(pool, block->segment, block->size, 0);
        count_reserved(pool, block->segment, block->size, 0);
        block->stream = (uint16_t)block->segment->stream;
        pool_hold(pool, block);
    }
    pool_leave(pool);
}
