/* argmax and argmin: the first place of the largest or smallest; the first NaN wins; -0 equals +0.
 *
 * As in reduce_extreme.c the elements' bits become signed keys, NaN the largest; here -0 and +0 have one key.
 */
#include "lists_reduce.h"
#include "reduce.h"

typedef struct {
    i64 key, at;
} place;

#define INT_KEY(x) ((x) ^ flip)

#define FLOAT_KEY(NAME, T, MAGNITUDE, INFINITE, LARGEST)             \
    static inline T NAME(T bits, T flip) {                           \
        const T magnitude = (T)(bits & MAGNITUDE);                   \
        const T ordered = (T)(bits < 0 ? -magnitude : magnitude);    \
        return (T)(magnitude > INFINITE ? LARGEST : ordered ^ flip); \
    }

FLOAT_KEY(key_f16, i16, 0x7fff, 0x7c00, INT16_MAX)
FLOAT_KEY(key_bf16, i16, 0x7fff, 0x7f80, INT16_MAX)
FLOAT_KEY(key_f32, i32, 0x7fffffff, 0x7f800000, INT32_MAX)
FLOAT_KEY(key_f64, i64, INT64_MAX, 0x7ff0000000000000, INT64_MAX)

#define PLACE_NAME(f) int8_##f
#define KEY i8
#define TO_KEY INT_KEY
#define LOWEST INT8_MIN
#include "reduce_place.h"

#define PLACE_NAME(f) int16_##f
#define KEY i16
#define TO_KEY INT_KEY
#define LOWEST INT16_MIN
#include "reduce_place.h"

#define PLACE_NAME(f) int32_##f
#define KEY i32
#define TO_KEY INT_KEY
#define LOWEST INT32_MIN
#include "reduce_place.h"

#define PLACE_NAME(f) int64_##f
#define KEY i64
#define TO_KEY INT_KEY
#define LOWEST INT64_MIN
#include "reduce_place.h"

#define PLACE_NAME(f) f16_##f
#define KEY i16
#define TO_KEY(x) key_f16(x, flip)
#define LOWEST INT16_MIN
#include "reduce_place.h"

#define PLACE_NAME(f) bf16_##f
#define KEY i16
#define TO_KEY(x) key_bf16(x, flip)
#define LOWEST INT16_MIN
#include "reduce_place.h"

#define PLACE_NAME(f) f32_##f
#define KEY i32
#define TO_KEY(x) key_f32(x, flip)
#define LOWEST INT32_MIN
#include "reduce_place.h"

#define PLACE_NAME(f) f64_##f
#define KEY i64
#define TO_KEY(x) key_f64(x, flip)
#define LOWEST INT64_MIN
#include "reduce_place.h"

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

cpu_kernel_list phx_reduce_place_kernels(void) {
    return (cpu_kernel_list){rows, sizeof rows / sizeof rows[0]};
}
