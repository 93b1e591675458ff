/* Template: the tile function of the sum of squared deviations from the centre of each row.
 *
 * Include with these macros set; they are undefined at the end:
 *   TREE_NAME(f)   name of the function f of this instance
 *   LANES_NAME(f)  the instance of reduce_lanes.h that adds
 *   UNIT           the type in memory and in the arithmetic
 */

static inline UNIT TREE_NAME(square)(UNIT d) { return d * d; }

/* The squares of rows of the tile, into the contiguous buffer. */
static void TREE_NAME(gather)(UNIT *restrict to, const UNIT *restrict x, int64_t rows, const reduce_tile *tile) {
    const UNIT *restrict centres = tile->centres;
    const int64_t cols = tile->cols, sc = tile->sc;
    for (int64_t r = 0; r < rows; r++, x += tile->sn, to += cols) {
        if (sc == 1)
            for (int64_t t = 0; t < cols; t++) to[t] = TREE_NAME(square)(x[t] - centres[t]);
        else
            for (int64_t t = 0; t < cols; t++) {
                SCALAR_LOOP;
                to[t] = TREE_NAME(square)(x[t * sc] - centres[t]);
            }
    }
}

static void TREE_NAME(rows)(const reduce_tile *tile, UNIT *out) {
    const UNIT *x = (const UNIT *)tile->x, *centres = tile->centres;
    const int64_t n = tile->n, sn = tile->sn;
    for (int64_t c = 0; c < tile->cols; c++, x += tile->sc) {
        const UNIT centre = centres[c];
        _Alignas(64) UNIT buffer[REDUCE_BLOCK];
        if (sn == 1)
            for (int64_t t = 0; t < n; t++) buffer[t] = TREE_NAME(square)(x[t] - centre);
        else
            for (int64_t t = 0; t < n; t++) {
                SCALAR_LOOP;
                buffer[t] = TREE_NAME(square)(x[t * sn] - centre);
            }
        LANES_NAME(row)(buffer, n, out + c);
    }
}

static void TREE_NAME(columns)(const reduce_tile *tile, UNIT *out) {
    enum { ROOM = REDUCE_LANES * REDUCE_TILE_BYTES / sizeof(UNIT) };
    const UNIT *x = (const UNIT *)tile->x;
    const int64_t lanes = tile->n < REDUCE_LANES ? tile->n : REDUCE_LANES;
    _Alignas(64) UNIT acc[ROOM];
    TREE_NAME(gather)(acc, x, lanes, tile);
    for (int64_t r = REDUCE_LANES; r < tile->n; r += REDUCE_LANES) {
        _Alignas(64) UNIT buffer[ROOM];
        const int64_t rows = tile->n - r < REDUCE_LANES ? tile->n - r : REDUCE_LANES;
        TREE_NAME(gather)(buffer, x + r * tile->sn, rows, tile);
        LANES_NAME(fold)(acc, buffer, rows, tile->cols, tile->cols);
    }
    LANES_NAME(tree)(acc, lanes, tile->cols);
    for (int64_t t = 0; t < tile->cols; t++) out[t] = acc[t];
}

static void TREE_NAME(tile)(const reduce_job *job, const reduce_tile *tile, void *acc) {
    UNIT *out = acc;
    if (tile->n == 0)
        for (int64_t t = 0; t < tile->cols; t++) out[t] = 0;
    else if (job->by_row)
        TREE_NAME(rows)(tile, out);
    else
        TREE_NAME(columns)(tile, out);
}

#undef TREE_NAME
#undef LANES_NAME
#undef UNIT
