/* Combine what is left of each row; a group per row. An element is a work-item's own until fewer than
 * JOINERS are left. */
PHX_KERNEL_OF(JOINERS) reduce_blocks(PHX_OUTPUT(S, part), PHX_OUTPUT(R, y), const row_plan p) {
    const u64 first = PHX_GROUP_ID(0) * p.per;
    for (u64 row = first; row < first + p.per && row < p.tasks; row++) {
        PHX_GLOBAL U *u = (PHX_GLOBAL U *)PHX_DATA(part) + row * p.spans;
        for (u64 gap = reduce_top(p.spans) / 2; gap > 0; gap /= 2) {
            for (u64 i = PHX_LOCAL_ID(0); i < gap && i + gap < p.spans; i += JOINERS)
                u[i] = JOIN(u[i], u[i + gap]);
            if (gap <= JOINERS) PHX_BARRIER_GLOBAL();
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
