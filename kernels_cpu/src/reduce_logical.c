/* any, all and count_nonzero. An element is its bits: a float is zero if all but its sign are. */
#include "lists_reduce.h"
#include "reduce.h"

typedef struct {
    u32 re, im;
} bits64;

typedef struct {
    u64 re, im;
} bits128;

/* ---- nonzero: 1 or 0 --------------------------------------------------------------------------- */

#define NONZERO_int(x) ((x) != 0)
#define NONZERO_half(x) (((x) & 0x7fff) != 0)
#define NONZERO_f32(x) (((x) & 0x7fffffff) != 0)
#define NONZERO_f64(x) (((x) & INT64_MAX) != 0)
#define NONZERO_c64(x) ((((x).re | (x).im) & INT32_MAX) != 0)
#define NONZERO_c128(x) ((((x).re | (x).im) & INT64_MAX) != 0)

/* ---- any, all: is there an element whose truth is not `flip`? ----------------------------------- */

#define NEVER(a) 0
#define SURE(a) (a)
#define OR(a, p) ((u8)((a) | ((p) != 0)))
#define ADD(a, p) ((a) + (i64)(p))
#define STRETCH 32 /* rows of lanes between two looks whether the answer is known */

#define FREE_NAME(f) find_int8_##f
#define STORAGE u8
#define PART u8
#define INIT 0
#define STEP(p, x) ((u8)((p) | (u8)(NONZERO_int(x) ^ flip)))
#define RUN STRETCH
#define ACC u8
#define START 0
#define MERGE OR
#define ENOUGH SURE
#include "reduce_free.h"

#define FREE_NAME(f) find_int16_##f
#define STORAGE u16
#define PART u16
#define INIT 0
#define STEP(p, x) ((u16)((p) | (u16)(NONZERO_int(x) ^ flip)))
#define RUN STRETCH
#define ACC u8
#define START 0
#define MERGE OR
#define ENOUGH SURE
#include "reduce_free.h"

#define FREE_NAME(f) find_int32_##f
#define STORAGE u32
#define PART u32
#define INIT 0
#define STEP(p, x) ((u32)((p) | (u32)(NONZERO_int(x) ^ flip)))
#define RUN STRETCH
#define ACC u8
#define START 0
#define MERGE OR
#define ENOUGH SURE
#include "reduce_free.h"

#define FREE_NAME(f) find_int64_##f
#define STORAGE u64
#define PART u64
#define INIT 0
#define STEP(p, x) ((u64)((p) | (u64)(NONZERO_int(x) ^ flip)))
#define RUN STRETCH
#define ACC u8
#define START 0
#define MERGE OR
#define ENOUGH SURE
#include "reduce_free.h"

#define FREE_NAME(f) find_half_##f
#define STORAGE u16
#define PART u16
#define INIT 0
#define STEP(p, x) ((u16)((p) | (u16)(NONZERO_half(x) ^ flip)))
#define RUN STRETCH
#define ACC u8
#define START 0
#define MERGE OR
#define ENOUGH SURE
#include "reduce_free.h"

#define FREE_NAME(f) find_f32_##f
#define STORAGE u32
#define PART u32
#define INIT 0
#define STEP(p, x) ((u32)((p) | (u32)(NONZERO_f32(x) ^ flip)))
#define RUN STRETCH
#define ACC u8
#define START 0
#define MERGE OR
#define ENOUGH SURE
#include "reduce_free.h"

#define FREE_NAME(f) find_f64_##f
#define STORAGE u64
#define PART u64
#define INIT 0
#define STEP(p, x) ((u64)((p) | (u64)(NONZERO_f64(x) ^ flip)))
#define RUN STRETCH
#define ACC u8
#define START 0
#define MERGE OR
#define ENOUGH SURE
#include "reduce_free.h"

#define FREE_NAME(f) find_c64_##f
#define STORAGE bits64
#define PART u32
#define INIT 0
#define STEP(p, x) ((u32)((p) | (u32)(NONZERO_c64(x) ^ flip)))
#define RUN STRETCH
#define ACC u8
#define START 0
#define MERGE OR
#define ENOUGH SURE
#include "reduce_free.h"

