/* Template: a reduction whose result does not show the order: integers, extremes, logic.
 *
 * Include with these macros set; they are undefined at the end:
 *   FREE_NAME(f)   name of the function f of this instance
 *   STORAGE        type in memory
 *   PART           accumulator of one lane over RUN elements; INIT its first value
 *   STEP(p, x)     PART after the element x; may use the variable `flip`, a PART with the plan's flip
 *   RUN            elements that a PART can take in; a block, unless it is set
 *   ACC            accumulator of the block, and START its first value; those of a PART, unless they are set
 *   MERGE(a, p)    ACC after the PART p
 *   ENOUGH(a)      nothing more can change the ACC a; never, unless it is set
 *   PAIR(p, q)     the PART of two, of which an element may be in both, where ACC is PART and RUN a block; unless it
 *                  is set, short rows go one by one
 */
#ifndef RUN
#define RUN REDUCE_FREE_BLOCK
#endif
#ifndef ACC
#define ACC PART
#endif
#ifndef START
#define START INIT
#endif
#ifndef ENOUGH
#define ENOUGH(a) 0
#endif

#define WIDTH (256 / (int)sizeof(PART))

/* part[t] takes in column t of rows; one copy of this code serves all layouts. */
static __attribute__((noinline)) void FREE_NAME(lanes)(PART *restrict part, const STORAGE *restrict x,
                                                       int64_t rows, int64_t width, int64_t stride, PART flip) {
    (void)flip;
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4, x += 4 * stride) {
        for (int64_t t = 0; t < width; t++) {
            PART p = part[t];
            p = STEP(p, x[t]);
            p = STEP(p, x[t + stride]);
            p = STEP(p, x[t + 2 * stride]);
            part[t] = STEP(p, x[t + 3 * stride]);
        }
    }
    for (; r < rows; r++, x += stride)
        for (int64_t t = 0; t < width; t++) part[t] = STEP(part[t], x[t]);
}

/* Reduce one row of n elements. */
static inline ACC FREE_NAME(row)(const STORAGE *x, int64_t n, int64_t sn, PART flip) {
    ACC acc = START;
    int64_t i = 0;
    if (sn == 1) {
        for (int64_t rows = n / WIDTH; rows > 0 && !ENOUGH(acc);) {
            _Alignas(64) PART part[WIDTH];
            const int64_t run = rows < RUN ? rows : RUN;
            for (int64_t t = 0; t < WIDTH; t++) part[t] = INIT;
            FREE_NAME(lanes)(part, x + i, run, WIDTH, WIDTH, flip);
            for (int64_t t = 0; t < WIDTH; t++) acc = MERGE(acc, part[t]);
            i += run * WIDTH;
            rows -= run;
        }
    }
    while (i < n && !ENOUGH(acc)) {
        const int64_t end = n - i < RUN ? n : i + RUN;
        PART part = INIT;
        if (sn == 1)
            for (; i < end; i++) part = STEP(part, x[i]);
        else
            for (; i < end; i++) {
                SCALAR_LOOP;
                part = STEP(part, x[i * sn]);
            }
        acc = MERGE(acc, part);
    }
    return acc;
}

/* Narrow rows without gaps, cols < WIDTH: several rows side by side fill the lanes. */
static inline void FREE_NAME(narrow)(ACC *restrict acc, const STORAGE *x, int64_t n, int64_t cols, PART flip) {
    const int64_t side = WIDTH / cols, width = side * cols;
    for (int64_t rows = n / side; rows > 0;) {
        _Alignas(64) PART part[WIDTH];
        const int64_t run = rows < RUN ? rows : RUN;
        for (int64_t t = 0; t < width; t++) part[t] = INIT;
        FREE_NAME(lanes)(part, x, run, width, width, flip);
        for (int64_t s = 0; s < side; s++)
            for (int64_t t = 0; t < cols; t++) acc[t] = MERGE(acc[t], part[s * cols + t]);
        x += run * width;
        rows -= run;
    }
    for (int64_t i = 0; i < n % side; i++, x += cols)
        for (int64_t t = 0; t < cols; t++) {
            const PART part = INIT;
            SCALAR_LOOP;
            acc[t] = MERGE(acc[t], STEP(part, x[t]));
        }
}

