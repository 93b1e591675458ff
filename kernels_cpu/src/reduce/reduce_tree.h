/* Template: the tile function and the last step of an ordered reduction of one storage type.
 *
 * Include with these macros set; they are undefined at the end:
 *   TREE_NAME(f)   name of the function f of this instance
 *   LANES_NAME(f)  the instance of reduce_lanes.h that does the arithmetic
 *   STORAGE, UNIT  unit in memory and in the arithmetic; PARTS units are one element
 *   LOAD(x)        STORAGE to UNIT
 *   NATIVE         1 if STORAGE is UNIT
 *   EMPTY          the unit value of an empty reduction, for an array of PARTS: {EMPTY}
 */

/* Copy rows x cols elements into the contiguous buffer, converted. */
static void TREE_NAME(gather)(UNIT *restrict to, const STORAGE *restrict x, int64_t rows, int64_t cols,
                              int64_t sn, int64_t sc) {
    for (int64_t r = 0; r < rows; r++, x += sn * PARTS, to += cols * PARTS) {
        if (sc == 1)
            for (int64_t t = 0; t < cols * PARTS; t++) to[t] = LOAD(x[t]);
        else
            for (int64_t t = 0; t < cols; t++)
                for (int64_t p = 0; p < PARTS; p++) {
                    SCALAR_LOOP;
                    to[t * PARTS + p] = LOAD(x[t * sc * PARTS + p]);
                }
    }
}

static void TREE_NAME(rows)(const reduce_tile *tile, UNIT *out) {
    const STORAGE *x = (const STORAGE *)tile->x;
    for (int64_t c = 0; c < tile->cols; c++, x += tile->sc * PARTS, out += PARTS) {
#if NATIVE
        if (tile->sn == 1) {
            LANES_NAME(row)(x, tile->n, out);
            continue;
        }
#endif
        _Alignas(64) UNIT buffer[REDUCE_BLOCK * PARTS];
        TREE_NAME(gather)(buffer, x, 1, tile->n, 0, tile->sn);
        LANES_NAME(row)(buffer, tile->n, out);
    }
}

static void TREE_NAME(columns)(const reduce_tile *tile, UNIT *out) {
    enum { ROOM = REDUCE_LANES * REDUCE_TILE_BYTES / sizeof(UNIT) };
    const STORAGE *x = (const STORAGE *)tile->x;
    const int64_t width = tile->cols * PARTS;
    _Alignas(64) UNIT acc[ROOM];
#if NATIVE
    if (tile->sc == 1) {
        LANES_NAME(columns)(acc, x, tile->n, width, tile->sn * PARTS, out);
        return;
    }
#endif
    const int64_t lanes = tile->n < REDUCE_LANES ? tile->n : REDUCE_LANES;
    TREE_NAME(gather)(acc, x, lanes, tile->cols, tile->sn, tile->sc);
    for (int64_t r = REDUCE_LANES; r < tile->n; r += REDUCE_LANES) {
        _Alignas(64) UNIT buffer[ROOM];
        const int64_t rows = tile->n - r < REDUCE_LANES ? tile->n - r : REDUCE_LANES;
        TREE_NAME(gather)(buffer, x + r * tile->sn * PARTS, rows, tile->cols, tile->sn, tile->sc);
        LANES_NAME(fold)(acc, buffer, rows, width, width);
    }
    LANES_NAME(tree)(acc, lanes, width);
    for (int64_t t = 0; t < width; t++) out[t] = acc[t];
}

static void TREE_NAME(tile)(const reduce_job *job, const reduce_tile *tile, void *acc) {
    static const UNIT empty[PARTS] = {EMPTY};
    UNIT *out = acc;
    if (tile->n == 0)
        for (int64_t t = 0; t < tile->cols * PARTS; t++) out[t] = empty[t % PARTS];
    else if (job->by_row)
        TREE_NAME(rows)(tile, out);
    else
        TREE_NAME(columns)(tile, out);
}

#undef TREE_NAME
#undef LANES_NAME
#undef STORAGE
#undef UNIT
#undef PARTS
#undef LOAD
#undef NATIVE
#undef EMPTY
