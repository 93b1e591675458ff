/* The discrete Fourier transform along the last axis: passes in the order of docs/ops.md.
 *
 * Transforms run side by side in the lanes of vectors. The lanes are rows where the caches hold those. A longer
 * row of n1 * n2 numbers is done in two steps, as what the first passes combine lies n2 apart: n2
 * transforms of n1 numbers, whose lanes are neighbours in memory, then n1 of n2 numbers, each with
 * twiddles of its own. Both are done in tiles that the caches hold.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "reduce/axes.h"
#include "reduce/lists_reduce.h"
#include "runtime/parallel.h"

#include "fft/fft_vector.h"

#define FFT_CAT_(a, b) a##_##b
#define FFT_CAT(a, b) FFT_CAT_(a, b)
#define FFT_INLINE static inline __attribute__((always_inline, unused))

#define FFT_PASSES 64
#define FFT_LARGEST 251 /* of the primes */
#define FFT_BLOCK 8     /* of the sums of a prime */
#define FFT_BITS 8      /* of a param for a radix */

/* Twiddles are none, the same for all lanes, or each lane's own. */
enum { FFT_NONE,
       FFT_ALIKE,
       FFT_BY_LANE };

/* Transforms of n numbers, `lanes` of them side by side. Strides are in complex numbers: xl and yl of lanes,
 * xe and ye of the numbers of a transform. They are the passes behind others that have combined `before`
 * numbers, of which the first lane has number `lane`. */
typedef struct {
    const void *x;
    void *y;
    int64_t xl, xe, yl, ye, lanes, n, given;
    int swap_in, swap_out;
    double scale;
    const int *radices;
    int passes;
    int64_t before, lane;
    const void *twiddles; /* of the first of the passes */
} fft_lanes;

/* One pass over `groups` cells of each number: r numbers, m of them combined before and inner beside. */
typedef struct {
    int64_t r, m, inner, groups;
    int mode;
    int64_t size, lanes_apart, lane, lanes;
    const void *twiddles, *roots;
} fft_pass;

static inline int fft_is_own(int64_t r) { return r <= 5 || r == 7 || r == 8; }

#define T f32
#define NAME(f) fft_f32_##f
#include "fft/fft_lanes.h"

#define T f64
#define NAME(f) fft_f64_##f
#include "fft/fft_lanes.h"

/* ---- rows ------------------------------------------------------------------------------------------ */

#define FFT_SHORT 32                   /* few rows up to this length are lanes, too */
#define FFT_SMALL_TILE (16 << 10)      /* bytes of a tile that the first cache holds with its copy */
#define FFT_TILE (128 << 10)           /* the same for the second cache */
#define FFT_SHARED ((int64_t)1 << 14)  /* numbers of a row that all threads work on together */
#define FFT_LONG ((int64_t)1 << 18)    /* the same, however many rows there are */
#define FFT_GRAIN 4096                 /* numbers that a thread takes at least */
#define FFT_KEPT ((int64_t)128 << 20)  /* bytes of room that are kept for the next call */

typedef struct {
    void (*transform)(const fft_lanes *f, void *room);
    int64_t part, len; /* bytes of half a number, lanes of a cell */
} fft_type;

typedef struct {
    const fft_type *type;
    fft_lanes whole; /* all passes over one row; the first one's place */
    int radices[FFT_PASSES];
    kept_axes axes;
    int64_t n1, n2;      /* of the two steps */
    int split;           /* passes of the first one */
    const char *second;  /* the second step's twiddles */
    int64_t tiles, tile; /* of the columns, where rows are lanes; columns of a tile */
    atomic_int failed;
} fft_job;

/* A step of one row in tiles of its lanes. */
typedef struct {
    const fft_type *type;
    fft_lanes lanes;
    int64_t tile;
    void *room; /* for its tiles; NULL where several threads need one each */
    atomic_int *failed;
} fft_step;

