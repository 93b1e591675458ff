/* The kernels of the simulated chip: what a vendor's compiler and libraries would give.
 *
 * A kernel is a loop over one row of elements; the chip calls it for all rows of its operands. The orders of
 * evaluation are those of docs/ops.md, so the bits are those of every other device. There is no fp64. */
#include "chip.c"

#include <complex.h>
#include <math.h>

#define FLAT 0  /* operands without gaps, or of one element */
#define ROWS 1  /* the last axis is that of the rows */
#define FOLDS 2 /* the same, and the output lacks it */

typedef struct {
    int64_t n; /* elements of a row */
    char *at[OPERANDS];
    int64_t step[OPERANDS], itemsize; /* bytes */
    const int64_t *params;
    int code;
} row;

typedef struct {
    int (*run)(chip_call *call);
    void (*body)(row *r);
    int form; /* FLAT, ROWS or FOLDS */
} kernel;

static int sweep(void (*body)(row *r), const chip_operand *x, int32_t count, bool folds, const int64_t *params) {
    const chip_operand *out = &x[count - 1];
    const int32_t outer = out->ndim - (!folds && out->ndim > 0);
    row r = {.n = 1, .itemsize = out->itemsize, .params = params};
    int64_t index[AXES] = {0}, rows = 1;
    for (int32_t axis = 0; axis < outer; axis++) rows *= out->shape[axis];
    for (int32_t i = 0; i < count; i++) {
        if (x[i].ndim > outer) r.n = x[i].shape[outer];
        r.step[i] = x[i].ndim > outer ? x[i].strides[outer] * x[i].itemsize : 0;
    }
    for (int32_t i = 0; i < count && rows > 0 && (r.n > 0 || folds); i++) {
        r.at[i] = r.n == 0 && x[i].ndim > outer ? NULL : chip_reach(&x[i]);
        if (r.n > 0 && r.at[i] == NULL) return chip_fail(CHIP_BAD_ACCESS, "operand %d leaves its block", i);
    }
    for (int64_t done = 0; done < rows && r.code == CHIP_OK; done++) {
        body(&r);
        for (int32_t axis = outer - 1; axis >= 0; axis--) {
            const bool wraps = ++index[axis] == out->shape[axis];
            for (int32_t i = 0; i < count; i++)
                if (axis < x[i].ndim)
                    r.at[i] += x[i].strides[axis] * x[i].itemsize * (wraps ? 1 - out->shape[axis] : 1);
            if (!wraps) break;
            index[axis] = 0;
        }
    }
    return r.code;
}

static int by_rows(chip_call *call) {
    const kernel *k = call->kernel;
    return sweep(k->body, call->operands, call->count, k->form == FOLDS, call->params);
}

