/* sum, prod and mean of floating and complex elements, sums of squared deviations: the tree that core/optable/structured.py states. */
#include "reduce/lists_reduce.h"
#include "reduce/reduce.h"

#define PHX_OUTLINE static __attribute__((noinline, unused))
#include "complex.h" /* after the dialect */
#include "convert.h"

#define ADD(a, b) ((a) + (b))
#define TIMES(a, b) ((a) * (b))
#define SAME(x) (x)

/* The op multiply, kept out of the loops that would otherwise repeat its long code. */
static __attribute__((noinline)) c64 times_c64(c64 a, c64 b) { return phx_multiply_c64(a, b); }
static __attribute__((noinline)) c128 times_c128(c128 a, c128 b) { return phx_multiply_c128(a, b); }

/* ---- arithmetic: one instance per accumulator ------------------------------------------------- */

#include "reduce/reduce_lanes_sum.h"

#define LANES_NAME(f) sum_c64_##f
#define UNIT f32
#define PARTS 2
#define OP ADD
#define NEUTRAL -0.0f
#include "reduce/reduce_lanes.h"

#define LANES_NAME(f) sum_c128_##f
#define UNIT f64
#define PARTS 2
#define OP ADD
#define NEUTRAL -0.0
#include "reduce/reduce_lanes.h"

#define LANES_NAME(f) prod_f32_##f
#define UNIT f32
#define PARTS 1
#define OP TIMES
#define NEUTRAL 1.0f
#include "reduce/reduce_lanes.h"

#define LANES_NAME(f) prod_f64_##f
#define UNIT f64
#define PARTS 1
#define OP TIMES
#define NEUTRAL 1.0
#include "reduce/reduce_lanes.h"

/* No neutral element: in every bit, an infinite or zero part times (1, 0) need not be what it was. */
#define LANES_NAME(f) prod_c64_##f
#define UNIT c64
#define PARTS 1
#define OP times_c64
#include "reduce/reduce_lanes.h"

#define LANES_NAME(f) prod_c128_##f
#define UNIT c128
#define PARTS 1
#define OP times_c128
#include "reduce/reduce_lanes.h"

/* ---- tiles: one instance per type in memory --------------------------------------------------- */

#define TREE_NAME(f) sum_from_f16_##f
#define LANES_NAME(f) sum_f32_##f
#define STORAGE u16
#define UNIT f32
#define PARTS 1
#define LOAD phx_f16_to_f32
#define NATIVE 0
#define EMPTY 0
#include "reduce/reduce_tree.h"

#define TREE_NAME(f) sum_from_bf16_##f
#define LANES_NAME(f) sum_f32_##f
#define STORAGE u16
#define UNIT f32
#define PARTS 1
#define LOAD phx_bf16_to_f32
#define NATIVE 0
#define EMPTY 0
#include "reduce/reduce_tree.h"

#define TREE_NAME(f) sum_from_f32_##f
#define LANES_NAME(f) sum_f32_##f
#define STORAGE f32
#define UNIT f32
#define PARTS 1
#define LOAD SAME
#define NATIVE 1
#define EMPTY 0
#include "reduce/reduce_tree.h"

#define TREE_NAME(f) sum_from_f64_##f
#define LANES_NAME(f) sum_f64_##f
#define STORAGE f64
#define UNIT f64
#define PARTS 1
#define LOAD SAME
#define NATIVE 1
#define EMPTY 0
#include "reduce/reduce_tree.h"

#define TREE_NAME(f) sum_from_c64_##f
#define LANES_NAME(f) sum_c64_##f
#define STORAGE f32
#define UNIT f32
#define PARTS 2
#define LOAD SAME
#define NATIVE 1
#define EMPTY 0
#include "reduce/reduce_tree.h"

#define TREE_NAME(f) sum_from_c128_##f
#define LANES_NAME(f) sum_c128_##f
#define STORAGE f64
#define UNIT f64
#define PARTS 2
#define LOAD SAME
#define NATIVE 1
#define EMPTY 0
#include "reduce/reduce_tree.h"

