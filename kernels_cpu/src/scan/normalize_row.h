/* Template: one op of normalize.c on one type. Include it from normalize_type.h with these macros set; they
 * are undefined at the end:
 *   ROW_NAME(f)       name of the function f of this instance
 *   CENTRE_IS_MEAN    the centre is the mean, else the largest element
 *   KEEPS             the last step takes the term, else d
 *   AFFINE            there are weights and biases
 *   TERM(d), FACTOR(total, n, eps), LAST(v, factor, w, b)
 */

#if !CENTRE_IS_MEAN
/* The largest of n elements, or NaN if there is one. The sign of zero does not matter here. */
static UNIT ROW_NAME(largest)(const UNIT *x, int64_t n) {
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
#endif

/* What the centre is made of, of up to REDUCE_BLOCK elements. */
static UNIT ROW_NAME(centre_of)(const UNIT *x, int64_t n) {
#if CENTRE_IS_MEAN
    UNIT sum;
    SUM(row)(x, n, &sum);
    return sum;
#else
    return ROW_NAME(largest)(x, n);
#endif
}

/* Up to REDUCE_BLOCK elements: the terms into t, and their sum. */
static UNIT ROW_NAME(terms)(const UNIT *x, UNIT *t, int64_t n, UNIT centre) {
    UNIT sum;
#pragma GCC ivdep /* in place or apart, never shifted */
    for (int64_t i = 0; i < n; i++) {
        const UNIT d = x[i] - centre;
        t[i] = TERM(d);
    }
    SUM(row)(t, n, &sum);
    return sum;
}

/* What becomes of an element x, or of its term; w and b are its weight and bias. */
static inline STORAGE ROW_NAME(last)(UNIT x, UNIT centre, UNIT factor, UNIT w, UNIT b) {
    const UNIT v = KEEPS ? x : x - centre;
    const UNIT r = LAST(v, factor, w, b);
    (void)w, (void)b;
    return STORE(r == r ? r : ONE_NAN);
}

/* n elements from the i-th of a row on. */
static void ROW_NAME(finish)(const normal_row *row, const UNIT *x, STORAGE *y, int64_t i, int64_t n) {
    const UNIT centre = (UNIT)row->centre, factor = (UNIT)row->factor;
    const int64_t yn = row->yn, ws = row->ws, bs = row->bs;
#if AFFINE
    const STORAGE *w = (const STORAGE *)row->weight + i * ws, *b = (const STORAGE *)row->bias + i * bs;
    if (yn == 1 && ws == 1 && bs == 1) {
#pragma GCC ivdep /* in place or apart, never shifted */
        for (int64_t k = 0; k < n; k++) y[k] = ROW_NAME(last)(x[k], centre, factor, LOAD(w[k]), LOAD(b[k]));
        return;
    }
    const UNIT w0 = LOAD(w[0]), b0 = LOAD(b[0]);
#define WEIGHT(k) LOAD(w[(k) * ws])
#define BIAS(k) LOAD(b[(k) * bs])
#else
    const UNIT w0 = 1, b0 = 0;
    (void)i;
#define WEIGHT(k) w0
#define BIAS(k) b0
#endif
    if (yn == 1 && ws == 0 && bs == 0)
#pragma GCC ivdep /* in place or apart, never shifted */
        for (int64_t k = 0; k < n; k++) y[k] = ROW_NAME(last)(x[k], centre, factor, w0, b0);
    else
        for (int64_t k = 0; k < n; k++) {
            SCALAR_LOOP;
            y[k * yn] = ROW_NAME(last)(x[k], centre, factor, WEIGHT(k), BIAS(k));
        }
}

/* The three steps over the blocks [begin, end) of one row; what they share is in normal_row. */
static void ROW_NAME(step_load)(void *ctx, int64_t begin, int64_t end) {
    const normal_row *row = ctx;
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
        ((UNIT *)row->parts)[b] = ROW_NAME(centre_of)((const UNIT *)row->from + i, n);
    }
}

static void ROW_NAME(step_terms)(void *ctx, int64_t begin, int64_t end) {
    const normal_row *row = ctx;
#if !KEEPS
    _Alignas(64) UNIT own[REDUCE_BLOCK];
#endif
    for (int64_t b = begin; b < end; b++) {
        const int64_t i = b * REDUCE_BLOCK, n = row->n - i < REDUCE_BLOCK ? row->n - i : REDUCE_BLOCK;
#if KEEPS
        UNIT *own = (UNIT *)row->room + i;
#endif
        ((UNIT *)row->parts)[b] = ROW_NAME(terms)((const UNIT *)row->from + i, own, n, (UNIT)row->centre);
    }
}

static void ROW_NAME(step_finish)(void *ctx, int64_t begin, int64_t end) {
    const normal_row *row = ctx;
    for (int64_t b = begin; b < end; b++) {
        const int64_t i = b * REDUCE_BLOCK, n = row->n - i < REDUCE_BLOCK ? row->n - i : REDUCE_BLOCK;
        STORAGE *y = (STORAGE *)row->y + i * row->yn;
        if (row->factor == row->factor)
            ROW_NAME(finish)(row, (const UNIT *)(KEEPS ? row->room : row->from) + i, y, i, n);
        else
            for (int64_t k = 0; k < n; k++) {
                SCALAR_LOOP;
                y[k * row->yn] = STORE(ONE_NAN);
            }
    }
}

