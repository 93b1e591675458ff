/* The hammer of tests/pool as a program: threads that share one pool.
 *
 *     pool SEED SECONDS
 */
#define _GNU_SOURCE
#include <stdio.h>

#include "hammer.c"

#define THREADS 4
#define STEPS 4000

/* Segments that are still there: the pool knows them, the hammer has made them. */
static void free_segments(phx_pool *pool) {
    const uint64_t n = phx_pool_segments(pool, NULL, 0);
    phx_segment_info *segments = calloc(n + 1, sizeof *segments);
    phx_pool_segments(pool, segments, n);
    for (uint64_t i = 0; i < n; i++)
        free(segments[i].handle);
    free(segments);
}

int main(int argc, char **argv) {
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, rounds = 0, errors = 0;
    const double seconds = argc > 2 ? strtod(argv[2], NULL) : 1.0;
    struct timespec now, begin;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        phx_pool *pool = phx_pool_create(GRANULE, rounds % 2 ? 64 << 20 : 0);
        hammer *h = new_hammer(pool, STEPS, 1 << 20);
        run_hammer(h, THREADS, seed + rounds);
        empty_slots(h);
        errors += hammer_errors(h) + (uint64_t)(inconsistency(pool) != 0);
        free_segments(pool);
        phx_pool_destroy(pool);
        free(h);
        rounds++;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (!errors && (double)(now.tv_sec - begin.tv_sec) + 1e-9 * (double)(now.tv_nsec - begin.tv_nsec) < seconds);
    printf("seed %llu: %llu rounds, %llu errors\n", (unsigned long long)seed, (unsigned long long)rounds,
           (unsigned long long)errors);
    return errors != 0;
}
