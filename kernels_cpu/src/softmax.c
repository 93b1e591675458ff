/* softmax along the last axis: exp(x - max) times the reciprocal of the sum in the reduction's order.
 *
 * A row is taken in blocks of REDUCE_BLOCK elements. Contiguous rows of float32 and float64 are written in
 * place of the output; others go through a buffer, several columns at once where the columns are closer
 * together in memory than the elements of a row. A single long row is shared among the threads.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "axes.h"
#include "lists_reduce.h"
#include "parallel.h"
#include "reduce.h"

#include "convert.h" /* after the dialect */
#include "real_exp.h"

#define SAME(x) (x)
#define ADD(a, b) ((a) + (b))

#define SOFTMAX_SIDE 16            /* columns that are gathered together, a cache line of float32 */
#define SOFTMAX_BUFFER (1 << 20)   /* bytes of their buffer, if more than one */
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

#define LANES_NAME(f) sum_f32_##f
#define UNIT f32
#define PARTS 1
#define OP ADD
#define NEUTRAL -0.0f
#define LANES_ROWS_ONLY
#include "reduce_lanes.h"

#define LANES_NAME(f) sum_f64_##f
#define UNIT f64
#define PARTS 1
#define OP ADD
#define NEUTRAL -0.0
#define LANES_ROWS_ONLY
#include "reduce_lanes.h"

#define SOFTMAX_NAME(f) f32_##f
#define STORAGE f32
#define UNIT f32
#define LOAD SAME
#define STORE SAME
#define EXP phx_exp_f32
#define SUM(f) sum_f32_##f
#define ONE_NAN PHX_NANF
#include "softmax_row.h"

#define SOFTMAX_NAME(f) f64_##f
#define STORAGE f64
#define UNIT f64
#define LOAD SAME
#define STORE SAME
#define EXP phx_exp_f64
#define SUM(f) sum_f64_##f
#define ONE_NAN PHX_NAN
#include "softmax_row.h"

#define SOFTMAX_NAME(f) f16_##f
#define STORAGE u16
#define UNIT f32
#define LOAD phx_f16_to_f32
#define STORE phx_f32_to_f16
#define EXP phx_exp_f32
#define SUM(f) sum_f32_##f
#define ONE_NAN PHX_NANF
#include "softmax_row.h"

#define SOFTMAX_NAME(f) bf16_##f
#define STORAGE u16
#define UNIT f32
#define LOAD phx_bf16_to_f32
#define STORE phx_f32_to_bf16
#define EXP phx_exp_f32
#define SUM(f) sum_f32_##f
#define ONE_NAN PHX_NANF
#include "softmax_row.h"

/* ---- rows ---------------------------------------------------------------------------------------- */

typedef struct {
    void (*row)(softmax_row *row, softmax_each each);
    /* room[c][i] = element i of column c of x, contiguous */
    void (*columns)(const softmax_row *row, int64_t cols, int64_t xc);
    int64_t unit; /* bytes of a number */
    int native;   /* elements are numbers */
} softmax_plan;

typedef struct {
    const softmax_plan *plan;
    softmax_row row; /* x, y of the first row; n, sn, yn, gather of all */
    kept_axes axes;
    int64_t size, side, tiles; /* bytes of an element; columns of a tile */
    int64_t room, parts;       /* bytes of scratch of one task */
    atomic_int failed;         /* a task found no memory */
} softmax_job;

static void run_tile(const softmax_job *job, softmax_row row, int64_t cols) {
    char *room = row.room;
    const int together = row.gather && cols > 1 && stride_size(job->axes.xc) < stride_size(row.sn);
    if (together) {
        job->plan->columns(&row, cols, job->axes.xc);
        row.gather = 0;
    }
    for (int64_t c = 0; c < cols; c++) {
        if (room) {
            row.room = together ? room + c * row.n * job->plan->unit : room;
            row.from = row.room;
        } else {
            row.room = row.y;
            row.from = row.x;
        }
        job->plan->row(&row, each_here);
        row.x += job->axes.xc * job->size;
        row.y += job->axes.yc * job->size;
    }
}

static void run_tiles(void *ctx, int64_t begin, int64_t end) {
    softmax_job *job = ctx;
    f64 part;
    char *scratch = job->room + job->parts ? malloc((size_t)(job->room + job->parts)) : NULL;
    if (!scratch && job->room + job->parts) {
        atomic_store(&job->failed, 1);
        return;
    }
    axes_walk w;
    walk_to(&w, &job->axes, begin / job->tiles);
    int64_t tile = begin % job->tiles;
    for (int64_t item = begin; item < end; item++) {
        const int64_t column = tile * job->side;
        softmax_row row = job->row;
        row.x += w.x + column * job->axes.xc * job->size;
        row.y += w.y + column * job->axes.yc * job->size;
        row.room = job->room ? scratch : NULL;
        row.parts = job->parts ? (void *)(scratch + job->room) : &part;
        run_tile(job, row, job->axes.cols - column < job->side ? job->axes.cols - column : job->side);
        if (++tile == job->tiles) {
            tile = 0;
            walk_next(&w, &job->axes);
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
    row->gather = !(plan->native && row->sn == 1 && row->yn == 1);
    job.side = SOFTMAX_SIDE;
    if (row->gather && job.side * length > SOFTMAX_BUFFER)
        job.side = SOFTMAX_BUFFER / length < 1 ? 1 : SOFTMAX_BUFFER / length;
    if (job.side > job.axes.cols) job.side = job.axes.cols;
    job.tiles = (job.axes.cols + job.side - 1) / job.side;
    job.room = row->gather ? (job.side * length + 63) / 64 * 64 : 0;
    job.parts = blocks > 1 ? blocks * plan->unit : 0;
    if (job.axes.cols * job.axes.outer == 1 && row->n >= SOFTMAX_LONG) return run_long_row(&job);
    const int64_t grain = 1 + REDUCE_GRAIN / 4 / (job.side * length);
    phx_parallel_for(job.axes.outer * job.tiles, grain, run_tiles, &job);
    return atomic_load(&job.failed) ? no_memory(job.room + job.parts) : NULL;
}

#define KERNEL(D, UNIT, NATIVE)                                                                        \
    static phx_error *softmax_##D(const cpu_kernel *self, const phx_call *call) {                      \
        static const softmax_plan plan = {D##_row, D##_columns, sizeof(UNIT), NATIVE};                 \
        (void)self;                                                                                    \
        return softmax(&plan, call);                                                                   \
    }

KERNEL(f16, f32, 0)
KERNEL(bf16, f32, 0)
KERNEL(f32, f32, 1)
KERNEL(f64, f64, 1)

#define ROW(T, D) REDUCE_KERNEL("softmax", T, T, -1.0, softmax_##D, 40)

static const cpu_kernel rows[] = {ROW(PHX_FLOAT16, f16), ROW(PHX_BFLOAT16, bf16), ROW(PHX_FLOAT32, f32),
                                  ROW(PHX_FLOAT64, f64)};

cpu_kernel_list phx_softmax_kernels(void) { return (cpu_kernel_list){rows, sizeof rows / sizeof rows[0]}; }
