/* The kernels of the simulated chip: loops over one row of elements, which the chip calls for all rows of its
 * operands. There is no fp64. phalanx_kernels.h has the orders of evaluation that make their bits those of all. */
#include <math.h>
#include "chip.c"
#include "phalanx.h"
#include "phalanx_kernels.h"

typedef struct {
    int (*run)(chip_command *self);
    void (*body)(phx_row *r);
} kernel;

static int sweep(void (*body)(phx_row *r), const chip_operand *x, int count, const int64_t *params) {
    phx_operand found[OPERANDS] = {0};
    for (int k = 0; k < count; k++) {
        found[k] = (phx_operand){chip_reach(&x[k]), x[k].itemsize, x[k].ndim, x[k].shape, x[k].strides};
        if (found[k].first == NULL) return chip_fail(CHIP_BAD_ACCESS, "operand %d leaves its block", k);
    }
    return phx_each_row(body, found, count, params);
}

static int by_rows(chip_command *c) {
    return sweep(((const kernel *)c->kernel)->body, c->operands, c->count, c->params);
}

#define EACH PHX_EACH(r)
#define AT(T, K) PHX_AT(r, T, K)

static void move(phx_row *r) { EACH memcpy(&AT(char, 1), &AT(char, 0), (size_t)r->itemsize); }
static void clear(phx_row *r) { EACH memset(&AT(char, 1), 0, (size_t)r->itemsize); }
static void no_place(phx_row *r) { EACH AT(int64_t, 0) = PHX_NO_PLACE; }

static void wrap(phx_row *r) {
    const long extent = r->params[0], stride = r->params[1];
    EACH {
        const long x = AT(int64_t, 0);
        AT(int64_t, 1) = (x < 0 ? x + extent : x) * stride;
        if (x < -extent || x >= extent)
            r->code = chip_fail(CHIP_BAD_INDEX, "index %ld is out of range for extent %ld", x, extent);
    }
}

static int wrap_index(chip_command *c) {
    const int code = by_rows(c);
    if (code != CHIP_OK) sweep(no_place, &c->operands[1], 1, NULL); /* one bad index refuses all */
    return code;
}

/* The slices of the first operand that begin so many elements behind its first one. */
static int gather(chip_command *c) {
    const chip_operand *x = c->operands, *out = &x[2];
    const char *offsets = chip_reach(&x[1]);
    chip_operand pair[2] = {x[0], *out};
    int code = CHIP_OK;
    if (offsets == NULL) return chip_fail(CHIP_BAD_ACCESS, "the places leave their block");
    pair[1].ndim--;
    memmove(pair[1].shape, out->shape + 1, sizeof out->shape - sizeof *out->shape);
    memmove(pair[1].strides, out->strides + 1, sizeof out->strides - sizeof *out->strides);
    for (int64_t i = 0; i < out->shape[0] && code == CHIP_OK; i++) {
        const int64_t offset = *(const int64_t *)(offsets + i * x[1].strides[0] * x[1].itemsize);
        const bool is_place = offset >= PHX_NO_PLACE / 2; /* else zeros */
        pair[0].offset = x->offset + (uint64_t)(is_place ? offset * out->itemsize : 0);
        code = sweep(is_place ? move : clear, pair, 2, NULL);
        pair[1].offset += (uint64_t)(out->strides[0] * out->itemsize);
    }
    return code;
}

// clang-format off: these are lines of a table
#define BINARY(OP, T, R, VALUE) \
    static void OP##_##T(phx_row *r) { EACH { const T x = AT(T, 0), y = AT(T, 1); AT(R, 2) = (R)(VALUE); } }
#define NUMBERS(T, S) BINARY(add, T, T, x + y) BINARY(subtract, T, T, x - y) BINARY(multiply, T, T, x * y) \
    BINARY(less, T, bool, x < y) FOLD(T, S)
#define INTEGERS(T, S) NUMBERS(T, S) BINARY(maximum, T, T, x > y ? x : y) BINARY(minimum, T, T, x < y ? x : y) \
    BINARY(bitwise_or, T, T, x | y) BINARY(bitwise_xor, T, T, x ^ y)
#define FOLD(T, S) PHX_SUM(fold_##T, T, S) \
    static void sum_##T(phx_row *r) { *(S *)r->at[1] = fold_##T(r->at[0], r->n, r->step[0]); }
#define LINES(T) PHX_RUNNING_SUM(scan_##T, T) \
    static void cumulative_sum_##T(phx_row *r) { scan_##T(r->at[1], r->step[1], r->at[0], r->step[0], r->n); } \
    static void arange_##T(phx_row *r) { EACH AT(T, 2) = (T)(AT(T, 0) + (T)i * AT(T, 1)); }

INTEGERS(int8_t, int64_t) INTEGERS(int16_t, int64_t) INTEGERS(int32_t, int64_t) INTEGERS(int64_t, int64_t)
INTEGERS(uint8_t, uint64_t) INTEGERS(uint16_t, uint64_t) INTEGERS(uint32_t, uint64_t) INTEGERS(uint64_t, uint64_t)
NUMBERS(float, float) LINES(int32_t) LINES(int64_t) LINES(float)
BINARY(maximum, float, float, x > y || x != x || (x == y && !signbit(x)) ? x : y) /* NaN wins, +0 is above -0 */
BINARY(minimum, float, float, x < y || x != x || (x == y && signbit(x)) ? x : y)
    // clang-format on
