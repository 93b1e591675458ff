/* Template: softmax of one type. An UNIT is f32 or f64, in which everything is computed.
 *
 * Include with these macros set; they are undefined at the end:
 *   SOFTMAX_NAME(f)  name of the function f of this instance
 *   STORAGE, UNIT    type in memory and in the arithmetic; LOAD(x) and STORE(v) convert
 *   EXP, SUM(f)      the exponential; the instance of reduce_lanes.h for sums
 *   ONE_NAN          the NaN of a row without a finite maximum
 */

/* The largest of n elements, or NaN if there is one. The sign of zero does not matter here. */
static UNIT SOFTMAX_NAME(largest)(const UNIT *x, int64_t n) {
    UNIT most[64], unlike[64];
    for (int64_t j = 0; j < 64; j++) {
        most[j] = x[0];
        unlike[j] = 0;
    }
    int64_t i = 0;
    for (; i + 64 <= n; i += 64)
        for (int64_t j = 0; j < 64; j++) {
            most[j] = x[i + j] > most[j] ? x[i + j] : most[j];
            unlike[j] = x[i + j] != x[i + j] ? 1 : unlike[j];
        }
    for (int64_t j = 0; i + j < n; j++) {
        most[j] = x[i + j] > most[j] ? x[i + j] : most[j];
        unlike[j] = x[i + j] != x[i + j] ? 1 : unlike[j];
    }
    for (int64_t half = 32; half > 0; half /= 2)
        for (int64_t j = 0; j < half; j++) {
            most[j] = most[j + half] > most[j] ? most[j + half] : most[j];
            unlike[j] += unlike[j + half];
        }
    return unlike[0] > 0 ? ONE_NAN : most[0];
}

/* Up to REDUCE_BLOCK elements: e = exp(x - most), and their sum. */
static UNIT SOFTMAX_NAME(powers)(const UNIT *x, UNIT *e, int64_t n, UNIT most) {
    UNIT sum;
#pragma GCC ivdep /* in place or apart, never shifted */
    for (int64_t i = 0; i < n; i++) e[i] = EXP(x[i] - most);
    SUM(row)(e, n, &sum);
    return sum;
}

static void SOFTMAX_NAME(scale)(const UNIT *e, STORAGE *y, int64_t n, int64_t yn, UNIT factor) {
    if (yn == 1)
#pragma GCC ivdep /* in place or apart, never shifted */
        for (int64_t i = 0; i < n; i++) y[i] = STORE(e[i] * factor);
    else
        for (int64_t i = 0; i < n; i++) {
            SCALAR_LOOP;
            y[i * yn] = STORE(e[i] * factor);
        }
}

/* The three steps over the blocks [begin, end) of one row; what they share is in softmax_row. */
static void SOFTMAX_NAME(step_load)(void *ctx, int64_t begin, int64_t end) {
    const softmax_row *row = ctx;
    for (int64_t b = begin; b < end; b++) {
        const int64_t i = b * REDUCE_BLOCK, n = row->n - i < REDUCE_BLOCK ? row->n - i : REDUCE_BLOCK;
        const STORAGE *x = (const STORAGE *)row->x + i * row->sn;
        UNIT *room = (UNIT *)row->room + i;
        if (row->gather && row->sn == 1)
            for (int64_t k = 0; k < n; k++) room[k] = LOAD(x[k]);
        else if (row->gather)
            for (int64_t k = 0; k < n; k++) {
                SCALAR_LOOP;
                room[k] = LOAD(x[k * row->sn]);
            }
        ((UNIT *)row->parts)[b] = SOFTMAX_NAME(largest)((const UNIT *)row->from + i, n);
    }
}

static void SOFTMAX_NAME(step_powers)(void *ctx, int64_t begin, int64_t end) {
    const softmax_row *row = ctx;
    for (int64_t b = begin; b < end; b++) {
        const int64_t i = b * REDUCE_BLOCK, n = row->n - i < REDUCE_BLOCK ? row->n - i : REDUCE_BLOCK;
        ((UNIT *)row->parts)[b] =
            SOFTMAX_NAME(powers)((const UNIT *)row->from + i, (UNIT *)row->room + i, n, (UNIT)row->number);
    }
}

static void SOFTMAX_NAME(step_scale)(void *ctx, int64_t begin, int64_t end) {
    const softmax_row *row = ctx;
    for (int64_t b = begin; b < end; b++) {
        const int64_t i = b * REDUCE_BLOCK, n = row->n - i < REDUCE_BLOCK ? row->n - i : REDUCE_BLOCK;
        STORAGE *y = (STORAGE *)row->y + i * row->yn;
        if (row->number == row->number)
            SOFTMAX_NAME(scale)((const UNIT *)row->room + i, y, n, row->yn, (UNIT)row->number);
        else
            for (int64_t k = 0; k < n; k++) {
                SCALAR_LOOP;
                y[k * row->yn] = STORE(ONE_NAN);
            }
    }
}

