/* The op segment_sum: rows of one target, in their order, are added in runs whose totals are added in runs
 * again. Where there is room for a running total of each target, the rows are read as they come; else they
 * are sorted by target first, stably, by counting, and each target's are added on their own. */
#include "sort/lists_sort.h"
#include "convert.h"
#include "runtime/parallel.h"

#include <stdlib.h>
#include <string.h>

#define RUN 256  /* SCAN_BLOCK of core/optable/structured.py */
#define TILE 64  /* numbers of a row that are added at a time */
#define LEVELS 8 /* RUN^8 rows */
#define GRAIN 16384
#define ROOM (1 << 22) /* bytes of running totals that caches hold */
#define COLUMNS 64     /* numbers of a row that are worth a thread */

typedef struct {
    const DLTensor *values, *ids, *out;
    int64_t m, n, width, parts; /* rows, targets, numbers of a row, numbers of an element */
    int64_t *starts, *order;    /* of each target; NULL where the rows lie in order */
    int failed;
} segment_job;

static inline int64_t id_at(const segment_job *job, int64_t i) {
    return ((const int64_t *)cpu_data(job->ids))[i * job->ids->strides[0]];
}

static inline int64_t row_at(const segment_job *job, int64_t j) {
    return job->order ? job->order[j] : j;
}

/* starts[t] is where the rows of target t begin, among those that have one; order names these rows. */
static int sort_by_target(segment_job *job) {
    int64_t *starts = calloc((size_t)job->n + 2, sizeof *starts), last = 0;
    int sorted = 1;
    job->starts = starts;
    if (!starts) return 0;
    for (int64_t i = 0; i < job->m; i++) {
        const int64_t id = id_at(job, i);
        const int there = (uint64_t)id < (uint64_t)job->n;
        sorted &= there & (id >= last);
        last = id;
        if (there) starts[id + 2]++;
    }
    for (int64_t t = 2; t < job->n + 2; t++) starts[t] += starts[t - 1];
    if (sorted) {
        memmove(starts, starts + 1, ((size_t)job->n + 1) * sizeof *starts);
        return 1;
    }
    job->order = malloc((size_t)(starts[job->n + 1] ? starts[job->n + 1] : 1) * sizeof *starts);
    if (!job->order) return 0;
    for (int64_t i = 0; i < job->m; i++) { /* starts[t + 1] runs to where those of t end */
        const int64_t id = id_at(job, i);
        if ((uint64_t)id < (uint64_t)job->n) job->order[starts[id + 1]++] = i;
    }
    return 1;
}

/* A running total of each target on each level; `held` counts what it is made of. A total of nothing is
 * NEUTRAL, which changes no number. NAME_carry makes room on a level: its total goes one up. */
#define AS_THEY_COME(NAME, STORAGE, UNIT, LOAD, STORE, NEUTRAL)                                 \
    typedef struct {                                                                            \
        UNIT *total[LEVELS];                                                                    \
        uint16_t *held[LEVELS];                                                                 \
    } NAME##_state;                                                                             \
    static __attribute__((noinline)) void NAME##_carry(NAME##_state *s, int l, int64_t t,       \
                                                       int64_t width) {                         \
        if (s->held[l + 1][t] == RUN) NAME##_carry(s, l + 1, t, width);                         \
        for (int64_t c = t * width; c < (t + 1) * width; c++) {                                 \
            s->total[l + 1][c] = (UNIT)(s->total[l + 1][c] + s->total[l][c]);                   \
            s->total[l][c] = (UNIT)NEUTRAL;                                                     \
        }                                                                                       \
        s->held[l + 1][t]++;                                                                    \
        s->held[l][t] = 0;                                                                      \
    }                                                                                           \
    static inline __attribute__((always_inline)) void NAME##_rows(                              \
        const segment_job *job, NAME##_state *s, const STORAGE *x, int64_t step,                \
        int64_t width) {                                                                        \
        const int64_t *ids = (const int64_t *)cpu_data(job->ids), m = job->m, n = job->n;       \
        const int64_t id_step = job->ids->strides[0];                                           \
        UNIT *const totals = s->total[0];                                                       \
        uint16_t *const held = s->held[0];                                                      \
        for (int64_t i = 0; i < m; i++) {                                                       \
            const int64_t t = ids[i * id_step];                                                 \
            if ((uint64_t)t >= (uint64_t)n) continue;                                           \
            if (__builtin_expect(held[t] == RUN, 0)) NAME##_carry(s, 0, t, width);              \
            held[t]++;                                                                          \
            UNIT *total = totals + t * width;                                                   \
            for (int64_t c = 0; c < width; c++)                                                 \
                total[c] = (UNIT)(total[c] + (UNIT)LOAD(x[i * step + c]));                      \
        }                                                                                       \
    }                                                                                           \
    static void NAME##_columns(segment_job *job, int64_t first, int64_t width) {                \
        const int64_t all = job->n * width, step = job->values->strides[0] * job->parts;        \
        const STORAGE *x = (const STORAGE *)cpu_data(job->values) + first;                      \
        STORAGE *out = (STORAGE *)cpu_data(job->out) + first;                                   \
        NAME##_state s;                                                                         \
        int levels = 1;                                                                         \
        for (int64_t runs = job->m; runs > RUN; runs = (runs + RUN - 1) / RUN) levels++;        \
        UNIT *totals = malloc((size_t)(levels * all) * sizeof *totals);                         \
        uint16_t *held = calloc((size_t)(levels * job->n), sizeof *held);                       \
        if (!totals || !held) __atomic_store_n(&job->failed, 1, __ATOMIC_RELAXED);              \
        for (int64_t i = 0; totals && held && i < levels * all; i++) totals[i] = (UNIT)NEUTRAL; \
        for (int l = 0; l < levels; l++) {                                                      \
            s.total[l] = totals + l * all;                                                      \
            s.held[l] = held + l * job->n;                                                      \
        }                                                                                       \
        if (totals && held && width == 1) NAME##_rows(job, &s, x, step, 1);                     \
        if (totals && held && width != 1) NAME##_rows(job, &s, x, step, width);                 \
        for (int64_t t = 0; totals && held && t < job->n; t++) {                                \
            int l = 0;                                                                          \
            for (; l + 1 < levels && s.held[l + 1][t]; l++) NAME##_carry(&s, l, t, width);      \
            const UNIT *total = s.total[l] + t * width;                                         \
            const int some = s.held[l][t] != 0;                                                 \
            for (int64_t c = 0; c < width; c++)                                                 \
                out[t * job->width + c] = some ? STORE(total[c]) : (STORAGE)0;                  \
        }                                                                                       \
        free(held);                                                                             \
        free(totals);                                                                           \
    }                                                                                           \
    static void NAME##_come(void *ctx, int64_t begin, int64_t end) {                            \
        segment_job *job = ctx;                                                                 \
        const int64_t last = end * COLUMNS < job->width ? end * COLUMNS : job->width;           \
        NAME##_columns(job, begin * COLUMNS, last - begin * COLUMNS);                           \
    }

