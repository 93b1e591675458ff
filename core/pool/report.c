/* Segments of a pool, its limit, and what it tells about itself. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

#define SEGMENT_STEP (UINT64_C(2) << 20)  /* the page of most GPU drivers */
#define SEGMENT_SHARED (UINT64_C(32) << 20) /* largest segment for many requests */
#define SEGMENT_EXCLUSIVE (UINT64_C(16) << 20) /* from here on one request is one segment */
#define SEGMENT_GROWTH 8                    /* part of a stream's reserved memory that may be new */

static inline uint64_t smaller(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Shared segments grow with what the stream has: driver calls become rare, at most 1/8 of the memory lies
 * idle in the newest of them, and a hundred streams of a few bytes do not get what one large one would.
 * A large request has its segment to itself, so that it can be given back to the driver alone. */
uint64_t pool_growth(const phx_pool *pool, uint32_t number) {
    const pool_stream *stream = pool_find_stream(pool, number);
    return smaller(stream ? stream->reserved / SEGMENT_GROWTH : 0, SEGMENT_SHARED) & ~(SEGMENT_STEP - 1);
}

static uint64_t wished_segment(const phx_pool *pool, uint64_t rounded, uint32_t number) {
    uint64_t own = (rounded + SEGMENT_STEP - 1) & ~(SEGMENT_STEP - 1);
    uint64_t shared = pool_growth(pool, number);
    return rounded < SEGMENT_EXCLUSIVE && shared > own ? shared : own;
}

uint64_t pool_room(const phx_pool *pool) {
    const phx_pool_stats *stats = &pool->stats;
    if (!stats->limit)
        return PHX_POOL_MAX_SIZE;
    return stats->limit > stats->reserved ? stats->limit - stats->reserved : 0;
}

uint64_t phx_pool_segment_size(phx_pool *pool, uint64_t size, uint32_t stream) {
    uint64_t rounded = phx_pool_round_size(pool, size);
    if (!rounded)
        return 0;
    pool_lock(pool);
    uint64_t room = smaller(pool_room(pool), PHX_POOL_MAX_SIZE) >> pool->shift
                                                                       << pool->shift;
    uint64_t wished = wished_segment(pool, rounded, stream);
    pool_leave(pool);
    if (wished > room && room >= SEGMENT_STEP)
        room &= ~(SEGMENT_STEP - 1);
    uint64_t granted = smaller(wished, room);
    return granted >= rounded ? granted : rounded <= room ? rounded
                                                          : 0;
}

/* ---- segments ---- */

phx_pool_status pool_attach(phx_pool *pool, phx_segment *segment, uint32_t stream) {
    if (pool->closed)
        return PHX_POOL_CLOSED;
    if (segment->size > pool_room(pool))
        return PHX_POOL_OVER_LIMIT;
    phx_block *block;
    if ((!pool_find_stream(pool, stream) && !pool_make_stream(pool, stream)) ||
        !(block = pool_new_block(pool)))
        return PHX_POOL_NO_HOST_MEMORY;
    block->size = segment->usable;
    block->offset = 0;
    block->handle = segment->handle;
    block->segment = segment;
    block->stream = (uint16_t)stream;
    block->next_phys = block->prev_phys = NULL;
    segment->first = block;
    segment->stream = stream;
    pool->streams[stream]->reserved += segment->size;
    segment->id = pool->next_segment_id++;
    segment->prev = pool->newest;
    *(pool->newest ? &pool->newest->next : &pool->oldest) = segment;
    pool->newest = segment;
    pool->usable += segment->usable;
    pool->stats.segments++;
    pool->stats.segments_added++;
    pool->stats.reserved += segment->size;
    pool_note_reserved(pool);
    if (segment->page)
        pool_begin_range(pool, block);
    else
        pool_put_free(pool, block);
    return PHX_POOL_OK;
}

phx_pool_status phx_pool_add_segment(phx_pool *pool, void *handle, uint64_t size, uint32_t stream,
                                     uint64_t request) {
    uint64_t usable = size >> pool->shift << pool->shift;
    if (size > PHX_POOL_MAX_SIZE)
        return PHX_POOL_TOO_LARGE;
    if (!usable || stream >= PHX_POOL_MAX_STREAMS)
        return PHX_POOL_BAD_ARGUMENT;
    phx_segment *segment = calloc(1, sizeof *segment);
    if (!segment)
        return PHX_POOL_NO_HOST_MEMORY;
    segment->handle = handle;
    segment->size = size;
    segment->usable = usable;
    segment->kind = pool_kind(request);
    pool_enter(pool);
    phx_pool_status status = pool_attach(pool, segment, stream);
    pool_leave(pool);
    if (status != PHX_POOL_OK)
        free(segment);
    return status;
}

static void describe(const phx_segment *segment, phx_segment_info *out) {
    memset(out, 0, sizeof *out);
    out->handle = segment->handle;
    out->size = segment->size;
    out->extent = segment->extent;
    out->allocated = segment->live;
    out->id = segment->id;
    out->stream = segment->first->stream;
    out->small = segment->kind == KIND_SMALL;
    for (const phx_block *block = segment->first; block; block = block->next_phys) {
        out->blocks++;
        out->mixed |= block->stream != out->stream;
    }
}

static void detach(phx_pool *pool, phx_segment *segment) {
    for (phx_block *block = segment->first, *next; block; block = next) {
        next = block->next_phys;
        if (block_state(block) == PHX_BLOCK_FREE) {
            bin_remove(&pool->streams[block->stream]->bins[segment->kind], block, pool->shift);
            pool->free_blocks--;
        }
        pool_drop_block(pool, block);
    }
    *(segment->prev ? &segment->prev->next : &pool->oldest) = segment->next;
    *(segment->next ? &segment->next->prev : &pool->newest) = segment->prev;
    pool->streams[segment->stream]->reserved -= segment->size;
    pool->usable -= segment->usable;
    pool->stats.segments--;
    pool->stats.reserved -= segment->size;
}

static bool is_hole(const phx_segment *range) {
    return block_state(range->first) == PHX_BLOCK_HOLE && !range->first->next_phys;
}

static int take_segment(phx_pool *pool, bool range, phx_segment_info *out) {
    pool_enter(pool);
    phx_segment *segment = pool->oldest;
    while (segment && (range != (segment->page != 0) || (range ? !is_hole(segment) : segment->live > 0)))
        segment = segment->next;
    if (segment) {
        describe(segment, out);
        detach(pool, segment);
    }
    pool_leave(pool);
    free(segment);
    return segment != NULL;
}

int phx_pool_take_empty_segment(phx_pool *pool, phx_segment_info *out) {
    return take_segment(pool, false, out);
}

int phx_pool_take_empty_range(phx_pool *pool, phx_segment_info *out) {
    return take_segment(pool, true, out);
}

void phx_pool_set_limit(phx_pool *pool, uint64_t limit) {
    pool_lock(pool);
    pool->stats.limit = limit;
    pool_leave(pool);
}

/* ---- reports ---- */

void phx_pool_note_retry(phx_pool *pool) {
    pool_lock(pool);
    pool->stats.retries++;
    pool_leave(pool);
}

void phx_pool_note_oom(phx_pool *pool) {
    pool_lock(pool);
    pool->stats.ooms++;
    pool_leave(pool);
}

static uint64_t largest_free(const phx_pool *pool) {
    uint64_t largest = 0;
    for (uint32_t i = 0; i < pool->n_streams; i++)
        for (int kind = 0; pool->streams[i] && kind < KINDS; kind++) {
            uint64_t here = bin_largest(&pool->streams[i]->bins[kind]);
            if (here > largest)
                largest = here;
        }
    return largest;
}

void phx_pool_get_stats(phx_pool *pool, phx_pool_stats *out) {
    pool_enter(pool);
    *out = pool->stats;
    out->pending = phx_pool_pending_bytes(pool);
    out->free = pool->usable - out->allocated - out->pending;
    out->largest_free = largest_free(pool);
    out->queued_frees = atomic_load_explicit(&pool->queued_frees, memory_order_relaxed);
    out->pending_blocks = pool->pending_blocks;
    out->free_blocks = pool->free_blocks;
    pool_leave(pool);
    out->fragmentation = out->free ? 1.0 - (double)out->largest_free / (double)out->free : 0.0;
}

void phx_pool_reset_peaks(phx_pool *pool) {
    pool_enter(pool);
    phx_pool_stats *stats = &pool->stats;
    stats->requested_peak = stats->requested;
    stats->allocated_peak = stats->allocated;
    stats->reserved_peak = stats->reserved;
    pool_leave(pool);
}

uint64_t phx_pool_segments(phx_pool *pool, phx_segment_info *out, uint64_t n) {
    uint64_t count = 0;
    pool_enter(pool);
    for (const phx_segment *segment = pool->oldest; segment; segment = segment->next, count++)
        if (count < n)
            describe(segment, &out[count]);
    pool_leave(pool);
    return count;
}

uint64_t phx_pool_snapshot(phx_pool *pool, phx_block_info *out, uint64_t n) {
    uint64_t count = 0;
    pool_enter(pool);
    for (const phx_segment *segment = pool->oldest; segment; segment = segment->next)
        for (const phx_block *block = segment->first; block; block = block->next_phys) {
            uint32_t state = block_state(block);
            if (state == PHX_BLOCK_HOLE || state == PHX_BLOCK_MOVING || count++ >= n)
                continue;
            out[count - 1] =
                (phx_block_info){.handle = segment->handle,
                                 .segment = segment->id,
                                 .offset = block->offset,
                                 .size = block->size,
                                 .requested = state == PHX_BLOCK_FREE ? 0 : block->requested,
                                 .stream = block->stream,
                                 .state = state};
        }
    pool_leave(pool);
    return count;
}
