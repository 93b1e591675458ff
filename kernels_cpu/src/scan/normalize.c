/* softmax, log_softmax and layer_norm along the last axis: a centre, terms, their sum in the reduction's
 * order, and a factor; normalize_type.h has each.
 *
 * A row is taken in blocks of REDUCE_BLOCK elements; short rows, and rows whose elements are farther apart
 * in memory than the rows, are taken several at once as columns. The exponentials of softmax are put into
 * the output where it has float32 or float64 without gaps, else into a buffer. A single long row is shared
 * among the threads.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "reduce/axes.h"
#include "reduce/lists_reduce.h"
#include "runtime/parallel.h"
#include "reduce/reduce.h"

#include "convert.h" /* after the dialect */
#include "real_exp.h"
#include "real_log.h"
#include "softmax_exp.h"

#define SAME(x) (x)
#define ADD(a, b) ((a) + (b))

#define NORMAL_SIDE 64            /* columns of a tile */
#define NORMAL_SHORT 64           /* rows below this length are taken as columns */
#define NORMAL_BUFFER (1 << 20)   /* bytes of the buffer of a tile, if that is more than one column */
#define NORMAL_LONG (1 << 16)     /* elements of a row that are worth several threads */

/* One row, or the state of its steps. */
typedef struct {
    const char *x;
    char *y;
    int64_t n, sn, yn;
    const char *weight, *bias; /* of layer_norm; ws, bs: their strides in elements */
    int64_t ws, bs;
    f64 eps;
    const void *from; /* x as contiguous numbers */
    void *room;       /* x, or what is kept of its terms */
    void *terms;      /* of a block of columns, if they are not kept */
    void *parts;      /* a number per block */
    int gather;       /* from is room and is to be filled from x */
    f64 centre, factor; /* both finite, or the factor is NaN */
} normal_row;

typedef void (*normal_each)(int64_t blocks, phx_task_fn step, void *row);

static void each_here(int64_t blocks, phx_task_fn step, void *row) { step(row, 0, blocks); }

static void each_shared(int64_t blocks, phx_task_fn step, void *row) {
    phx_parallel_for(blocks, 4, step, row);
}

/* ---- instances ----------------------------------------------------------------------------------- */

#include "reduce/reduce_lanes_sum.h"

#define NAME(op, f) op##_f32_##f
#define STORAGE f32
#define UNIT f32
#define LOAD SAME
#define STORE SAME
#define EXP phx_softmax_exp_f32
#define LOG phx_log_f32
#define ROOT phx_sqrtf
#define COUNT phx_i64_to_f32
#define SUM(f) sum_f32_##f
#define ONE_NAN PHX_NANF
#include "scan/normalize_type.h"

#define NAME(op, f) op##_f64_##f
#define STORAGE f64
#define UNIT f64
#define LOAD SAME
#define STORE SAME
#define EXP phx_exp_f64
#define LOG phx_log_f64
#define ROOT phx_sqrt
#define COUNT phx_i64_to_f64
#define SUM(f) sum_f64_##f
#define ONE_NAN PHX_NAN
#include "scan/normalize_type.h"

#define NAME(op, f) op##_f16_##f
#define STORAGE u16
#define UNIT f32
#define LOAD phx_f16_to_f32
#define STORE phx_f32_to_f16
#define EXP phx_softmax_exp_f32
#define LOG phx_log_f32
#define ROOT phx_sqrtf
#define COUNT phx_i64_to_f32
#define SUM(f) sum_f32_##f
#define ONE_NAN PHX_NANF
#include "scan/normalize_type.h"

#define NAME(op, f) op##_bf16_##f
#define STORAGE u16
#define UNIT f32
#define LOAD phx_bf16_to_f32
#define STORE phx_f32_to_bf16
#define EXP phx_softmax_exp_f32
#define LOG phx_log_f32
#define ROOT phx_sqrtf
#define COUNT phx_i64_to_f32
#define SUM(f) sum_f32_##f
#define ONE_NAN PHX_NANF
#include "scan/normalize_type.h"

/* ---- rows ---------------------------------------------------------------------------------------- */

typedef struct {
    void (*row)(normal_row *row, normal_each each);
    void (*columns)(const normal_row *row, int64_t cols, int64_t xc, int64_t yc);
    int64_t unit; /* bytes of a number */
    int native;   /* elements are numbers */
    int keeps;    /* terms take the place of elements */
} normal_plan;

typedef struct {
    const normal_plan *plan;
    normal_row row; /* of the first row */
    kept_axes axes;
    int64_t size, side, tiles; /* bytes of an element; columns of a tile */
    int64_t room, terms, parts; /* bytes of scratch of one task */
    int by_row;
    atomic_int failed; /* a task found no memory */
} normal_job;

static void run_tiles(void *ctx, int64_t begin, int64_t end) {
    normal_job *job = ctx;
    const kept_axes *axes = &job->axes;
    f64 few[NORMAL_SIDE];
    const int64_t bytes = job->room + job->terms + job->parts;
    char *scratch = bytes ? malloc((size_t)bytes) : NULL;
    if (bytes && !scratch) {
        atomic_store(&job->failed, 1);
        return;
    }
    axes_walk w;
    walk_to(&w, axes, begin / job->tiles);
    int64_t tile = begin % job->tiles;
    for (int64_t item = begin; item < end; item++) {
        const int64_t column = tile * job->side;
        normal_row row = job->row;
        row.x += w.x + column * axes->xc * job->size;
        row.y += w.y + column * axes->yc * job->size;
        row.room = job->room ? scratch : row.y;
        row.from = job->room ? scratch : row.x;
        row.terms = scratch + job->room;
        row.parts = job->parts ? (void *)(scratch + job->room + job->terms) : few;
        if (job->by_row)
            job->plan->row(&row, each_here);
        else
            job->plan->columns(&row, axes->cols - column < job->side ? axes->cols - column : job->side, axes->xc,
                               axes->yc);
        if (++tile == job->tiles) {
            tile = 0;
            walk_next(&w, axes);
        }
    }
    free(scratch);
}

