/* Template: running sums or products of one type (core/optable/structured.py states the order).
 *
 * Include with these macros set; they are undefined at the end:
 *   SCAN_NAME(f)   name of the function f of this instance
 *   TYPE(f)        the instance of scan_type.h, whose STORAGE, UNIT, LOAD and NATIVE are still set
 *   OP(a, b)       the operation on UNITs
 */

/* The local sums of the blocks of a long row wait for their carries where the results come. */
#define LOCALS_STAY(JOB) (NATIVE && (JOB)->yn == 1)

#if defined(VECTORS) && defined(__AVX2__)
SCAN_CHAINS_OF(SCAN_NAME(vectors), VECTORS, OP)
#define BEGUN(...) SCAN_NAME(vectors)(__VA_ARGS__)
#else
#define BEGUN(...) 0
#endif

/* y = running sums of `count` sequences of n elements, each on its own. */
static SCAN_APART void SCAN_NAME(chains)(const UNIT *restrict x, UNIT *restrict y, int64_t n, int64_t count, int64_t xs,
                                         int64_t ys) {
    const int64_t begun = count == SCAN_CHAINS ? BEGUN(x, y, n, xs, ys) : 0;
    if (count == SCAN_CHAINS && !begun) {
        UNIT a = x[0], b = x[xs], c = x[2 * xs], d = x[3 * xs];
        UNIT e = x[4 * xs], f = x[5 * xs], g = x[6 * xs], h = x[7 * xs];
        for (int64_t i = 0;;) {
            y[i] = a, y[i + ys] = b, y[i + 2 * ys] = c, y[i + 3 * ys] = d;
            y[i + 4 * ys] = e, y[i + 5 * ys] = f, y[i + 6 * ys] = g, y[i + 7 * ys] = h;
            if (++i == n) return;
            a = OP(a, x[i]), b = OP(b, x[i + xs]), c = OP(c, x[i + 2 * xs]), d = OP(d, x[i + 3 * xs]);
            e = OP(e, x[i + 4 * xs]), f = OP(f, x[i + 5 * xs]), g = OP(g, x[i + 6 * xs]);
            h = OP(h, x[i + 7 * xs]);
        }
    }
    for (int64_t c = 0; c < count; c++, x += xs, y += ys) {
        UNIT a = begun ? y[begun - 1] : (y[0] = x[0]);
        for (int64_t i = begun ? begun : 1; i < n; i++) y[i] = a = OP(a, x[i]);
    }
}

/* n elements to memory, each carry op from[i] if there is a carry; from may be y. */
static void SCAN_NAME(store)(STORAGE *y, int64_t yn, UNIT *from, int64_t n, const UNIT *carry) {
    if (NATIVE && yn == 1) {
        if (carry) {
            const UNIT c = *carry;
#pragma GCC ivdep
            for (int64_t i = 0; i < n; i++) y[i] = STORE(OP(c, from[i]));
        } else {
#pragma GCC ivdep
            for (int64_t i = 0; i < n; i++) y[i] = STORE(from[i]);
        }
        return;
    }
    if (carry) {
        const UNIT c = *carry;
        for (int64_t i = 0; i < n; i++) from[i] = OP(c, from[i]);
    }
    TYPE(scatter)(y, from, n, yn);
}

/* Local sums of up to SCAN_PIECE elements into local. */
static SCAN_APART void SCAN_NAME(locals)(const scan_job *job, const STORAGE *x, int64_t n, UNIT *local) {
    UNIT room[SCAN_PIECE];
    const UNIT *from = room;
    if (NATIVE && job->sn == 1)
        from = (const UNIT *)(const void *)x;
    else
        TYPE(gather)(room, x, n, job->sn);
    const int64_t whole = n / SCAN_BLOCK, rest = n % SCAN_BLOCK;
    if (whole) SCAN_NAME(chains)(from, local, SCAN_BLOCK, whole, SCAN_BLOCK, SCAN_BLOCK);
    if (rest) SCAN_NAME(chains)(from + n - rest, local + n - rest, rest, 1, 0, 0);
}

