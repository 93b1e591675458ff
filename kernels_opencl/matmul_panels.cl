/* One work-item per step of k and panel. */
PHX_KERNEL(64)
pack(PHX_INPUT(S, x), PHX_OUTPUT(A, o), const axes batch, const u64 operand,
     const u64 first_batch, const u64 batches, const u64 panels,
     const u64 tile, const u64 lanes, const u64 k, const i64 lane_step,
     const i64 k_step, const u64 first) {
    const u64 p = first + PHX_GLOBAL_ID(0);
    if (p >= k) return;
    for (u64 number = PHX_GLOBAL_ID(2); number < batches; number += PHX_GLOBAL_SIZE(2)) {
        i64 at[3] = {0, 0, 0};
        walk(&batch, (place)(first_batch + number), at);
        for (u64 panel = PHX_GLOBAL_ID(1); panel < panels; panel += PHX_GLOBAL_SIZE(1)) {
            PHX_GLOBAL const S *from =
                FIRST(x) +
                (at[operand] + (i64)p * k_step + (i64)(panel * tile) * lane_step) * PARTS;
            PHX_GLOBAL A *to = PHX_DATA(o) + ((number * panels + panel) * k + p) * tile * PARTS;
            const u64 own = PHX_MIN(tile, lanes - panel * tile);
            for (int part = 0; part < PARTS; part++, from++, to += tile) {
                for (u64 t = 0; t < own; t++) to[t] = LOAD(from[(i64)t * lane_step * PARTS]);
                for (u64 t = own; t < tile; t++) to[t] = 0;
            }
        }
    }
}

__kernel void tile(PHX_INPUT(A, a), PHX_INPUT(A, b), PHX_OUTPUT(O, o), const axes batch,
                   const u64 first_batch, const u64 batches, const u64 m, const u64 n,
                   const u64 k, const u64 a_batch, const u64 b_batch, const i64 o_row,
                   const i64 o_column, const u64 more) {
    const u64 i0 = get_global_id(0) * ROWS, j0 = get_global_id(1) * COLUMNS;
    const u64 number = get_global_id(2);
    __global const A *x = PHX_DATA(a) + number * a_batch + i0 * k * PARTS;
    __global const A *y = PHX_DATA(b) + number * b_batch + j0 * k * PARTS;
    i64 at[3] = {0, 0, 0};
    walk(&batch, (place)(first_batch + number), at);
    __global O *z = FIRST(o) + (at[2] + (i64)i0 * o_row + (i64)j0 * o_column) * PARTS;
    const int rows = (int)min((u64)ROWS, m - i0), columns = (int)min((u64)COLUMNS, n - j0);
    A sums[PARTS * ROWS * COLUMNS];
    if (more) {
        for (int e = 0; e < PARTS * ROWS * COLUMNS; e++) sums[e] = 0;
        for (int part = 0; part < PARTS; part++)
            for (int r = 0; r < rows; r++)
                for (int s = 0; s < columns; s++)
                    sums[(part * ROWS + r) * COLUMNS + s] =
                        RESUME(z[(r * o_row + s * o_column) * PARTS + part]);
    }
    START
    for (u64 p = 0; p < k; p++, x += ROWS * PARTS, y += COLUMNS * PARTS) {
        STEP
    }
    FINISH
    for (int part = 0; part < PARTS; part++)
        for (int r = 0; r < rows; r++)
            for (int s = 0; s < columns; s++)
                z[(r * o_row + s * o_column) * PARTS + part] =
                    STORE(sums[(part * ROWS + r) * COLUMNS + s]);
}
