/* Reductions where many work-items share a block: ITEMS of them, each with LANES / ITEMS lanes; SLOTS
 * blocks per group. Neighbouring work-items take neighbouring elements of a row (BY_ROW) or
 * neighbouring columns.
 */
#define OWN (LANES / ITEMS)
#define APART (BY_ROW ? 1 : SLOTS)

PHX_KERNEL_OF(SLOTS * ITEMS) reduce(PHX_INPUT(T, x), PHX_OUTPUT(R, y), PHX_OUTPUT(S, part), const row_plan p AUX_KERNEL) {
    LOCAL_ROOM(SLOTS * ITEMS);
    const u32 id = (u32)PHX_LOCAL_ID(0);
    const u32 lane = BY_ROW ? id % ITEMS : id / SLOTS;
    const u32 slot = BY_ROW ? id / ITEMS : id % SLOTS;
    const u64 above_all = p.tiles * SLOTS;
    AUX_DATA;
    for (u64 turn = 0; turn < p.per; turn++) {
        const u64 task = (PHX_GROUP_ID(0) * p.per + turn) * SLOTS + slot;
        u64 outer, block, col = 0;
        if (BY_ROW) {
            outer = task / p.blocks;
            block = task - outer * p.blocks;
        } else {
            const u64 above = task / above_all;
            col = task - above * above_all;
            outer = above / p.blocks;
            block = above - outer * p.blocks;
        }
        const u64 row = outer * p.cols + col;
        const i32 active = task < p.tasks && col < p.cols;
        const u32 n = active ? row_count(&p, block) : 0;
        const u32 lanes = n < LANES ? n : LANES;
        DECLARE(OWN);
        i64 in = 0, out = 0;
        if (active) row_place(&p, outer, &in, &out);
        PHX_GLOBAL const T *x =
                PHX_DATA(x) + in + (i64)col * p.xc + (i64)(block * BLOCK) * p.sn;
        for (u32 k = 0; k < OWN; k++) {
            const u32 i = lane + k * ITEMS;
            if (i < n) SET(k, TAKE(x[i * p.sn], row), i);
        }
        for (u32 g = LANES; g < n; g += LANES)
            for (u32 k = 0; k < OWN; k++) {
                const u32 i = g + lane + k * ITEMS;
                if (i < n) STEP(k, TAKE(x[i * p.sn], row), i);
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
            if (p.blocks > 1)
                ((PHX_GLOBAL U *)PHX_DATA(part))[row * p.blocks + block] = u;
            else
                PHX_DATA(y)
                         [out + (i64)col * p.yc] = FINISH(u, p.n);
        }
        PHX_BARRIER();
    }
}

/* Combine the blocks of each row; a group per row. */
PHX_KERNEL_OF(JOINERS)
reduce_blocks(PHX_OUTPUT(S, part), PHX_OUTPUT(R, y), const row_plan p) {
    const u64 first = PHX_GROUP_ID(0) * p.per;
    for (u64 row = first; row < first + p.per && row < p.tasks; row++) {
        PHX_GLOBAL U *u = (PHX_GLOBAL U *)PHX_DATA(part) + row * p.blocks;
        for (u64 gap = reduce_top(p.blocks) / 2; gap > 0; gap /= 2) {
            for (u64 i = PHX_LOCAL_ID(0); i < gap && i + gap < p.blocks; i += JOINERS)
                u[i] = JOIN(u[i], u[i + gap]);
            PHX_BARRIER_GLOBAL();
        }
        if (PHX_LOCAL_ID(0) == 0) {
            const u64 outer = row / p.cols;
            i64 in, out;
            row_place(&p, outer, &in, &out);
            PHX_DATA(y)
                    [out + (i64)(row - outer * p.cols) * p.yc] = FINISH(u[0], p.n);
        }
    }
}
