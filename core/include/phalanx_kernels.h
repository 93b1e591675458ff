/* For kernels in C that compute row by row: all rows of operands of any strides, and the orders of evaluation of
 * docs/ops.md. Who adds up in these orders has the bits of all other devices, if products are not contracted and
 * integers wrap (-ffp-contract=off -fwrapv). It needs no memory and no other header; steps are bytes between the
 * elements of a row, and may be 0 or negative. */
#ifndef PHALANX_KERNELS_H_
#define PHALANX_KERNELS_H_

#include <stdint.h>

enum { PHX_OPERANDS = 4 };

typedef struct {
    char *first; /* its first element, where the kernel reaches it */
    int64_t itemsize;
    int32_t ndim;
    const int64_t *shape, *strides; /* elements */
} phx_operand;

/* One row of each operand, inputs before the output. */
typedef struct phx_row {
    int64_t n; /* elements */
    char *at[PHX_OPERANDS];
    int64_t step[PHX_OPERANDS];
    int64_t itemsize;      /* of the output */
    const int64_t *params; /* of the call */
    int32_t code;          /* 0; another one ends the loop over the rows */
    int32_t count;         /* of operands */
} phx_row;

#define PHX_EACH(ROW) for (int64_t i = 0; i < (ROW)->n; i++)
#define PHX_AT(ROW, T, K) (*(T *)((ROW)->at[K] + i * (ROW)->step[K])) /* element i of operand K */

static inline int32_t phx_rows_from(void (*body)(phx_row *row), phx_row row, const phx_operand *x, int32_t axis,
                                    int32_t end) {
    if (axis == end) return body(&row), row.code;
    for (int64_t i = 0; i < x[row.count - 1].shape[axis] && row.code == 0; i++) {
        row.code = phx_rows_from(body, row, x, axis + 1, end);
        for (int32_t k = 0; k < row.count; k++)
            if (axis < x[k].ndim) row.at[k] += x[k].strides[axis] * x[k].itemsize;
    }
    return row.code;
}

/* Calls `body` for each row and returns its code. A row is the last axis of the output, or one element if it has no
 * axis; where the first operand has an axis more, it is that one, and the output has one element in each row. An
 * operand without axes is the same element in all rows. */
static inline int32_t phx_each_row(void (*body)(phx_row *row), const phx_operand *x, int32_t count,
                                   const int64_t *params) {
    const phx_operand *out = &x[count - 1];
    const int32_t end = x->ndim > out->ndim || out->ndim == 0 ? out->ndim : out->ndim - 1;
    phx_row row = {1, {0}, {0}, out->itemsize, params, 0, count};
    for (int32_t k = 0; k < count; k++) {
        row.at[k] = x[k].first;
        row.step[k] = x[k].ndim > end ? x[k].strides[end] * x[k].itemsize : 0;
        row.n = x[k].ndim > end ? x[k].shape[end] : row.n;
    }
    return phx_rows_from(body, row, x, 0, end);
}

enum { PHX_LANES = 64,
       PHX_BLOCK = 4096,
       PHX_RUN = 256,
       PHX_LEVELS = 8 };

/* Defines `static S NAME(const void *x, int64_t n, int64_t step)`: the sum of n elements of type T, in S. A block is
 * added up in lanes, these as a tree, and the blocks as another. */
#define PHX_SUM(NAME, T, S)                                                                                       \
    static S NAME##_lanes(const char *x, int64_t n, int64_t step, int64_t lane, int64_t apart) {                  \
        S sum = 0;                                                                                                \
        if (lane + apart < PHX_LANES && lane + apart < n)                                                         \
            return NAME##_lanes(x, n, step, lane, 2 * apart) + NAME##_lanes(x, n, step, lane + apart, 2 * apart); \
        for (int64_t i = lane; i < n; i += PHX_LANES) {                                                           \
            const S value = (S) * (const T *)(x + i * step);                                                      \
            sum = i == lane ? value : sum + value;                                                                \
        }                                                                                                         \
        return sum;                                                                                               \
    }                                                                                                             \
    static S NAME##_blocks(const char *x, int64_t n, int64_t step, int64_t apart) {                               \
        if (n > apart)                                                                                            \
            return NAME##_blocks(x, n, step, 2 * apart) +                                                         \
                   NAME##_blocks(x + apart * step, n - apart, step, 2 * apart);                                   \
        return NAME##_lanes(x, n > PHX_BLOCK ? (int64_t)PHX_BLOCK : n, step, 0, 1);                               \
    }                                                                                                             \
    static S NAME(const void *x, int64_t n, int64_t step) {                                                       \
        return NAME##_blocks((const char *)x, n, step, PHX_BLOCK);                                                \
    }

/* Defines `static void NAME(void *out, int64_t out_step, const void *x, int64_t step, int64_t n)`: running totals of
 * type T; `out` may be `x`. A run of 256 is added up one by one; to it is added the running total, in the same way, of
 * the totals of the runs before. */
#define PHX_RUNNING_SUM(NAME, T)                                                               \
    typedef struct {                                                                           \
        T run, before;                                                                         \
        int64_t count;                                                                         \
    } NAME##_level;                                                                            \
    static T NAME##_put(NAME##_level *level, T value) {                                        \
        const int64_t place = level->count % PHX_RUN;                                          \
        if (place == 0 && level->count > 0) level->before = NAME##_put(level + 1, level->run); \
        level->run = place == 0 ? value : (T)(level->run + value);                             \
        return level->count++ < PHX_RUN ? level->run : (T)(level->before + level->run);        \
    }                                                                                          \
    static void NAME(void *out, int64_t out_step, const void *x, int64_t step, int64_t n) {    \
        NAME##_level levels[PHX_LEVELS] = {{0, 0, 0}};                                         \
        for (int64_t i = 0; i < n; i++) {                                                      \
            const T value = *(const T *)((const char *)x + i * step);                          \
            *(T *)((char *)out + i * out_step) = NAME##_put(levels, value);                    \
        }                                                                                      \
    }

#endif /* PHALANX_KERNELS_H_ */
