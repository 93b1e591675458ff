/* Allocation and release: the paths that every array takes. See pool.h for the contract. */
#include "internal.h"

#include <stdlib.h>

#define FREE_DRAIN_BUDGET 8     /* queued blocks that one release processes on the way */
#define SLAB_FIRST 63u   /* blocks of the first slab: 8 KiB with its header */
#define SLAB_LARGEST 4095u /* 512 KiB */

static bool grow_spares(phx_pool *pool) {
    uint32_t n = pool->slab_blocks ? pool->slab_blocks : SLAB_FIRST;
    pool_slab *slab = aligned_alloc(64, (n + 1) * sizeof(phx_block));
    if (!slab)
        return false;
    slab->next = pool->slabs;
    pool->slabs = slab;
    phx_block *blocks = (phx_block *)slab + 1;
    for (uint32_t i = n; i-- > 0;) {
        atomic_init(&blocks[i].state, PHX_BLOCK_SPARE);
        blocks[i].next_free = pool->spare;
        pool->spare = &blocks[i];
    }
    pool->slab_blocks = 2 * n + 1 < SLAB_LARGEST ? 2 * n + 1 : SLAB_LARGEST;
    return true;
}

phx_block *pool_new_block(phx_pool *pool) {
    if (!pool->spare && !grow_spares(pool))
        return NULL;
    phx_block *block = pool->spare;
    pool->spare = block->next_free;
    return block;
}

uint64_t phx_pool_round_size(const phx_pool *pool, uint64_t size) {
    uint64_t mask = (UINT64_C(1) << pool->shift) - 1;
    if (size > PHX_POOL_MAX_SIZE)
        return 0;
    return size ? (size + mask) & ~mask : mask + 1;
}

/* Remainders below this stay with the block: at most 1/64 of it, so that the lists do not fill with
 * crumbs. */
static inline uint64_t least_remainder(const phx_pool *pool, uint64_t size) {
    uint64_t least = size >> 6, granule = UINT64_C(1) << pool->shift;
    if (least < granule)
        return granule;
    return least < POOL_SMALL_MAX ? least : POOL_SMALL_MAX;
}

/* Takes a free block out of its list and leaves what it has beyond `size` there. False if the host
 * has no memory; nothing has changed then. */
static inline bool carve(phx_pool *pool, bin_set *bins, phx_block *block, uint64_t size) {
    uint64_t remainder = block->size - size;
    phx_block *rest = NULL;
    if (remainder >= least_remainder(pool, size) && !(rest = pool_new_block(pool)))
        return false;
    bin_remove(bins, block, pool->shift);
    if (!rest) {
        pool->free_blocks--;
        return true;
    }
    pool_split(block, rest, size);
    block_set_state(rest, PHX_BLOCK_FREE);
    bin_insert(bins, rest, pool->shift);
    return true;
}

static inline void raise_peak(uint64_t *peak, uint64_t value) {
    if (value > *peak)
        *peak = value;
}

static inline void begin_use(phx_pool *pool, phx_block *block, uint64_t requested) {
    phx_pool_stats *stats = &pool->stats;
    block->requested = requested;
    block->n_waits = 0;
    block_set_state(block, PHX_BLOCK_USED);
    block->segment->live += block->size;
    stats->allocs++;
    stats->active_blocks++;
    raise_peak(&stats->requested_peak, stats->requested += requested);
    raise_peak(&stats->allocated_peak, stats->allocated += block->size);
}

static phx_pool_status miss(phx_pool *pool, uint64_t rounded) {
    uint64_t limit = pool->stats.limit, reserved = pool->stats.reserved;
    pool->stats.misses++;
    bool room = !limit || (reserved <= limit && rounded <= limit - reserved);
    return room ? PHX_POOL_NEEDS_SEGMENT : PHX_POOL_OVER_LIMIT;
}

static inline phx_pool_status take(phx_pool *pool, uint64_t size, uint32_t number, bool any_kind,
                                   phx_block **out) {
    uint64_t rounded = phx_pool_round_size(pool, size);
    if (pool->closed)
        return PHX_POOL_CLOSED;
    pool_stream *stream = pool_find_stream(pool, number);
    if (!stream && !(stream = pool_make_stream(pool, number)))
        return PHX_POOL_NO_HOST_MEMORY;
    uint32_t kind = pool_kind(rounded);
    phx_block *block = bin_find(&stream->bins[kind], rounded, pool->shift);
    if (!block && any_kind) {
        kind = !kind;
        block = bin_find(&stream->bins[kind], rounded, pool->shift);
    }
    if (!block)
        return miss(pool, rounded);
    if (!carve(pool, &stream->bins[kind], block, rounded))
        return PHX_POOL_NO_HOST_MEMORY;
    begin_use(pool, block, size);
    *out = block;
    return PHX_POOL_OK;
}

