/* Reductions where a work-item is a core: it takes whole blocks, and lanes are its vector registers.
 *
 * BY_ROW tells whether a task is a block of one row, or of up to WIDTH rows side by side (columns);
 * UNIT whether the elements that are taken together are neighbours in memory, WIDE whether WIDE_TAKE
 * and OP take vectors of 16 of them.
 */
/* Before a loop of few turns: kept as it is, it compiles sooner. */
#ifdef __clang__
#define PLAIN _Pragma("clang loop vectorize(disable) unroll(disable)")
#else
#define PLAIN
#endif

/* How many of count elements have a partner gap places behind them, gap at least count / 2. */
PHX_FN u64 reduce_pairs(u64 gap, u64 count) {
    return count < gap ? 0 : count - gap < gap ? count - gap
                                               : gap;
}

#if BY_ROW

#if WIDE
/* 16 neighbours from x on; PoCL's vload16 (3.0) loads bytes one by one, five times as slow. */
#ifdef __clang__
typedef WIDE_T unaligned_t __attribute__((aligned(1)));
#define LOAD(x) (*(__global const unaligned_t *)(x))
#else
#define LOAD(x) vload16(0, x)
#endif

/* Reduce a block of at least LANES = 64 neighbours: the lanes are four vectors. */
PHX_FN A reduce_lanes(__global const T *x, const u32 n) {
    WIDE_A a = WIDE_TAKE(LOAD(x)), b = WIDE_TAKE(LOAD(x + 16));
    WIDE_A c = WIDE_TAKE(LOAD(x + 32)), d = WIDE_TAKE(LOAD(x + 48));
    A acc[LANES];
    u32 g = LANES;
    for (; g + LANES <= n; g += LANES) {
        a = OP(a, WIDE_TAKE(LOAD(x + g)));
        b = OP(b, WIDE_TAKE(LOAD(x + g + 16)));
        c = OP(c, WIDE_TAKE(LOAD(x + g + 32)));
        d = OP(d, WIDE_TAKE(LOAD(x + g + 48)));
    }
    if (g < n) {
        vstore16(a, 0, acc), vstore16(b, 1, acc), vstore16(c, 2, acc), vstore16(d, 3, acc);
        PLAIN
        for (u32 j = 0; g + j < n; j++) STEP(j, TAKE(x[g + j], 0), g + j);
        a = vload16(0, acc), b = vload16(1, acc), c = vload16(2, acc), d = vload16(3, acc);
    }
    a = OP(a, c);
    b = OP(b, d);
    a = OP(a, b);
    a = OP(a, a.s89abcdef89abcdef);
    a = OP(a, a.s4567456745674567);
    a = OP(a, a.s2323232323232323);
    a = OP(a, a.s1111111111111111);
    return a.s0;
}
#endif

#ifdef FINDS
/* The place of the first of n neighbours that is `wanted`; there is one. */
PHX_FN u32 reduce_find(__global const T *x, const u32 n, const A wanted) {
    u32 i = 0;
    for (; i + LANES <= n; i += LANES) {
        A found = 0;
        for (u32 j = 0; j < LANES; j++) found |= (A)(TAKE(x[i + j], 0) == wanted);
        if (found) break;
    }
    while (TAKE(x[i], 0) != wanted) i++;
    return i;
}
#endif

/* Reduce one block of a row. */
PHX_FN U reduce_block(__global const T *x, const u32 n, const i64 sn, const u64 first,
                      const u64 row AUX_PARAMS) {
    DECLARE(LANES);
    const u32 lanes = n < LANES ? n : LANES;
    u32 g = LANES;
#if WIDE
    if (n >= LANES) {
        const A whole = reduce_lanes(x, n);
        return WIDEN(whole);
    }
#endif
    for (u32 j = 0; j < lanes; j++) SET(j, TAKE(x[j * sn], row), j);
    for (; g + 4 * LANES <= n; g += 4 * LANES)
        for (u32 j = 0; j < LANES; j++) {
            __global const T *from = x + (i64)(g + j) * sn;
            STEP(j, TAKE(from[0], row), g + j);
            STEP(j, TAKE(from[LANES * sn], row), g + LANES + j);
            STEP(j, TAKE(from[2 * LANES * sn], row), g + 2 * LANES + j);
            STEP(j, TAKE(from[3 * LANES * sn], row), g + 3 * LANES + j);
        }
    for (; g < n; g += LANES) {
        const u32 some = n - g < LANES ? n - g : LANES;
        for (u32 j = 0; j < some; j++) STEP(j, TAKE(x[(i64)(g + j) * sn], row), g + j);
    }
    PLAIN
    for (u32 gap = LANES / 2; gap > 0; gap /= 2) {
        const u32 pairs = reduce_pairs(gap, lanes);
        for (u32 j = 0; j < pairs; j++) MERGE(acc, at, j, j + gap);
    }
    return RESULT(0, first);
}

