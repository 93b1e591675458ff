/* softmax of rows of at most one block: SLOTS of them in a group, ITEMS work-items for each. A work-item
 * holds up to HOLD elements, of LANES / ITEMS lanes, in registers: memory is read once, and each
 * exponential computed once.
 */
#define OWN (LANES / ITEMS)

PHX_KERNEL_OF(SLOTS * ITEMS) softmax_rows(PHX_INPUT(T, x), PHX_OUTPUT(T, y), const row_plan p) {
    PHX_LOCAL_ARRAY(F, highs, SLOTS * ITEMS);
    PHX_LOCAL_ARRAY(F, sums, SLOTS * ITEMS);
    const u32 id = (u32)PHX_LOCAL_ID(0), slot = id / ITEMS, lane = id % ITEMS;
    const u32 lanes = p.n < LANES ? (u32)p.n : LANES;
    for (u64 turn = 0; turn < p.per; turn++) {
        const u64 row = (PHX_GROUP_ID(0) * p.per + turn) * SLOTS + slot;
        const u32 n = row < p.tasks ? (u32)p.n : 0;
        i64 in = 0, out = 0;
        if (n) row_place(&p, row, &in, &out);
        PHX_GLOBAL const T *x = PHX_DATA(x) + in;
        F v[HOLD], most = 0;
        if (n) most = LOAD(x[0]);
    PHX_UNROLL
        for (u32 k = 0; k < HOLD; k++) {
            const u32 i = lane + k * ITEMS;
            v[k] = most;
            if (i < n) v[k] = LOAD(x[i * p.sn]);
        }
        PHX_UNROLL
        for (u32 k = 0; k < HOLD; k++) most = v[k] > most ? v[k] : most;
        highs[id] = most;
        for (u32 gap = ITEMS / 2; gap > 0; gap /= 2) {
            PHX_BARRIER();
            if (lane < gap && highs[id + gap] > highs[id]) highs[id] = highs[id + gap];
        }
        PHX_BARRIER();
        most = highs[id - lane];
        PHX_UNROLL
        for (u32 k = 0; k < HOLD; k++) v[k] = EXP(v[k] - most);
        F sum[OWN];
        PHX_UNROLL
        for (u32 k = 0; k < OWN; k++) sum[k] = v[k];
        PHX_UNROLL
        for (u32 k = OWN; k < HOLD; k++)
            if (lane + k * ITEMS < n) sum[k % OWN] += v[k];
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
        const F factor = RECIPROCAL(sums[id - lane]);
        PHX_UNROLL
        for (u32 k = 0; k < HOLD; k++) {
            const u32 i = lane + k * ITEMS;
            if (i < n) PHX_DATA(y)[out + (i64)i * p.yn] = STORE(v[k] * factor);
        }
    }
}