#ifdef PAIR
#define ROOM (8192 / (int)sizeof(PART))

static inline void FREE_NAME(pairs)(PART *restrict to, const PART *restrict from, int64_t count) {
    for (int64_t i = 0; i < count; i++) to[i] = PAIR(from[2 * i], from[2 * i + 1]);
}

/* Rows without gaps of n <= ROOM elements, each to one of acc. Neighbours meet until an odd length is left; then the
 * first of each row takes in the next one, two, four, ... as all others do, too: what those hold is of no use. */
static void FREE_NAME(short_rows)(ACC *restrict acc, const STORAGE *restrict x, int64_t n, int64_t rows, PART flip) {
    const int64_t most = ROOM / n;
    (void)flip;
    for (int64_t done = 0, run; done < rows; done += run, acc += run, x += run * n) {
        _Alignas(64) PART room[2][ROOM];
        PART *part = room[0];
        int64_t width = n, reach = 1;
        run = rows - done < most ? rows - done : most;
        int64_t count = run * n;
        for (int64_t i = 0; i < count; i++) part[i] = STEP(INIT, x[i]);
        for (; width % 2 == 0; width /= 2) {
            PART *const next = room[part == room[0]];
            count /= 2;
            FREE_NAME(pairs)(next, part, count);
            part = next;
        }
        for (; 2 * reach < width; reach *= 2)
            for (int64_t i = 0; i < count - reach; i++) part[i] = PAIR(part[i], part[i + reach]);
        if (width == 1)
            memcpy(acc, part, (size_t)run * sizeof *acc);
        else
            for (int64_t r = 0; r < run; r++) acc[r] = PAIR(part[r * width], part[(r + 1) * width - reach]);
    }
}
#undef ROOM
#endif

static inline void FREE_NAME(columns)(ACC *restrict acc, const reduce_tile *tile, PART flip) {
    const STORAGE *x = (const STORAGE *)tile->x;
    const int64_t cols = tile->cols, sn = tile->sn, sc = tile->sc;
#ifdef PAIR
    if (sn == 1 && sc == tile->n && sc >= 2) {
        FREE_NAME(short_rows)(acc, x, sc, cols, flip);
        return;
    }
#endif
    for (int64_t t = 0; t < cols; t++) acc[t] = START;
    if (sc == 1 && sn == cols && cols < WIDTH) {
        FREE_NAME(narrow)(acc, x, tile->n, cols, flip);
        return;
    }
    for (int64_t r = 0; r < tile->n; r += RUN) {
        _Alignas(64) PART part[REDUCE_FREE_COLUMNS];
        const int64_t run = tile->n - r < RUN ? tile->n - r : RUN;
        for (int64_t t = 0; t < cols; t++) part[t] = INIT;
        if (sc == 1)
            FREE_NAME(lanes)(part, x + r * sn, run, cols, sn, flip);
        else
            for (int64_t i = r; i < r + run; i++)
                for (int64_t t = 0; t < cols; t++) {
                    SCALAR_LOOP;
                    part[t] = STEP(part[t], x[i * sn + t * sc]);
                }
        for (int64_t t = 0; t < cols; t++) acc[t] = MERGE(acc[t], part[t]);
    }
}

static inline void FREE_NAME(tile)(const reduce_job *job, const reduce_tile *tile, void *out) {
    const PART flip = (PART)job->plan->flip;
    ACC *acc = out;
    if (!job->by_row) {
        FREE_NAME(columns)(acc, tile, flip);
        return;
    }
    for (int64_t c = 0; c < tile->cols; c++)
        acc[c] = FREE_NAME(row)((const STORAGE *)tile->x + c * tile->sc, tile->n, tile->sn, flip);
}

#undef WIDTH
#undef FREE_NAME
#undef STORAGE
#undef PART
#undef INIT
#undef STEP
#undef RUN
#undef ACC
#undef START
#undef MERGE
#undef ENOUGH
#undef PAIR
