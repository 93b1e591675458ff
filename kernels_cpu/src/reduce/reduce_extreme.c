/* max and min: NaN propagates and +0 > -0, which is a total order of keys, so no order of evaluation shows.
 *
 * The largest key is wanted; `flip` turns unsigned integers into signed ones and the smallest into the largest.
 */
#include "reduce/lists_reduce.h"
#include "reduce/reduce.h"

#define LARGER(a, b) ((b) > (a) ? (b) : (a))

#define ONE_ZERO 0
#define KEY_TEMPLATE "reduce/reduce_extreme.h"
#include "reduce/reduce_keys.h"

/* ---- last steps and kernels -------------------------------------------------------------------- */

#define COMBINE(NAME, T)                                               \
    static void NAME(void *into, const void *from, int64_t count) {    \
        T *restrict a = into;                                          \
        const T *restrict b = from;                                    \
        for (int64_t i = 0; i < count; i++) a[i] = LARGER(a[i], b[i]); \
    }

COMBINE(larger_i8, i8)
COMBINE(larger_i16, i16)
COMBINE(larger_i32, i32)
COMBINE(larger_i64, i64)

/* Dense results in vectors. */
#define STORE_EACH(T, VALUE)                                              \
    if (stride == sizeof(T)) {                                            \
        T *restrict o = (T *)y;                                           \
        for (int64_t i = 0; i < count; i++) o[i] = VALUE;                 \
    } else {                                                              \
        for (int64_t i = 0; i < count; i++, y += stride) *(T *)y = VALUE; \
    }

#define FINISH_INT(NAME, T)                                                                            \
    static void NAME(const reduce_job *job, const void *acc, int64_t count, char *y, int64_t stride) { \
        const T flip = (T)job->plan->flip;                                                             \
        const T *a = acc;                                                                              \
        STORE_EACH(T, a[i] ^ flip)                                                                     \
    }

FINISH_INT(int8_store, i8)
FINISH_INT(int16_store, i16)
FINISH_INT(int32_store, i32)
FINISH_INT(int64_store, i64)

#define FINISH_FLOAT(D, T, LARGEST)                                                                           \
    static void D##_store(const reduce_job *job, const void *acc, int64_t count, char *y, int64_t stride) {   \
        const T flip = (T)job->plan->flip;                                                                    \
        const T *a = acc;                                                                                     \
        STORE_EACH(T, a[i] == LARGEST ? (T)PHX_NAN_BITS_##D : phx_unorder_##T(a[i], PHX_MAGNITUDE_##D, flip)) \
    }

FINISH_FLOAT(f16, i16, INT16_MAX)
FINISH_FLOAT(bf16, i16, INT16_MAX)
FINISH_FLOAT(f32, i32, INT32_MAX)
FINISH_FLOAT(f64, i64, INT64_MAX)

#define PLAN(NAME, INSTANCE, T, FLIP)                                                           \
    REDUCE_FN(NAME, .tile = INSTANCE##_tile, .combine = larger_##T, .finish = INSTANCE##_store, \
              .acc_size = sizeof(T), .widest = REDUCE_FREE_COLUMNS, .block = REDUCE_FREE_BLOCK, \
              .short_row = 4 * REDUCE_SHORT_ROW + 1, .needs_one = 1, .flip = (u64)(FLIP))

#define KERNELS(D, INSTANCE, T, FLIP) \
    PLAN(max_##D, INSTANCE, T, FLIP)  \
    PLAN(min_##D, INSTANCE, T, ~(FLIP))

KERNELS(i8, int8, i8, 0)
KERNELS(i16, int16, i16, 0)
KERNELS(i32, int32, i32, 0)
KERNELS(i64, int64, i64, 0)
KERNELS(u8, int8, i8, INT8_MIN)
KERNELS(u16, int16, i16, INT16_MIN)
KERNELS(u32, int32, i32, INT32_MIN)
KERNELS(u64, int64, i64, INT64_MIN)
KERNELS(f16, f16, i16, 0)
KERNELS(bf16, bf16, i16, 0)
KERNELS(f32, f32, i32, 0)
KERNELS(f64, f64, i64, 0)

#define ROWS(T, D) REDUCE_KERNEL("max", T, T, 0.0, max_##D, 2), REDUCE_KERNEL("min", T, T, 0.0, min_##D, 2)

static const cpu_kernel rows[] = {EACH_REAL(ROWS)};

cpu_kernel_list phx_reduce_extreme_kernels(void) {
    return (cpu_kernel_list){rows, sizeof rows / sizeof rows[0]};
}
