/* The ops sort and argsort: rows, threads and memory around the sorts of one row. */
#include "sort/lists_sort.h"
#include "runtime/parallel.h"
#include "sort/sort_internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    DL_INT = 0,
    DL_UINT = 1,
    DL_FLOAT = 2,
    DL_BFLOAT = 4,
    DL_BOOL = 6
}; /* DLPack 1.0, DLDataTypeCode */

#define TILE \
    16 /* neighbouring rows that are copied together when the sorted axis is not the dense one */

typedef struct {
    sort_row row;
    const DLTensor *in, *out;
    int64_t rows, in_item, out_item;
    int tiles; /* rows come in tiles of neighbours */
    int failed;
} sort_call;

static void set_masks(sort_order *order, uint64_t magnitude, uint64_t infinite) {
    order->magnitude = magnitude;
    order->infinite = infinite;
}

static sort_order order_of(DLDataType type, int descending, int one_zero) {
    const int bits = type.bits, is_brain = type.code == DL_BFLOAT;
    const int is_float = type.code == DL_FLOAT || is_brain;
    const uint64_t all = ~(uint64_t)0 >> (64 - bits), sign = (uint64_t)1 << (bits - 1);
    sort_order order = {.width = bits / 8, .is_float = is_float};
    order.sign = is_float || type.code == DL_INT ? sign : 0;
    order.one_zero = is_float && one_zero ? all : 0;
    order.flip = descending ? all : 0;
    if (is_brain)
        set_masks(&order, PHX_ORDER_bf16);
    else if (is_float && bits == 16)
        set_masks(&order, PHX_ORDER_f16);
    else if (is_float && bits == 32)
        set_masks(&order, PHX_ORDER_f32);
    else if (is_float)
        set_masks(&order, PHX_ORDER_f64);
    else
        set_masks(&order, PHX_ORDER_INTEGER);
    return order;
}

/* Choose how many bits of the key and of the place share a code. */
static void plan_codes(sort_row *row) {
    int places = 1, key_bits = 8 * row->order.width;
    while ((uint64_t)(row->n - 1) >> places) places++;
    row->up = row->down = row->rest = 0;
    row->index_bits = key_bits + places <= 32 ? 32 - key_bits : places;
    if (key_bits + places <= 64) {
        if (key_bits == 32) row->index_bits = 32;
        return;
    }
    uint64_t first = phx_sort_key(row, 0),
             differ = 0; /* bits above the highest that differs are alike */
    if (row->order.width == 8) {
        uint64_t keys[SORT_BLOCK];
        sort_row plain = *row;
        plain.index_bits = 0;
        for (size_t i = 0; i < row->n; i += SORT_BLOCK) {
            size_t n = row->n - i < SORT_BLOCK ? row->n - i : SORT_BLOCK;
            phx_sort_load_64(&plain, keys, i, n);
            for (size_t k = 0; k < n; k++) differ |= keys[k] ^ first;
        }
        key_bits = 1;
        while (differ >> key_bits && key_bits < 63) key_bits++;
        if (differ >> 63) key_bits = 64;
    }
    const int room = 64 - places;
    row->up = 64 - key_bits;
    row->down = key_bits > room ? 64 - room : 64 - key_bits;
    row->rest = key_bits > room ? key_bits - room : 0;
}

static int sort_one(sort_row row, int arg) {
    if (row.n == 0) return 0;
    if (arg) {
        plan_codes(&row);
        return row.order.width < 4 && row.index_bits + 8 * row.order.width <= 32
                   ? phx_sort_row_32(&row)
                   : phx_sort_row_64(&row);
    }
    if (row.order.width == 1 || (row.order.width == 2 && row.n >= (size_t)1 << 18))
        return phx_sort_count(&row);
    return row.order.width == 8 ? phx_sort_row_64(&row) : phx_sort_row_32(&row);
}

/* Byte offset of the first element of a row in a tensor whose last axis is the sorted one. */
static int64_t row_offset(const DLTensor *t, int64_t row, int64_t item) {
    int64_t offset = 0;
    for (int32_t a = t->ndim - 2; a >= 0; a--) {
        offset += row % t->shape[a] * t->strides[a];
        row /= t->shape[a];
    }
    return offset * item;
}

static inline __attribute__((always_inline)) void copy_any(char *dst, int64_t d, const char *src,
                                                           int64_t s, int64_t n, size_t size) {
    for (int64_t i = 0; i < n; i++) memcpy(dst + i * d, src + i * s, size);
}

static void copy_strided(char *dst, int64_t d, const char *src, int64_t s, int64_t n,
                         int64_t size) {
    switch (size) {
    case 1: copy_any(dst, d, src, s, n, 1); break;
    case 2: copy_any(dst, d, src, s, n, 2); break;
    case 4: copy_any(dst, d, src, s, n, 4); break;
    default: copy_any(dst, d, src, s, n, 8); break;
    }
}

