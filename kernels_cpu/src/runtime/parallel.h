/* Work sharing between the calling thread and the library's worker threads. */
#ifndef PHX_CPU_PARALLEL_H_
#define PHX_CPU_PARALLEL_H_

#include <stdint.h>

typedef void (*phx_task_fn)(void *ctx, int64_t begin, int64_t end);

/* Run fn over disjoint chunks of [0, count), on the caller and, if there are more than grain items, on idle
 * workers; return when all chunks are done. Chunks are of half a grain or more (the last may be shorter). Nested
 * calls run inline. The caller takes chunks itself and never waits for a worker that has not begun one, so a busy
 * machine costs nothing.
 * With no more items than threads each item is taken for a share of a long job, and workers are woken at
 * once; else only when the pace of the first chunk says that it pays. */
void phx_parallel_for(int64_t count, int64_t grain, phx_task_fn fn, void *ctx);

/* The number of threads that phx_parallel_for may use, the caller among them (PHALANX_NUM_THREADS,
 * device_threads). */
int phx_num_threads(void);

#endif
