/* Streams of a pool: how far they are, which blocks wait for them, and moving blocks between them.
 */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

#define SORT_STEPS 8 /* blocks that a pending block may overtake when it is put in order */

pool_stream *pool_make_stream(phx_pool *pool, uint32_t number) {
    if (number >= pool->n_streams) {
        uint32_t n = pool->n_streams ? pool->n_streams : 8;
        while (n <= number)
            n *= 2;
        pool_stream **streams = realloc(pool->streams, n * sizeof *streams);
        if (!streams)
            return NULL;
        memset(streams + pool->n_streams, 0, (n - pool->n_streams) * sizeof *streams);
        pool->streams = streams;
        pool->n_streams = n;
    }
    if (!pool->streams[number])
        pool->streams[number] = calloc(1, sizeof(pool_stream));
    return pool->streams[number];
}

/* ---- pending blocks ---- */

static inline uint64_t last_seq(const phx_block *block) {
    return block->wait_seq[block->n_waits - 1];
}

static void pending_insert_after(pending_list *list, phx_block *before, phx_block *block) {
    phx_block *after = before ? before->next_free : list->head;
    block->prev_free = before;
    block->next_free = after;
    *(before ? &before->next_free : &list->head) = block;
    *(after ? &after->prev_free : &list->tail) = block;
}

static void pending_remove(pending_list *list, phx_block *block) {
    *(block->prev_free ? &block->prev_free->next_free : &list->head) = block->next_free;
    *(block->next_free ? &block->next_free->prev_free : &list->tail) = block->prev_free;
}

static void begin_pending(phx_pool *pool, phx_block *block) {
    if (block_state(block) == PHX_BLOCK_PENDING)
        return;
    block_set_state(block, PHX_BLOCK_PENDING);
    atomic_fetch_add_explicit(&pool->pending_bytes, block->size, memory_order_relaxed);
    pool->pending_blocks++;
}

static void end_pending(phx_pool *pool, phx_block *block) {
    if (block_state(block) == PHX_BLOCK_PENDING) {
        atomic_fetch_sub_explicit(&pool->pending_bytes, block->size, memory_order_relaxed);
        pool->pending_blocks--;
    }
    pool_release(pool, block);
}

static void wait_for_device(phx_pool *pool, phx_block *block) {
    block->n_waits = WAITS_FOR_DEVICE;
    begin_pending(pool, block);
    pending_insert_after(&pool->pending_device, pool->pending_device.tail, block);
}

/* Blocks mostly come in the order of their seq, so a few steps back keep the list sorted; where
 * they do not suffice, a block behind a later one waits longer than it must. */
static void wait_for_stream(phx_pool *pool, pool_stream *stream, phx_block *block) {
    phx_block *before = stream->pending.tail;
    for (int i = 0; i < SORT_STEPS && before && last_seq(before) > last_seq(block); i++)
        before = before->prev_free;
    begin_pending(pool, block);
    pending_insert_after(&stream->pending, before, block);
}

void pool_settle(phx_pool *pool, phx_block *block) {
    if (block->stamp <= pool->synced_epoch)
        block->n_waits = 0;
    else if (block->n_waits == WAITS_FOR_DEVICE) {
        wait_for_device(pool, block);
        return;
    }
    for (; block->n_waits; block->n_waits--) {
        pool_stream *stream = pool_find_stream(pool, block->wait_stream[block->n_waits - 1]);
        if (!stream) {
            wait_for_device(pool, block);
            return;
        }
        if (stream->completed < last_seq(block)) {
            wait_for_stream(pool, stream, block);
            return;
        }
    }
    end_pending(pool, block);
}

/* ---- progress ---- */

static phx_pool_status advance(phx_pool *pool, uint32_t number, uint64_t seq) {
    if (number >= PHX_POOL_MAX_STREAMS)
        return PHX_POOL_BAD_ARGUMENT;
    pool_stream *stream = pool_find_stream(pool, number);
    if (!stream && !(stream = pool_make_stream(pool, number)))
        return PHX_POOL_NO_HOST_MEMORY;
    if (seq > stream->completed)
        stream->completed = seq;
    phx_block *block;
    while ((block = stream->pending.head) && last_seq(block) <= stream->completed) {
        pending_remove(&stream->pending, block);
        pool_settle(pool, block);
    }
    return PHX_POOL_OK;
}

phx_pool_status phx_pool_set_completed_many(phx_pool *pool, uint32_t n, const phx_wait *passed) {
    phx_pool_status status = PHX_POOL_OK;
    pool_enter(pool);
    for (uint32_t i = 0; i < n && status == PHX_POOL_OK; i++)
        status = advance(pool, passed[i].stream, passed[i].seq);
    pool_leave(pool);
    return status;
}

phx_pool_status phx_pool_set_completed(phx_pool *pool, uint32_t stream, uint64_t seq) {
    phx_wait passed = {seq, stream};
    return phx_pool_set_completed_many(pool, 1, &passed);
}

phx_pool_status phx_pool_add_stream(phx_pool *pool, uint32_t stream) {
    return phx_pool_set_completed(pool, stream, 0);
}

/* A block's stamp is the epoch in which it was given back. Whatever was given back before begin has
 * an epoch of at most the ticket, and its work is among what the caller then waits for. */
uint64_t phx_pool_sync_begin(phx_pool *pool) {
    return atomic_fetch_add(&pool->epoch, 1);
}

