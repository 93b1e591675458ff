/* Rows of at most BLOCKS blocks, a power of two: SLOTS of them in a group, ITEMS work-items for each block. A
 * work-item holds up to HOLD elements, of LANES / ITEMS lanes, in registers: memory is read once, and each
 * exponential computed once.
 */
#define OWN (LANES / ITEMS)
#define TEAM (ITEMS * BLOCKS)

PHX_KERNEL_OF(SLOTS * TEAM) normalize_rows(PHX_INPUT(T, x), PHX_OUTPUT(T, y), const row_plan p, const F eps WEIGHTS) {
    PHX_LOCAL_ARRAY(F, room, SLOTS * TEAM);
    PHX_LOCAL_ARRAY(F, sums, SLOTS * TEAM);
    const u32 id = (u32)PHX_LOCAL_ID(0), slot = id / TEAM, own = id % TEAM, lane = own % ITEMS, block = own / ITEMS;
    const u32 blocks = BLOCKS > 1 ? (u32)p.blocks : 1, first = block * BLOCK;
    u32 all = (u32)p.n;
    if (BLOCKS > 1) all = block < blocks ? row_count(&p, block) : 0;
    const u32 lanes = all < LANES ? all : LANES;
    for (u64 turn = 0; turn < p.per; turn++) {
        const u64 row = (PHX_GROUP_ID(0) * p.per + turn) * SLOTS + slot;
        const u32 n = row < p.tasks ? all : 0;
        i64 in = 0, out = 0;
        F v[HOLD], centre = 0, total = 0;
        if (row < p.tasks) {
            row_place(&p, row, &in, &out);
            centre = LOAD(PHX_DATA(x)[in]);
        }
        PHX_GLOBAL const T *x = PHX_DATA(x) + (in + (i64)first * p.sn);
    PHX_UNROLL
        for (u32 k = 0; k < HOLD; k++) {
            const u32 i = lane + k * ITEMS;
            v[k] = centre;
            if (i < n) v[k] = LOAD(x[i * p.sn]);
        }
#if !MEAN
        PHX_UNROLL
        for (u32 k = 0; k < HOLD; k++) centre = v[k] > centre ? v[k] : centre;
        room[id] = centre;
        for (u32 gap = TEAM / 2; gap > 0; gap /= 2) {
            PHX_BARRIER();
            if (own < gap && room[id + gap] > room[id]) room[id] = room[id + gap];
        }
        PHX_BARRIER();
        centre = room[id - own];
#endif
        /* the sum of the elements, of which the mean is made, then that of the parts */
        for (u32 parts = 1 - MEAN; parts < 2; parts++) {
            PHX_UNROLL
            for (u32 k = 0; k < HOLD; k++)
                if (parts) v[k] = HELD(v[k] - centre);
            F sum[OWN];
            PHX_UNROLL
            for (u32 k = 0; k < OWN; k++) sum[k] = parts ? PART(v[k]) : v[k];
            PHX_UNROLL
            for (u32 k = OWN; k < HOLD; k++)
                if (lane + k * ITEMS < n) sum[k % OWN] += parts ? PART(v[k]) : v[k];
            PHX_UNROLL
            for (u32 gap = OWN / 2; gap > 0; gap /= 2)
                PHX_UNROLL
                for (u32 k = 0; k < gap; k++)
                    if (lane + (k + gap) * ITEMS < lanes) sum[k] += sum[k + gap];
            sums[id] = sum[0];
            for (u32 gap = ITEMS / 2; gap > 0; gap /= 2) {
                PHX_BARRIER();
                if (lane < gap && lane + gap < lanes) sums[id] += sums[id + gap];
            }
            for (u32 gap = BLOCKS / 2; gap > 0; gap /= 2) {
                PHX_BARRIER();
                if (lane == 0 && block < gap && block + gap < blocks) sums[id] += sums[id + gap * ITEMS];
            }
            PHX_BARRIER();
            total = sums[id - own];
#if MEAN
            if (!parts) centre = QUOTIENT(total, p.n);
            PHX_BARRIER();
#endif
        }
        const F factor = FACTOR(total, p.n, eps);
        PHX_UNROLL
        for (u32 k = 0; k < HOLD; k++) {
            const u32 i = lane + k * ITEMS;
            if (i < n)
                PHX_DATA(y)[out + (i64)(first + i) * p.yn] =
                        STORE(LAST(v[k], factor, WEIGHT(first + i), BIAS(first + i)));
        }
    }
}
