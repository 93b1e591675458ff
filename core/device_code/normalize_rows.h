/* Rows of at most one block: SLOTS of them in a group, ITEMS work-items for each. A work-item holds up to
 * HOLD elements, of LANES / ITEMS lanes, in registers: memory is read once, and each exponential computed
 * once.
 */
#define OWN (LANES / ITEMS)

PHX_KERNEL_OF(SLOTS * ITEMS) normalize_rows(PHX_INPUT(T, x), PHX_OUTPUT(T, y), const row_plan p, const F eps WEIGHTS) {
    PHX_LOCAL_ARRAY(F, room, SLOTS * ITEMS);
    PHX_LOCAL_ARRAY(F, sums, SLOTS * ITEMS);
    const u32 id = (u32)PHX_LOCAL_ID(0), slot = id / ITEMS, lane = id % ITEMS;
    const u32 lanes = p.n < LANES ? (u32)p.n : LANES;
    for (u64 turn = 0; turn < p.per; turn++) {
        const u64 row = (PHX_GROUP_ID(0) * p.per + turn) * SLOTS + slot;
        const u32 n = row < p.tasks ? (u32)p.n : 0;
        i64 in = 0, out = 0;
        if (n) row_place(&p, row, &in, &out);
        PHX_GLOBAL const T *x = PHX_DATA(x) + in;
        F v[HOLD], centre = 0, total = 0;
        if (n) centre = LOAD(x[0]);
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
        for (u32 gap = ITEMS / 2; gap > 0; gap /= 2) {
            PHX_BARRIER();
            if (lane < gap && room[id + gap] > room[id]) room[id] = room[id + gap];
        }
        PHX_BARRIER();
        centre = room[id - lane];
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
            PHX_BARRIER();
            total = sums[id - lane];
#if MEAN
            if (!parts) centre = QUOTIENT(total, p.n);
            PHX_BARRIER();
#endif
        }
        const F factor = FACTOR(total, p.n, eps);
        PHX_UNROLL
        for (u32 k = 0; k < HOLD; k++) {
            const u32 i = lane + k * ITEMS;
            if (i < n) PHX_DATA(y)[out + (i64)i * p.yn] = STORE(LAST(v[k], factor, WEIGHT(i), BIAS(i)));
        }
    }
}