typedef float complex complex64;
typedef _Float16 half;
typedef uint16_t bf16; /* the upper half of a float32 */
static float wide(bf16 x) {
    return ((union {uint32_t bits; float value; }){(uint32_t)x << 16}).value;
}
static bf16 narrow(float x) {
    const uint32_t bits = ((union {float value; uint32_t bits; }){x}).bits;
    return (bf16)(x != x ? 0x7FC0 : (bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}
#define LANES 64 /* these three: docs/ops.md, the orders of sums and running totals */
#define BLOCK 4096
#define RUN 256
#define NO_PLACE (-0x100000000000000) /* of an index that is out of range */
#define EACH for (int64_t i = 0; i < r->n; i++)
#define AT(T, K) (*(T *)(r->at[K] + i * r->step[K]))

static void move(row *r) { EACH memcpy(&AT(char, 1), &AT(char, 0), (size_t)r->itemsize); }
static void clear(row *r) { EACH memset(&AT(char, 1), 0, (size_t)r->itemsize); }
static void no_place(row *r) { EACH AT(int64_t, 0) = NO_PLACE; }

static void wrap(row *r) {
    const int64_t extent = r->params[0], stride = r->params[1];
    EACH {
        const int64_t x = AT(int64_t, 0);
        if (x < -extent || x >= extent)
            r->code = chip_fail(CHIP_BAD_INDEX, "index %lld is out of range for extent %lld", (long long)x,
                                (long long)extent);
        AT(int64_t, 1) = (x < 0 ? x + extent : x) * stride;
    }
}

static int wrap_index(chip_call *call) {
    const int code = by_rows(call);
    if (code != CHIP_OK) sweep(no_place, &call->operands[1], 1, false, NULL); /* one bad index refuses all */
    return code;
}

/* The slices of the first operand that begin so many elements behind its first one. */
static int gather(chip_call *call) {
    const chip_operand *x = call->operands, *out = &x[2];
    chip_operand pair[2] = {x[0], *out}, from = x[1];
    int code = CHIP_OK;
    from.ndim = 0;
    pair[1].ndim--;
    memmove(pair[1].shape, out->shape + 1, sizeof out->shape - sizeof *out->shape);
    memmove(pair[1].strides, out->strides + 1, sizeof out->strides - sizeof *out->strides);
    for (int64_t i = 0; i < out->shape[0] && code == CHIP_OK; i++) {
        const int64_t *offset = (int64_t *)chip_reach(&from);
        if (offset == NULL) return chip_fail(CHIP_BAD_ACCESS, "the places of a gather leave their block");
        const bool is_place = *offset >= NO_PLACE / 2; /* else zeros */
        pair[0].place.offset = x->place.offset + (uint64_t)(is_place ? *offset * out->itemsize : 0);
        code = sweep(is_place ? move : clear, pair, 2, false, NULL);
        pair[1].place.offset += (uint64_t)(out->strides[0] * out->itemsize);
        from.place.offset += (uint64_t)(x[1].strides[0] * from.itemsize);
    }
    return code;
}

#define BINARY(OP, T, R, VALUE)                 \
    static void OP##_##T(row *r) {              \
        EACH {                                  \
            const T x = AT(T, 0), y = AT(T, 1); \
            AT(R, 2) = (R)(VALUE);              \
        }                                       \
    }
#define SUMS(T) BINARY(add, T, T, x + y) BINARY(subtract, T, T, x - y)
#define NUMBERS(T) SUMS(T) BINARY(multiply, T, T, x *y) BINARY(less, T, bool, x < y)
#define INTEGERS(T, S)                   \
    NUMBERS(T)                           \
    FOLD(T, S)                           \
    BINARY(maximum, T, T, x > y ? x : y) \
    BINARY(minimum, T, T, x < y ? x : y) \
    BINARY(bitwise_or, T, T, x | y)      \
    BINARY(bitwise_xor, T, T, x ^ y)
/* Lanes of blocks, a tree over the lanes, and one over the blocks. */
#define FOLD(T, S)                                                                              \
    static S tree_##T(S *parts, int64_t count) {                                                \
        int64_t side = 1;                                                                       \
        while (side < count) side *= 2;                                                         \
        while ((side /= 2) > 0)                                                                 \
            for (int64_t i = 0; i < side && i + side < count; i++) parts[i] += parts[i + side]; \
        return count > 0 ? parts[0] : 0;                                                        \
    }                                                                                           \
    static void sum_##T(row *r) {                                                               \
        S lanes[LANES], *totals = malloc((size_t)(r->n / BLOCK + 1) * sizeof *totals);          \
        if (totals == NULL) r->code = chip_fail(CHIP_NO_MEMORY, "no room to add up");           \
        for (int64_t i = 0; totals != NULL && i < r->n; i++) {                                  \
            const int64_t place = i % BLOCK, lane = place % LANES;                              \
            lanes[lane] = place < LANES ? (S)AT(T, 0) : lanes[lane] + (S)AT(T, 0);              \
            if (place + 1 == BLOCK || i + 1 == r->n)                                            \
                totals[i / BLOCK] = tree_##T(lanes, place < LANES ? place + 1 : LANES);         \
        }                                                                                       \
        if (totals != NULL) *(S *)r->at[1] = tree_##T(totals, (r->n + BLOCK - 1) / BLOCK);      \
        free(totals);                                                                           \
    }
/* Running totals of runs; the carries are running totals of the runs' totals, in the same way. */
#define SCAN(T)                                                                           \
    static void scan_##T(T *x, int64_t n, T *room) {                                      \
        const int64_t carried = n > 0 ? (n - 1) / RUN : 0;                                \
        for (int64_t i = 1; i < n; i++) x[i] = i % RUN == 0 ? x[i] : x[i - 1] + x[i];     \
        for (int64_t i = 0; i < carried; i++) room[i] = x[(i + 1) * RUN - 1];             \
        if (carried > 1) scan_##T(room, carried, room + carried);                         \
        for (int64_t i = RUN; i < n; i++) x[i] = room[i / RUN - 1] + x[i];                \
    }                                                                                     \
    static void cumulative_sum_##T(row *r) {                                              \
        T *x = malloc((size_t)(2 * r->n + 1) * sizeof *x);                                \
        if (x == NULL) r->code = chip_fail(CHIP_NO_MEMORY, "no room for running totals"); \
        for (int64_t i = 0; x != NULL && i < r->n; i++) x[i] = AT(T, 0);                  \
        if (x != NULL) scan_##T(x, r->n, x + r->n);                                       \
        for (int64_t i = 0; x != NULL && i < r->n; i++) AT(T, 1) = x[i];                  \
        free(x);                                                                          \
    }
#define ARANGE(T) \
    static void arange_##T(row *r) { EACH AT(T, 2) = (T)(AT(T, 0) + (T)i * AT(T, 1)); }

INTEGERS(int8_t, int64_t)
INTEGERS(int16_t, int64_t)
INTEGERS(int32_t, int64_t)
INTEGERS(int64_t, int64_t)
INTEGERS(uint8_t, uint64_t)
INTEGERS(uint16_t, uint64_t)
INTEGERS(uint32_t, uint64_t)
INTEGERS(uint64_t, uint64_t)
NUMBERS(half)
NUMBERS(float)
FOLD(float, float)
BINARY(maximum, float, float, x > y || x != x || (x == y && !signbit(x)) ? x : y) /* NaN wins, +0 is above -0 */
BINARY(minimum, float, float, x < y || x != x || (x == y && signbit(x)) ? x : y)
SUMS(complex64)
BINARY(add, bf16, bf16, narrow(wide(x) + wide(y)))
BINARY(subtract, bf16, bf16, narrow(wide(x) - wide(y)))
SCAN(int32_t)
SCAN(int64_t)
SCAN(float)
ARANGE(int32_t)
ARANGE(int64_t)
ARANGE(float)