SERIAL reduce(PHX_INPUT(T, x), PHX_OUTPUT(R, y), PHX_OUTPUT(S, part), const row_plan p AUX_KERNEL) {
    const u64 begin = get_global_id(0) * p.per;
    const u64 end = row_end(&p, begin);
    for (u64 task = begin; task < end; task++) {
        const u64 row = task / p.blocks, block = task - row * p.blocks;
        const i64 sn = UNIT ? 1 : p.sn;
        const u32 n = row_count(&p, block);
        i64 in, out;
        row_place(&p, row, &in, &out);
        __global const T *x = PHX_DATA(x) + in + (i64)(block * BLOCK) * sn;
        U u = EMPTY;
        if (n > 0) u = reduce_block(x, n, sn, block * BLOCK, row AUX_PASS);
        if (p.blocks > 1)
            ((__global U *)PHX_DATA(part))[task] = u;
        else
            (PHX_DATA(y))[out] = FINISH(u, p.n);
    }
}

#else

/* Reduce one block of up to WIDTH columns; lanes are kept apart if the order can be seen (SIDES). */
PHX_FN void reduce_tile(__global const T *x, const u32 n, const u32 cols, const i64 sn, const i64 sc,
                        const u64 first, const u64 row, U *out AUX_PARAMS) {
    DECLARE(SIDES * WIDTH);
    const u32 lanes = n < SIDES ? n : SIDES;
    u32 g = SIDES;
    for (u32 r = 0; r < lanes; r++)
        for (u32 t = 0; t < cols; t++) SET(r * WIDTH + t, TAKE(x[r * sn + t * sc], row + t), r);
    for (; g + 4 * SIDES <= n; g += 4 * SIDES)
        for (u32 r = 0; r < SIDES; r++) {
            __global const T *from = x + (i64)(g + r) * sn;
            for (u32 t = 0; t < cols; t++) {
                const u32 j = r * WIDTH + t;
                STEP(j, TAKE(from[t * sc], row + t), g + r);
                STEP(j, TAKE(from[SIDES * sn + t * sc], row + t), g + SIDES + r);
                STEP(j, TAKE(from[2 * SIDES * sn + t * sc], row + t), g + 2 * SIDES + r);
                STEP(j, TAKE(from[3 * SIDES * sn + t * sc], row + t), g + 3 * SIDES + r);
            }
        }
    for (; g < n; g++) {
        const u32 r = g % SIDES;
        for (u32 t = 0; t < cols; t++)
            STEP(r * WIDTH + t, TAKE(x[(i64)g * sn + t * sc], row + t), g);
    }
    for (u32 gap = SIDES / 2; gap > 0; gap /= 2) {
        const u32 pairs = reduce_pairs(gap, lanes);
        for (u32 r = 0; r < pairs; r++)
            for (u32 t = 0; t < cols; t++) MERGE(acc, at, r * WIDTH + t, (r + gap) * WIDTH + t);
    }
    for (u32 t = 0; t < cols; t++) out[t] = RESULT(t, first);
}

SERIAL reduce(PHX_INPUT(T, x), PHX_OUTPUT(R, y), PHX_OUTPUT(S, part), const row_plan p AUX_KERNEL) {
    const u64 begin = get_global_id(0) * p.per;
    const u64 end = row_end(&p, begin);
    for (u64 task = begin; task < end; task++) {
        const u64 above = task / p.tiles, col = (task - above * p.tiles) * WIDTH;
        const u64 outer = above / p.blocks, block = above - outer * p.blocks;
        const u64 row = outer * p.cols + col;
        const u32 cols = (u32)(p.cols - col < WIDTH ? p.cols - col : WIDTH);
        const u32 n = row_count(&p, block);
        const i64 sc = UNIT ? 1 : p.xc;
        i64 in, out;
        row_place(&p, outer, &in, &out);
        __global const T *x = PHX_DATA(x) + in + (i64)col * sc + (i64)(block * BLOCK) * p.sn;
        U u[WIDTH];
        if (n == 0)
            for (u32 t = 0; t < cols; t++) u[t] = EMPTY;
        else
            reduce_tile(x, n, cols, p.sn, sc, block * BLOCK, row, u AUX_PASS);
        if (p.blocks > 1)
            for (u32 t = 0; t < cols; t++)
                ((__global U *)PHX_DATA(part))[(row + t) * p.blocks + block] = u[t];
        else
            for (u32 t = 0; t < cols; t++)
                (PHX_DATA(y))[out + (i64)(col + t) * p.yc] = FINISH(u[t], p.n);
    }
}

#endif

/* Combine the blocks of each row. */
SERIAL reduce_blocks(PHX_OUTPUT(S, part), PHX_OUTPUT(R, y), const row_plan p) {
    const u64 begin = get_global_id(0) * p.per;
    const u64 end = row_end(&p, begin);
    for (u64 row = begin; row < end; row++) {
        __global U *u = (__global U *)PHX_DATA(part) + row * p.blocks;
        PLAIN
        for (u64 gap = reduce_top(p.blocks) / 2; gap > 0; gap /= 2) {
            const u64 pairs = reduce_pairs(gap, p.blocks);
            PLAIN
            for (u64 i = 0; i < pairs; i++) u[i] = JOIN(u[i], u[i + gap]);
        }
        const u64 outer = row / p.cols;
        i64 in, out;
        row_place(&p, outer, &in, &out);
        (PHX_DATA(y))[out + (i64)(row - outer * p.cols) * p.yc] = FINISH(u[0], p.n);
    }
}
