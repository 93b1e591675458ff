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
