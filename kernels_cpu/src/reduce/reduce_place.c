/* argmax and argmin: the first place of the largest or smallest; the first NaN wins; -0 equals +0.
 *
 * As in reduce_extreme.c the elements become signed keys, NaN the largest; here -0 and +0 have one key.
 */
#include "reduce/lists_reduce.h"
#include "reduce/reduce.h"

typedef struct {
    i64 key, at;
} place;

#define LARGER(a, b) ((b) > (a) ? (b) : (a))

#define ONE_ZERO -1
#define KEY_TEMPLATE "reduce/reduce_place.h"
#include "reduce/reduce_keys.h"

/* Of two blocks in any order: the larger key, of equal keys the first place. */
static void first_blocks(void *into, const void *from, int64_t count) {
    place *restrict a = into;
    const place *restrict b = from;
    for (int64_t i = 0; i < count; i++)
        if (b[i].key > a[i].key || (b[i].key == a[i].key && b[i].at < a[i].at)) a[i] = b[i];
}

static void store(const reduce_job *job, const void *acc, int64_t count, char *y, int64_t stride) {
    const place *a = acc;
    (void)job;
    for (int64_t i = 0; i < count; i++, y += stride) *(i64 *)y = a[i].at;
}

#define PLAN(NAME, INSTANCE, FLIP)                                                                  \
    REDUCE_FN(NAME, .tile = INSTANCE##_tile, .combine = first_blocks, .finish = store,              \
              .acc_size = sizeof(place), .widest = REDUCE_FREE_COLUMNS, .block = REDUCE_FREE_BLOCK, \
              .short_row = 4 * REDUCE_SHORT_ROW,                                                    \
              .needs_one = 1, .flip = (u64)(FLIP))

#define KERNELS(D, INSTANCE, FLIP)   \
    PLAN(argmax_##D, INSTANCE, FLIP) \
    PLAN(argmin_##D, INSTANCE, ~(FLIP))

KERNELS(i8, int8, 0)
KERNELS(i16, int16, 0)
KERNELS(i32, int32, 0)
KERNELS(i64, int64, 0)
KERNELS(u8, int8, INT8_MIN)
KERNELS(u16, int16, INT16_MIN)
KERNELS(u32, int32, INT32_MIN)
KERNELS(u64, int64, INT64_MIN)
KERNELS(f16, f16, 0)
KERNELS(bf16, bf16, 0)
KERNELS(f32, f32, 0)
KERNELS(f64, f64, 0)

#define ROWS(T, D)                                             \
    REDUCE_KERNEL("argmax", T, PHX_INT64, 0.0, argmax_##D, 3), \
        REDUCE_KERNEL("argmin", T, PHX_INT64, 0.0, argmin_##D, 3)

static const cpu_kernel rows[] = {EACH_REAL(ROWS)};

cpu_kernel_list phx_reduce_place_kernels(void) {
    return (cpu_kernel_list){rows, sizeof rows / sizeof rows[0]};
}
