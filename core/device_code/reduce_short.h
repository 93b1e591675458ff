/* Reductions of rows of at most MOST elements, each a lane of the one block: ITEMS work-items share a row,
 * SLOTS rows a group. Neighbouring work-items take neighbouring elements, then neighbouring rows.
 */
#define OWN (MOST / ITEMS)
#define STEP_X (DENSE ? 1 : p.sn)

PHX_KERNEL_OF(SLOTS * ITEMS) reduce(PHX_INPUT(T, x), PHX_OUTPUT(R, y), PHX_OUTPUT(S, part), const row_plan p AUX_KERNEL) {
#if ITEMS > 1
    LOCAL_ROOM(SLOTS * ITEMS);
#endif
    const u32 id = (u32)PHX_LOCAL_ID(0), lane = id % ITEMS, n = (u32)p.n;
    AUX_DATA;
    for (u64 turn = 0; turn < p.per; turn++) {
        const u64 row = (PHX_GROUP_ID(0) * p.per + turn) * SLOTS + id / ITEMS;
        const i32 active = row < p.tasks;
        const u64 outer = p.cols == 1 ? row : row / p.cols;
        const i64 col = (i64)(row - outer * p.cols);
        const u32 lanes = active ? n : 0;
        i64 in = 0, out = 0;
        if (active) row_place(&p, outer, &in, &out);
        PHX_GLOBAL const T *x = PHX_DATA(x) + in + col * p.xc;
        DECLARE(OWN);
    PHX_UNROLL
        for (u32 k = 0; k < OWN; k++) {
            const u32 i = lane + k * ITEMS;
            if (i < lanes) SET(k, TAKE(x[i * STEP_X], row), i);
        }
    PHX_UNROLL
        for (u32 level = 1; level < 7; level++) { /* both loops have constant ends, for the sake of compilers */
            const u32 gap = MOST >> level;
    PHX_UNROLL
            for (u32 k = 0; k < OWN / 2; k++)
                if (k < gap / ITEMS && lane + k * ITEMS + gap < lanes) MERGE(acc, at, k, k + gap / ITEMS);
        }
#if ITEMS > 1
        if (lane < lanes) LOCAL_SET(id);
    PHX_UNROLL
        for (u32 gap = ITEMS / 2; gap > 0; gap /= 2) {
            PHX_BARRIER();
            if (lane < gap && lane + gap < lanes) MERGE(room, room_at, id, id + gap);
        }
        if (lane == 0 && active) {
            const U u = LOCAL_RESULT(id, 0);
#else
        if (active) {
            const U u = RESULT(0, 0);
#endif
            PHX_DATA(y)[out + col * p.yc] = FINISH(u, p.n);
        }
#if ITEMS > 1
        PHX_BARRIER();
#endif
    }
}
