/* What the files of the pool share: its struct, and the step that every way of freeing ends in. */
#ifndef PHALANX_POOL_INTERNAL_H_
#define PHALANX_POOL_INTERNAL_H_

#include <stdalign.h>

#include "bins.h"
#include "lock.h"

#define POOL_HIDDEN __attribute__((visibility("hidden")))

#define POOL_SMALL_MAX (UINT64_C(1) << 20)
#define WAITS_FOR_DEVICE 255 /* n_waits of a block that only phx_pool_sync_end releases */

enum { KIND_SMALL = 0,
       KIND_LARGE = 1,
       KINDS = 2 };

struct phx_segment {
    void *handle;
    uint64_t size;   /* as given */
    uint64_t usable; /* rounded down to the alignment */
    uint64_t live;   /* bytes in blocks that are not free */
    uint64_t id;
    phx_block *first; /* at offset 0; splits and joins keep it */
    phx_segment *next, *prev;
    uint32_t kind;
    uint32_t stream;  /* for which it was added */
    uint64_t page;    /* of a range; 0: memory lies behind all of it */
    uint64_t extent;  /* of a range; `size` is what has memory, also on its way */
    phx_block *holes; /* of a range, linked by next_free and prev_free */
};

/* Pending blocks, linked by next_free and prev_free. */
typedef struct {
    phx_block *head, *tail;
} pending_list;

typedef struct {
    bin_set bins[KINDS];
    uint64_t reserved; /* bytes of the segments that were added for it */
    uint64_t completed;
    pending_list pending; /* blocks whose last wait names this stream, nearly sorted by its seq */
} pool_stream;

typedef struct pool_slab {
    struct pool_slab *next;
} pool_slab;

struct phx_pool {
    /* Written without the lock by phx_pool_free. */
    alignas(64) _Atomic(phx_block *) inbox; /* Treiber stack, only ever emptied whole: no ABA */
    _Atomic uint64_t queued_frees;
    _Atomic int64_t orphans; /* blocks in use that outlive phx_pool_destroy */
    _Atomic bool destroyed;
    _Atomic uint64_t epoch;         /* begun device synchronisations + 1 */
    _Atomic uint64_t pending_bytes; /* written under the lock */

    alignas(64) phx_lock lock;
    uint32_t shift; /* log2 of the alignment */
    uint32_t n_streams;
    pool_stream **streams; /* null where the stream has not been met */
    phx_block *spare;      /* unused bookkeeping, linked by next_free */
    phx_block *drained;    /* taken from inbox, not yet processed, linked by next_free */
    uint64_t usable;
    uint64_t free_blocks;
    uint64_t pending_blocks;
    uint64_t synced_epoch;
    uint64_t next_segment_id;
    phx_segment *oldest, *newest;
    pending_list pending_device; /* blocks with WAITS_FOR_DEVICE */
    pool_slab *slabs;
    uint32_t slab_blocks; /* of the next slab */
    bool closed;
    phx_pool_stats stats; /* counters, limit and peaks; the rest is filled on request */
    phx_pool *next_pool, *prev_pool;
};

/* Processes at most `budget` blocks that were given back while the pool was locked. Lock held. */
POOL_HIDDEN void pool_drain(phx_pool *pool, uint32_t budget);

/* Finishes the life of a block that the caller has given back and that waits for n_waits > 0. Lock
 * held. */
POOL_HIDDEN void pool_settle(phx_pool *pool, phx_block *block);

/* Keeps a block that is in no list from all streams until the device was waited for. Lock held. */
POOL_HIDDEN void pool_hold(phx_pool *pool, phx_block *block);

/* Takes a new segment or range into the books, of `stream` from now on. Lock held. */
POOL_HIDDEN phx_pool_status pool_attach(phx_pool *pool, phx_segment *segment, uint32_t stream);

/* Makes the only block of a new range a hole. Lock held. */
POOL_HIDDEN void pool_begin_range(phx_pool *pool, phx_block *block);

/* Bytes that the limit still allows. Lock held. */
POOL_HIDDEN uint64_t pool_room(const phx_pool *pool);

/* Bytes that a stream gets at a time beyond what it asks for. Lock held. */
POOL_HIDDEN uint64_t pool_growth(const phx_pool *pool, uint32_t stream);