static int64_t room_bytes(const fft_type *type, int64_t n, int64_t lanes) {
    return 2 * n * ((lanes + type->len - 1) / type->len) * type->len * 2 * type->part;
}

static void *aligned(int64_t bytes) { return aligned_alloc(64, (size_t)((bytes + 63) / 64 * 64)); }

/* The lanes of a tile of transforms of n numbers: all of them, or whole cells that the caches hold. */
static int64_t tile_of(const fft_type *type, int64_t n, int64_t lanes) {
    const int64_t each = 2 * type->part * n;
    if (lanes * each <= FFT_SMALL_TILE) return lanes;
    const int64_t fit = FFT_TILE / each / type->len * type->len;
    return fit < type->len ? type->len : fit < lanes ? fit
                                                     : lanes;
}

static void run_tiles(void *ctx, int64_t begin, int64_t end) {
    const fft_step *step = ctx;
    const int64_t number = 2 * step->type->part;
    void *room = step->room ? step->room : aligned(room_bytes(step->type, step->lanes.n, step->tile));
    if (!room) {
        atomic_store(step->failed, 1);
        return;
    }
    for (int64_t i = begin; i < end; i++) {
        fft_lanes f = step->lanes;
        const int64_t lane = i * step->tile;
        f.x = (const char *)f.x + lane * f.xl * number;
        f.y = (char *)f.y + lane * f.yl * number;
        f.lane = lane;
        f.lanes = f.lanes - lane < step->tile ? f.lanes - lane : step->tile;
        step->type->transform(&f, room);
    }
    if (!step->room) free(room);
}

/* In tiles, on all threads if there is no room given. */
static void run_step(fft_job *job, const fft_lanes *lanes, void *room) {
    fft_step step = {.type = job->type, .lanes = *lanes, .room = room, .failed = &job->failed};
    step.tile = tile_of(job->type, lanes->n, lanes->lanes);
    const int64_t tiles = (lanes->lanes + step.tile - 1) / step.tile;
    if (room)
        run_tiles(&step, 0, tiles);
    else
        phx_parallel_for(tiles, 1, run_tiles, &step);
}

/* One row in two steps, through room for its n numbers. */
static void run_row(fft_job *job, const fft_lanes *whole, void *middle, void *room) {
    fft_lanes first = *whole, second = *whole;
    const int64_t n1 = job->n1, n2 = job->n2;
    first.y = middle;
    first.n = n1;
    first.lanes = n2;
    first.xl = whole->xe;
    first.xe = n2 * whole->xe;
    first.yl = 1;
    first.ye = n2;
    first.passes = job->split;
    first.scale = 1.0;
    first.swap_out = 0;
    /* number i of lane b is given if i * n2 + b < given: whole numbers of all lanes, then of some lanes */
    first.given = whole->given / n2;
    second.x = middle;
    second.n = n2;
    second.lanes = n1;
    second.xl = n2;
    second.xe = 1;
    second.yl = whole->ye;
    second.ye = n1 * whole->ye;
    second.given = n2;
    second.radices += job->split;
    second.passes -= job->split;
    second.before = n1;
    second.twiddles = job->second;
    second.swap_in = 0;
    const int64_t more = whole->given - first.given * n2;
    if (more > 0 && more < n2) {
        fft_lanes rest = first;
        first.lanes = more;
        first.given++;
        rest.lanes = n2 - more;
        rest.x = (const char *)rest.x + more * rest.xl * 2 * job->type->part;
        rest.y = (char *)rest.y + more * 2 * job->type->part;
        run_step(job, &rest, room);
    }
    run_step(job, &first, room);
    run_step(job, &second, room);
}

/* The row at a place of the outer axes and a column. */
static fft_lanes row_at(const fft_job *job, const axes_walk *w, int64_t column) {
    fft_lanes f = job->whole;
    f.x = (const char *)f.x + w->x + column * job->axes.xc * 2 * job->type->part;
    f.y = (char *)f.y + w->y + column * job->axes.yc * 2 * job->type->part;
    return f;
}

