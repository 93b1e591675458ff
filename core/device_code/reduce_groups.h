/* Reductions where many work-items share a block: ITEMS of them, each with LANES / ITEMS lanes; SLOTS
 * blocks per group. Neighbouring work-items take neighbouring elements of a row (BY_ROW) or
 * neighbouring columns.
 *
 * A task is p.span blocks of a row, a power of two up to 2**LEVELS: those that the tree over the row's
 * blocks combines first, p.spans apart. They come in such an order (with the bits of their numbers
 * reversed) that two results that belong together are neighbours.
 */
#define OWN (LANES / ITEMS)
#define APART (BY_ROW ? 1 : SLOTS)
#define STEP_X (DENSE ? 1 : p.sn)

PHX_FN u64 reduce_reversed(u64 turn, u64 span) {
    u64 reversed = 0;
    for (; span > 1; span /= 2, turn /= 2) reversed = 2 * reversed + turn % 2;
    return reversed;
}

PHX_KERNEL_OF(SLOTS * ITEMS) reduce(PHX_INPUT(T, x), PHX_OUTPUT(R, y), PHX_OUTPUT(S, part), const row_plan p AUX_KERNEL) {
    LOCAL_ROOM(SLOTS * ITEMS);
    const u32 id = (u32)PHX_LOCAL_ID(0);
    const u32 lane = BY_ROW ? id % ITEMS : id / SLOTS;
    const u32 slot = BY_ROW ? id / ITEMS : id % SLOTS;
    const u64 above_all = p.tiles * SLOTS;
    AUX_DATA;
    for (u64 turn = 0; turn < p.per; turn++) {
        const u64 task = (PHX_GROUP_ID(0) * p.per + turn) * SLOTS + slot;
        const u64 above = BY_ROW ? task : task / above_all;
        const u64 col = BY_ROW ? 0 : task - above * above_all;
        const u64 outer = above / p.spans, own = above - outer * p.spans;
        const u64 row = outer * p.cols + col;
        const i32 active = task < p.tasks && col < p.cols;
        i64 in = 0, out = 0;
        if (active) row_place(&p, outer, &in, &out);
        U left[LEVELS]; /* of each level of the tree, the result that waits for its neighbour */
        u32 waits = 0;  /* the levels where there is one */
        for (u32 t = 0; t < p.span; t++) {
            const u64 block = own + reduce_reversed(t, p.span) * p.spans;
            const i32 here = active && block < p.blocks;
            const u32 n = here ? row_count(&p, block) : 0;
            const u32 lanes = n < LANES ? n : LANES;
            DECLARE(OWN);
            PHX_GLOBAL const T *x =
                    PHX_DATA(x) + in + (i64)col * p.xc + (i64)(block * BLOCK) * STEP_X;
            for (u32 k = 0; k < OWN; k++) {
                const u32 i = lane + k * ITEMS;
                if (i < n) SET(k, TAKE(x[i * STEP_X], row), i);
            }
            u32 g = LANES;
            for (; g + AHEAD * LANES <= n; g += AHEAD * LANES) { /* reads that wait for no other one */
                T some[AHEAD * OWN];
    PHX_UNROLL
                for (u32 k = 0; k < AHEAD * OWN; k++)
                    some[k] = x[(g + k / OWN * LANES + lane + k % OWN * ITEMS) * STEP_X];
    PHX_UNROLL
                for (u32 k = 0; k < AHEAD * OWN; k++)
                    STEP(k % OWN, TAKE(some[k], row), g + k / OWN * LANES + lane + k % OWN * ITEMS);
            }
            for (; g < n; g += LANES)
                for (u32 k = 0; k < OWN; k++) {
                    const u32 i = g + lane + k * ITEMS;
                    if (i < n) STEP(k, TAKE(x[i * STEP_X], row), i);
                }
            for (u32 gap = LANES / 2; gap >= ITEMS; gap /= 2)
                for (u32 k = 0; k < gap / ITEMS; k++)
                    if (lane + k * ITEMS + gap < lanes) MERGE(acc, at, k, k + gap / ITEMS);
            if (lane < lanes) LOCAL_SET(id);
            for (u32 gap = ITEMS / 2; gap > 0; gap /= 2) {
                PHX_BARRIER();
                if (lane < gap && lane + gap < lanes) MERGE(room, room_at, id, id + gap * APART);
            }
            if (lane == 0 && active) {
                U u = EMPTY;
                if (n > 0) u = LOCAL_RESULT(id, block * BLOCK);
                i32 some = here, climbs = 1;
    PHX_UNROLL
                for (u32 level = 0; level < LEVELS; level++) {
                    if (climbs && !(t >> level & 1)) {
                        left[level] = u;
                        waits = (waits & ~(1u << level)) | (u32)some << level;
                        climbs = 0;
                    }
                    if (climbs && waits >> level & 1) {
                        u = some ? JOIN(left[level], u) : left[level];
                        some = 1;
                    }
                }
                if (t + 1 == p.span) {
                    if (p.spans > 1)
                        ((PHX_GLOBAL U *)PHX_DATA(part))[row * p.spans + own] = u;
                    else
                        PHX_DATA(y)
                                 [out + (i64)col * p.yc] = FINISH(u, p.n);
                }
            }
            PHX_BARRIER();
        }
    }
}
