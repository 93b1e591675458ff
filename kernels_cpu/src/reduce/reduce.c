/* The driver of the reductions: cuts the operand into items, shares them out and combines the blocks. */
#include "reduce/reduce.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "runtime/parallel.h"

/* Choose the tile. Its width decides nothing but speed. */
static void choose_tile(reduce_job *job) {
    const reduce_plan *plan = job->plan;
    const int64_t widest = plan->widest;
    const int64_t rows = job->n < plan->block ? job->n : plan->block;
    const int short_rows = job->n < plan->short_row && job->axes.cols > 1;
    job->blocks = job->n == 0 ? 1 : (job->n + plan->block - 1) / plan->block;
    job->by_row = job->axes.cols == 1 || (!short_rows && stride_size(job->sn) <= stride_size(job->axes.xc));
    job->block_first = job->by_row;
    if (job->by_row) {
        const int64_t wanted = job->blocks > 1 ? 1 : REDUCE_GRAIN / (1 + rows * job->item_size);
        job->width = wanted < 1 ? 1 : wanted < widest ? wanted
                                                      : widest;
    } else {
        int64_t rows_of_lanes = REDUCE_LANES; /* few rows leave room for more columns */
        job->width = widest;
        while (rows_of_lanes >= 2 * rows && job->width * 2 * plan->acc_size <= REDUCE_ROOM && plan->may_widen) {
            rows_of_lanes /= 2;
            job->width *= 2;
        }
    }
    if (job->width > job->axes.cols) job->width = job->axes.cols;
    if (!job->by_row && rows * job->width * job->item_size > REDUCE_GRAIN) {
        /* enough items for the threads, but no tile below two cache lines */
        const int64_t wanted = 4 * (int64_t)phx_num_threads();
        while (job->width * job->item_size > 128 &&
               job->axes.outer * job->blocks * ((job->axes.cols + job->width - 1) / job->width) < wanted)
            job->width = (job->width + 1) / 2;
    }
    job->tiles = (job->axes.cols + job->width - 1) / job->width;
}

static int decided(const void *acc, int64_t bytes) {
    const char *p = acc;
    for (int64_t i = 0; i < bytes; i++)
        if (p[i]) return 1;
    return 0;
}

static void run_item(reduce_job *job, const axes_walk *w, int64_t block, int64_t column) {
    const reduce_plan *plan = job->plan;
    _Alignas(64) char local[REDUCE_ROOM];
    char *acc = local;
    reduce_tile tile = {.first = block * plan->block, .sn = job->sn, .sc = job->axes.xc};
    tile.x = job->x + w->x + (tile.first * job->sn + column * job->axes.xc) * job->item_size;
    tile.n = job->n - tile.first < plan->block ? job->n - tile.first : plan->block;
    tile.cols = job->axes.cols - column < job->width ? job->axes.cols - column : job->width;
    if (job->partial) {
        acc = job->partial + ((w->o * job->blocks + block) * job->axes.cols + column) * plan->acc_size;
        if (plan->absorbing && atomic_load_explicit(&job->done, memory_order_relaxed)) {
            for (int64_t i = 0; i < tile.cols * plan->acc_size; i++) acc[i] = 0;
            return;
        }
    }
    if (job->centres) tile.centres = job->centres + (w->o * job->axes.cols + column) * plan->acc_size;
    plan->tile(job, &tile, acc);
    if (!job->partial)
        plan->finish(job, acc, tile.cols, job->y + w->y + column * job->yc, job->yc);
    else if (plan->absorbing && job->axes.cols * job->axes.outer == 1 && decided(acc, plan->acc_size))
        atomic_store_explicit(&job->done, 1, memory_order_relaxed);
}

static void run_items(void *ctx, int64_t begin, int64_t end) {
    reduce_job *job = ctx;
    const int64_t inner = job->blocks * job->tiles;
    axes_walk w;
    walk_to(&w, &job->axes, begin / inner);
    int64_t k = begin % inner;
    for (int64_t item = begin; item < end; item++) {
        const int64_t block = job->block_first ? k % job->blocks : k / job->tiles;
        const int64_t tile = job->block_first ? k / job->blocks : k % job->tiles;
        run_item(job, &w, block, tile * job->width);
        if (++k == inner) {
            k = 0;
            walk_next(&w, &job->axes);
        }
    }
}

