/* Drivers of the elementwise kernels: from a call to inner loops over chunks, tiles and rows. */
#include "elementwise/elementwise.h"

#include <stdbool.h>
#include <string.h>

#include "runtime/parallel.h"
#include "elementwise/streaming.h"

#define GRAIN_NS 10000    /* least work for a thread: a wake-up takes 5 to 50 microseconds */
#define STREAM_BLOCK 8192 /* bytes of a result in the first cache on their way to memory */
#define MAX_AXES 64        /* of the canonical form */
#define BUFFER_BYTES 16384 /* per operand of a tile: four of them stay in the first cache with the rest */
#define MAX_ITEM 16
#define TILE_COUNT 8192 /* elements of a tile without buffers */
#define PIECE_BYTES 8192 /* of each operand of a piece of a row: four of them stay in the first cache */
#define SHORT_AXIS 16   /* shorter rows than this are not worth a loop of their own */

/* ---- contiguous -------------------------------------------------------------------------- */

typedef struct {
    cpu_loop loop;
    int operands;
    char *pointers[MAX_OPERANDS];
    int64_t strides[MAX_OPERANDS]; /* bytes */
} map_job;

static int64_t grain_of(const cpu_kernel *self) {
    const int64_t cost = self->cost > 0 ? self->cost : 1;
    return GRAIN_NS * 16 / cost;
}

static void run_map(void *ctx, int64_t begin, int64_t end) {
    const map_job *job = ctx;
    char *pointers[MAX_OPERANDS];
    for (int i = 0; i < job->operands; i++) pointers[i] = job->pointers[i] + begin * job->strides[i];
    job->loop(pointers, job->strides, end - begin);
}

/* An operand of one element beside a longer output gets stride 0. */
static int64_t make_job(map_job *job, const cpu_kernel *self, const phx_call *call) {
    const int64_t count = cpu_count(cpu_output(call, 0));
    job->loop = self->loop;
    job->operands = (int)(call->n_inputs + 1);
    for (int i = 0; i < job->operands; i++) {
        const DLTensor *t = call->tensors[i];
        job->pointers[i] = cpu_data(t);
        job->strides[i] = count != 1 && cpu_count(t) == 1 ? 0 : cpu_itemsize(t);
    }
    return count;
}

/* Large results: written by stores that do not first read the line that they replace, from a block in the
 * first cache. Worth it when the result would leave the caches before anyone reads it. */
static void run_map_streamed(void *ctx, int64_t begin, int64_t end) {
    const map_job *job = ctx;
    _Alignas(64) char block[STREAM_BLOCK];
    const int out = job->operands - 1;
    const int64_t itemsize = job->strides[out];
    const int64_t head = -(uintptr_t)(job->pointers[out] + begin * itemsize) % 64 / (uint64_t)itemsize;
    const int64_t first = begin + head < end ? begin + head : end;
    char *pointers[MAX_OPERANDS];
    run_map(ctx, begin, first);
    int64_t k = first;
    for (; end - k >= STREAM_BLOCK / itemsize; k += STREAM_BLOCK / itemsize) {
        for (int i = 0; i < out; i++) pointers[i] = job->pointers[i] + k * job->strides[i];
        pointers[out] = block;
        job->loop(pointers, job->strides, STREAM_BLOCK / itemsize);
        cpu_stream_out(job->pointers[out] + k * itemsize, block, STREAM_BLOCK);
    }
    cpu_stream_fence();
    run_map(ctx, k, end);
}

/* Whether the result is large, is no operand, and lies on multiples of its items. */
static bool is_streamed(char *const *pointers, int out, int64_t itemsize, int64_t count) {
    if (count * itemsize < cpu_stream_from() || (uintptr_t)pointers[out] % (uint64_t)itemsize != 0) return false;
    for (int i = 0; i < out; i++)
        if (pointers[i] == pointers[out]) return false;
    return true;
}

phx_error *cpu_map(const cpu_kernel *self, const phx_call *call) {
    map_job job;
    const int64_t count = make_job(&job, self, call);
    const int out = job.operands - 1;
    const bool streamed = is_streamed(job.pointers, out, job.strides[out], count);
    phx_parallel_for(count, grain_of(self), streamed ? run_map_streamed : run_map, &job);
    return NULL;
}

