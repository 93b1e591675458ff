/* The ops bincount and histogram: how many elements there are of each target, or between two edges. Counts are
 * exact, so each thread counts for itself. */
#include "sort/lists_sort.h"
#include "convert.h"
#include "runtime/parallel.h"

#include <stdlib.h>
#include <string.h>

#define FEW 4096      /* targets for which neighbours get a table each: equal ones do not wait for each other */
#define GRAIN 32768
#define BATCH 512     /* elements whose targets are found before they are counted */

typedef struct {
    const DLTensor *x;
    int64_t n, share;      /* targets; elements of a thread */
    int64_t *tables;       /* (threads, width): counts of a thread */
    int64_t width, copies; /* of a table with its copies */
    const void *edges;     /* (n + 1,) */
    int64_t m;
} count_job;

static inline int64_t *table_of(const count_job *job, int64_t begin) {
    return job->tables + begin / job->share * job->width;
}

static inline __attribute__((always_inline)) void tally(const count_job *job, int64_t *table,
                                                        const int64_t *ids, int64_t step,
                                                        int64_t count) {
    int64_t *other = table + (job->copies - 1) * job->n;
    int64_t i = 0;
    for (; i + 2 <= count; i += 2) {
        const int64_t a = ids[i * step], b = ids[(i + 1) * step];
        if ((uint64_t)a < (uint64_t)job->n) table[a]++;
        if ((uint64_t)b < (uint64_t)job->n) other[b]++;
    }
    if (i < count && (uint64_t)ids[i * step] < (uint64_t)job->n) table[ids[i * step]]++;
}

static void count_share(const count_job *job, int64_t share) {
    const int64_t begin = share * job->share,
                  end = begin + job->share < job->m ? begin + job->share : job->m;
    const int64_t step = job->x->strides[0], *ids = (const int64_t *)cpu_data(job->x) + begin * step;
    if (step == 1)
        tally(job, table_of(job, begin), ids, 1, end - begin);
    else
        tally(job, table_of(job, begin), ids, step, end - begin);
}

static void count_shares(void *ctx, int64_t begin, int64_t end) {
    for (int64_t share = begin; share < end; share++) count_share(ctx, share);
}

/* The interval of each element: a guess that is right for even edges, its neighbours, else binary search. An
 * element outside, or NaN, gets -1. */
#define HISTOGRAM(NAME, STORAGE, UNIT, LOAD)                                                     \
    static inline __attribute__((always_inline)) int64_t NAME##_search(const UNIT *e, int64_t n, \
                                                                       UNIT x) {                 \
        int64_t at = 0;                                                                          \
        for (int64_t left = n - 1; left > 0;) {                                                  \
            const int64_t half = left - left / 2;                                                \
            at += e[at + half] <= x ? half : 0;                                                  \
            left -= half;                                                                        \
        }                                                                                        \
        return at;                                                                               \
    }                                                                                            \
    static inline __attribute__((always_inline)) void NAME##_places(                             \
        const count_job *job, const STORAGE *x, int64_t step, int64_t count, UNIT scale,         \
        int64_t *ids) {                                                                          \
        const UNIT *e = job->edges, low = e[0], high = e[job->n];                                \
        const int64_t n = job->n;                                                                \
        int lost = 0;                                                                            \
        for (int64_t i = 0; i < count; i++) {                                                    \
            const UNIT v = (UNIT)LOAD(x[i * step]);                                              \
            const int inside = v >= low && v <= high;                                            \
            const UNIT w = inside ? (v - low) * scale : 0;                                       \
            int32_t at = w < (UNIT)n ? (int32_t)w : (int32_t)(n - 1);                            \
            at = at < n ? at : (int32_t)(n - 1);                                                 \
            at -= v < e[at] && at > 0;                                                           \
            at += at < n - 1 && v >= e[at + 1];                                                  \
            lost |= inside & !(v >= e[at] && (at == n - 1 || v < e[at + 1]));                    \
            ids[i] = inside ? at : -1;                                                           \
        }                                                                                        \
        for (int64_t i = 0; lost && i < count; i++)                                              \
            if (ids[i] >= 0) ids[i] = NAME##_search(e, n, (UNIT)LOAD(x[i * step]));              \
    }                                                                                            \
    static void NAME##_shares(void *ctx, int64_t first, int64_t last) {                          \
        const count_job *job = ctx;                                                              \
        const UNIT *e = job->edges, guess = (UNIT)job->n / (e[job->n] - e[0]);                   \
        const UNIT scale = guess > 0 && guess < (UNIT)1e30 && job->n < INT32_MAX ? guess : 0;    \
        const int64_t step = job->x->strides[0];                                                 \
        for (int64_t share = first; share < last; share++) {                                     \
            const int64_t begin = share * job->share,                                            \
                          end = begin + job->share < job->m ? begin + job->share : job->m;       \
            const STORAGE *x = (const STORAGE *)cpu_data(job->x);                                \
            int64_t ids[BATCH];                                                                  \
            for (int64_t i = begin; i < end; i += BATCH) {                                       \
                const int64_t count = end - i < BATCH ? end - i : BATCH;                         \
                if (step == 1)                                                                   \
                    NAME##_places(job, x + i, 1, count, scale, ids);                             \
                else                                                                             \
                    NAME##_places(job, x + i * step, step, count, scale, ids);                   \
                tally(job, table_of(job, begin), ids, 1, count);                                 \
            }                                                                                    \
        }                                                                                        \
    }                                                                                            \
    static phx_error *cpu_histogram_##NAME(const cpu_kernel *self, const phx_call *call) {       \
        (void)self;                                                                              \
        const DLTensor *edges = cpu_input(call, 1);                                              \
        const int64_t n = edges->shape[0];                                                       \
        UNIT *e = malloc((size_t)(n ? n : 1) * sizeof *e);                                       \
        if (!e) return no_memory("histogram", n);                                                \
        for (int64_t i = 0; i < n; i++)                                                          \
            e[i] = (UNIT)LOAD(((const STORAGE *)cpu_data(edges))[i * edges->strides[0]]);        \
        phx_error *error = run(call, NAME##_shares, e, "histogram");                             \
        free(e);                                                                                 \
        return error;                                                                            \
    }

