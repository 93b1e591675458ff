/* sum and prod of integers: modulo 2**64, so that no order of evaluation shows. */
#include "reduce/lists_reduce.h"
#include "reduce/reduce.h"

#define ADD_WIDE(a, x) ((a) + (u64)(i64)(x)) /* sign-extended; an unsigned 64-bit element stays what it is */
#define TIMES_WIDE(a, x) ((a) * (u64)(i64)(x))

_Static_assert(REDUCE_FREE_BLOCK <= 1 << 15, "a block of 16-bit elements must fit into 32 bits");

#define ELEMENT i8
#define SUM_PART i32
#include "reduce/reduce_integer.h"

#define ELEMENT i16
#define SUM_PART i32
#include "reduce/reduce_integer.h"

#define ELEMENT i32
#define SUM_PART u64
#include "reduce/reduce_integer.h"

#define ELEMENT i64
#define SUM_PART u64
#include "reduce/reduce_integer.h"

#define ELEMENT u8
#define SUM_PART u32
#include "reduce/reduce_integer.h"

#define ELEMENT u16
#define SUM_PART u32
#include "reduce/reduce_integer.h"

#define ELEMENT u32
#define SUM_PART u64
#include "reduce/reduce_integer.h"

/* ---- last steps and kernels -------------------------------------------------------------------- */

static void sum_blocks(void *into, const void *from, int64_t count) {
    u64 *restrict a = into;
    const u64 *restrict b = from;
    for (int64_t i = 0; i < count; i++) a[i] += b[i];
}

static void prod_blocks(void *into, const void *from, int64_t count) {
    u64 *restrict a = into;
    const u64 *restrict b = from;
    for (int64_t i = 0; i < count; i++) a[i] *= b[i];
}

static void store(const reduce_job *job, const void *acc, int64_t count, char *y, int64_t stride) {
    const u64 *a = acc;
    (void)job;
    for (int64_t i = 0; i < count; i++, y += stride) *(u64 *)y = a[i];
}

#define PLAN(OP, D)                                                                               \
    REDUCE_FN(OP##_##D, .tile = OP##_##D##_tile, .combine = OP##_blocks, .finish = store,         \
              .acc_size = sizeof(u64), .widest = REDUCE_FREE_COLUMNS, .block = REDUCE_FREE_BLOCK, \
              .short_row = REDUCE_SHORT_ROW)

#define KERNELS(D) PLAN(sum, D) PLAN(prod, D)

KERNELS(i8)
KERNELS(i16)
KERNELS(i32)
KERNELS(i64)
KERNELS(u8)
KERNELS(u16)
KERNELS(u32)

#define ROWS(T, TO, D) \
    REDUCE_KERNEL("sum", T, TO, 0.0, sum_##D, 2), REDUCE_KERNEL("prod", T, TO, 0.0, prod_##D, 4)

static const cpu_kernel rows[] = {
    ROWS(PHX_INT8, PHX_INT64, i8),
    ROWS(PHX_INT16, PHX_INT64, i16),
    ROWS(PHX_INT32, PHX_INT64, i32),
    ROWS(PHX_INT64, PHX_INT64, i64),
    ROWS(PHX_UINT8, PHX_UINT64, u8),
    ROWS(PHX_UINT16, PHX_UINT64, u16),
    ROWS(PHX_UINT32, PHX_UINT64, u32),
    ROWS(PHX_UINT64, PHX_UINT64, i64),
};

cpu_kernel_list phx_reduce_integer_kernels(void) {
    return (cpu_kernel_list){rows, sizeof rows / sizeof rows[0]};
}
