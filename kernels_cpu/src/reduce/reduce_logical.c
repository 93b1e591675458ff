/* any, all and count_nonzero. An element is its bits: a float is zero if all but its sign are. */
#include "reduce/lists_reduce.h"
#include "order.h"
#include "reduce/reduce.h"

typedef struct {
    u32 re, im;
} bits64;

typedef struct {
    u64 re, im;
} bits128;

#define SURE(a) (a)
#define OR(a, p) ((u8)((a) | ((p) != 0)))
#define ADD(a, p) ((a) + (i64)(p))
#define STRETCH 32 /* rows of lanes between two looks whether the answer is known */

#define INSTANCE int8
#define BITS u8
#define LANE u8
#define NONZERO(x) ((x) != 0)
#include "reduce/reduce_logical.h"

#define INSTANCE int16
#define BITS u16
#define LANE u16
#define NONZERO(x) ((x) != 0)
#include "reduce/reduce_logical.h"

#define INSTANCE int32
#define BITS u32
#define LANE u32
#define NONZERO(x) ((x) != 0)
#include "reduce/reduce_logical.h"

#define INSTANCE int64
#define BITS u64
#define LANE u64
#define NONZERO(x) ((x) != 0)
#include "reduce/reduce_logical.h"

#define INSTANCE half
#define BITS u16
#define LANE u16
#define NONZERO(x) (((x) & PHX_MAGNITUDE_f16) != 0)
#include "reduce/reduce_logical.h"

#define INSTANCE f32
#define BITS u32
#define LANE u32
#define NONZERO(x) (((x) & PHX_MAGNITUDE_f32) != 0)
#include "reduce/reduce_logical.h"

#define INSTANCE f64
#define BITS u64
#define LANE u64
#define NONZERO(x) (((x) & PHX_MAGNITUDE_f64) != 0)
#include "reduce/reduce_logical.h"

#define INSTANCE c64
#define BITS bits64
#define LANE u32
#define NONZERO(x) ((((x).re | (x).im) & PHX_MAGNITUDE_f32) != 0)
#include "reduce/reduce_logical.h"

#define INSTANCE c128
#define BITS bits128
#define LANE u64
#define NONZERO(x) ((((x).re | (x).im) & PHX_MAGNITUDE_f64) != 0)
#include "reduce/reduce_logical.h"

/* ---- last steps and kernels -------------------------------------------------------------------- */

static void found_blocks(void *into, const void *from, int64_t count) {
    u8 *restrict a = into;
    const u8 *restrict b = from;
    for (int64_t i = 0; i < count; i++) a[i] |= b[i];
}

static void found_store(const reduce_job *job, const void *acc, int64_t count, char *y, int64_t stride) {
    const u8 *a = acc;
    const u8 flip = (u8)job->plan->flip;
    for (int64_t i = 0; i < count; i++, y += stride) *(u8 *)y = a[i] ^ flip;
}

static void count_blocks(void *into, const void *from, int64_t count) {
    i64 *restrict a = into;
    const i64 *restrict b = from;
    for (int64_t i = 0; i < count; i++) a[i] += b[i];
}

static void count_store(const reduce_job *job, const void *acc, int64_t count, char *y, int64_t stride) {
    const i64 *a = acc;
    (void)job;
    for (int64_t i = 0; i < count; i++, y += stride) *(i64 *)y = a[i];
}

#define FIND(OP, INSTANCE, FLIP)                                                        \
    REDUCE_FN(OP##_##INSTANCE, .tile = find_##INSTANCE##_tile, .combine = found_blocks, \
              .finish = found_store, .acc_size = 1, .widest = REDUCE_FREE_COLUMNS,      \
              .block = REDUCE_FREE_BLOCK,                                               \
              .short_row = REDUCE_SHORT_ROW, .absorbing = 1, .flip = FLIP)

#define COUNT(INSTANCE)                                                                      \
    REDUCE_FN(count_##INSTANCE, .tile = count_##INSTANCE##_tile, .combine = count_blocks,    \
              .finish = count_store, .acc_size = sizeof(i64), .widest = REDUCE_FREE_COLUMNS, \
              .block = REDUCE_FREE_BLOCK,                                                    \
              .short_row = REDUCE_SHORT_ROW)

#define KERNELS(INSTANCE) FIND(any, INSTANCE, 0) FIND(all, INSTANCE, 1) COUNT(INSTANCE)

KERNELS(int8)
KERNELS(int16)
KERNELS(int32)
KERNELS(int64)
KERNELS(half)
KERNELS(f32)
KERNELS(f64)
KERNELS(c64)
KERNELS(c128)

#define ROWS(T, INSTANCE)                                          \
    REDUCE_KERNEL("any", T, PHX_BOOL, 0.0, any_##INSTANCE, 2),     \
        REDUCE_KERNEL("all", T, PHX_BOOL, 0.0, all_##INSTANCE, 2), \
        REDUCE_KERNEL("count_nonzero", T, PHX_INT64, 0.0, count_##INSTANCE, 2)

static const cpu_kernel rows[] = {
    ROWS(PHX_BOOL, int8),
    ROWS(PHX_INT8, int8),
    ROWS(PHX_INT16, int16),
    ROWS(PHX_INT32, int32),
    ROWS(PHX_INT64, int64),
    ROWS(PHX_UINT8, int8),
    ROWS(PHX_UINT16, int16),
    ROWS(PHX_UINT32, int32),
    ROWS(PHX_UINT64, int64),
    ROWS(PHX_FLOAT16, half),
    ROWS(PHX_BFLOAT16, half),
    ROWS(PHX_FLOAT32, f32),
    ROWS(PHX_FLOAT64, f64),
    ROWS(PHX_COMPLEX64, c64),
    ROWS(PHX_COMPLEX128, c128),
};

cpu_kernel_list phx_reduce_logical_kernels(void) {
    return (cpu_kernel_list){rows, sizeof rows / sizeof rows[0]};
}
