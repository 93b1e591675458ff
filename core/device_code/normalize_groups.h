/* An element for each work-item; neighbours are neighbours in memory: along a row, or rows side by side. */
PHX_KERNEL(256) normalize_elements(PHX_INPUT(T, x), PHX_OUTPUT(T, y), PHX_INPUT(C, centre), PHX_INPUT(F, factor),
        const row_plan p, const u64 by_row WEIGHTS) {
    const u64 wide = by_row ? p.n : p.cols;
    for (u64 far = PHX_GLOBAL_ID(1); far < p.tasks; far += PHX_GLOBAL_SIZE(1)) {
        const u64 outer = by_row ? far : far / p.n, i = by_row ? 0 : far - outer * p.n;
        i64 in, out;
        row_place(&p, outer, &in, &out);
        in += (i64)i * p.sn;
        out += (i64)i * p.yn;
        const i64 x_step = by_row ? p.sn : p.xc, y_step = by_row ? p.yn : p.yc, row_step = by_row ? 0 : 1;
        const u64 row = outer * p.cols;
        for (u64 near = PHX_GLOBAL_ID(0); near < wide; near += PHX_GLOBAL_SIZE(0)) {
            const u64 own = row + near * row_step, place = by_row ? near : i;
            PHX_DATA(y)[out + (i64)near * y_step] =
                    RESULT(PHX_DATA(x)[in + (i64)near * x_step], PHX_DATA(centre)[own], PHX_DATA(factor)[own],
                            WEIGHT(place), BIAS(place));
        }
    }
}