/* Rows one by one, each in two steps. */
static void run_rows(void *ctx, int64_t begin, int64_t end) {
    fft_job *job = ctx;
    const fft_type *type = job->type;
    const int64_t first = room_bytes(type, job->n1, tile_of(type, job->n1, job->n2));
    const int64_t second = room_bytes(type, job->n2, tile_of(type, job->n2, job->n1));
    char *room = aligned((first > second ? first : second) + 2 * type->part * job->whole.n);
    if (!room) {
        atomic_store(&job->failed, 1);
        return;
    }
    void *middle = room + (first > second ? first : second);
    axes_walk w;
    walk_to(&w, &job->axes, begin / job->axes.cols);
    int64_t column = begin % job->axes.cols;
    for (int64_t i = begin; i < end; i++) {
        const fft_lanes f = row_at(job, &w, column);
        run_row(job, &f, middle, room);
        if (++column == job->axes.cols) {
            column = 0;
            walk_next(&w, &job->axes);
        }
    }
    free(room);
}

/* Rows as lanes, in tiles of columns. */
static void run_columns(void *ctx, int64_t begin, int64_t end) {
    fft_job *job = ctx;
    void *room = aligned(room_bytes(job->type, job->whole.n, job->tile));
    if (!room) {
        atomic_store(&job->failed, 1);
        return;
    }
    axes_walk w;
    walk_to(&w, &job->axes, begin / job->tiles);
    int64_t tile = begin % job->tiles;
    for (int64_t i = begin; i < end; i++) {
        const int64_t column = tile * job->tile, left = job->axes.cols - column;
        fft_lanes f = row_at(job, &w, column);
        f.xl = job->axes.xc;
        f.yl = job->axes.yc;
        f.lanes = left < job->tile ? left : job->tile;
        job->type->transform(&f, room);
        if (++tile == job->tiles) {
            tile = 0;
            walk_next(&w, &job->axes);
        }
    }
    free(room);
}

/* ---- room for a long row, kept for the next one ----------------------------------------------------- */

typedef struct {
    int64_t size;
    char pad[56];
} fft_room;

static _Atomic(fft_room *) kept_room;

static fft_room *take_room(int64_t size) {
    fft_room *room = atomic_exchange(&kept_room, NULL);
    if (room && room->size >= size && room->size <= 4 * size) return room;
    free(room);
    room = aligned((int64_t)sizeof *room + size);
    if (room) room->size = size;
    return room;
}

static void give_room(fft_room *room) {
    if (room->size <= FFT_KEPT) room = atomic_exchange(&kept_room, room);
    free(room);
}

/* ---- a call ------------------------------------------------------------------------------------------ */

static void run_long_rows(fft_job *job, int64_t rows) {
    fft_room *room = take_room(2 * job->type->part * job->whole.n);
    if (!room) {
        atomic_store(&job->failed, 1);
        return;
    }
    axes_walk w;
    walk_to(&w, &job->axes, 0);
    for (int64_t i = 0, column = 0; i < rows; i++) {
        const fft_lanes f = row_at(job, &w, column);
        run_row(job, &f, room + 1, NULL);
        if (++column == job->axes.cols) {
            column = 0;
            walk_next(&w, &job->axes);
        }
    }
    give_room(room);
}

/* Cut the passes in two, so that the longer step is as short as can be. */
static void split_passes(fft_job *job) {
    const int64_t n = job->whole.n;
    int64_t n1 = 1, best = n + 1, bytes = 0, m = 1;
    for (int i = 0; i + 1 < job->whole.passes; i++) {
        n1 *= job->radices[i];
        const int64_t longer = n1 > n / n1 ? n1 : n / n1;
        if (longer < best) {
            best = longer;
            job->split = i + 1;
            job->n1 = n1;
            job->n2 = n / n1;
        }
    }
    for (int i = 0; i < job->split; i++) {
        const int r = job->radices[i];
        bytes += (m > 1 ? (r - 1) * m : 0) + (fft_is_own(r) ? 0 : r);
        m *= r;
    }
    job->second = (const char *)job->whole.twiddles + bytes * 2 * job->type->part;
}