/* The centres of columns of contiguous numbers, NaN where a row has none. */
static void ROW_NAME(centres)(const normal_row *row, const UNIT *from, int64_t fs, int64_t cols, UNIT *centre) {
#if CENTRE_IS_MEAN
    UNIT *parts = row->parts;
    for (int64_t b = 0; b * REDUCE_BLOCK < row->n; b++) {
        const int64_t i = b * REDUCE_BLOCK, n = row->n - i < REDUCE_BLOCK ? row->n - i : REDUCE_BLOCK;
        _Alignas(64) UNIT acc[REDUCE_LANES * NORMAL_SIDE];
        SUM(columns)(acc, from + i * fs, n, cols, fs, parts + b * cols);
    }
    SUM(tree)(parts, (row->n + REDUCE_BLOCK - 1) / REDUCE_BLOCK, cols);
    for (int64_t t = 0; t < cols; t++) centre[t] = parts[t] / COUNT(row->n);
#else
    UNIT unlike[NORMAL_SIDE];
    for (int64_t t = 0; t < cols; t++) centre[t] = unlike[t] = from[t];
    for (int64_t r = 1; r < row->n; r++)
        for (int64_t t = 0; t < cols; t++) {
            centre[t] = from[r * fs + t] > centre[t] ? from[r * fs + t] : centre[t];
            unlike[t] = from[r * fs + t] != from[r * fs + t] ? from[r * fs + t] : unlike[t];
        }
    for (int64_t t = 0; t < cols; t++) centre[t] = unlike[t] == unlike[t] ? centre[t] : unlike[t]; /* NaN */
#endif
}

/* Up to NORMAL_SIDE columns side by side. If the terms are kept they are in y if it can hold them, else in
 * room; otherwise those of a block are in `terms`. */
static void ROW_NAME(columns)(const normal_row *row, int64_t cols, int64_t xc, int64_t yc) {
    const STORAGE *x = (const STORAGE *)row->x;
    STORAGE *y = (STORAGE *)row->y;
    const UNIT *from = (const UNIT *)row->from;
    UNIT *room = row->room, *parts = row->parts;
    int64_t fs = row->sn, es = row->yn;
    UNIT centre[NORMAL_SIDE], factor[NORMAL_SIDE];
    if (row->gather) {
        fs = es = cols;
        for (int64_t r = 0; r < row->n; r++)
            if (xc == 1)
                for (int64_t t = 0; t < cols; t++) room[r * es + t] = LOAD(x[r * row->sn + t]);
            else
                for (int64_t t = 0; t < cols; t++) {
                    SCALAR_LOOP;
                    room[r * es + t] = LOAD(x[r * row->sn + t * xc]);
                }
    }
    ROW_NAME(centres)(row, from, fs, cols, centre);
    for (int64_t b = 0; b * REDUCE_BLOCK < row->n; b++) {
        const int64_t i = b * REDUCE_BLOCK, n = row->n - i < REDUCE_BLOCK ? row->n - i : REDUCE_BLOCK;
        _Alignas(64) UNIT acc[REDUCE_LANES * NORMAL_SIDE];
        UNIT *terms = KEEPS ? room + i * es : row->terms;
        const int64_t ts = KEEPS ? es : cols;
        for (int64_t r = 0; r < n; r++)
#pragma GCC ivdep /* in place or apart, never shifted */
            for (int64_t t = 0; t < cols; t++) {
                const UNIT d = from[(i + r) * fs + t] - centre[t];
                terms[r * ts + t] = TERM(d);
            }
        SUM(columns)(acc, terms, n, cols, ts, parts + b * cols);
    }
    SUM(tree)(parts, (row->n + REDUCE_BLOCK - 1) / REDUCE_BLOCK, cols);
    for (int64_t t = 0; t < cols; t++)
        factor[t] = centre[t] - centre[t] == 0 ? FACTOR(parts[t], row->n, row->eps) : ONE_NAN;
    for (int64_t r = 0; r < row->n; r++) {
        const UNIT *source = KEEPS ? room + r * es : from + r * fs;
#if AFFINE
        const UNIT w = LOAD(((const STORAGE *)row->weight)[r * row->ws]);
        const UNIT b = LOAD(((const STORAGE *)row->bias)[r * row->bs]);
#else
        const UNIT w = 1, b = 0;
#endif
        if (yc == 1)
#pragma GCC ivdep /* in place or apart, never shifted */
            for (int64_t t = 0; t < cols; t++)
                y[r * row->yn + t] = ROW_NAME(last)(source[t], centre[t], factor[t], w, b);
        else
            for (int64_t t = 0; t < cols; t++) {
                SCALAR_LOOP;
                y[r * row->yn + t * yc] = ROW_NAME(last)(source[t], centre[t], factor[t], w, b);
            }
    }
}

/* One row; `each` runs a step over its blocks, on this thread or on all. */
static void ROW_NAME(row)(normal_row *row, normal_each each) {
    const int64_t blocks = (row->n + REDUCE_BLOCK - 1) / REDUCE_BLOCK;
    UNIT *parts = row->parts;
    each(blocks, ROW_NAME(step_load), row);
#if CENTRE_IS_MEAN
    if (blocks > 1) SUM(tree)(parts, blocks, 1);
    const UNIT centre = parts[0] / COUNT(row->n);
#else
    const UNIT centre = blocks > 1 ? ROW_NAME(largest)(parts, blocks) : parts[0];
#endif
    row->factor = PHX_NAN;
    if (centre - centre == 0) { /* finite: else some term is NaN, and so is the sum */
        row->centre = (f64)centre;
        each(blocks, ROW_NAME(step_terms), row);
        if (blocks > 1) SUM(tree)(parts, blocks, 1);
        row->factor = (f64)FACTOR(parts[0], row->n, row->eps);
    }
    each(blocks, ROW_NAME(step_finish), row);
}

#undef ROW_NAME
#undef CENTRE_IS_MEAN
#undef KEEPS
#undef AFFINE
#undef TERM
#undef FACTOR
#undef LAST
#undef WEIGHT
#undef BIAS
