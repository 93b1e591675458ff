/* An element for each work-item; neighbours are neighbours in memory. */
PHX_KERNEL(256) softmax_scale(PHX_INPUT(T, x), PHX_OUTPUT(T, y), PHX_INPUT(T, most), PHX_INPUT(F, factor),
        const row_plan p, const u64 by_row) {
    const u64 wide = by_row ? p.n : p.cols;
    for (u64 id = PHX_GLOBAL_ID(0); id < p.tasks; id += PHX_GLOBAL_SIZE(0)) {
        const u64 above = id / wide, near = id - above * wide;
        const u64 outer = by_row ? above : above / p.n;
        const u64 i = by_row ? near : above - outer * p.n, col = by_row ? 0 : near;
        const u64 row = outer * p.cols + col;
        i64 in, out;
        row_place(&p, outer, &in, &out);
        PHX_DATA(y)[out + (i64)col * p.yc + (i64)i * p.yn] =
                POWER(PHX_DATA(x)[in + (i64)col * p.xc + (i64)i * p.sn], PHX_DATA(most)[row], PHX_DATA(factor)[row]);
    }
}
