/* Template: the tile function of argmax and argmin of one type of key; reduce_keys.h sets its macros. */
#define FREE_NAME(f) NAME(largest_##f)
#define STORAGE KEY
#define PART KEY
#define INIT LOWEST
#define STEP(p, x) LARGER(p, TO_KEY(x))
#define MERGE LARGER
#include "reduce/reduce_free.h"

/* The first i in [from, n) whose key is wanted; there is one. */
static int64_t NAME(find)(const KEY *x, int64_t from, int64_t n, KEY wanted, KEY flip) {
    (void)flip;
    int64_t i = from;
    for (; i + 64 <= n; i += 64) {
        KEY hit = 0;
        for (int64_t j = 0; j < 64; j++) hit |= TO_KEY(x[i + j]) == wanted;
        if (hit) break;
    }
    while (TO_KEY(x[i]) != wanted) i++;
    return i;
}

/* One row of n > 0 elements: only the stretch with the first largest key is searched for its place. */
static place NAME(row)(const KEY *x, int64_t n, int64_t sn, KEY flip) {
    enum { STRETCH = 2048 };
    KEY best = LOWEST;
    int64_t at = 0;
    if (sn == 1) {
        for (int64_t i = 0; i < n; i += STRETCH) {
            const KEY key = NAME(largest_row)(x + i, n - i < STRETCH ? n - i : STRETCH, 1, flip);
            if (key > best) {
                best = key;
                at = i;
            }
        }
        at = NAME(find)(x, at, n, best, flip);
    } else {
        best = TO_KEY(x[0]);
        for (int64_t i = 1; i < n; i++) {
            const KEY key = TO_KEY(x[i * sn]);
            at = key > best ? i : at;
            best = LARGER(best, key);
        }
    }
    return (place){best, at};
}

/* Row r of columns without gaps between them. */
static inline void NAME(take_in)(KEY *restrict best, i32 *restrict at, const KEY *restrict x, int64_t cols, i32 r,
                                 KEY flip) {
    (void)flip;
    for (int64_t t = 0; t < cols; t++) {
        const KEY key = TO_KEY(x[t]);
        at[t] = key > best[t] ? r : at[t];
        best[t] = LARGER(best[t], key);
    }
}

static void NAME(columns)(place *out, const reduce_tile *tile, KEY flip) {
    (void)flip;
    enum { LINE = 64 };
    const KEY *x = (const KEY *)tile->x;
    const int64_t cols = tile->cols, sc = tile->sc;
    KEY best[REDUCE_FREE_COLUMNS], line[LINE];
    i32 at[REDUCE_FREE_COLUMNS];
    for (int64_t t = 0; t < cols; t++) {
        best[t] = TO_KEY(x[t * sc]);
        at[t] = 0;
    }
    for (i32 r = 1; r < tile->n; r++) {
        const KEY *row = x + r * tile->sn;
        if (sc == 1) {
            NAME(take_in)(best, at, row, cols, r, flip);
            continue;
        }
        for (int64_t t = 0; t < cols; t += LINE) {
            const int64_t count = cols - t < LINE ? cols - t : LINE;
            for (int64_t i = 0; i < count; i++) {
                SCALAR_LOOP;
                line[i] = row[(t + i) * sc];
            }
            NAME(take_in)(best + t, at + t, line, count, r, flip);
        }
    }
    for (int64_t t = 0; t < cols; t++) out[t] = (place){best[t], at[t]};
}

static void NAME(tile)(const reduce_job *job, const reduce_tile *tile, void *acc) {
    const KEY flip = (KEY)job->plan->flip;
    place *out = acc;
    if (!job->by_row)
        NAME(columns)(out, tile, flip);
    else
        for (int64_t c = 0; c < tile->cols; c++)
            out[c] = NAME(row)((const KEY *)tile->x + c * tile->sc, tile->n, tile->sn, flip);
    for (int64_t c = 0; c < tile->cols; c++) out[c].at += tile->first;
}

#undef NAME
#undef KEY
#undef TO_KEY
#undef LOWEST