static void flush_stamped(phx_pool *pool, pending_list *list) {
    for (phx_block *block = list->head, *next; block; block = next) {
        next = block->next_free;
        if (block->stamp <= pool->synced_epoch) {
            pending_remove(list, block);
            end_pending(pool, block);
        }
    }
}

void phx_pool_sync_end(phx_pool *pool, uint64_t ticket) {
    pool_enter(pool);
    if (ticket > pool->synced_epoch && ticket < atomic_load(&pool->epoch))
        pool->synced_epoch = ticket;
    flush_stamped(pool, &pool->pending_device);
    for (uint32_t i = 0; i < pool->n_streams; i++)
        if (pool->streams[i])
            flush_stamped(pool, &pool->streams[i]->pending);
    pool_leave(pool);
}

uint64_t phx_pool_pending_bytes(const phx_pool *pool) {
    return atomic_load_explicit(&pool->pending_bytes, memory_order_relaxed);
}

/* ---- blocks of other streams ---- */

static uint64_t adopt_bins(phx_pool *pool, bin_set *bins, uint32_t to) {
    uint64_t moved = 0;
    while (bins->fl_map) {
        uint32_t fl = (uint32_t)__builtin_ctzll(bins->fl_map);
        phx_block *block = bins->head[fl][__builtin_ctz(bins->sl_map[fl])];
        bin_remove(bins, block, pool->shift);
        pool->free_blocks--;
        moved += block->size;
        block->stream = (uint16_t)to;
        pool_put_free(pool, block);
    }
    return moved;
}

void pool_hold(phx_pool *pool, phx_block *block) {
    block->segment->live += block->size; /* so that nobody takes the segment away */
    block->requested = 0;
    block->stamp = atomic_load(&pool->epoch);
    wait_for_device(pool, block);
}

static void take_bins(phx_pool *pool, bin_set *bins, uint32_t to) {
    while (bins->fl_map) {
        uint32_t fl = (uint32_t)__builtin_ctzll(bins->fl_map);
        phx_block *block = bins->head[fl][__builtin_ctz(bins->sl_map[fl])];
        bin_remove(bins, block, pool->shift);
        pool->free_blocks--;
        block->stream = (uint16_t)to;
        pool_hold(pool, block);
    }
}

phx_pool_status phx_pool_take_free(phx_pool *pool, uint32_t to) {
    phx_pool_status status = PHX_POOL_OK;
    if (to >= PHX_POOL_MAX_STREAMS)
        return PHX_POOL_BAD_ARGUMENT;
    pool_enter(pool);
    if (!pool_find_stream(pool, to) && !pool_make_stream(pool, to))
        status = PHX_POOL_NO_HOST_MEMORY;
    for (uint32_t i = 0; status == PHX_POOL_OK && i < pool->n_streams; i++)
        if (pool->streams[i] && i != to)
            for (int kind = 0; kind < KINDS; kind++)
                take_bins(pool, &pool->streams[i]->bins[kind], to);
    pool_leave(pool);
    return status;
}

phx_pool_status phx_pool_adopt_stream(phx_pool *pool, uint32_t from, uint32_t to,
                                      uint64_t *moved_bytes) {
    uint64_t moved = 0;
    phx_pool_status status = PHX_POOL_OK;
    if (to >= PHX_POOL_MAX_STREAMS ||
        (from >= PHX_POOL_MAX_STREAMS && from != PHX_POOL_ALL_STREAMS))
        return PHX_POOL_BAD_ARGUMENT;
    pool_enter(pool);
    if (!pool_find_stream(pool, to) && !pool_make_stream(pool, to))
        status = PHX_POOL_NO_HOST_MEMORY;
    for (uint32_t i = 0; status == PHX_POOL_OK && i < pool->n_streams; i++)
        if (pool->streams[i] && i != to && (i == from || from == PHX_POOL_ALL_STREAMS))
            for (int kind = 0; kind < KINDS; kind++)
                moved += adopt_bins(pool, &pool->streams[i]->bins[kind], to);
    pool_leave(pool);
    if (moved_bytes)
        *moved_bytes = moved;
    return status;
}

int phx_pool_hand_over(phx_pool *pool, uint32_t from, uint32_t to, uint64_t size) {
    uint64_t rounded = phx_pool_round_size(pool, size);
    phx_block *block = NULL;
    if (!rounded || to >= PHX_POOL_MAX_STREAMS)
        return 0;
    pool_enter(pool);
    pool_stream *stream = pool_find_stream(pool, from);
    if (stream && (pool_find_stream(pool, to) || pool_make_stream(pool, to))) {
        bin_set *bins = &stream->bins[pool_kind(rounded)];
        if ((block = bin_find(bins, rounded, pool->shift))) {
            bin_remove(bins, block, pool->shift);
            pool->free_blocks--;
            block->stream = (uint16_t)to;
            pool_put_free(pool, block);
        }
    }
    pool_leave(pool);
    return block != NULL;
}

int64_t phx_pool_find_donor(phx_pool *pool, uint64_t size, uint32_t stream) {
    uint64_t rounded = phx_pool_round_size(pool, size);
    int64_t donor = -1;
    if (!rounded)
        return -1;
    pool_enter(pool);
    for (uint32_t i = 0; donor < 0 && i < pool->n_streams; i++)
        if (i != stream && pool->streams[i] &&
            bin_find(&pool->streams[i]->bins[pool_kind(rounded)], rounded, pool->shift))
            donor = i;
    pool_leave(pool);
    return donor;
}