/* Rows [first, first + count) through scratch memory, element by element across the rows. */
static int sort_tile(const sort_call *call, int64_t first, int64_t count) {
    const int64_t n = (int64_t)call->row.n, in_item = call->in_item, out_item = call->out_item;
    const int64_t in_step = call->in->strides[call->in->ndim - 2] * in_item;
    const int64_t out_step = call->out->strides[call->out->ndim - 2] * out_item;
    const char *in = cpu_data(call->in) + row_offset(call->in, first, in_item);
    char *out = cpu_data(call->out) + row_offset(call->out, first, out_item);
    char *x = malloc((size_t)(n * count * (in_item + out_item))), *y = x + n * count * in_item;
    if (!x) return -1;
    for (int64_t i = 0; i < n; i++)
        copy_strided(x + i * in_item, n * in_item, in + i * call->row.x_stride, in_step, count,
                     in_item);
    int failed = 0;
    for (int64_t r = 0; r < count && !failed; r++) {
        sort_row row = call->row;
        row.x = x + r * n * in_item;
        row.x_stride = in_item;
        row.out = y + r * n * out_item;
        row.out_stride = out_item;
        failed = sort_one(row, in_item != out_item || call->row.index_bits);
    }
    for (int64_t i = 0; i < n; i++)
        copy_strided(out + i * call->row.out_stride, out_step, y + i * out_item, n * out_item,
                     count, out_item);
    free(x);
    return failed;
}

static void sort_rows(void *ctx, int64_t begin, int64_t end) {
    sort_call *call = ctx;
    const int64_t line = call->tiles ? call->in->shape[call->in->ndim - 2] : 1;
    for (int64_t r = begin, count; r < end; r += count) {
        int failed;
        count = line - r % line;
        if (count > TILE) count = TILE;
        if (count > end - r) count = end - r;
        if (count > 1) {
            failed = sort_tile(call, r, count);
        } else {
            sort_row row = call->row;
            row.x = cpu_data(call->in) + row_offset(call->in, r, call->in_item);
            row.out = cpu_data(call->out) + row_offset(call->out, r, call->out_item);
            failed = sort_one(row, row.index_bits);
        }
        if (failed) __atomic_store_n(&call->failed, 1, __ATOMIC_RELAXED);
    }
}

static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

static phx_error *sort_call_run(const phx_call *call, int arg) {
    const DLTensor *in = cpu_input(call, 0), *out = cpu_output(call, 0);
    const int32_t last = in->ndim - 1;
    sort_call job = {
        .in = in, .out = out, .in_item = cpu_itemsize(in), .out_item = cpu_itemsize(out)};
    job.row.n = (size_t)in->shape[last];
    if (job.row.n == 0) return NULL;
    job.rows = cpu_count(in) / in->shape[last];
    job.row.order = order_of(in->dtype, call->params[0] != 0, arg);
    job.row.x_stride = in->strides[last] * job.in_item;
    job.row.out_stride = out->strides[last] * job.out_item;
    job.row.index_bits = arg; /* until plan_codes has seen the row */
    job.tiles = last > 0 && in->shape[last - 1] > 1 && job.row.n > 1 &&
                magnitude(in->strides[last]) > magnitude(in->strides[last - 1]);
    const int64_t threads = phx_num_threads();
    if (job.rows >= 2 * threads || job.row.n < (size_t)1 << 15) {
        int64_t grain = 8192 / (int64_t)job.row.n + 1;
        if (job.tiles) grain = (grain + TILE - 1) / TILE * TILE;
        phx_parallel_for(job.rows, grain, sort_rows, &job);
    } else { /* few long rows: the threads share each row */
        job.tiles = 0;
        sort_rows(&job, 0, job.rows);
    }
    if (!job.failed) return NULL;
    return cpu_fail(PHX_OUT_OF_MEMORY,
                    "cpu: %s of rows of %lld elements: no memory for a scratch copy; "
                    "free memory or sort smaller pieces",
                    arg ? "argsort" : "sort", (long long)job.row.n);
}

static phx_error *cpu_sort(const cpu_kernel *self, const phx_call *call) {
    (void)self;
    return sort_call_run(call, 0);
}

static phx_error *cpu_argsort(const cpu_kernel *self, const phx_call *call) {
    (void)self;
    return sort_call_run(call, 1);
}

#define ROWS(T)                                                                                   \
    CPU_KERNEL("sort", ((const uint8_t[]){T, T}), 1, 1, PHX_LAYOUT_ANY, 0.0, cpu_sort, NULL, 64), \
        CPU_KERNEL("argsort", ((const uint8_t[]){T, PHX_INT64}), 1, 1, PHX_LAYOUT_ANY, 0.0,       \
                   cpu_argsort, NULL, 128)

static const cpu_kernel rows[] = {
    CPU_REAL_ROWS(ROWS),
};

cpu_kernel_list phx_sort_kernels(void) {
    return (cpu_kernel_list){rows, sizeof rows / sizeof *rows};
}