#define TREE_NAME(f) prod_from_f16_##f
#define LANES_NAME(f) prod_f32_##f
#define STORAGE u16
#define UNIT f32
#define PARTS 1
#define LOAD phx_f16_to_f32
#define NATIVE 0
#define EMPTY 1
#include "reduce/reduce_tree.h"

#define TREE_NAME(f) prod_from_bf16_##f
#define LANES_NAME(f) prod_f32_##f
#define STORAGE u16
#define UNIT f32
#define PARTS 1
#define LOAD phx_bf16_to_f32
#define NATIVE 0
#define EMPTY 1
#include "reduce/reduce_tree.h"

#define TREE_NAME(f) prod_from_f32_##f
#define LANES_NAME(f) prod_f32_##f
#define STORAGE f32
#define UNIT f32
#define PARTS 1
#define LOAD SAME
#define NATIVE 1
#define EMPTY 1
#include "reduce/reduce_tree.h"

#define TREE_NAME(f) prod_from_f64_##f
#define LANES_NAME(f) prod_f64_##f
#define STORAGE f64
#define UNIT f64
#define PARTS 1
#define LOAD SAME
#define NATIVE 1
#define EMPTY 1
#include "reduce/reduce_tree.h"

#define TREE_NAME(f) prod_from_c64_##f
#define LANES_NAME(f) prod_c64_##f
#define STORAGE c64
#define UNIT c64
#define PARTS 1
#define LOAD SAME
#define NATIVE 1
#define EMPTY {1, 0}
#include "reduce/reduce_tree.h"

#define TREE_NAME(f) prod_from_c128_##f
#define LANES_NAME(f) prod_c128_##f
#define STORAGE c128
#define UNIT c128
#define PARTS 1
#define LOAD SAME
#define NATIVE 1
#define EMPTY {1, 0}
#include "reduce/reduce_tree.h"

#define TREE_NAME(f) deviations_f32_##f
#define LANES_NAME(f) sum_f32_##f
#define UNIT f32
#include "reduce/reduce_deviations.h"

#define TREE_NAME(f) deviations_f64_##f
#define LANES_NAME(f) sum_f64_##f
#define UNIT f64
#include "reduce/reduce_deviations.h"

/* ---- last steps ------------------------------------------------------------------------------- */

/* into[i] op= from[i] for blocks: the tree of two rows. */
#define COMBINE(NAME, UNIT, PARTS, OP)                                     \
    static void NAME(void *into, const void *from, int64_t count) {        \
        UNIT *restrict a = into;                                           \
        const UNIT *restrict b = from;                                     \
        for (int64_t i = 0; i < count * PARTS; i++) a[i] = OP(a[i], b[i]); \
    }

COMBINE(sum_blocks_f32, f32, 1, ADD)
COMBINE(sum_blocks_f64, f64, 1, ADD)
COMBINE(sum_blocks_c64, f32, 2, ADD)
COMBINE(sum_blocks_c128, f64, 2, ADD)
COMBINE(prod_blocks_f32, f32, 1, TIMES)
COMBINE(prod_blocks_f64, f64, 1, TIMES)
COMBINE(prod_blocks_c64, c64, 1, times_c64)
COMBINE(prod_blocks_c128, c128, 1, times_c128)

/* Divide if it is a mean, give every NaN the same bits, round to the result's type. */
#define FINISH(NAME, STORE, UNIT, PARTS, COUNT, ONE_NAN, ROUND)                                        \
    static inline STORE NAME##_one(UNIT v) { return ROUND(v == v ? v : ONE_NAN); }                     \
    static void NAME(const reduce_job *job, const void *acc, int64_t count, char *y, int64_t stride) { \
        const UNIT *restrict a = acc;                                                                  \
        STORE *restrict to = (STORE *)y;                                                               \
        const UNIT n = job->plan->mean ? COUNT(job->n) : 1; /* x / 1 is x */                           \
        if (count > 1 && stride == PARTS * (int64_t)sizeof(STORE))                                     \
            for (int64_t i = 0; i < count * PARTS; i++) to[i] = NAME##_one(a[i] / n);                  \
        else                                                                                           \
            for (int64_t i = 0; i < count; i++, y += stride)                                           \
                for (int64_t p = 0; p < PARTS; p++, a++) {                                             \
                    SCALAR_LOOP;                                                                       \
                    ((STORE *)y)[p] = NAME##_one(*a / n);                                              \
                }                                                                                      \
    }