/* NAME_run adds up to RUN rows; NAME_push takes a total in on a level, whose own goes one up when it is
 * complete; NAME_targets does it for targets [begin, end). */
#define SEGMENT(NAME, STORAGE, UNIT, LOAD, STORE)                                                 \
    static inline __attribute__((always_inline)) void NAME##_run(                                 \
        const segment_job *job, const STORAGE *x, int64_t from, int64_t to, int64_t step,         \
        int64_t width, UNIT *total) {                                                             \
        const STORAGE *row = x + row_at(job, from) * step;                                        \
        for (int64_t c = 0; c < width; c++) total[c] = (UNIT)LOAD(row[c]);                        \
        for (int64_t j = from + 1; j < to; j++) {                                                 \
            row = x + row_at(job, j) * step;                                                      \
            for (int64_t c = 0; c < width; c++) total[c] = (UNIT)(total[c] + (UNIT)LOAD(row[c])); \
        }                                                                                         \
    }                                                                                             \
    static void NAME##_push(UNIT level[LEVELS][TILE], int64_t *held, int l, const UNIT *total,    \
                            int64_t width) {                                                      \
        if (held[l] == RUN) {                                                                     \
            NAME##_push(level, held, l + 1, level[l], width);                                     \
            held[l] = 0;                                                                          \
        }                                                                                         \
        for (int64_t c = 0; c < width; c++)                                                       \
            level[l][c] = held[l] ? (UNIT)(level[l][c] + total[c]) : total[c];                    \
        held[l]++;                                                                                \
    }                                                                                             \
    static inline __attribute__((always_inline)) void NAME##_target(                              \
        const segment_job *job, int64_t t, const STORAGE *x, int64_t step, STORAGE *out,          \
        int64_t width) {                                                                          \
        const int64_t first = job->starts[t], end = job->starts[t + 1];                           \
        UNIT total[TILE], level[LEVELS][TILE];                                                    \
        int64_t held[LEVELS] = {0};                                                               \
        total[0] = 0; /* compilers do not see that there is a number */                           \
        if (first == end) {                                                                       \
            memset(out, 0, (size_t)width * sizeof *out);                                          \
            return;                                                                               \
        }                                                                                         \
        for (int64_t j = first; j < end; j += RUN) {                                              \
            NAME##_run(job, x, j, end - j < RUN ? end : j + RUN, step, width, total);             \
            if (end - first > RUN) NAME##_push(level, held, 0, total, width);                     \
        }                                                                                         \
        if (end - first > RUN) {                                                                  \
            int l = 0;                                                                            \
            for (; held[l + 1]; l++) NAME##_push(level, held, l + 1, level[l], width);            \
            memcpy(total, level[l], (size_t)width * sizeof *total);                               \
        }                                                                                         \
        for (int64_t c = 0; c < width; c++) out[c] = STORE(total[c]);                             \
    }                                                                                             \
    static void NAME##_targets(void *ctx, int64_t begin, int64_t end) {                           \
        const segment_job *job = ctx;                                                             \
        const STORAGE *x = (const STORAGE *)cpu_data(job->values);                                \
        STORAGE *out = (STORAGE *)cpu_data(job->out);                                             \
        const int64_t step = job->values->strides[0] * job->parts;                                \
        for (int64_t t = begin; t < end; t++) {                                                   \
            STORAGE *to = out + t * job->width;                                                   \
            if (job->width == 1) {                                                                \
                NAME##_target(job, t, x, step, to, 1);                                            \
                continue;                                                                         \
            }                                                                                     \
            for (int64_t c = 0; c < job->width; c += TILE)                                        \
                NAME##_target(job, t, x + c, step, to + c,                                        \
                              job->width - c < TILE ? job->width - c : TILE);                     \
        }                                                                                         \
    }                                                                                             \
    static phx_error *cpu_segment_##NAME(const cpu_kernel *self, const phx_call *call) {          \
        (void)self;                                                                               \
        return run(call, NAME##_targets, NAME##_come, (int64_t)sizeof(STORAGE));                  \
    }