/* Combine the blocks: for half = P/2 ... 1, i < half: block i takes in block i + half if both exist. */
static void combine_blocks(const reduce_job *job) {
    const reduce_plan *plan = job->plan;
    const int64_t row = job->axes.cols * plan->acc_size;
    int64_t top = 1;
    while (top < job->blocks) top *= 2;
    axes_walk w;
    walk_to(&w, &job->axes, 0);
    for (; w.o < job->axes.outer; walk_next(&w, &job->axes)) {
        char *acc = job->partial + w.o * job->blocks * row;
        for (int64_t half = top / 2; half > 0; half /= 2) {
            const int64_t count = job->blocks - half < half ? job->blocks - half : half;
            plan->combine(acc, acc + half * row, count * job->axes.cols);
        }
        plan->finish(job, acc, job->axes.cols, job->y + w.y, job->yc);
    }
}

static phx_error *no_memory(int64_t size, const char *what) {
    return cpu_fail(PHX_OUT_OF_MEMORY, "no memory for %lld bytes of %s of a reduction", (long long)size, what);
}

/* Describe a call; returns 0 if it has no result. */
static int describe(reduce_job *job, const reduce_plan *plan, const phx_call *call) {
    const DLTensor *x = cpu_input(call, 0);
    const DLTensor *y = cpu_output(call, 0);
    job->plan = plan;
    job->x = cpu_data(x);
    job->y = cpu_data(y);
    job->centres = job->partial = NULL;
    job->item_size = cpu_itemsize(x);
    job->n = x->shape[x->ndim - 1];
    job->sn = x->strides[x->ndim - 1];
    atomic_init(&job->done, 0);
    if (!split_axes(&job->axes, x, y, x->ndim - 1)) return 0;
    job->yc = job->axes.yc * cpu_itemsize(y);
    choose_tile(job);
    return 1;
}

static phx_error *run_job(reduce_job *job) {
    const reduce_plan *plan = job->plan;
    if (job->blocks > 1) {
        const int64_t size = job->axes.outer * job->blocks * job->axes.cols * plan->acc_size;
        job->partial = aligned_alloc(64, (size_t)(size + 63) / 64 * 64);
        if (!job->partial) return no_memory(size, "partial results");
    }
    const int64_t items = job->axes.outer * job->blocks * job->tiles;
    const int64_t rows = job->n < plan->block ? job->n : plan->block;
    const int64_t bytes = 1 + rows * job->width * job->item_size;
    const int64_t grain = bytes < REDUCE_GRAIN ? REDUCE_GRAIN / bytes : 1;
    if (items <= grain)
        run_items(job, 0, items);
    else
        phx_parallel_for(items, grain, run_items, job);
    if (job->partial) combine_blocks(job);
    free(job->partial);
    return NULL;
}

/* Store the results of the plan's centre in the order of the walk. */
static phx_error *find_centres(reduce_job *job, const phx_call *call) {
    const reduce_plan *plan = job->plan->centre;
    const int64_t size = job->axes.outer * job->axes.cols * plan->acc_size;
    int64_t step = job->axes.cols * plan->acc_size;
    reduce_job centres;
    describe(&centres, plan, call);
    centres.y = job->centres = malloc((size_t)size);
    if (!centres.y) return no_memory(size, "centres");
    centres.yc = plan->acc_size;
    for (int i = centres.axes.ndim - 1; i >= 0; i--) {
        centres.axes.ys[i] = step;
        step *= centres.axes.shape[i];
    }
    return run_job(&centres);
}

phx_error *phx_reduce(const reduce_plan *plan, const phx_call *call) {
    reduce_job job;
    phx_error *error = NULL;
    if (!describe(&job, plan, call)) return NULL;
    if (job.n == 0 && plan->needs_one)
        return cpu_fail(PHX_INVALID_ARGUMENT, "the largest or smallest of no elements does not exist; "
                                              "reduce an axis of at least one element");
    if (plan->centre && job.n > 0) error = find_centres(&job, call);
    if (!error) error = run_job(&job);
    free(job.centres);
    return error;
}
