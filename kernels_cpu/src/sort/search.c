/* The op searchsorted: for each value the number of sorted elements before it. */
#include "sort/lists_sort.h"
#include "order.h"
#include "runtime/parallel.h"

#include <string.h>

typedef struct {
    const DLTensor *sorted, *values, *out;
    int64_t n, item;
    int right;
} search_job;

/* Binary search without branches on data: the step halves whatever the comparison says, and LANES
 * searches run side by side, in vectors, to hide the latency of memory. Floats are compared by their keys, NaN
 * after every number and -0 equal to +0. PLACE counts the sorted elements: of 32 bits, twice as many fit in a
 * vector. */
enum { LANES = 32 };

#define LANES_OF(NAME, TYPE, PLACE)                                                              \
    static inline __attribute__((always_inline)) void lanes_##NAME##_##PLACE(                    \
        const char *sorted, int64_t stride, int64_t n, const TYPE *v, int64_t *out, int right) { \
        PLACE at[LANES] = {0};                                                                   \
        for (int64_t left = n; left > 0;) {                                                      \
            const int64_t half = left - left / 2;                                                \
            const char *middle = sorted + (half - 1) * stride;                                   \
            for (int e = 0; e < LANES; e++) {                                                    \
                TYPE s = load_##NAME(middle + at[e] * stride);                                   \
                at[e] += (PLACE)half & -(PLACE)(right ? v[e] >= s : s < v[e]);                   \
            }                                                                                    \
            left -= half;                                                                        \
        }                                                                                        \
        for (int e = 0; e < LANES; e++) out[e] = at[e];                                          \
    }

#define SEARCH(NAME, TYPE, KEY)                                                                \
    static inline __attribute__((always_inline)) TYPE load_##NAME(const char *p) {             \
        TYPE x;                                                                                \
        memcpy(&x, p, sizeof x);                                                               \
        return (TYPE)KEY(x);                                                                   \
    }                                                                                          \
    LANES_OF(NAME, TYPE, int32_t)                                                              \
    LANES_OF(NAME, TYPE, int64_t)                                                              \
    static void search_##NAME(void *ctx, int64_t begin, int64_t end) {                         \
        const search_job *job = ctx;                                                           \
        const int64_t vs = job->values->strides[0] * job->item, os = job->out->strides[0] * 8; \
        const int64_t ss = job->n > 1 ? job->sorted->strides[0] * job->item : 0, n = job->n;   \
        const char *sorted = cpu_data(job->sorted), *values = cpu_data(job->values);           \
        char *out = cpu_data(job->out);                                                        \
        for (int64_t i = begin; i < end; i += LANES) {                                         \
            TYPE v[LANES];                                                                     \
            int64_t at[LANES], count = end - i < LANES ? end - i : LANES;                      \
            for (int64_t e = 0; e < LANES; e++)                                                \
                v[e] = load_##NAME(values + (i + (e < count ? e : 0)) * vs);                   \
            if (ss != (int64_t)sizeof(TYPE) || n > INT32_MAX)                                  \
                lanes_##NAME##_int64_t(sorted, ss, n, v, at, job->right);                      \
            else if (job->right)                                                               \
                lanes_##NAME##_int32_t(sorted, sizeof(TYPE), n, v, at, 1);                     \
            else                                                                               \
                lanes_##NAME##_int32_t(sorted, sizeof(TYPE), n, v, at, 0);                     \
            for (int64_t e = 0; e < count; e++) memcpy(out + (i + e) * os, &at[e], 8);         \
        }                                                                                      \
    }                                                                                          \
    static phx_error *cpu_search_##NAME(const cpu_kernel *self, const phx_call *call) {        \
        (void)self;                                                                            \
        search_job job = {                                                                     \
            cpu_input(call, 0), cpu_input(call, 1), cpu_output(call, 0), 0, sizeof(TYPE), 0};  \
        job.n = job.sorted->shape[0];                                                          \
        job.right = call->params[0] != 0;                                                      \
        phx_parallel_for(job.values->shape[0], 2048, search_##NAME, &job);                     \
        return NULL;                                                                           \
    }

#define PLAIN(x) (x)
#define KEY_f16(x) phx_order_i16(x, PHX_ORDER_f16, -1, 0)
#define KEY_bf16(x) phx_order_i16(x, PHX_ORDER_bf16, -1, 0)
#define KEY_f32(x) phx_order_i32(x, PHX_ORDER_f32, -1, 0)
#define KEY_f64(x) phx_order_i64(x, PHX_ORDER_f64, -1, 0)
SEARCH(i8, int8_t, PLAIN)
SEARCH(i16, int16_t, PLAIN)
SEARCH(i32, int32_t, PLAIN)
SEARCH(i64, int64_t, PLAIN)
SEARCH(u8, uint8_t, PLAIN)
SEARCH(u16, uint16_t, PLAIN)
SEARCH(u32, uint32_t, PLAIN)
SEARCH(u64, uint64_t, PLAIN)
SEARCH(f16, int16_t, KEY_f16)
SEARCH(bf16, int16_t, KEY_bf16)
SEARCH(f32, int32_t, KEY_f32)
SEARCH(f64, int64_t, KEY_f64)

#define ROW(T, NAME)                                                                            \
    CPU_KERNEL("searchsorted", ((const uint8_t[]){T, T, PHX_INT64}), 2, 1, PHX_LAYOUT_ANY, 0.0, \
               cpu_search_##NAME, NULL, 256)

static const cpu_kernel rows[] = {
    ROW(PHX_INT8, i8),
    ROW(PHX_INT16, i16),
    ROW(PHX_INT32, i32),
    ROW(PHX_INT64, i64),
    ROW(PHX_UINT8, u8),
    ROW(PHX_UINT16, u16),
    ROW(PHX_UINT32, u32),
    ROW(PHX_UINT64, u64),
    ROW(PHX_FLOAT16, f16),
    ROW(PHX_BFLOAT16, bf16),
    ROW(PHX_FLOAT32, f32),
    ROW(PHX_FLOAT64, f64),
};

cpu_kernel_list phx_search_kernels(void) {
    return (cpu_kernel_list){rows, sizeof rows / sizeof *rows};
}