/* Whether rows are lanes: short ones, those of one pass, and any of which a cell fits the second cache. */
static int takes_columns(const fft_job *job) {
    const fft_lanes *f = &job->whole;
    if (f->passes < 2 || f->n <= FFT_SHORT) return 1;
    return job->axes.cols >= job->type->len && f->n * job->type->len * 2 * job->type->part <= FFT_TILE;
}

static void run(fft_job *job) {
    const int64_t n = job->whole.n, rows = job->axes.cols * job->axes.outer, grain = 1 + FFT_GRAIN / n;
    if (takes_columns(job)) {
        job->tile = tile_of(job->type, n, job->axes.cols);
        job->tiles = (job->axes.cols + job->tile - 1) / job->tile;
        phx_parallel_for(job->axes.outer * job->tiles, 1 + grain / job->tile, run_columns, job);
        return;
    }
    split_passes(job);
    if (n >= FFT_SHARED && (rows < phx_num_threads() || n >= FFT_LONG))
        run_long_rows(job, rows);
    else
        phx_parallel_for(rows, grain, run_rows, job);
}

static double scale_of(int64_t bits, int64_t part) {
    f64 wide;
    f32 narrow;
    const uint32_t low = (uint32_t)bits;
    memcpy(&wide, &bits, sizeof wide);
    memcpy(&narrow, &low, sizeof narrow);
    return part == 8 ? wide : (double)narrow;
}

static phx_error *fft(const fft_type *type, const phx_call *call) {
    const DLTensor *x = cpu_input(call, 0), *y = cpu_output(call, 0);
    const int last = y->ndim - 1;
    fft_job job = {.type = type};
    fft_lanes *f = &job.whole;
    f->n = y->shape[last];
    f->given = x->shape[last];
    if (f->n == 0 || !split_axes(&job.axes, x, y, last)) return NULL;
    f->x = cpu_data(x);
    f->y = cpu_data(y);
    f->xe = x->strides[last];
    f->ye = y->strides[last];
    f->swap_in = f->swap_out = call->params[0] != 0;
    f->scale = scale_of(call->params[1], type->part);
    f->twiddles = cpu_data(cpu_input(call, 1));
    f->before = f->lanes = 1;
    f->radices = job.radices;
    for (uint32_t i = 2; i < call->n_params; i++)
        for (int64_t word = call->params[i]; word; word >>= FFT_BITS)
            if (f->passes < FFT_PASSES) job.radices[f->passes++] = (int)(word & ((1 << FFT_BITS) - 1));
    run(&job);
    if (!atomic_load(&job.failed)) return NULL;
    return cpu_fail(PHX_OUT_OF_MEMORY, "no memory for the passes of fft over rows of %lld", (long long)f->n);
}

#define KERNEL(NAME, X, T)                                                      \
    static phx_error *NAME(const cpu_kernel *self, const phx_call *call) {      \
        static const fft_type type = {fft_##X##_transform, sizeof(T), X##_LEN}; \
        (void)self;                                                             \
        return fft(&type, call);                                                \
    }
KERNEL(fft_c64, f32, float)
KERNEL(fft_c128, f64, double)

#define ROW(T, FN, COST) \
    CPU_KERNEL("fft", ((const uint8_t[]){T, T, T}), 2, 1, PHX_LAYOUT_ANY, -1.0, FN, NULL, COST)

static const cpu_kernel rows[] = {ROW(PHX_COMPLEX64, fft_c64, 60), ROW(PHX_COMPLEX128, fft_c128, 120)};

cpu_kernel_list phx_fft_kernels(void) { return (cpu_kernel_list){rows, sizeof rows / sizeof rows[0]}; }