FINISH(to_f16, u16, f32, 1, phx_i64_to_f32, PHX_NANF, phx_f32_to_f16)
FINISH(to_bf16, u16, f32, 1, phx_i64_to_f32, PHX_NANF, phx_f32_to_bf16)
FINISH(to_f32, f32, f32, 1, phx_i64_to_f32, PHX_NANF, SAME)
FINISH(to_f64, f64, f64, 1, phx_i64_to_f64, PHX_NAN, SAME)
FINISH(to_c64, f32, f32, 2, phx_i64_to_f32, PHX_NANF, SAME)
FINISH(to_c128, f64, f64, 2, phx_i64_to_f64, PHX_NAN, SAME)

/* ---- kernels ---------------------------------------------------------------------------------- */

#define PLAN(D, ACC, OP, COMBINE_, MEAN)                                                            \
    REDUCE_FN(OP##_##D, .tile = COMBINE_##_from_##D##_tile, .combine = COMBINE_##_blocks_##ACC,     \
              .finish = to_##D, .acc_size = sizeof(ACC), .widest = REDUCE_TILE_BYTES / sizeof(ACC), \
              .block = REDUCE_BLOCK, .short_row = 2 * REDUCE_SHORT_ROW, .may_widen = 1, .mean = MEAN)

#define KERNELS(D, ACC)         \
    PLAN(D, ACC, sum, sum, 0)   \
    PLAN(D, ACC, prod, prod, 0) \
    PLAN(D, ACC, mean, sum, 1)

KERNELS(f16, f32)
KERNELS(bf16, f32)
KERNELS(f32, f32)
KERNELS(f64, f64)
KERNELS(c64, c64)
KERNELS(c128, c128)

#define SUM_OF(D)                                                       \
    .combine = sum_blocks_##D, .finish = to_##D, .acc_size = sizeof(D), \
    .widest = REDUCE_TILE_BYTES / sizeof(D), .block = REDUCE_BLOCK, .may_widen = 1

/* The mean first, then the tree of a sum. */
#define DEVIATIONS(D)                                                                     \
    static const reduce_plan centre_##D = {SUM_OF(D), .tile = sum_from_##D##_tile,        \
                                           .short_row = 2 * REDUCE_SHORT_ROW, .mean = 1}; \
    REDUCE_FN(deviations_##D, SUM_OF(D), .tile = deviations_##D##_tile,                   \
              .short_row = REDUCE_SHORT_ROW, .centre = &centre_##D)

DEVIATIONS(f32)
DEVIATIONS(f64)

#define ROWS(T, D, COST)                                                                                \
    REDUCE_KERNEL("sum", T, T, -1.0, sum_##D, COST), REDUCE_KERNEL("prod", T, T, -1.0, prod_##D, COST), \
        REDUCE_KERNEL("mean", T, T, -1.0, mean_##D, COST)

static const cpu_kernel rows[] = {
    ROWS(PHX_FLOAT16, f16, 4),
    ROWS(PHX_BFLOAT16, bf16, 4),
    ROWS(PHX_FLOAT32, f32, 2),
    ROWS(PHX_FLOAT64, f64, 4),
    ROWS(PHX_COMPLEX64, c64, 4),
    ROWS(PHX_COMPLEX128, c128, 8),
    REDUCE_KERNEL("sum_squared_deviations", PHX_FLOAT32, PHX_FLOAT32, -1.0, deviations_f32, 4),
    REDUCE_KERNEL("sum_squared_deviations", PHX_FLOAT64, PHX_FLOAT64, -1.0, deviations_f64, 8),
};

cpu_kernel_list phx_reduce_sum_kernels(void) {
    return (cpu_kernel_list){rows, sizeof rows / sizeof rows[0]};
}