/* Block number b of `width` rows side by side has ended with `total`; carry[0..width) becomes what comes before
 * block b + 1. Level l of carry and running has what the scan of the totals of level l is up to: what came before
 * its block, and the running totals in it. */
static SCAN_APART void SCAN_NAME(join)(UNIT *carry, UNIT *running, const UNIT *total, int64_t b, int64_t width) {
    for (;; b /= SCAN_BLOCK, total = running, carry += width, running += width) {
        for (int64_t t = 0; t < width; t++) {
            running[t] = b % SCAN_BLOCK ? OP(running[t], total[t]) : total[t];
            carry[t] = b < SCAN_BLOCK ? running[t] : OP(carry[width + t], running[t]);
        }
        if (b % SCAN_BLOCK != SCAN_BLOCK - 1) return;
    }
}

/* Piece number p of the row x. Its carries are at `carries`, one before each block but the first; or, where that is
 * NULL, the pieces come in turn with the carry of this one in carry[0]. */
static SCAN_APART void SCAN_NAME(piece)(const scan_job *job, const STORAGE *x, STORAGE *y, int64_t p,
                                        const UNIT *carries, UNIT *carry, UNIT *running) {
    UNIT local[SCAN_PIECE];
    const int64_t first = p * SCAN_PIECE, n = job->n - first < SCAN_PIECE ? job->n - first : SCAN_PIECE;
    SCAN_NAME(locals)(job, x + first * job->sn, n, local);
    for (int64_t i = 0; i < n; i += SCAN_BLOCK) {
        const int64_t size = n - i < SCAN_BLOCK ? n - i : SCAN_BLOCK, b = (first + i) / SCAN_BLOCK;
        const UNIT total = local[i + size - 1];
        const UNIT *before = b == 0 ? NULL : carries ? carries + b - 1
                                                     : carry;
        SCAN_NAME(store)(y + (first + i) * job->yn, job->yn, local + i, size, before);
        if (!carries) SCAN_NAME(join)(carry, running, &total, b, 1);
    }
}

/* Up to SCAN_CHAINS rows of at most one block. */
static void SCAN_NAME(short_rows)(const scan_job *job, const STORAGE *x, STORAGE *y, int64_t rows) {
    UNIT room[SCAN_PIECE], local[SCAN_PIECE];
    const int64_t n = job->n, yc = job->axes.yc;
    const UNIT *from = (const UNIT *)(const void *)x;
    int64_t step = job->axes.xc;
    if (!NATIVE || job->sn != 1) {
        int64_t c = 0;
        do TYPE(gather)(room + c * n, x + c * step, n, job->sn);
        while (++c < rows);
        from = room;
        step = n;
    }
    SCAN_NAME(chains)(from, local, n, rows, step, n);
    for (int64_t c = 0; c < rows; c++) TYPE(scatter)(y + c * yc, local + c * n, n, job->yn);
}

/* Up to SCAN_COLUMNS columns at once, row after row. */
static void SCAN_NAME(columns)(const scan_job *job, const STORAGE *x, STORAGE *y, int64_t cols) {
    UNIT room[SCAN_COLUMNS], local[SCAN_COLUMNS], sum[SCAN_COLUMNS];
    UNIT carry[SCAN_LEVELS * SCAN_COLUMNS], running[SCAN_LEVELS * SCAN_COLUMNS];
    for (int64_t r = 0; r < job->n; r++, x += job->sn, y += job->yn) {
        const UNIT *v = (const UNIT *)(const void *)x;
        if (!NATIVE || job->axes.xc != 1) {
            TYPE(gather)(room, x, cols, job->axes.xc);
            v = room;
        }
        if (r % SCAN_BLOCK) {
            for (int64_t t = 0; t < cols; t++) local[t] = OP(local[t], v[t]);
        } else {
            if (r) SCAN_NAME(join)(carry, running, local, r / SCAN_BLOCK - 1, cols);
            memcpy(local, v, (size_t)cols * sizeof(UNIT));
        }
        if (r >= SCAN_BLOCK)
            for (int64_t t = 0; t < cols; t++) sum[t] = OP(carry[t], local[t]);
        TYPE(scatter)(y, r < SCAN_BLOCK ? local : sum, cols, job->axes.yc);
    }
}

