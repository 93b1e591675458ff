/* softmax along the last axis: exp(x - max) times the reciprocal of the sum in the reduction's order.
 *
 * A row is taken in blocks of REDUCE_BLOCK elements; short rows, and rows whose elements are farther apart
 * in memory than the rows, are taken several at once as columns. The exponentials are put into the output
 * where it has float32 or float64 without gaps, else into a buffer. A single long row is shared among the
 * threads.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "reduce/axes.h"
#include "reduce/lists_reduce.h"
#include "runtime/parallel.h"
#include "reduce/reduce.h"

#include "convert.h" /* after the dialect */
#include "real_exp.h"
#include "softmax_exp.h"

#define SAME(x) (x)
#define ADD(a, b) ((a) + (b))

#define SOFTMAX_SIDE 64            /* columns of a tile */
#define SOFTMAX_SHORT 64           /* rows below this length are taken as columns */
#define SOFTMAX_BUFFER (1 << 20)   /* bytes of the buffer of a tile, if that is more than one column */
#define SOFTMAX_LONG (1 << 16)     /* elements of a row that are worth several threads */

/* One row, or the state of its steps. */
typedef struct {
    const char *x;
    char *y;
    int64_t n, sn, yn;
    const void *from; /* x as contiguous numbers */
    void *room;       /* exp(x - max) */
    void *parts;      /* a number per block */
    int gather;       /* from is room and is to be filled from x */
    f64 number;       /* the maximum, then the reciprocal of the sum, or NaN */
} softmax_row;

typedef void (*softmax_each)(int64_t blocks, phx_task_fn step, void *row);

static void each_here(int64_t blocks, phx_task_fn step, void *row) { step(row, 0, blocks); }

static void each_shared(int64_t blocks, phx_task_fn step, void *row) {
    phx_parallel_for(blocks, 4, step, row);
}

/* ---- instances ----------------------------------------------------------------------------------- */

#include "reduce/reduce_lanes_sum.h"

#define SOFTMAX_NAME(f) f32_##f
#define STORAGE f32
#define UNIT f32
#define LOAD SAME
#define STORE SAME
#define EXP phx_softmax_exp_f32
#define SUM(f) sum_f32_##f
#define ONE_NAN PHX_NANF
#include "scan/softmax_row.h"

#define SOFTMAX_NAME(f) f64_##f
#define STORAGE f64
#define UNIT f64
#define LOAD SAME
#define STORE SAME
#define EXP phx_exp_f64
#define SUM(f) sum_f64_##f
#define ONE_NAN PHX_NAN
#include "scan/softmax_row.h"

#define SOFTMAX_NAME(f) f16_##f
#define STORAGE u16
#define UNIT f32
#define LOAD phx_f16_to_f32
#define STORE phx_f32_to_f16
#define EXP phx_softmax_exp_f32
#define SUM(f) sum_f32_##f
#define ONE_NAN PHX_NANF
#include "scan/softmax_row.h"

#define SOFTMAX_NAME(f) bf16_##f
#define STORAGE u16
#define UNIT f32
#define LOAD phx_bf16_to_f32
#define STORE phx_f32_to_bf16
#define EXP phx_softmax_exp_f32
#define SUM(f) sum_f32_##f
#define ONE_NAN PHX_NANF
#include "scan/softmax_row.h"

/* ---- rows ---------------------------------------------------------------------------------------- */

typedef struct {
    void (*row)(softmax_row *row, softmax_each each);
    void (*columns)(const softmax_row *row, int64_t cols, int64_t xc, int64_t yc);
    int64_t unit; /* bytes of a number */
    int native;   /* elements are numbers */
} softmax_plan;

typedef struct {
    const softmax_plan *plan;
    softmax_row row; /* of the first row */
    kept_axes axes;
    int64_t size, side, tiles; /* bytes of an element; columns of a tile */
    int64_t room, parts;       /* bytes of scratch of one task */
    int by_row;
    atomic_int failed; /* a task found no memory */
} softmax_job;

