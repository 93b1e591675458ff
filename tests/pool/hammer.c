/* Work for the tests of this folder that must not wait for Python's lock: threads that check each
 * other, a child of fork, and timing.
 *
 * A shadow word per granule stands for device memory: bit 63 says that the granule is in use, the
 * rest is the wait (stream << 32 | seq) that its last release left behind. The segment's handle is
 * the shadow array.
 */
#include <pthread.h>
#include <stdlib.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif
#include <time.h>
#include "pool/internal.h"

#define GRANULE 256
#define BUSY (UINT64_C(1) << 63)
#define SLOTS 256
#define STREAMS 4

typedef struct hammer {
    phx_pool *pool;
    uint64_t steps, largest;
    _Atomic uint64_t errors;
    _Atomic int stop;
    _Atomic uint64_t published[STREAMS];
    _Atomic(phx_block *) slots[SLOTS];
} hammer;

typedef struct {
    hammer *shared;
    uint64_t seed;
} worker;

static uint64_t draw(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static phx_block *take_block(hammer *h, uint64_t size, uint32_t stream) {
    phx_block *block;
    phx_pool_status status;
    phx_segment_info info;
    for (int tries = 0; !(block = phx_pool_alloc(h->pool, size, stream, &status)) && tries < 100;
         tries++) {
        if (status == PHX_POOL_NEEDS_SEGMENT) {
            uint64_t bytes = phx_pool_segment_size(h->pool, size, stream);
            void *handle = calloc(bytes / GRANULE + 1, 8);
            if (!bytes || phx_pool_add_segment(h->pool, handle, bytes, stream, size))
                free(handle);
        } else if (phx_pool_take_empty_segment(h->pool, &info))
            free(info.handle);
        else
            break;
    }
    return block;
}

static void mark(hammer *h, phx_block *block) {
    _Atomic uint64_t *shadow = (_Atomic uint64_t *)block->handle + block->offset / GRANULE;
    for (uint64_t i = 0; i < block->size / GRANULE; i++) {
        uint64_t before = atomic_exchange(&shadow[i], BUSY);
        if ((before & BUSY) || (before & UINT32_MAX) > h->published[before >> 32 & 3])
            h->errors++;
    }
}

static void give_block(hammer *h, phx_block *block, uint64_t chance) {
    _Atomic uint64_t *shadow = (_Atomic uint64_t *)block->handle + block->offset / GRANULE;
    phx_wait wait = {0, (block->stream + 1) % STREAMS};
    if (chance % 3 == 0)
        wait.seq = h->published[wait.stream] + 1 + chance % 7;
    for (uint64_t i = 0; i < block->size / GRANULE; i++)
        if (!(atomic_exchange(&shadow[i], wait.seq ? (uint64_t)wait.stream << 32 | wait.seq : 0) &
              BUSY))
            h->errors++;
    if (wait.seq ? phx_pool_free_pending(h->pool, block, 1, &wait) : phx_pool_free(h->pool, block))
        h->errors++;
}

static void publish(hammer *h, uint32_t stream) {
    uint64_t seq = atomic_fetch_add(&h->published[stream], 1) + 1;
    phx_pool_set_completed(h->pool, stream, seq);
}

static void *hammer_thread(void *argument) {
    worker *w = argument;
    hammer *h = w->shared;
    uint64_t state = w->seed;
    for (uint64_t i = 0; i < h->steps && !h->stop; i++) {
        uint64_t dice = draw(&state), kind = dice >> 40 & 31;
        phx_block *block = NULL;
        if (kind < 20 && (block = take_block(h, (dice & 0xffffffff) % h->largest, dice >> 60 & 3)))
            mark(h, block);
        if (kind >= 29)
            publish(h, dice >> 60 & 3);
        block = atomic_exchange(&h->slots[dice >> 32 & (SLOTS - 1)], block);
        if (block)
            give_block(h, block, dice >> 50);
    }
    return NULL;
}

static void run_hammer(hammer *h, int n_threads, uint64_t seed) {
    pthread_t threads[16];
    worker workers[16];
    for (int i = 0; i < n_threads; i++) {
        workers[i] = (worker){h, (seed + i + 1) * UINT64_C(0x9e3779b97f4a7c15)};
        pthread_create(&threads[i], NULL, hammer_thread, &workers[i]);
    }
    for (int i = 0; i < n_threads; i++)
        pthread_join(threads[i], NULL);
}

static hammer *new_hammer(phx_pool *pool, uint64_t steps, uint64_t largest) {
    hammer *h = calloc(1, sizeof *h);
    h->pool = pool;
    h->steps = steps;
    h->largest = largest;
    return h;
}

static void empty_slots(hammer *h) {
    for (int i = 0; i < SLOTS; i++)
        if (h->slots[i])
            give_block(h, atomic_exchange(&h->slots[i], NULL), 1);
}

static uint64_t hammer_errors(hammer *h) {
    return h->errors;
}
static void stop_hammer(hammer *h) {
    h->stop = 1;
}

/* 0 if the block map, the lists and the statistics tell the same. A block that a thread was queueing at the
 * moment of a fork stays queued in the child, and counts as allocated. */
static int inconsistency(phx_pool *pool) {
    phx_pool_stats stats;
    phx_pool_get_stats(pool, &stats);
    uint64_t n = phx_pool_snapshot(pool, NULL, 0), end = 0, sum[PHX_BLOCK_PENDING + 1] = {0};
    phx_block_info *blocks = calloc(n + 1, sizeof *blocks);
    phx_pool_snapshot(pool, blocks, n);
    for (uint64_t i = 0; i < n; i++) {
        if (blocks[i].offset != (i && blocks[i].segment == blocks[i - 1].segment ? end : 0))
            return 2;
        end = blocks[i].offset + blocks[i].size;
        sum[blocks[i].state] += blocks[i].size;
    }
    free(blocks);
    if (n != stats.active_blocks + stats.pending_blocks + stats.free_blocks)
        return 3;
    if (sum[PHX_BLOCK_USED] + sum[PHX_BLOCK_QUEUED] != stats.allocated || sum[PHX_BLOCK_PENDING] != stats.pending)
        return 4;
    return sum[PHX_BLOCK_FREE] != stats.free || stats.allocs - stats.frees != stats.active_blocks;
}

/* A child of fork must not go through Python's locks, so it does its work here. */
static int child_of_fork(hammer *h) {
    uint64_t state = 12345;
    int wrong = inconsistency(h->pool);
    for (int i = 0; i < 3000 && !wrong; i++) {
        phx_block *block = take_block(h, draw(&state) % h->largest, state & 3);
        if (block && phx_pool_free(h->pool, block))
            return 10;
    }
    if (wrong || (wrong = inconsistency(h->pool)))
        return wrong;
    phx_pool *second = phx_pool_create(GRANULE, 0);
    phx_pool_destroy(second);
    phx_pool_destroy(h->pool);
    return 0;
}

/* Bytes of the C heap that n pools leave behind whose blocks outlive them; -1 if that is unknown.
 */
static int64_t bytes_lost(int n) {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
    phx_block *blocks[32];
    int64_t before = (int64_t)mallinfo2().uordblks;
    for (int i = 0; i < n; i++) {
        phx_pool *pool = phx_pool_create(GRANULE, 0);
        phx_pool_add_segment(pool, NULL, 1 << 20, 0, 1);
        for (int k = 0; k < 32; k++)
            blocks[k] = phx_pool_alloc(pool, 1, 0, NULL);
        phx_pool_destroy(pool);
        for (int k = 0; k < 32; k++)
            phx_pool_free(pool, blocks[k]);
    }
    return (int64_t)mallinfo2().uordblks - before;
#else
    return -1;
#endif
}

static double pair_seconds(phx_pool *pool, uint64_t n) {
    struct timespec a, b;
    uint64_t state = 999;
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (uint64_t i = 0; i < n; i++) {
        phx_block *block = phx_pool_alloc(pool, draw(&state) % 65536, 0, NULL);
        if (!block || phx_pool_free(pool, block))
            return -1;
    }
    clock_gettime(CLOCK_MONOTONIC, &b);
    return (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
}

typedef struct {
    phx_pool *pool;
    phx_block **blocks;
    uint64_t n;
    int pending, failed;
} releaser;

static void *release_all(void *argument) {
    releaser *r = argument;
    phx_wait wait = {9, 1};
    for (uint64_t i = 0; i < r->n; i++)
        if (phx_pool_free_pending(r->pool, r->blocks[i], r->pending, &wait))
            r->failed = 1;
    return NULL;
}

/* Two threads give blocks back while a third destroys the pool. */
static int free_while_destroying(phx_pool *pool, phx_block **blocks, uint64_t n, int pending) {
    pthread_t threads[2];
    releaser halves[2] = {{pool, blocks, n / 2, pending, 0},
                          {pool, blocks + n / 2, n - n / 2, pending, 0}};
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, release_all, &halves[i]);
    phx_pool_destroy(pool);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return halves[0].failed || halves[1].failed;
}

static void hold_lock(phx_pool *pool) {
    pool_lock(pool);
}
static void drop_lock(phx_pool *pool) {
    pool_leave(pool);
}
