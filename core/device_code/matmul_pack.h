/* GPU: a group packs BOX steps of a panel, BOX lanes at a time; it reads along whichever is denser in
 * memory, and writes along the lanes. */
PHX_KERNEL_OF(PACKERS) pack(PHX_INPUT(S, x), PHX_OUTPUT(A, o), const axes batch, const u64 operand,
        const u64 first_batch, const u64 batches, const u64 panels,
        const u64 tile, const u64 lanes, const u64 k, const i64 lane_step,
        const i64 k_step, const u64 first) {
    PHX_LOCAL_ARRAY(A, box, PARTS * BOX * (BOX + 1));
    const u32 id = (u32)PHX_LOCAL_ID(0);
    const u64 p0 = first + PHX_GROUP_ID(0) * BOX;
    const i32 along = (k_step < 0 ? -k_step : k_step) < (lane_step < 0 ? -lane_step : lane_step);
    for (u64 number = PHX_GLOBAL_ID(2); number < batches; number += PHX_GLOBAL_SIZE(2)) {
        i64 at[3] = {0, 0, 0};
        walk(&batch, (place)(first_batch + number), at);
        for (u64 panel = PHX_GLOBAL_ID(1); panel < panels; panel += PHX_GLOBAL_SIZE(1)) {
            PHX_GLOBAL A *to = PHX_DATA(o) + (number * panels + panel) * k * tile * PARTS;
            for (u32 t0 = 0; t0 < tile; t0 += BOX) {
                for (u32 e = id; e < BOX * BOX; e += PACKERS) {
                    const u32 t = along ? e / BOX : e % BOX, q = along ? e % BOX : e / BOX;
                    const u64 lane = panel * tile + t0 + t, p = p0 + q;
                    PHX_GLOBAL const S *from =
                            FIRST(x) + ((operand ? at[1] : at[0]) + (i64)p * k_step + (i64)lane * lane_step) * PARTS;
    PHX_UNROLL
                    for (u32 part = 0; part < PARTS; part++) {
                        A value = 0;
                        if (lane < lanes && p < k) value = LOAD(from[part]);
                        box[(part * BOX + q) * (BOX + 1) + t] = value;
                    }
                }
                PHX_BARRIER();
                for (u32 e = id; e < PARTS * BOX * BOX; e += PACKERS) {
                    const u32 t = e % BOX, q = e / BOX % BOX, part = e / (BOX * BOX);
                    if (p0 + q < k)
                        to[((p0 + q) * PARTS + part) * tile + t0 + t] = box[(part * BOX + q) * (BOX + 1) + t];
                }
                PHX_BARRIER();
            }
        }
    }
}
