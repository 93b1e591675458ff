/* arange: start + i * step. */
#include "runtime/kernel.h"
#include "reduce/lists_reduce.h"
#include "runtime/parallel.h"

#include "convert.h" /* after the dialect */

typedef struct {
    const char *start, *step;
    char *y;
    int64_t stride; /* elements */
} range;

#define SAME(x) (x)
#define ONE_NAN(v, nan) ((v) == (v) ? (v) : (nan))

/* i becomes UNIT, the product and the sum are rounded in UNIT, the element once more to T. */
#define FLOATS(D, T, UNIT, PARTS, COUNT, NAN_, LOAD, ROUND)                                          \
    static void fill_##D(void *ctx, int64_t begin, int64_t end) {                                    \
        const range *r = ctx;                                                                        \
        const int64_t s = r->stride * PARTS;                                                         \
        T *restrict y = (T *)r->y;                                                                   \
        for (int64_t p = 0; p < PARTS; p++) {                                                        \
            const UNIT start = LOAD(((const T *)r->start)[p]), step = LOAD(((const T *)r->step)[p]); \
            if (s == 1)                                                                              \
                for (int64_t i = begin; i < end; i++) {                                              \
                    const UNIT v = start + COUNT(i) * step;                                          \
                    y[i] = ROUND(ONE_NAN(v, NAN_));                                                  \
                }                                                                                    \
            else                                                                                     \
                for (int64_t i = begin; i < end; i++) {                                              \
                    const UNIT v = start + COUNT(i) * step;                                          \
                    y[i * s + p] = ROUND(ONE_NAN(v, NAN_));                                          \
                }                                                                                    \
        }                                                                                            \
    }

/* Modulo 2**bits: the unsigned type of the same width does not overflow. */
#define INTEGERS(D, T)                                                                   \
    static void fill_##D(void *ctx, int64_t begin, int64_t end) {                        \
        const range *r = ctx;                                                            \
        const int64_t s = r->stride;                                                     \
        const u64 start = *(const T *)r->start, step = *(const T *)r->step;              \
        T *restrict y = (T *)r->y;                                                       \
        if (s == 1)                                                                      \
            for (int64_t i = begin; i < end; i++) y[i] = (T)(start + (u64)i * step);     \
        else                                                                             \
            for (int64_t i = begin; i < end; i++) y[i * s] = (T)(start + (u64)i * step); \
    }

INTEGERS(i8, u8)
INTEGERS(i16, u16)
INTEGERS(i32, u32)
INTEGERS(i64, u64)
FLOATS(f16, u16, f32, 1, phx_i64_to_f32, PHX_NANF, phx_f16_to_f32, phx_f32_to_f16)
FLOATS(bf16, u16, f32, 1, phx_i64_to_f32, PHX_NANF, phx_bf16_to_f32, phx_f32_to_bf16)
FLOATS(f32, f32, f32, 1, phx_i64_to_f32, PHX_NANF, SAME, SAME)
FLOATS(f64, f64, f64, 1, phx_i64_to_f64, PHX_NAN, SAME, SAME)
FLOATS(c64, f32, f32, 2, phx_i64_to_f32, PHX_NANF, SAME, SAME)
FLOATS(c128, f64, f64, 2, phx_i64_to_f64, PHX_NAN, SAME, SAME)

static phx_error *arange(const phx_call *call, phx_task_fn fill) {
    const DLTensor *y = cpu_output(call, 0);
    range r = {cpu_data(cpu_input(call, 0)), cpu_data(cpu_input(call, 1)), cpu_data(y), y->strides[0]};
    phx_parallel_for(y->shape[0], 131072 / cpu_itemsize(y), fill, &r);
    return NULL;
}

#define KERNEL(D)                                                                \
    static phx_error *arange_##D(const cpu_kernel *self, const phx_call *call) { \
        (void)self;                                                              \
        return arange(call, fill_##D);                                           \
    }

KERNEL(i8)
KERNEL(i16)
KERNEL(i32)
KERNEL(i64)
KERNEL(f16)
KERNEL(bf16)
KERNEL(f32)
KERNEL(f64)
KERNEL(c64)
KERNEL(c128)

#define ROW(T, BOUND, D, COST) \
    CPU_KERNEL("arange", ((const uint8_t[]){T, T, T}), 2, 1, PHX_LAYOUT_ANY, BOUND, arange_##D, NULL, COST)

static const cpu_kernel rows[] = {
    ROW(PHX_INT8, 0.0, i8, 2),
    ROW(PHX_INT16, 0.0, i16, 2),
    ROW(PHX_INT32, 0.0, i32, 2),
    ROW(PHX_INT64, 0.0, i64, 4),
    ROW(PHX_UINT8, 0.0, i8, 2),
    ROW(PHX_UINT16, 0.0, i16, 2),
    ROW(PHX_UINT32, 0.0, i32, 2),
    ROW(PHX_UINT64, 0.0, i64, 4),
    ROW(PHX_FLOAT16, 1.0, f16, 8),
    ROW(PHX_BFLOAT16, 1.0, bf16, 8),
    ROW(PHX_FLOAT32, 1.0, f32, 4),
    ROW(PHX_FLOAT64, 1.0, f64, 4),
    ROW(PHX_COMPLEX64, 1.0, c64, 8),
    ROW(PHX_COMPLEX128, 1.0, c128, 8),
};

cpu_kernel_list phx_generate_kernels(void) { return (cpu_kernel_list){rows, sizeof rows / sizeof rows[0]}; }
