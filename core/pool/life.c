/* Birth and end of pools, and fork. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_ALIGNMENT 64u /* finer blocks would need more bookkeeping than they hold */
#define LARGEST_ALIGNMENT (UINT64_C(1) << 30)

phx_block pool_sealed;

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static int fork_error;
static phx_lock registry_lock; /* taken before any pool's */
static phx_pool *registry;

static void before_fork(void) {
    phx_lock_acquire(&registry_lock);
    for (phx_pool *pool = registry; pool; pool = pool->next_pool)
        phx_lock_acquire(&pool->lock);
}

static void after_fork_in_parent(void) {
    for (phx_pool *pool = registry; pool; pool = pool->next_pool)
        phx_lock_release(&pool->lock);
    phx_lock_release(&registry_lock);
}

static void after_fork_in_child(void) {
    for (phx_pool *pool = registry; pool; pool = pool->next_pool)
        phx_lock_reset_in_child(&pool->lock);
    phx_lock_reset_in_child(&registry_lock);
}

static void install_fork_handlers(void) {
    phx_lock_init(&registry_lock);
    fork_error = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

static bool register_pool(phx_pool *pool) {
    pthread_once(&fork_once, install_fork_handlers);
    if (fork_error)
        return false;
    phx_lock_acquire(&registry_lock);
    pool->next_pool = registry;
    if (registry)
        registry->prev_pool = pool;
    registry = pool;
    phx_lock_release(&registry_lock);
    return true;
}

static void unregister_pool(phx_pool *pool) {
    if (pool->prev_pool)
        pool->prev_pool->next_pool = pool->next_pool;
    else
        registry = pool->next_pool;
    if (pool->next_pool)
        pool->next_pool->prev_pool = pool->prev_pool;
}

phx_pool *phx_pool_create(uint64_t alignment, uint64_t limit) {
    if (alignment > LARGEST_ALIGNMENT || (alignment & (alignment - 1)))
        return NULL;
    if (alignment < LEAST_ALIGNMENT)
        alignment = LEAST_ALIGNMENT;
    phx_pool *pool = aligned_alloc(alignof(phx_pool), sizeof(phx_pool));
    if (!pool)
        return NULL;
    memset(pool, 0, sizeof *pool);
    atomic_init(&pool->epoch, 1);
    phx_lock_init(&pool->lock);
    pool->shift = (uint32_t)__builtin_ctzll(alignment);
    pool->stats.limit = limit;
    if (register_pool(pool))
        return pool;
    phx_lock_fini(&pool->lock);
    free(pool);
    return NULL;
}

void phx_pool_close(phx_pool *pool) {
    pool_enter(pool);
    pool->closed = true;
    pool_leave(pool);
}

static void dismantle(phx_pool *pool) {
    for (phx_segment *segment = pool->oldest, *next; segment; segment = next) {
        next = segment->next;
        free(segment);
    }
    for (pool_slab *slab = pool->slabs, *next; slab; slab = next) {
        next = slab->next;
        free(slab);
    }
    for (uint32_t i = 0; i < pool->n_streams; i++)
        free(pool->streams[i]);
    free(pool->streams);
    phx_lock_fini(&pool->lock);
    free(pool);
}

void pool_abandon(phx_pool *pool, int64_t n) {
    if (atomic_fetch_sub(&pool->orphans, n) == n)
        dismantle(pool);
}

/* Blocks in use outlive the pool. Their number is known only once inbox is sealed; releases that
 * come between the two have made `orphans` negative by then, and whoever brings it to zero is the
 * last. */
void phx_pool_destroy(phx_pool *pool) {
    if (!pool)
        return;
    phx_lock_acquire(&registry_lock); /* held to the end: no fork may copy a half-destroyed pool */
    unregister_pool(pool);
    pool_lock(pool);
    pool_drain(pool, UINT32_MAX);
    atomic_store(&pool->destroyed, true);
    for (phx_block *block = atomic_exchange(&pool->inbox, &pool_sealed); block;
         block = block->next_free)
        pool->stats.active_blocks--;
    int64_t live = (int64_t)pool->stats.active_blocks;
    pool_leave(pool);
    pool_abandon(pool, -live);
    phx_lock_release(&registry_lock);
}