static void run_tiles(void *ctx, int64_t begin, int64_t end) {
    softmax_job *job = ctx;
    const kept_axes *axes = &job->axes;
    f64 few[SOFTMAX_SIDE];
    const int64_t bytes = job->room + job->parts;
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
        softmax_row row = job->row;
        row.x += w.x + column * axes->xc * job->size;
        row.y += w.y + column * axes->yc * job->size;
        row.room = job->room ? scratch : row.y;
        row.from = job->room ? scratch : row.x;
        row.parts = job->parts ? (void *)(scratch + job->room) : few;
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
    return cpu_fail(PHX_OUT_OF_MEMORY, "no memory for %lld bytes of scratch of softmax", (long long)bytes);
}

/* A single row whose blocks are shared among the threads. */
static phx_error *run_long_row(softmax_job *job) {
    softmax_row *row = &job->row;
    char *scratch = malloc((size_t)(job->room + job->parts));
    if (!scratch) return no_memory(job->room + job->parts);
    row->room = job->room ? scratch : row->y;
    row->from = job->room ? scratch : row->x;
    row->parts = scratch + job->room;
    job->plan->row(row, each_shared);
    free(scratch);
    return NULL;
}

static phx_error *softmax(const softmax_plan *plan, const phx_call *call) {
    const DLTensor *x = cpu_input(call, 0), *y = cpu_output(call, 0);
    const int last = x->ndim - 1;
    softmax_job job = {.plan = plan, .size = cpu_itemsize(x)};
    job.row = (softmax_row){cpu_data(x), cpu_data(y), x->shape[last], x->strides[last], y->strides[last],
                            NULL, NULL, NULL, 0, 0};
    softmax_row *row = &job.row;
    if (row->n == 0 || !split_axes(&job.axes, x, y, last)) return NULL;
    const int64_t length = row->n * plan->unit, blocks = (row->n + REDUCE_BLOCK - 1) / REDUCE_BLOCK;
    job.by_row = job.axes.cols == 1 ||
                 (row->n >= SOFTMAX_SHORT && stride_size(row->sn) <= stride_size(job.axes.xc));
    job.side = job.by_row ? 1 : SOFTMAX_SIDE;
    if (job.by_row)
        row->gather = !plan->native || row->sn != 1 || row->yn != 1;
    else /* a buffer has no two rows that fall on the same lines of the cache */
        row->gather = !plan->native || job.axes.xc != 1 || job.axes.yc != 1 || job.side * length <= SOFTMAX_BUFFER;
    if (row->gather && job.side * length > SOFTMAX_BUFFER)
        job.side = SOFTMAX_BUFFER / length < 1 ? 1 : SOFTMAX_BUFFER / length;
    if (job.side > job.axes.cols) job.side = job.axes.cols;
    job.tiles = (job.axes.cols + job.side - 1) / job.side;
    job.room = row->gather ? (job.side * length + 63) / 64 * 64 : 0;
    job.parts = blocks > 1 ? blocks * job.side * plan->unit : 0;
    if (job.axes.cols * job.axes.outer == 1 && row->n >= SOFTMAX_LONG) return run_long_row(&job);
    const int64_t grain = 1 + REDUCE_GRAIN / 4 / (job.side * length);
    phx_parallel_for(job.axes.outer * job.tiles, grain, run_tiles, &job);
    return atomic_load(&job.failed) ? no_memory(job.room + job.parts) : NULL;
}

#define KERNEL(D, UNIT, NATIVE)                                                        \
    static phx_error *softmax_##D(const cpu_kernel *self, const phx_call *call) {      \
        static const softmax_plan plan = {D##_row, D##_columns, sizeof(UNIT), NATIVE}; \
        (void)self;                                                                    \
        return softmax(&plan, call);                                                   \
    }

KERNEL(f16, f32, 0)
KERNEL(bf16, f32, 0)
KERNEL(f32, f32, 1)
KERNEL(f64, f64, 1)

#define ROW(T, D) REDUCE_KERNEL("softmax", T, T, -1.0, softmax_##D, 40)

static const cpu_kernel rows[] = {ROW(PHX_FLOAT16, f16), ROW(PHX_BFLOAT16, bf16), ROW(PHX_FLOAT32, f32),
                                  ROW(PHX_FLOAT64, f64)};

cpu_kernel_list phx_softmax_kernels(void) { return (cpu_kernel_list){rows, sizeof rows / sizeof rows[0]}; }
