/* The op matmul: batches of matrix products.
 *
 * (b1..bp, m, k) times (b1..bp, k, n) gives (b1..bp, m, n); any strides. Large products are shared by all
 * threads one after the other; of many small ones each thread takes its own.
 */
#include <stdatomic.h>
#include <stdbool.h>

#include "gemm/gemm.h"
#include "runtime/kernel.h"
#include "runtime/parallel.h"

#define SHARED_FROM 1e6 /* multiplications; a product with less (some 20 microseconds) is not worth sharing  \
                         */
#define GRAIN 250000.0  /* multiplications, for one thread */

typedef int (*product_fn)(const DLTensor *const *t, const char *a, const char *b, char *c);
/* `count` products of one element each, along the batch axis before the matrices. */
typedef void (*rows_fn)(const DLTensor *const *t, int64_t count, const char *a, const char *b, char *c);

typedef struct {
    const DLTensor *const *tensors;
    product_fn product;
    rows_fn rows; /* NULL: product by product */
    atomic_bool no_memory;
} batch_job;

/* Offset in bytes of the first element of matrix `index` of a tensor. */
static int64_t matrix_offset(const DLTensor *t, const DLTensor *out, int64_t index) {
    int64_t offset = 0;
    for (int i = out->ndim - 3; i >= 0; i--) {
        offset += index % out->shape[i] * t->strides[i];
        index /= out->shape[i];
    }
    return offset * cpu_itemsize(t);
}

static void run_batches(void *ctx, int64_t begin, int64_t end) {
    batch_job *job = ctx;
    const DLTensor *const *t = job->tensors;
    const int64_t line = job->rows ? t[2]->shape[t[2]->ndim - 3] : 1;
    for (int64_t i = begin, count; i < end; i += count) {
        char *place[3];
        count = line - i % line < end - i ? line - i % line : end - i;
        for (int k = 0; k < 3; k++) place[k] = cpu_data(t[k]) + matrix_offset(t[k], t[2], i);
        if (job->rows)
            job->rows(t, count, place[0], place[1], place[2]);
        else if (job->product(t, place[0], place[1], place[2]) != 0) atomic_store(&job->no_memory, true);
    }
}

static phx_error *run_products(const phx_call *call, product_fn product, rows_fn rows) {
    const DLTensor *a = call->tensors[0], *out = call->tensors[2];
    const int last = out->ndim - 1;
    int64_t batches = 1;
    for (int i = 0; i < last - 1; i++) batches *= out->shape[i];
    const double work = (double)out->shape[last - 1] * (double)out->shape[last] * (double)a->shape[last];
    batch_job job = {.tensors = call->tensors, .product = product};
    const bool is_one = out->shape[last - 1] == 1 && out->shape[last] == 1;
    if (is_one && a->shape[last] >= 1 && a->shape[last] <= PHX_GEMM_CHAIN && out->ndim > 2) job.rows = rows;
    if (batches > 1 && work < SHARED_FROM) {
        const double least = GRAIN / (work > 1 ? work : 1);
        phx_parallel_for(batches, least > 1 ? (int64_t)least : 1, run_batches, &job);
    } else {
        run_batches(&job, 0, batches);
    }
    if (!atomic_load(&job.no_memory)) return NULL;
    return cpu_fail(PHX_OUT_OF_MEMORY,
                    "matmul: no host memory to pack a (%lld, %lld) by (%lld, %lld) product",
                    (long long)out->shape[last - 1], (long long)a->shape[last], (long long)a->shape[last],
                    (long long)out->shape[last]);
}

#define DEFINE_MATMUL(NAME, T)                                                                                \
    static int product_##NAME(const DLTensor *const *t, const char *a, const char *b, char *c) {              \
        const int row = t[2]->ndim - 2, column = t[2]->ndim - 1;                                              \
        return phx_gemm_##NAME(t[2]->shape[row], t[2]->shape[column], t[0]->shape[column], (const T *)a,      \
                               t[0]->strides[row], t[0]->strides[column], (const T *)b, t[1]->strides[row],   \
                               t[1]->strides[column], (T *)c, t[2]->strides[row], t[2]->strides[column]);     \
    }                                                                                                         \
    static void rows_##NAME(const DLTensor *const *t, int64_t count, const char *a, const char *b, char *c) { \
        const int batch = t[2]->ndim - 3;                                                                     \
        phx_gemm_rows_##NAME(count, t[0]->shape[batch + 2], (const T *)a, t[0]->strides[batch],               \
                             t[0]->strides[batch + 2], (const T *)b, t[1]->strides[batch],                    \
                             t[1]->strides[batch + 1], (T *)c, t[2]->strides[batch]);                         \
    }                                                                                                         \
    static phx_error *matmul_##NAME(const cpu_kernel *self, const phx_call *call) {                           \
        (void)self;                                                                                           \
        return run_products(call, product_##NAME, rows_##NAME);                                               \
    }

DEFINE_MATMUL(i8, int8_t)
DEFINE_MATMUL(i16, int16_t)
DEFINE_MATMUL(i32, int32_t)
DEFINE_MATMUL(i64, int64_t)
DEFINE_MATMUL(u8, uint8_t)
DEFINE_MATMUL(u16, uint16_t)
DEFINE_MATMUL(u32, uint32_t)
DEFINE_MATMUL(u64, uint64_t)
DEFINE_MATMUL(f16, uint16_t)
DEFINE_MATMUL(bf16, uint16_t)
DEFINE_MATMUL(f32, float)
DEFINE_MATMUL(f64, double)
DEFINE_MATMUL(c64, c64)
DEFINE_MATMUL(c128, c128)

/* Integers are exact; the error of the others grows with k and is not stated in ulp. */
#define ROW(DTYPE, BOUND, NAME) \
    CPU_KERNEL("matmul", DTYPE DTYPE DTYPE, 2, 1, PHX_LAYOUT_ANY, BOUND, matmul_##NAME, NULL, 0)

static const cpu_kernel rows[] = {
    ROW("\x01", 0.0, i8),
    ROW("\x02", 0.0, i16),
    ROW("\x03", 0.0, i32),
    ROW("\x04", 0.0, i64),
    ROW("\x05", 0.0, u8),
    ROW("\x06", 0.0, u16),
    ROW("\x07", 0.0, u32),
    ROW("\x08", 0.0, u64),
    ROW("\x09", -1.0, f16),
    ROW("\x0a", -1.0, bf16),
    ROW("\x0b", -1.0, f32),
    ROW("\x0c", -1.0, f64),
    ROW("\x0d", -1.0, c64),
    ROW("\x0e", -1.0, c128),
};

cpu_kernel_list phx_matmul_kernels(void) { return (cpu_kernel_list){rows, sizeof rows / sizeof rows[0]}; }
