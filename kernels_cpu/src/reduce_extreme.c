/* max and min: NaN propagates and +0 > -0, which is a total order of keys, so no order of evaluation shows.
 *
 * The bits of an element become a signed integer, its key, whose largest is wanted: `flip` turns unsigned
 * integers into signed ones and the smallest into the largest. NaN is the largest key.
 */
#include "lists_reduce.h"
#include "reduce.h"

#define NEVER(a) 0
#define LARGER(a, b) ((b) > (a) ? (b) : (a))

#define INT_KEY(x, flip) ((x) ^ (flip))
#define STEP_INT(p, x) LARGER(p, INT_KEY(x, flip))

/* Negative floats order backwards: their magnitude is inverted. */
#define FLOAT_KEY(NAME, T, MAGNITUDE, INFINITE, LARGEST)                      \
    static inline T NAME(T bits, T flip) {                                    \
        const T ordered = (T)(bits < 0 ? bits ^ MAGNITUDE : bits);            \
        return (T)((bits & MAGNITUDE) > INFINITE ? LARGEST : ordered ^ flip); \
    }

FLOAT_KEY(key_f16, i16, 0x7fff, 0x7c00, INT16_MAX)
FLOAT_KEY(key_bf16, i16, 0x7fff, 0x7f80, INT16_MAX)
FLOAT_KEY(key_f32, i32, 0x7fffffff, 0x7f800000, INT32_MAX)
FLOAT_KEY(key_f64, i64, INT64_MAX, 0x7ff0000000000000, INT64_MAX)

#define FREE_NAME(f) int8_##f
#define STORAGE i8
#define PART i8
#define INIT INT8_MIN
#define STEP STEP_INT
#define RUN REDUCE_FREE_BLOCK
#define ACC i8
#define START INT8_MIN
#define MERGE LARGER
#define ENOUGH NEVER
#include "reduce_free.h"

#define FREE_NAME(f) int16_##f
#define STORAGE i16
#define PART i16
#define INIT INT16_MIN
#define STEP STEP_INT
#define RUN REDUCE_FREE_BLOCK
#define ACC i16
#define START INT16_MIN
#define MERGE LARGER
#define ENOUGH NEVER
#include "reduce_free.h"

#define FREE_NAME(f) int32_##f
#define STORAGE i32
#define PART i32
#define INIT INT32_MIN
#define STEP STEP_INT
#define RUN REDUCE_FREE_BLOCK
#define ACC i32
#define START INT32_MIN
#define MERGE LARGER
#define ENOUGH NEVER
#include "reduce_free.h"

#define FREE_NAME(f) int64_##f
#define STORAGE i64
#define PART i64
#define INIT INT64_MIN
#define STEP STEP_INT
#define RUN REDUCE_FREE_BLOCK
#define ACC i64
#define START INT64_MIN
#define MERGE LARGER
#define ENOUGH NEVER
#include "reduce_free.h"

#define FREE_NAME(f) f16_##f
#define STORAGE i16
#define PART i16
#define INIT INT16_MIN
#define STEP(p, x) LARGER(p, key_f16(x, flip))
#define RUN REDUCE_FREE_BLOCK
#define ACC i16
#define START INT16_MIN
#define MERGE LARGER
#define ENOUGH NEVER
#include "reduce_free.h"

#define FREE_NAME(f) bf16_##f
#define STORAGE i16
#define PART i16
#define INIT INT16_MIN
#define STEP(p, x) LARGER(p, key_bf16(x, flip))
#define RUN REDUCE_FREE_BLOCK
#define ACC i16
#define START INT16_MIN
#define MERGE LARGER
#define ENOUGH NEVER
#include "reduce_free.h"

#define FREE_NAME(f) f32_##f
#define STORAGE i32
#define PART i32
#define INIT INT32_MIN
#define STEP(p, x) LARGER(p, key_f32(x, flip))
#define RUN REDUCE_FREE_BLOCK
#define ACC i32
#define START INT32_MIN
#define MERGE LARGER
#define ENOUGH NEVER
#include "reduce_free.h"

#define FREE_NAME(f) f64_##f
#define STORAGE i64
#define PART i64
#define INIT INT64_MIN
#define STEP(p, x) LARGER(p, key_f64(x, flip))
#define RUN REDUCE_FREE_BLOCK
#define ACC i64
#define START INT64_MIN
#define MERGE LARGER
#define ENOUGH NEVER
#include "reduce_free.h"

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

#define FINISH_INT(NAME, T)                                                                            \
    static void NAME(const reduce_job *job, const void *acc, int64_t count, char *y, int64_t stride) { \
        const T flip = (T)job->plan->flip;                                                             \
        const T *a = acc;                                                                              \
        for (int64_t i = 0; i < count; i++, y += stride) *(T *)y = a[i] ^ flip;                        \
    }

FINISH_INT(int8_store, i8)
FINISH_INT(int16_store, i16)
FINISH_INT(int32_store, i32)
FINISH_INT(int64_store, i64)

#define FINISH_FLOAT(NAME, T, MAGNITUDE, LARGEST, ONE_NAN)                                             \
    static void NAME(const reduce_job *job, const void *acc, int64_t count, char *y, int64_t stride) { \
        const T flip = (T)job->plan->flip;                                                             \
        const T *a = acc;                                                                              \
        for (int64_t i = 0; i < count; i++, y += stride) {                                             \
            const T ordered = a[i] ^ flip;                                                             \
            *(T *)y = (T)(a[i] == LARGEST ? ONE_NAN : ordered < 0 ? ordered ^ MAGNITUDE                \
                                                                  : ordered);                          \
        }                                                                                              \
    }

FINISH_FLOAT(f16_store, i16, 0x7fff, INT16_MAX, 0x7e00)
FINISH_FLOAT(bf16_store, i16, 0x7fff, INT16_MAX, 0x7fc0)
FINISH_FLOAT(f32_store, i32, 0x7fffffff, INT32_MAX, 0x7fc00000)
FINISH_FLOAT(f64_store, i64, INT64_MAX, INT64_MAX, 0x7ff8000000000000)

#define PLAN(NAME, INSTANCE, T, FLIP)                                                           \
    REDUCE_FN(NAME, .tile = INSTANCE##_tile, .combine = larger_##T, .finish = INSTANCE##_store, \
              .acc_size = sizeof(T), .widest = REDUCE_FREE_COLUMNS, .block = REDUCE_FREE_BLOCK, \
              .needs_one = 1, .flip = (u64)(FLIP))

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

static const cpu_kernel rows[] = {
    ROWS(PHX_INT8, i8),
    ROWS(PHX_INT16, i16),
    ROWS(PHX_INT32, i32),
    ROWS(PHX_INT64, i64),
    ROWS(PHX_UINT8, u8),
    ROWS(PHX_UINT16, u16),
    ROWS(PHX_UINT32, u32),
    ROWS(PHX_UINT64, u64),
    ROWS(PHX_FLOAT16, f16),
    ROWS(PHX_BFLOAT16, bf16),
    ROWS(PHX_FLOAT32, f32),
    ROWS(PHX_FLOAT64, f64),
};

cpu_kernel_list phx_reduce_extreme_kernels(void) {
    return (cpu_kernel_list){rows, sizeof rows / sizeof rows[0]};
}
