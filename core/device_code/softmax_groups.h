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

/* Rows of at most one block: a group per row, a lane for each work-item. */
PHX_KERNEL_OF(LANES)
softmax_rows(PHX_INPUT(T, x), PHX_OUTPUT(T, y), const row_plan p) {
    PHX_LOCAL_ARRAY(F, room, LANES);
    const u32 lane = (u32)PHX_LOCAL_ID(0), n = (u32)p.n, lanes = n < LANES ? n : LANES;
    const u64 first = PHX_GROUP_ID(0) * p.per;
    for (u64 row = first; row < first + p.per && row < p.tasks; row++) {
        i64 in, out;
        row_place(&p, row, &in, &out);
        PHX_GLOBAL const T *x = PHX_DATA(x) + in;
        F most = LOAD(x[0]);
        for (u32 i = lane; i < n; i += LANES) {
            const F v = LOAD(x[i * p.sn]);
            most = v > most ? v : most;
        }
        room[lane] = most;
        for (u32 gap = LANES / 2; gap > 0; gap /= 2) {
            PHX_BARRIER();
            if (lane < gap && room[lane + gap] > room[lane]) room[lane] = room[lane + gap];
        }
        PHX_BARRIER();
        most = room[0];
        PHX_BARRIER();
        if (lane < n) {
            F sum = EXP(LOAD(x[lane * p.sn]) - most);
    PHX_ORDERED
            for (u32 i = lane + LANES; i < n; i += LANES) sum += EXP(LOAD(x[i * p.sn]) - most);
            room[lane] = sum;
        }
        for (u32 gap = LANES / 2; gap > 0; gap /= 2) {
            PHX_BARRIER();
            if (lane < gap && lane + gap < lanes) room[lane] += room[lane + gap];
        }
        PHX_BARRIER();
        const F factor = RECIPROCAL(room[0]);
        for (u32 i = lane; i < n; i += LANES)
            PHX_DATA(y)[out + (i64)i * p.yn] = STORE(EXP(LOAD(x[i * p.sn]) - most) * factor);
        PHX_BARRIER();
    }
}
