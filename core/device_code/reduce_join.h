/* Combine what is left of each row; a group per row. An element is a work-item's own until there are only
 * JOINERS, which then are in local memory. */
PHX_KERNEL_OF(JOINERS) reduce_blocks(PHX_OUTPUT(S, part), PHX_OUTPUT(R, y), const row_plan p) {
    PHX_LOCAL_ARRAY(U, last, JOINERS);
    const u32 id = (u32)PHX_LOCAL_ID(0);
    const u64 first = PHX_GROUP_ID(0) * p.per;
    for (u64 row = first; row < first + p.per && row < p.tasks; row++) {
        PHX_GLOBAL U *u = (PHX_GLOBAL U *)PHX_DATA(part) + row * p.spans;
        u64 gap = reduce_top(p.spans) / 2;
        for (; gap >= JOINERS; gap /= 2)
            for (u64 i = id; i < gap && i + gap < p.spans; i += JOINERS) u[i] = JOIN(u[i], u[i + gap]);
        if (id < p.spans) last[id] = u[id];
        for (; gap > 0; gap /= 2) {
            PHX_BARRIER();
            if (id < gap && id + gap < p.spans) last[id] = JOIN(last[id], last[id + gap]);
        }
        if (id == 0) {
            const u64 outer = row / p.cols;
            const U all = last[0];
            i64 in, out;
            row_place(&p, outer, &in, &out);
            PHX_DATA(y)
                    [out + (i64)(row - outer * p.cols) * p.yc] = FINISH(all, p.n);
        }
        PHX_BARRIER();
    }
}