#define FREE_NAME(f) find_c128_##f
#define STORAGE bits128
#define PART u64
#define INIT 0
#define STEP(p, x) ((u64)((p) | (u64)(NONZERO_c128(x) ^ flip)))
#define RUN STRETCH
#define ACC u8
#define START 0
#define MERGE OR
#define ENOUGH SURE
#include "reduce_free.h"

/* ---- count_nonzero: lanes as wide as the element, emptied before they overflow ------------------- */

#define FREE_NAME(f) count_int8_##f
#define STORAGE u8
#define PART u8
#define INIT 0
#define STEP(p, x) ((u8)((p) + NONZERO_int(x)))
#define RUN 255
#define ACC i64
#define START 0
#define MERGE ADD
#define ENOUGH NEVER
#include "reduce_free.h"

#define FREE_NAME(f) count_int16_##f
#define STORAGE u16
#define PART u16
#define INIT 0
#define STEP(p, x) ((u16)((p) + NONZERO_int(x)))
#define RUN 32768
#define ACC i64
#define START 0
#define MERGE ADD
#define ENOUGH NEVER
#include "reduce_free.h"

#define FREE_NAME(f) count_int32_##f
#define STORAGE u32
#define PART u32
#define INIT 0
#define STEP(p, x) ((u32)((p) + NONZERO_int(x)))
#define RUN REDUCE_FREE_BLOCK
#define ACC i64
#define START 0
#define MERGE ADD
#define ENOUGH NEVER
#include "reduce_free.h"

#define FREE_NAME(f) count_int64_##f
#define STORAGE u64
#define PART u64
#define INIT 0
#define STEP(p, x) ((u64)((p) + NONZERO_int(x)))
#define RUN REDUCE_FREE_BLOCK
#define ACC i64
#define START 0
#define MERGE ADD
#define ENOUGH NEVER
#include "reduce_free.h"

#define FREE_NAME(f) count_half_##f
#define STORAGE u16
#define PART u16
#define INIT 0
#define STEP(p, x) ((u16)((p) + NONZERO_half(x)))
#define RUN 32768
#define ACC i64
#define START 0
#define MERGE ADD
#define ENOUGH NEVER
#include "reduce_free.h"

#define FREE_NAME(f) count_f32_##f
#define STORAGE u32
#define PART u32
#define INIT 0
#define STEP(p, x) ((u32)((p) + NONZERO_f32(x)))
#define RUN REDUCE_FREE_BLOCK
#define ACC i64
#define START 0
#define MERGE ADD
#define ENOUGH NEVER
#include "reduce_free.h"

#define FREE_NAME(f) count_f64_##f
#define STORAGE u64
#define PART u64
#define INIT 0
#define STEP(p, x) ((u64)((p) + NONZERO_f64(x)))
#define RUN REDUCE_FREE_BLOCK
#define ACC i64
#define START 0
#define MERGE ADD
#define ENOUGH NEVER
#include "reduce_free.h"

#define FREE_NAME(f) count_c64_##f
#define STORAGE bits64
#define PART u32
#define INIT 0
#define STEP(p, x) ((u32)((p) + NONZERO_c64(x)))
#define RUN REDUCE_FREE_BLOCK
#define ACC i64
#define START 0
#define MERGE ADD
#define ENOUGH NEVER
#include "reduce_free.h"

#define FREE_NAME(f) count_c128_##f
#define STORAGE bits128
#define PART u64
#define INIT 0
#define STEP(p, x) ((u64)((p) + NONZERO_c128(x)))
#define RUN REDUCE_FREE_BLOCK
#define ACC i64
#define START 0
#define MERGE ADD
#define ENOUGH NEVER
#include "reduce_free.h"

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
              .block = REDUCE_FREE_BLOCK, .absorbing = 1, .flip = FLIP)

#define COUNT(INSTANCE)                                                                      \
    REDUCE_FN(count_##INSTANCE, .tile = count_##INSTANCE##_tile, .combine = count_blocks,    \
              .finish = count_store, .acc_size = sizeof(i64), .widest = REDUCE_FREE_COLUMNS, \
              .block = REDUCE_FREE_BLOCK)

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
