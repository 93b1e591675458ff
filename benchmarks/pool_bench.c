/* Nanoseconds per alloc + free pair of the memory pool (core/pool/pool.h). It needs no device: the pool
 * never touches the memory that it manages. From the repository's root:
 *
 *     cc -std=c11 -O2 -pthread -Icore benchmarks/pool_bench.c core/pool/*.c -o pool_bench
 *     ./pool_bench
 *
 * Each row is the best and the median of ROUNDS rounds. "holes" rows run in a pool with 65,536 free
 * blocks of assorted sizes between blocks in use.
 */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "pool/pool.h"

#define N_BLOCKS (2 * 80000) /* every other one is freed; a few holes join */
#define PAIRS 4096
#define ROUNDS 301 /* short ones, so that the best is not interrupted */
#define LIVE 1024
#define SIZES 4096 /* drawn in advance */

static uint64_t random_state = 88172645463325252u;

static uint64_t draw(void) /* xorshift64: Marsaglia, "Xorshift RNGs", 2003 */
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Every power of two from 256 bytes to 512 KiB is as likely. */
static uint64_t draw_size(void) {
    uint64_t base = UINT64_C(256) << draw() % 11;
    return base + draw() % base;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static phx_block *take(phx_pool *pool, uint64_t size) {
    static uintptr_t handle = 1;
    phx_block *block;
    while (!(block = phx_pool_alloc(pool, size, 0, NULL)))
        if (phx_pool_add_segment(pool, (void *)handle++, phx_pool_segment_size(pool, size, 0), 0,
                                 size))
            exit(1);
    return block;
}

static phx_pool *pool_with_holes(void) {
    phx_pool *pool = phx_pool_create(256, 0);
    phx_block **blocks = malloc(N_BLOCKS * sizeof *blocks);
    for (int i = 0; i < N_BLOCKS; i++)
        blocks[i] = take(pool, draw_size());
    for (int i = 0; i < N_BLOCKS; i += 2)
        phx_pool_free(pool, blocks[i]);
    free(blocks);
    return pool;
}

static uint64_t sizes[SIZES];
static uint32_t slots[SIZES];
static phx_block *live[LIVE];

static void same_size(phx_pool *pool) {
    for (int i = 0; i < PAIRS; i++)
        phx_pool_free(pool, take(pool, 4096));
}

static void assorted(phx_pool *pool) {
    for (int i = 0; i < PAIRS; i++)
        phx_pool_free(pool, take(pool, sizes[i % SIZES]));
}

static void churn(phx_pool *pool) {
    for (int i = 0; i < PAIRS; i++) {
        phx_block **slot = &live[slots[i % SIZES]];
        phx_pool_free(pool, *slot);
        *slot = take(pool, sizes[(i + i / SIZES) % SIZES]);
    }
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const char *name, void (*body)(phx_pool *), phx_pool *pool) {
    double times[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < SIZES; i++) {
            sizes[i] = draw_size();
            slots[i] = (uint32_t)(draw() % LIVE);
        }
        double start = now();
        body(pool);
        times[round] = (now() - start) / PAIRS;
    }
    qsort(times, ROUNDS, sizeof *times, compare);
    printf("%-34s best %6.1f ns   median %6.1f ns\n", name, times[0], times[ROUNDS / 2]);
}

int main(void) {
    phx_pool *empty = phx_pool_create(256, 0), *holes = pool_with_holes();
    phx_pool_stats stats;
    phx_pool_get_stats(holes, &stats);
    printf("%llu free blocks, %llu in use\n", (unsigned long long)stats.free_blocks,
           (unsigned long long)stats.active_blocks);
    measure("empty pool, one size", same_size, empty);
    measure("empty pool, assorted sizes", assorted, empty);
    measure("holes, one size", same_size, holes);
    measure("holes, assorted sizes", assorted, holes);
    for (int i = 0; i < LIVE; i++)
        live[i] = take(holes, draw_size());
    measure("holes, assorted, 1024 blocks churn", churn, holes);
    phx_pool_get_stats(holes, &stats);
    printf("%llu free blocks, fragmentation %.4f, reserved %.0f MiB\n",
           (unsigned long long)stats.free_blocks, stats.fragmentation,
           (double)stats.reserved / (1 << 20));
    return 0;
}