/* Up to SOFTMAX_SIDE columns side by side. Their exponentials are in y if it can hold them, else in room. */
static void SOFTMAX_NAME(columns)(const softmax_row *row, int64_t cols, int64_t xc, int64_t yc) {
    const STORAGE *x = (const STORAGE *)row->x;
    STORAGE *y = (STORAGE *)row->y;
    const UNIT *from = (const UNIT *)row->from;
    UNIT *e = row->room, *parts = row->parts;
    int64_t fs = row->sn, es = row->yn;
    UNIT most[SOFTMAX_SIDE], factor[SOFTMAX_SIDE];
    if (row->gather) {
        fs = es = cols;
        for (int64_t r = 0; r < row->n; r++)
            if (xc == 1)
                for (int64_t t = 0; t < cols; t++) e[r * es + t] = LOAD(x[r * row->sn + t]);
            else
                for (int64_t t = 0; t < cols; t++) {
                    SCALAR_LOOP;
                    e[r * es + t] = LOAD(x[r * row->sn + t * xc]);
                }
    }
    for (int64_t t = 0; t < cols; t++) most[t] = factor[t] = from[t];
    for (int64_t r = 1; r < row->n; r++)
        for (int64_t t = 0; t < cols; t++) {
            most[t] = from[r * fs + t] > most[t] ? from[r * fs + t] : most[t];
            factor[t] = from[r * fs + t] != from[r * fs + t] ? from[r * fs + t] : factor[t];
        }
    for (int64_t t = 0; t < cols; t++) most[t] = factor[t] == factor[t] ? most[t] : factor[t]; /* NaN */
    for (int64_t b = 0; b * REDUCE_BLOCK < row->n; b++) {
        const int64_t i = b * REDUCE_BLOCK, n = row->n - i < REDUCE_BLOCK ? row->n - i : REDUCE_BLOCK;
        _Alignas(64) UNIT acc[REDUCE_LANES * SOFTMAX_SIDE];
        for (int64_t r = i; r < i + n; r++)
#pragma GCC ivdep /* in place or apart, never shifted */
            for (int64_t t = 0; t < cols; t++) e[r * es + t] = EXP(from[r * fs + t] - most[t]);
        SUM(columns)(acc, e + i * es, n, cols, es, parts + b * cols);
    }
    SUM(tree)(parts, (row->n + REDUCE_BLOCK - 1) / REDUCE_BLOCK, cols);
    for (int64_t t = 0; t < cols; t++) factor[t] = most[t] - most[t] == 0 ? (UNIT)1 / parts[t] : ONE_NAN;
    for (int64_t r = 0; r < row->n; r++) {
        const UNIT *source = e + r * es;
        if (yc == 1)
#pragma GCC ivdep /* in place or apart, never shifted */
            for (int64_t t = 0; t < cols; t++) {
                const UNIT v = source[t] * factor[t];
                y[r * row->yn + t] = STORE(v == v ? v : ONE_NAN);
            }
        else
            for (int64_t t = 0; t < cols; t++) {
                SCALAR_LOOP;
                const UNIT v = source[t] * factor[t];
                y[r * row->yn + t * yc] = STORE(v == v ? v : ONE_NAN);
            }
    }
}

/* One row; `each` runs a step over its blocks, on this thread or on all. */
static void SOFTMAX_NAME(row)(softmax_row *row, softmax_each each) {
    const int64_t blocks = (row->n + REDUCE_BLOCK - 1) / REDUCE_BLOCK;
    UNIT *parts = row->parts;
    each(blocks, SOFTMAX_NAME(step_load), row);
    const UNIT most = blocks > 1 ? SOFTMAX_NAME(largest)(parts, blocks) : parts[0];
    row->number = PHX_NAN;
    if (most - most == 0) { /* finite: else some exp(x - most) is NaN, and so is the sum */
        row->number = (f64)most;
        each(blocks, SOFTMAX_NAME(step_powers), row);
        if (blocks > 1) SUM(tree)(parts, blocks, 1);
        row->number = (f64)((UNIT)1 / parts[0]);
    }
    each(blocks, SOFTMAX_NAME(step_scale), row);
}

#undef SOFTMAX_NAME
#undef STORAGE
#undef UNIT
#undef LOAD
#undef STORE
#undef EXP
#undef SUM
#undef ONE_NAN
