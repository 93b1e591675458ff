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

/* A task is a block of one row. */
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