/* Makes the stream's entry if there is none; null if the host has no memory. Lock held. */
POOL_HIDDEN pool_stream *pool_make_stream(phx_pool *pool, uint32_t stream);

/* Unused bookkeeping for one block, or null. Lock held. */
POOL_HIDDEN phx_block *pool_new_block(phx_pool *pool);

/* Stands in inbox of a destroyed pool. */
extern POOL_HIDDEN phx_block pool_sealed;

/* Counts n blocks less of those that keep a destroyed pool's bookkeeping alive, and frees it after
 * the last. */
POOL_HIDDEN void pool_abandon(phx_pool *pool, int64_t n);

static inline pool_stream *pool_find_stream(const phx_pool *pool, uint32_t stream) {
    return stream < pool->n_streams ? pool->streams[stream] : NULL;
}

static inline uint32_t pool_kind(uint64_t size) {
    return size <= POOL_SMALL_MAX ? KIND_SMALL : KIND_LARGE;
}

static inline void pool_lock(phx_pool *pool) {
    phx_lock_acquire(&pool->lock);
}

/* Takes the lock and brings the books up to date. */
static inline void pool_enter(phx_pool *pool) {
    pool_lock(pool);
    if (pool->drained || atomic_load_explicit(&pool->inbox, memory_order_relaxed))
        pool_drain(pool, UINT32_MAX);
}

static inline void pool_leave(phx_pool *pool) {
    phx_lock_release(&pool->lock);
}

static inline uint8_t block_state(const phx_block *block) {
    return atomic_load_explicit(&block->state, memory_order_relaxed);
}

static inline void block_set_state(phx_block *block, uint8_t state) {
    atomic_store_explicit(&block->state, state, memory_order_relaxed);
}

static inline void pool_drop_block(phx_pool *pool, phx_block *block) {
    block_set_state(block, PHX_BLOCK_SPARE);
    block->next_free = pool->spare;
    pool->spare = block;
}

static inline bool blocks_join(const phx_block *a, const phx_block *b) {
    return b && block_state(b) == PHX_BLOCK_FREE && a->stream == b->stream;
}

/* Gives what a block has beyond `size` to `rest`, which is in no list. */
static inline void pool_split(phx_block *block, phx_block *rest, uint64_t size) {
    rest->size = block->size - size;
    rest->offset = block->offset + size;
    rest->handle = block->handle;
    rest->segment = block->segment;
    rest->stream = block->stream;
    rest->prev_phys = block;
    rest->next_phys = block->next_phys;
    if (rest->next_phys)
        rest->next_phys->prev_phys = rest;
    block->next_phys = rest;
    block->size = size;
}

/* `left` swallows its right neighbour, which is in no list. */
static inline void pool_join(phx_pool *pool, phx_block *left, phx_block *right) {
    left->size += right->size;
    left->next_phys = right->next_phys;
    if (left->next_phys)
        left->next_phys->prev_phys = left;
    pool_drop_block(pool, right);
}

/* Puts a block that is in no list among the free ones of its stream, joined with its neighbours. */
static inline void pool_put_free(phx_pool *pool, phx_block *block) {
    bin_set *bins = &pool->streams[block->stream]->bins[block->segment->kind];
    phx_block *next = block->next_phys, *prev = block->prev_phys;
    pool->free_blocks++;
    if (blocks_join(block, next)) {
        bin_remove(bins, next, pool->shift);
        pool_join(pool, block, next);
        pool->free_blocks--;
    }
    if (blocks_join(block, prev)) {
        bin_remove(bins, prev, pool->shift);
        pool_join(pool, prev, block);
        pool->free_blocks--;
        block = prev;
    }
    block_set_state(block, PHX_BLOCK_FREE);
    bin_insert(bins, block, pool->shift);
}

static inline void pool_note_reserved(phx_pool *pool) {
    if (pool->stats.reserved > pool->stats.reserved_peak)
        pool->stats.reserved_peak = pool->stats.reserved;
}

/* Ends the use of a block that nobody waits for any more. */
static inline void pool_release(phx_pool *pool, phx_block *block) {
    block->segment->live -= block->size;
    pool_put_free(pool, block);
}

#endif