static phx_error *no_memory(const char *op, int64_t n) {
    return cpu_fail(PHX_OUT_OF_MEMORY, "cpu: %s with %lld counts: no memory for those of each thread", op,
                    (long long)n);
}

static phx_error *run(const phx_call *call, phx_task_fn shares, const void *edges, const char *op) {
    const DLTensor *out = cpu_output(call, 0);
    count_job job = {.x = cpu_input(call, 0), .n = out->shape[0], .edges = edges};
    int64_t *to = (int64_t *)cpu_data(out), threads = phx_num_threads();
    job.m = job.x->shape[0];
    if (job.n == 0) return NULL;
    /* a thread of its own pays where there are many more elements than counts to add up */
    int64_t most = job.m / (GRAIN + 2 * job.n);
    if (threads > most) threads = most;
    if (threads < 1) threads = 1;
    job.copies = job.n <= FEW && job.m > job.n ? 2 : 1;
    job.width = job.n * job.copies;
    job.share = (job.m + threads - 1) / threads;
    if (job.share == 0) job.share = 1;
    job.tables = calloc((size_t)(threads * job.width), sizeof *job.tables);
    if (!job.tables) return no_memory(op, job.n);
    phx_parallel_for((job.m + job.share - 1) / job.share, 1, shares, &job);
    for (int64_t t = 0; t < job.n; t++) {
        int64_t sum = 0;
        for (int64_t c = t; c < threads * job.width; c += job.n) sum += job.tables[c];
        to[t * out->strides[0]] = sum;
    }
    free(job.tables);
    return NULL;
}

static phx_error *cpu_bincount(const cpu_kernel *self, const phx_call *call) {
    (void)self;
    return run(call, count_shares, NULL, "bincount");
}

#define PLAIN(x) (x)
HISTOGRAM(f16, uint16_t, float, phx_f16_to_f32)
HISTOGRAM(bf16, uint16_t, float, phx_bf16_to_f32)
HISTOGRAM(f32, float, float, PLAIN)
HISTOGRAM(f64, double, double, PLAIN)

#define ROW(T, NAME)                                                                         \
    CPU_KERNEL("histogram", ((const uint8_t[]){T, T, PHX_INT64}), 2, 1, PHX_LAYOUT_ANY, 0.0, \
               cpu_histogram_##NAME, NULL, 32)

static const cpu_kernel rows[] = {
    CPU_KERNEL("bincount", ((const uint8_t[]){PHX_INT64, PHX_INT64}), 1, 1, PHX_LAYOUT_ANY, 0.0,
               cpu_bincount, NULL, 16),
    ROW(PHX_FLOAT16, f16),
    ROW(PHX_BFLOAT16, bf16),
    ROW(PHX_FLOAT32, f32),
    ROW(PHX_FLOAT64, f64),
};

cpu_kernel_list phx_count_kernels(void) {
    return (cpu_kernel_list){rows, sizeof rows / sizeof *rows};
}