typedef struct {
    map_job map;
    int64_t itemsizes[MAX_OPERANDS];
} unit_job;

/* Rows of a loop that wants unit strides: operands of stride 0 are spread over a buffer once. */
static void run_map_unit(void *ctx, int64_t begin, int64_t end) {
    const unit_job *job = ctx;
    _Alignas(64) char buffers[MAX_OPERANDS - 1][BUFFER_BYTES / 4];
    char *pointers[MAX_OPERANDS];
    const int64_t step = BUFFER_BYTES / 4 / MAX_ITEM;
    for (int i = 0; i < job->map.operands; i++) {
        if (job->map.strides[i] != 0) continue;
        for (int64_t k = 0; k < step; k++)
            memcpy(buffers[i] + k * job->itemsizes[i], job->map.pointers[i], (size_t)job->itemsizes[i]);
    }
    for (int64_t k = begin; k < end; k += step) {
        for (int i = 0; i < job->map.operands; i++)
            pointers[i] =
                job->map.strides[i] == 0 ? buffers[i] : job->map.pointers[i] + k * job->itemsizes[i];
        job->map.loop(pointers, job->itemsizes, end - k < step ? end - k : step);
    }
}

phx_error *cpu_map_unit(const cpu_kernel *self, const phx_call *call) {
    unit_job job;
    bool spread = false;
    const int64_t count = make_job(&job.map, self, call);
    for (int i = 0; i < job.map.operands; i++) {
        job.itemsizes[i] = cpu_itemsize(call->tensors[i]);
        spread = spread || job.map.strides[i] == 0;
    }
    if (spread)
        phx_parallel_for(count, grain_of(self), run_map_unit, &job);
    else
        phx_parallel_for(count, grain_of(self), run_map, &job.map);
    return NULL;
}

/* ---- strided ----------------------------------------------------------------------------- */

/* The iteration space is cut into tiles of rows x columns: columns run along the axis of the inner loop, rows
 * along one other axis. A grid of tiles, one axis per axis of the operands, is walked like an odometer. */
typedef struct {
    const cpu_kernel *kernel;
    bool unit_only; /* the loop takes unit strides only */
    bool streamed;  /* the result is large and no operand */
    int64_t piece;  /* elements that run_row_pieces takes at once */
    int operands, axes;
    int row_axis, column_axis; /* row_axis is -1 when there is one axis */
    char *pointers[MAX_OPERANDS];
    int64_t itemsizes[MAX_OPERANDS];
    int64_t shape[MAX_AXES];
    int64_t strides[MAX_OPERANDS][MAX_AXES]; /* bytes */
    int64_t block[MAX_AXES];                 /* extent of a tile */
    int64_t grid[MAX_AXES];                  /* tiles */
    bool transposed[MAX_OPERANDS];           /* unit stride along the rows: goes through a buffer */
} strided_job;

static bool can_merge(const strided_job *job, int outer, int inner) {
    for (int i = 0; i < job->operands; i++)
        if (job->strides[i][outer] != job->strides[i][inner] * job->shape[inner]) return false;
    return true;
}

static void set_axis(strided_job *job, int to, int64_t extent, const int64_t *strides) {
    job->shape[to] = extent;
    for (int i = 0; i < job->operands; i++) job->strides[i][to] = strides[i];
}

/* Copy shape and strides, without axes of one element, neighbours joined where the strides allow it. */
static void read_axes(strided_job *job, const phx_call *call) {
    const DLTensor *out = cpu_output(call, 0);
    job->axes = 0;
    for (int a = 0; a < out->ndim; a++) {
        int64_t strides[MAX_OPERANDS];
        if (out->shape[a] == 1) continue;
        for (int i = 0; i < job->operands; i++) strides[i] = call->tensors[i]->strides[a] * job->itemsizes[i];
        const int last = job->axes - 1;
        set_axis(job, job->axes, out->shape[a], strides);
        if (last >= 0 && can_merge(job, last, last + 1))
            set_axis(job, last, job->shape[last] * out->shape[a], strides);
        else
            job->axes++;
    }
    if (job->axes == 0) {
        job->axes = 1;
        set_axis(job, 0, 1, job->itemsizes);
    }
}