static phx_error *no_memory(int64_t bytes) {
    return cpu_fail(PHX_OUT_OF_MEMORY, "no memory for %lld bytes of scratch for rows", (long long)bytes);
}

/* A single row whose blocks are shared among the threads. */
static phx_error *run_long_row(normal_job *job) {
    normal_row *row = &job->row;
    char *scratch = malloc((size_t)(job->room + job->parts));
    if (!scratch) return no_memory(job->room + job->parts);
    row->room = job->room ? scratch : row->y;
    row->from = job->room ? scratch : row->x;
    row->parts = scratch + job->room;
    job->plan->row(row, each_shared);
    free(scratch);
    return NULL;
}

/* The weights and biases, and eps. */
static void take_weights(normal_row *row, const phx_call *call) {
    const DLTensor *w = cpu_input(call, 1), *b = cpu_input(call, 2);
    row->weight = cpu_data(w);
    row->bias = cpu_data(b);
    row->ws = w->strides[0];
    row->bs = b->strides[0];
    memcpy(&row->eps, &call->params[0], sizeof row->eps);
}

static phx_error *normalize(const normal_plan *plan, const phx_call *call) {
    const DLTensor *x = cpu_input(call, 0), *y = cpu_output(call, 0);
    const int last = x->ndim - 1;
    normal_job job = {.plan = plan, .size = cpu_itemsize(x)};
    normal_row *row = &job.row;
    row->x = cpu_data(x);
    row->y = cpu_data(y);
    row->n = x->shape[last];
    row->sn = x->strides[last];
    row->yn = y->strides[last];
    if (row->n == 0 || !split_axes(&job.axes, x, y, last)) return NULL;
    if (call->n_inputs > 1) take_weights(row, call);
    const int64_t length = row->n * plan->unit, blocks = (row->n + REDUCE_BLOCK - 1) / REDUCE_BLOCK;
    job.by_row = job.axes.cols == 1 ||
                 (row->n >= NORMAL_SHORT && stride_size(row->sn) <= stride_size(job.axes.xc));
    job.side = job.by_row ? 1 : NORMAL_SIDE;
    if (job.by_row)
        row->gather = !plan->native || row->sn != 1 || (plan->keeps && row->yn != 1);
    else /* a buffer has no two rows that fall on the same lines of the cache */
        row->gather = !plan->native || job.axes.xc != 1 || job.axes.yc != 1 || job.side * length <= NORMAL_BUFFER;
    if (row->gather && job.side * length > NORMAL_BUFFER)
        job.side = NORMAL_BUFFER / length < 1 ? 1 : NORMAL_BUFFER / length;
    if (job.side > job.axes.cols) job.side = job.axes.cols;
    job.tiles = (job.axes.cols + job.side - 1) / job.side;
    job.room = row->gather ? (job.side * length + 63) / 64 * 64 : 0;
    job.terms = plan->keeps || job.by_row ? 0 : job.side * (blocks > 1 ? REDUCE_BLOCK * plan->unit : length);
    job.terms = (job.terms + 63) / 64 * 64;
    job.parts = blocks > 1 ? blocks * job.side * plan->unit : 0;
    if (job.axes.cols * job.axes.outer == 1 && row->n >= NORMAL_LONG) return run_long_row(&job);
    const int64_t grain = 1 + REDUCE_GRAIN / 4 / (job.side * length);
    phx_parallel_for(job.axes.outer * job.tiles, grain, run_tiles, &job);
    return atomic_load(&job.failed) ? no_memory(job.room + job.terms + job.parts) : NULL;
}

#define KERNEL(OP, D, UNIT, NATIVE, KEEPS)                                                                 \
    static phx_error *OP##_##D(const cpu_kernel *self, const phx_call *call) {                             \
        static const normal_plan plan = {OP##_##D##_row, OP##_##D##_columns, sizeof(UNIT), NATIVE, KEEPS}; \
        (void)self;                                                                                        \
        return normalize(&plan, call);                                                                     \
    }

#define KERNELS(D, UNIT, NATIVE)            \
    KERNEL(softmax, D, UNIT, NATIVE, 1)     \
    KERNEL(log_softmax, D, UNIT, NATIVE, 0) \
    KERNEL(layer_norm, D, UNIT, NATIVE, 0)

KERNELS(f16, f32, 0)
KERNELS(bf16, f32, 0)
KERNELS(f32, f32, 1)
KERNELS(f64, f64, 1)

#define ROWS(T, D)                                                                                            \
    REDUCE_KERNEL("softmax", T, T, -1.0, softmax_##D, 40),                                                    \
        REDUCE_KERNEL("log_softmax", T, T, -1.0, log_softmax_##D, 40),                                        \
        CPU_KERNEL("layer_norm", ((const uint8_t[]){T, T, T, T}), 3, 1, PHX_LAYOUT_ANY, -1.0, layer_norm_##D, \
                   NULL, 10)

static const cpu_kernel rows[] = {ROWS(PHX_FLOAT16, f16), ROWS(PHX_BFLOAT16, bf16), ROWS(PHX_FLOAT32, f32),
                                  ROWS(PHX_FLOAT64, f64)};

cpu_kernel_list phx_normalize_kernels(void) { return (cpu_kernel_list){rows, sizeof rows / sizeof rows[0]}; }