static phx_error *no_memory(const segment_job *job) {
    return cpu_fail(PHX_OUT_OF_MEMORY,
                    "cpu: segment_sum of %lld rows to %lld targets: no memory for their order",
                    (long long)job->m, (long long)job->n);
}

static phx_error *run(const phx_call *call, phx_task_fn targets, phx_task_fn come, int64_t size) {
    segment_job job = {.values = cpu_input(call, 0), .ids = cpu_input(call, 1), .out = cpu_output(call, 0)};
    job.m = job.ids->shape[0];
    job.n = job.out->shape[0];
    job.parts = cpu_itemsize(job.out) / size;
    job.width = job.out->shape[1] * job.parts;
    if (job.n == 0 || job.width == 0) return NULL;
    phx_error *error = NULL;
    if (job.n * job.width * 8 <= ROOM && job.n <= 8 * job.m) {
        phx_parallel_for((job.width + COLUMNS - 1) / COLUMNS, 1, come, &job);
        if (job.failed) error = no_memory(&job);
        return error;
    }
    if (sort_by_target(&job)) {
        const int64_t each = (job.m / job.n + 1) * job.width;
        phx_parallel_for(job.n, GRAIN / each + 1, targets, &job);
    } else {
        error = no_memory(&job);
    }
    free(job.order);
    free(job.starts);
    return error;
}

#define PLAIN(x) (x)
#define BOTH(NAME, STORAGE, UNIT, LOAD, STORE, NEUTRAL)     \
    AS_THEY_COME(NAME, STORAGE, UNIT, LOAD, STORE, NEUTRAL) \
    SEGMENT(NAME, STORAGE, UNIT, LOAD, STORE)
BOTH(i8, uint8_t, uint8_t, PLAIN, PLAIN, 0)
BOTH(i16, uint16_t, uint16_t, PLAIN, PLAIN, 0)
BOTH(i32, uint32_t, uint32_t, PLAIN, PLAIN, 0)
BOTH(i64, uint64_t, uint64_t, PLAIN, PLAIN, 0)
BOTH(f16, uint16_t, float, phx_f16_to_f32, phx_f32_to_f16, -0.0)
BOTH(bf16, uint16_t, float, phx_bf16_to_f32, phx_f32_to_bf16, -0.0)
BOTH(f32, float, float, PLAIN, PLAIN, -0.0)
BOTH(f64, double, double, PLAIN, PLAIN, -0.0)

#define ROW(T, BOUND, NAME)                                                                      \
    CPU_KERNEL("segment_sum", ((const uint8_t[]){T, PHX_INT64, T}), 2, 1, PHX_LAYOUT_ANY, BOUND, \
               cpu_segment_##NAME, NULL, 64)

static const cpu_kernel rows[] = {
    ROW(PHX_INT8, 0.0, i8),
    ROW(PHX_UINT8, 0.0, i8),
    ROW(PHX_INT16, 0.0, i16),
    ROW(PHX_UINT16, 0.0, i16),
    ROW(PHX_INT32, 0.0, i32),
    ROW(PHX_UINT32, 0.0, i32),
    ROW(PHX_INT64, 0.0, i64),
    ROW(PHX_UINT64, 0.0, i64),
    ROW(PHX_FLOAT16, -1.0, f16),
    ROW(PHX_BFLOAT16, -1.0, bf16),
    ROW(PHX_FLOAT32, -1.0, f32),
    ROW(PHX_FLOAT64, -1.0, f64),
    ROW(PHX_COMPLEX64, -1.0, f32),
    ROW(PHX_COMPLEX128, -1.0, f64),
};

cpu_kernel_list phx_segment_kernels(void) {
    return (cpu_kernel_list){rows, sizeof rows / sizeof *rows};
}