static void SCAN_NAME(items)(void *ctx, int64_t begin, int64_t end) {
    const scan_job *job = ctx;
    axes_walk w;
    walk_to(&w, &job->axes, begin / job->tiles);
    int64_t tile = begin % job->tiles;
    for (int64_t item = begin; item < end; item++) {
        const int64_t column = tile * job->width;
        const int64_t cols = job->axes.cols - column < job->width ? job->axes.cols - column : job->width;
        const STORAGE *x = (const STORAGE *)(job->x + w.x) + column * job->axes.xc;
        STORAGE *y = (STORAGE *)(job->y + w.y) + column * job->axes.yc;
        if (!job->by_row) {
            SCAN_NAME(columns)(job, x, y, cols);
        } else if (job->n <= SCAN_BLOCK) {
            SCAN_NAME(short_rows)(job, x, y, cols);
        } else {
            UNIT carry[SCAN_LEVELS], running[SCAN_LEVELS];
            for (int64_t p = 0; p * SCAN_PIECE < job->n; p++)
                SCAN_NAME(piece)(job, x, y, p, NULL, carry, running);
        }
        if (++tile == job->tiles) {
            tile = 0;
            walk_next(&w, &job->axes);
        }
    }
}

static void SCAN_NAME(totals)(void *ctx, int64_t begin, int64_t end) {
    const scan_job *job = ctx;
    UNIT *total = (UNIT *)job->carry;
    for (int64_t p = begin; p < end; p++) {
        const int64_t i = p * SCAN_PIECE, n = job->n - i < SCAN_PIECE ? job->n - i : SCAN_PIECE;
        UNIT room[SCAN_PIECE], *local = LOCALS_STAY(job) ? (UNIT *)job->y + i : room;
        SCAN_NAME(locals)(job, (const STORAGE *)job->x + i * job->sn, n, local);
        for (int64_t b = 0; b < n / SCAN_BLOCK; b++)
            total[i / SCAN_BLOCK + b] = local[(b + 1) * SCAN_BLOCK - 1];
    }
}

/* The total of each block becomes the carry behind it. */
static void SCAN_NAME(carries)(scan_job *job, int64_t blocks) {
    UNIT *total = (UNIT *)job->carry, carry[SCAN_LEVELS], running[SCAN_LEVELS];
    for (int64_t b = 0; b < blocks; b++) {
        SCAN_NAME(join)(carry, running, total + b, b, 1);
        total[b] = carry[0];
    }
}

static void SCAN_NAME(pieces)(void *ctx, int64_t begin, int64_t end) {
    const scan_job *job = ctx;
    const UNIT *carries = (const UNIT *)job->carry;
    for (int64_t p = begin; p < end; p++) {
        if (!LOCALS_STAY(job)) {
            SCAN_NAME(piece)(job, (const STORAGE *)job->x, (STORAGE *)job->y, p, carries, NULL, NULL);
            continue;
        }
        const int64_t last = (p + 1) * SCAN_PIECE < job->n ? (p + 1) * SCAN_PIECE : job->n;
        for (int64_t i = p * SCAN_PIECE; i < last; i += SCAN_BLOCK) {
            UNIT *y = (UNIT *)job->y + i;
            SCAN_NAME(store)((STORAGE *)y, 1, y, last - i < SCAN_BLOCK ? last - i : SCAN_BLOCK,
                             i ? carries + i / SCAN_BLOCK - 1 : NULL);
        }
    }
}

static phx_error *SCAN_NAME(run)(const cpu_kernel *self, const phx_call *call) {
    static const scan_plan plan = {SCAN_NAME(items), SCAN_NAME(totals), SCAN_NAME(pieces), SCAN_NAME(carries),
                                   sizeof(UNIT)};
    (void)self;
    return scan(&plan, call);
}

#undef SCAN_NAME
#undef OP
#undef LOCALS_STAY
#undef BEGUN