static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

/* The axis along which an operand other than the output runs through memory, or -1. */
static int transposed_axis(const strided_job *job, int operand, int column) {
    const int64_t *strides = job->strides[operand];
    int best = -1;
    for (int a = 0; a < job->axes; a++)
        if (a != column && strides[a] != 0 && job->shape[a] >= SHORT_AXIS / 2 &&
            magnitude(strides[a]) < magnitude(strides[column]) &&
            (best < 0 || magnitude(strides[a]) < magnitude(strides[best])))
            best = a;
    return best;
}

/* Columns: the last axis, where the output is dense, unless it is too short beside the longest one. */
static void choose_axes(strided_job *job) {
    const int last = job->axes - 1;
    int column = last;
    if (job->shape[last] < SHORT_AXIS)
        for (int a = 0; a < last; a++)
            if (job->shape[a] > job->shape[column]) column = a;
    int row = column != last ? last : last - 1;
    for (int i = 0; i < job->operands - 1 && column == last; i++) {
        const int axis = transposed_axis(job, i, column);
        if (axis >= 0) row = axis;
    }
    job->column_axis = column;
    job->row_axis = row;
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

static void choose_tiles(strided_job *job) {
    const int column = job->column_axis, row = job->row_axis;
    bool transposed = false;
    int64_t largest = 1;
    for (int i = 0; i < job->operands; i++) {
        largest = larger(largest, job->itemsizes[i]);
        job->transposed[i] = row >= 0 && i < job->operands - 1 && job->strides[i][row] == job->itemsizes[i] &&
                             job->strides[i][column] != 0 && job->shape[row] >= SHORT_AXIS / 2;
        transposed = transposed || job->transposed[i];
    }
    for (int a = 0; a < job->axes; a++) job->block[a] = 1;
    const int64_t held = BUFFER_BYTES / largest;
    int64_t columns = job->unit_only ? held : TILE_COUNT;
    int64_t rows = 0;
    if (transposed) {
        rows = 64 / smaller(largest, 8) * 2;
        columns = held / rows;
    } else if (column != job->axes - 1) {
        columns = smaller(columns, 512);
    }
    job->block[column] = smaller(columns, job->shape[column]);
    if (row >= 0) {
        if (rows == 0) rows = larger(1, TILE_COUNT / larger(1, job->block[column]));
        job->block[row] = smaller(rows, job->shape[row]);
    }
    for (int a = 0; a < job->axes; a++) job->grid[a] = (job->shape[a] + job->block[a] - 1) / job->block[a];
}

/* A row of n items of any stride into a dense buffer, or back. */
static void move_row(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t itemsize,
                     int64_t n) {
    char *const pointers[] = {(char *)src, dst};
    const int64_t strides[] = {src_stride, dst_stride};
    switch (itemsize) {
    case 1: cpu_copy_1(pointers, strides, n); break;
    case 2: cpu_copy_2(pointers, strides, n); break;
    case 4: cpu_copy_4(pointers, strides, n); break;
    case 8: cpu_copy_8(pointers, strides, n); break;
    default: cpu_copy_16(pointers, strides, n); break;
    }
}

static bool is_copy(cpu_loop loop) {
    return loop == cpu_copy_1 || loop == cpu_copy_2 || loop == cpu_copy_4 || loop == cpu_copy_8 ||
           loop == cpu_copy_16;
}

typedef struct {
    char *pointers[MAX_OPERANDS];
    int64_t row_strides[MAX_OPERANDS], column_strides[MAX_OPERANDS];
} tile;

/* Small steps are undone by vectors faster than a loop takes its items one by one; larger ones are not, and near
 * the limit of the memory it makes no difference. */
static bool is_packed(const strided_job *job, const tile *t, int operand) {
    const int64_t stride = t->column_strides[operand], itemsize = job->itemsizes[operand];
    const bool small = stride == -itemsize || stride == 2 * itemsize || stride == 3 * itemsize ||
                       stride == 4 * itemsize;
    return small && magnitude(stride) <= 12 && operand != job->operands - 1 && !is_copy(job->kernel->loop);
}

/* A dense row by pieces: operands of small steps are packed first, so that the loop uses vectors; a large result
 * goes past the caches. */
static void run_row_pieces(const strided_job *job, const tile *t, char *const *row, int64_t columns,
                           const bool *packed) {
    _Alignas(64) char buffers[MAX_OPERANDS][PIECE_BYTES];
    const int out = job->operands - 1;
    const int64_t piece = job->piece;
    char *pointers[MAX_OPERANDS];
    int64_t strides[MAX_OPERANDS];
    for (int64_t c = 0; c < columns; c += piece) {
        const int64_t n = smaller(piece, columns - c);
        for (int i = 0; i <= out; i++) {
            strides[i] = packed[i] ? job->itemsizes[i] : t->column_strides[i];
            pointers[i] = row[i] + c * t->column_strides[i];
            if (!packed[i]) continue;
            move_row(buffers[i], strides[i], pointers[i], t->column_strides[i], strides[i], n);
            pointers[i] = buffers[i];
        }
        char *const place = pointers[out];
        const bool streamed = job->streamed && n == piece && (uintptr_t)place % 64 == 0;
        if (streamed) pointers[out] = buffers[out];
        job->kernel->loop(pointers, strides, n);
        if (streamed) cpu_stream_out(place, buffers[out], n * job->itemsizes[out]);
    }
}

static void run_rows(const strided_job *job, const tile *t, int64_t rows, int64_t columns) {
    const int out = job->operands - 1;
    char *pointers[MAX_OPERANDS];
    bool packed[MAX_OPERANDS] = {false}, pieces = job->streamed;
    for (int i = 0; i < out; i++) pieces |= packed[i] = is_packed(job, t, i);
    pieces = pieces && t->column_strides[out] == job->itemsizes[out] && columns >= 2 * SHORT_AXIS;
    for (int64_t r = 0; r < rows; r++) {
        for (int i = 0; i <= out; i++) pointers[i] = t->pointers[i] + r * t->row_strides[i];
        if (pieces)
            run_row_pieces(job, t, pointers, columns, packed);
        else
            job->kernel->loop(pointers, t->column_strides, columns);
    }
    if (pieces && job->streamed) cpu_stream_fence();
}

/* Operands whose columns are not dense go through buffers, row by row. */
static void run_unit_rows(const strided_job *job, const tile *t, int64_t rows, int64_t columns) {
    _Alignas(64) char buffers[MAX_OPERANDS][BUFFER_BYTES];
    const int out = job->operands - 1;
    char *pointers[MAX_OPERANDS];
    for (int64_t r = 0; r < rows; r++) {
        for (int i = 0; i <= out; i++) {
            char *place = t->pointers[i] + r * t->row_strides[i];
            const bool dense = t->column_strides[i] == job->itemsizes[i];
            pointers[i] = dense ? place : buffers[i];
            if (!dense && i != out)
                move_row(buffers[i], job->itemsizes[i], place, t->column_strides[i], job->itemsizes[i],
                         columns);
        }
        job->kernel->loop(pointers, job->itemsizes, columns);
        if (pointers[out] == buffers[out])
            move_row(t->pointers[out] + r * t->row_strides[out], t->column_strides[out], buffers[out],
                     job->itemsizes[out], job->itemsizes[out], columns);
    }
}

static void run_tile_rows(const strided_job *job, const tile *t, int64_t rows, int64_t columns) {
    if (job->unit_only)
        run_unit_rows(job, t, rows, columns);
    else
        run_rows(job, t, rows, columns);
}

/* Turn transposed operands into dense rows first; a copy is done with that. */
static void run_transposed_tile(const strided_job *job, const tile *from, int64_t rows, int64_t columns) {
    _Alignas(64) char buffers[MAX_OPERANDS - 1][BUFFER_BYTES];
    tile t = *from;
    if (is_copy(job->kernel->loop) && t.column_strides[1] == job->itemsizes[1]) {
        cpu_transpose(t.pointers[1], t.row_strides[1], t.pointers[0], t.column_strides[0], rows, columns,
                      job->itemsizes[0]);
        return;
    }
    for (int i = 0; i < job->operands - 1; i++) {
        if (!job->transposed[i]) continue;
        cpu_transpose(buffers[i], columns * job->itemsizes[i], t.pointers[i], t.column_strides[i], rows,
                      columns, job->itemsizes[i]);
        t.pointers[i] = buffers[i];
        t.row_strides[i] = columns * job->itemsizes[i];
        t.column_strides[i] = job->itemsizes[i];
    }
    run_tile_rows(job, &t, rows, columns);
}

static void run_tile(const strided_job *job, const int64_t *index) {
    const int column = job->column_axis, row = job->row_axis;
    tile t;
    bool transposed = false;
    for (int i = 0; i < job->operands; i++) {
        t.pointers[i] = job->pointers[i];
        for (int a = 0; a < job->axes; a++) t.pointers[i] += index[a] * job->block[a] * job->strides[i][a];
        t.column_strides[i] = job->strides[i][column];
        t.row_strides[i] = row >= 0 ? job->strides[i][row] : 0;
        transposed = transposed || job->transposed[i];
    }
    const int64_t columns =
        smaller(job->block[column], job->shape[column] - index[column] * job->block[column]);
    const int64_t rows =
        row < 0 ? 1 : smaller(job->block[row], job->shape[row] - index[row] * job->block[row]);
    if (transposed)
        run_transposed_tile(job, &t, rows, columns);
    else
        run_tile_rows(job, &t, rows, columns);
}

static void run_tiles(void *ctx, int64_t begin, int64_t end) {
    const strided_job *job = ctx;
    int64_t index[MAX_AXES];
    int64_t rest = begin;
    for (int a = job->axes - 1; a >= 0; a--) {
        index[a] = rest % job->grid[a];
        rest /= job->grid[a];
    }
    for (int64_t k = begin; k < end; k++) {
        run_tile(job, index);
        for (int a = job->axes - 1; a >= 0; a--) {
            if (++index[a] < job->grid[a]) break;
            index[a] = 0;
        }
    }
}

static phx_error *map_strided(const cpu_kernel *self, const phx_call *call, bool unit_only) {
    const DLTensor *out = cpu_output(call, 0);
    if (out->ndim > MAX_AXES)
        return cpu_fail(PHX_INVALID_ARGUMENT, "%s: %d axes; strided kernels of the cpu take at most %d",
                        self->base.op.data, out->ndim, MAX_AXES);
    if (cpu_count(out) == 0) return NULL;
    strided_job job;
    job.kernel = self;
    job.unit_only = unit_only;
    job.operands = (int)(call->n_inputs + 1);
    for (int i = 0; i < job.operands; i++) {
        job.pointers[i] = cpu_data(call->tensors[i]);
        job.itemsizes[i] = cpu_itemsize(call->tensors[i]);
    }
    const int last = job.operands - 1;
    job.streamed = is_streamed(job.pointers, last, job.itemsizes[last], cpu_count(out));
    int64_t largest = 1;
    for (int i = 0; i < job.operands; i++) largest = larger(largest, job.itemsizes[i]);
    job.piece = PIECE_BYTES / largest;
    read_axes(&job, call);
    choose_axes(&job);
    choose_tiles(&job);
    int64_t tiles = 1, tile_count = 1;
    for (int a = 0; a < job.axes; a++) {
        tiles *= job.grid[a];
        tile_count *= job.block[a];
    }
    /* strided elements cost about as much again as contiguous ones */
    const int64_t grain = grain_of(self) / 2 / tile_count;
    phx_parallel_for(tiles, larger(1, grain), run_tiles, &job);
    return NULL;
}

phx_error *cpu_map_strided(const cpu_kernel *self, const phx_call *call) {
    return map_strided(self, call, false);
}

phx_error *cpu_map_strided_unit(const cpu_kernel *self, const phx_call *call) {
    return map_strided(self, call, true);
}
