/* The op searchsorted: for each value the number of sorted elements before it. */
#include "lists_sort.h"
#include "parallel.h"

#include <string.h>

typedef struct {
    const DLTensor *sorted, *values, *out;
    int64_t n, item;
    int right;
} search_job;

/* Binary search without branches on data: the step halves whatever the comparison says, and LANES
 * searches run side by side to hide the latency of memory. `before(a, b)`: a sorts before b, NaN
 * after every number. */
enum { LANES = 16 };

#define BEFORE_FLOAT(a, b) ((a) < (b) || ((a) == (a) && (b) != (b)))
#define BEFORE_INT(a, b) ((a) < (b))

static inline __attribute__((always_inline)) float half_value(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = (uint32_t)(h & 0x7FFF) << 13;
    union {
        uint32_t u;
        float f;
    } scale = {0x77800000u}, value = {rest}; /* 2^112 moves the exponent's bias from 15 to 127 */
    value.f *= scale.f;
    if ((h & 0x7C00) == 0x7C00) value.u |= 0x7F800000u;
    value.u |= sign;
    return value.f;
}

static inline __attribute__((always_inline)) float bfloat_value(uint16_t h) {
    union {
        uint32_t u;
        float f;
    } value = {(uint32_t)h << 16};
    return value.f;
}

#define SEARCH(NAME, STORED, TYPE, VALUE, BEFORE)                                               \
    static inline __attribute__((always_inline)) TYPE load_##NAME(const char *p) {              \
        STORED x;                                                                               \
        memcpy(&x, p, sizeof x);                                                                \
        return VALUE(x);                                                                        \
    }                                                                                           \
    static inline __attribute__((always_inline)) void lanes_##NAME(                             \
        const char *sorted, int64_t stride, int64_t n, const TYPE *v, int64_t *at, int right) { \
        for (int e = 0; e < LANES; e++) at[e] = 0;                                              \
        for (int64_t left = n; left > 0;) {                                                     \
            int64_t half = left - left / 2;                                                     \
            for (int e = 0; e < LANES; e++) {                                                   \
                TYPE s = load_##NAME(sorted + (at[e] + half - 1) * stride);                     \
                int go = right ? !(BEFORE(v[e], s)) : (BEFORE(s, v[e]));                        \
                at[e] += go ? half : 0;                                                         \
            }                                                                                   \
            left -= half;                                                                       \
        }                                                                                       \
    }                                                                                           \
    static void search_##NAME(void *ctx, int64_t begin, int64_t end) {                          \
        const search_job *job = ctx;                                                            \
        const int64_t vs = job->values->strides[0] * job->item, os = job->out->strides[0] * 8;  \
        const int64_t ss = job->n > 1 ? job->sorted->strides[0] * job->item : 0, n = job->n;    \
        const char *sorted = cpu_data(job->sorted), *values = cpu_data(job->values);            \
        char *out = cpu_data(job->out);                                                         \
        for (int64_t i = begin; i < end; i += LANES) {                                          \
            TYPE v[LANES];                                                                      \
            int64_t at[LANES], count = end - i < LANES ? end - i : LANES;                       \
            for (int64_t e = 0; e < LANES; e++)                                                 \
                v[e] = load_##NAME(values + (i + (e < count ? e : 0)) * vs);                    \
            if (ss != (int64_t)sizeof(STORED))                                                  \
                lanes_##NAME(sorted, ss, n, v, at, job->right);                                 \
            else if (job->right)                                                                \
                lanes_##NAME(sorted, sizeof(STORED), n, v, at, 1);                              \
            else                                                                                \
                lanes_##NAME(sorted, sizeof(STORED), n, v, at, 0);                              \
            for (int64_t e = 0; e < count; e++) memcpy(out + (i + e) * os, &at[e], 8);          \
        }                                                                                       \
    }                                                                                           \
    static phx_error *cpu_search_##NAME(const cpu_kernel *self, const phx_call *call) {         \
        (void)self;                                                                             \
        search_job job = {                                                                      \
            cpu_input(call, 0), cpu_input(call, 1), cpu_output(call, 0), 0, sizeof(STORED), 0}; \
        job.n = job.sorted->shape[0];                                                           \
        job.right = call->params[0] != 0;                                                       \
        phx_parallel_for(job.values->shape[0], 2048, search_##NAME, &job);                      \
        return NULL;                                                                            \
    }

#define PLAIN(x) (x)
SEARCH(i8, int8_t, int8_t, PLAIN, BEFORE_INT)
SEARCH(i16, int16_t, int16_t, PLAIN, BEFORE_INT)
SEARCH(i32, int32_t, int32_t, PLAIN, BEFORE_INT)
SEARCH(i64, int64_t, int64_t, PLAIN, BEFORE_INT)
SEARCH(u8, uint8_t, uint8_t, PLAIN, BEFORE_INT)
SEARCH(u16, uint16_t, uint16_t, PLAIN, BEFORE_INT)
SEARCH(u32, uint32_t, uint32_t, PLAIN, BEFORE_INT)
SEARCH(u64, uint64_t, uint64_t, PLAIN, BEFORE_INT)
SEARCH(f16, uint16_t, float, half_value, BEFORE_FLOAT)
SEARCH(bf16, uint16_t, float, bfloat_value, BEFORE_FLOAT)
SEARCH(f32, float, float, PLAIN, BEFORE_FLOAT)
SEARCH(f64, double, double, PLAIN, BEFORE_FLOAT)

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