static inline phx_block *allocate(phx_pool *pool, uint64_t size, uint32_t stream, bool any_kind,
                                  phx_pool_status *status) {
    phx_block *block = NULL;
    phx_pool_status result = PHX_POOL_OK;
    if (size > PHX_POOL_MAX_SIZE) {
        result = PHX_POOL_TOO_LARGE;
    } else if (stream >= PHX_POOL_MAX_STREAMS) {
        result = PHX_POOL_BAD_ARGUMENT;
    } else {
        pool_enter(pool);
        result = take(pool, size, stream, any_kind, &block);
        pool_leave(pool);
    }
    if (status)
        *status = result;
    return block;
}

phx_block *phx_pool_alloc(phx_pool *pool, uint64_t size, uint32_t stream, phx_pool_status *status) {
    return allocate(pool, size, stream, false, status);
}

phx_block *phx_pool_alloc_any(phx_pool *pool, uint64_t size, uint32_t stream,
                              phx_pool_status *status) {
    return allocate(pool, size, stream, true, status);
}

/* The books' side of a release by the caller. Lock held. */
static inline void accept(phx_pool *pool, phx_block *block) {
    phx_pool_stats *stats = &pool->stats;
    stats->frees++;
    stats->active_blocks--;
    stats->requested -= block->requested;
    stats->allocated -= block->size;
    if (block->n_waits)
        pool_settle(pool, block);
    else
        pool_release(pool, block);
}

void pool_drain(phx_pool *pool, uint32_t budget) {
    for (; budget; budget--) {
        if (!pool->drained) {
            if (!atomic_load_explicit(&pool->inbox, memory_order_relaxed))
                return;
            pool->drained = atomic_exchange_explicit(&pool->inbox, NULL, memory_order_acquire);
        }
        phx_block *block = pool->drained;
        pool->drained = block->next_free;
        accept(pool, block);
    }
}

/* Leaves a block on the stack for whoever locks the pool next, or counts it if the pool has been
 * destroyed. Not a byte of the pool may be touched after the block is on the stack: it may end with
 * it. */
static void queue(phx_pool *pool, phx_block *block) {
    atomic_fetch_add_explicit(&pool->queued_frees, 1, memory_order_relaxed);
    phx_block *head = atomic_load_explicit(&pool->inbox, memory_order_relaxed);
    do {
        if (head == &pool_sealed) {
            pool_abandon(pool, 1);
            return;
        }
        block->next_free = head;
    } while (!atomic_compare_exchange_weak_explicit(&pool->inbox, &head, block,
                                                    memory_order_release, memory_order_relaxed));
}

static inline phx_pool_status give_back(phx_pool *pool, phx_block *block) {
    if (!atomic_load_explicit(&pool->destroyed, memory_order_relaxed) &&
        phx_lock_try(&pool->lock)) {
        bool destroyed = atomic_load_explicit(&pool->destroyed, memory_order_relaxed);
        bool used = block_state(block) == PHX_BLOCK_USED;
        if (used && !destroyed) {
            accept(pool, block);
            pool_drain(pool, FREE_DRAIN_BUDGET);
        }
        pool_leave(pool);
        if (!used)
            return PHX_POOL_NOT_ALLOCATED;
        if (!destroyed)
            return PHX_POOL_OK;
    }
    uint8_t used = PHX_BLOCK_USED;
    if (!atomic_compare_exchange_strong(&block->state, &used, PHX_BLOCK_QUEUED))
        return PHX_POOL_NOT_ALLOCATED;
    queue(pool, block);
    return PHX_POOL_OK;
}

phx_pool_status phx_pool_free(phx_pool *pool, phx_block *block) {
    return block ? give_back(pool, block) : PHX_POOL_BAD_ARGUMENT;
}

/* Writes the waits into the block, one per stream. It is the caller's still, so no lock is needed.
 */
static void note_waits(phx_pool *pool, phx_block *block, uint32_t n, const phx_wait *waits) {
    uint8_t kept = 0;
    block->stamp = atomic_load(&pool->epoch);
    for (uint32_t i = 0; i < n; i++) {
        uint8_t at = 0;
        if (waits[i].stream == block->stream || !waits[i].seq)
            continue;
        while (at < kept && block->wait_stream[at] != waits[i].stream)
            at++;
        if (at == PHX_POOL_WAITS || waits[i].stream >= PHX_POOL_MAX_STREAMS) {
            block->n_waits = WAITS_FOR_DEVICE;
            return;
        }
        if (at == kept)
            block->wait_seq[kept++] = 0;
        block->wait_stream[at] = (uint16_t)waits[i].stream;
        raise_peak(&block->wait_seq[at], waits[i].seq);
    }
    block->n_waits = kept;
}

phx_pool_status phx_pool_free_pending(phx_pool *pool, phx_block *block, uint32_t n,
                                      const phx_wait *waits) {
    if (!block || (n && !waits))
        return PHX_POOL_BAD_ARGUMENT;
    if (block_state(block) != PHX_BLOCK_USED)
        return PHX_POOL_NOT_ALLOCATED;
    note_waits(pool, block, n, waits);
    return give_back(pool, block);
}
