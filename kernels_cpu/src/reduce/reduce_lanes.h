/* Template: the ordered reduction of one block (core/optable/structured.py states the order).
 *
 * Include with these macros set; they are undefined at the end:
 *   LANES_NAME(f)  name of the function f of this instance
 *   UNIT           type that OP takes: f32, f64, c64, c128
 *   PARTS          units per element: 2 for a complex sum, which is two sums side by side, else 1
 *   OP(a, b)       the operation on units
 *   NEUTRAL        optional: a unit with OP(x, NEUTRAL) == x in every bit, which fills missing lanes
 *
 * Lanes are plain arrays of constant length: gcc keeps them in vector registers.
 */

/* Combine n rows of width units: for half = ..., 32, ... 1, i < half: row i takes in row i + half. */
static void LANES_NAME(tree)(UNIT *r, int64_t n, int64_t width) {
    int64_t half = REDUCE_LANES;
    while (half < n) half *= 2; /* of blocks, there may be more than lanes */
    for (half /= 2; half > 0; half /= 2) {
        const int64_t count = (n - half < half ? n - half : half) * width;
        const UNIT *from = r + half * width;
#pragma GCC ivdep
        for (int64_t i = 0; i < count; i++) r[i] = OP(r[i], from[i]);
    }
}

/* Four groups of rows, 64 rows apart: acc[r] = acc[r] op x[r] op x[r + 64] ..., or without acc if they are
 * the first. */
static inline __attribute__((always_inline)) void LANES_NAME(fold4)(UNIT *restrict acc, const UNIT *restrict x,
                                                                    int64_t rows, int64_t width, int64_t stride,
                                                                    int first) {
    const int64_t group = REDUCE_LANES * stride;
    if (stride == width) { /* rows without gaps are one long row */
        width *= rows;
        rows = 1;
    }
    for (int64_t r = 0; r < rows; r++, acc += width, x += stride) {
        /* the next row of each group: its page may be another one, where no prefetcher goes by itself */
        for (int64_t t = 0; t < width && r + 1 < rows; t += 64 / (int)sizeof(UNIT)) {
            const UNIT *next = x + stride + t;
            __builtin_prefetch(next), __builtin_prefetch(next + group);
            __builtin_prefetch(next + 2 * group), __builtin_prefetch(next + 3 * group);
        }
        for (int64_t t = 0; t < width; t++) {
            UNIT a = first ? x[t] : OP(acc[t], x[t]);
            a = OP(a, x[t + group]);
            a = OP(a, x[t + 2 * group]);
            acc[t] = OP(a, x[t + 3 * group]);
        }
    }
}

/* acc[r] takes in row r. */
static void LANES_NAME(fold)(UNIT *restrict acc, const UNIT *restrict x, int64_t rows, int64_t width,
                             int64_t stride) {
    if (stride == width) {
        width *= rows;
        rows = 1;
    }
    for (int64_t r = 0; r < rows; r++, acc += width, x += stride)
        for (int64_t t = 0; t < width; t++) acc[t] = OP(acc[t], x[t]);
}

/* The first step of the tree over n <= 64 rows, from x to acc; returns the rows that are left. */
static int64_t LANES_NAME(pair)(UNIT *restrict acc, const UNIT *restrict x, int64_t n, int64_t width,
                                int64_t stride) {
    int64_t half = 1;
    while (2 * half < n) half *= 2;
    const int64_t pairs = n - half > 0 ? n - half : 0;
    for (int64_t r = 0; r < pairs; r++)
        for (int64_t t = 0; t < width; t++)
            acc[r * width + t] = OP(x[r * stride + t], x[(r + half) * stride + t]);
    for (int64_t r = pairs; r < half; r++)
        for (int64_t t = 0; t < width; t++) acc[r * width + t] = x[r * stride + t];
    return half;
}

/* Reduce n > 0 rows of width units in memory to out[width]; acc is room for 64 rows. */
static void LANES_NAME(columns)(UNIT *restrict acc, const UNIT *restrict x, int64_t n, int64_t width,
                                int64_t stride, UNIT *restrict out) {
    int64_t r = REDUCE_LANES, lanes = REDUCE_LANES;
    if (n <= REDUCE_LANES) {
        lanes = LANES_NAME(pair)(acc, x, n, width, stride);
    } else if (n >= 4 * REDUCE_LANES) {
        LANES_NAME(fold4)(acc, x, REDUCE_LANES, width, stride, 1);
        r = 4 * REDUCE_LANES;
    } else {
        for (int64_t i = 0; i < REDUCE_LANES; i++)
            for (int64_t t = 0; t < width; t++) acc[i * width + t] = x[i * stride + t];
    }
    for (; r + 4 * REDUCE_LANES <= n; r += 4 * REDUCE_LANES)
        LANES_NAME(fold4)(acc, x + r * stride, REDUCE_LANES, width, stride, 0);
    for (; r < n; r += REDUCE_LANES)
        LANES_NAME(fold)(acc, x + r * stride, n - r < REDUCE_LANES ? n - r : REDUCE_LANES, width, stride);
    LANES_NAME(tree)(acc, lanes, width);
    for (int64_t t = 0; t < width; t++) out[t] = acc[t];
}

#ifdef NEUTRAL
#define WIDTH (REDUCE_LANES * PARTS)
/* Lanes that fit eight vector registers are carried through the block at once. */
#define CHUNK (WIDTH * sizeof(UNIT) > REDUCE_REGISTERS ? REDUCE_REGISTERS / (int)sizeof(UNIT) : WIDTH)

/* Reduce n contiguous elements to out[PARTS]. */
static inline void LANES_NAME(row)(const UNIT *restrict x, int64_t n, UNIT *restrict out) {
    _Alignas(64) UNIT lanes[WIDTH];
    const int64_t units = n * PARTS;
    const int64_t whole = units / WIDTH * WIDTH;
    const int64_t rest = units - whole;
    if (whole == 0) {
        for (int64_t j = 0; j < WIDTH; j++) lanes[j] = j < rest ? x[j] : NEUTRAL;
    } else {
        for (int64_t c = 0; c < WIDTH; c += CHUNK) {
            _Alignas(64) UNIT a[CHUNK];
            for (int64_t j = 0; j < CHUNK; j++) a[j] = x[c + j];
            for (int64_t g = WIDTH; g < whole; g += WIDTH)
                for (int64_t j = 0; j < CHUNK; j++) a[j] = OP(a[j], x[g + c + j]);
            for (int64_t j = 0; j < CHUNK; j++) lanes[c + j] = a[j];
        }
        for (int64_t j = 0; j < rest; j++) lanes[j] = OP(lanes[j], x[whole + j]);
    }
    for (int64_t half = WIDTH / 2; half >= PARTS; half /= 2)
        for (int64_t j = 0; j < half; j++) lanes[j] = OP(lanes[j], lanes[j + half]);
    for (int64_t j = 0; j < PARTS; j++) out[j] = lanes[j];
}
#undef WIDTH
#undef CHUNK
#else
static inline void LANES_NAME(row)(const UNIT *restrict x, int64_t n, UNIT *restrict out) {
    UNIT lanes[REDUCE_LANES];
    LANES_NAME(columns)(lanes, x, n, 1, 1, out);
}
#endif

#undef LANES_NAME
#undef UNIT
#undef PARTS
#undef OP
#undef NEUTRAL
