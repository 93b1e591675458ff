/* GPU: GROUP * GROUP work-items make a tile of SPAN * GROUP rows and columns, SPAN * SPAN elements
 * each; DEPTH steps of both panels at a time are in local memory. */
#define SPAN 4
#define TILE (SPAN * GROUP)
#define ITEMS (GROUP * GROUP)

PHX_KERNEL_OF(ITEMS) tile(PHX_INPUT(A, a), PHX_INPUT(A, b), PHX_OUTPUT(O, o), const axes batch,
        const u64 first_batch, const u64 batches, const u64 m, const u64 n,
        const u64 k, const u64 a_batch, const u64 b_batch, const i64 o_row,
        const i64 o_column, const u64 more) {
    PHX_LOCAL_ARRAY(A, left, DEPTH * TILE * PARTS);
    PHX_LOCAL_ARRAY(A, right, DEPTH * TILE * PARTS);
    const u32 lane = (u32)PHX_LOCAL_ID(0), row = lane / GROUP, column = lane % GROUP;
    const u64 columns = (n + TILE - 1) / TILE;
    for (u64 number = PHX_GLOBAL_ID(2); number < batches; number += PHX_GLOBAL_SIZE(2))
        for (u64 panel = PHX_GLOBAL_ID(1); panel < columns; panel += PHX_GLOBAL_SIZE(1)) {
            PHX_GLOBAL const A *x =
                    PHX_DATA(a) + number * a_batch + PHX_GROUP_ID(0) * k * (TILE * PARTS);
            PHX_GLOBAL const A *y = PHX_DATA(b) + number * b_batch + panel * k * (TILE * PARTS);
            i64 at[3] = {0, 0, 0};
            walk(&batch, (place)(first_batch + number), at);
            PHX_GLOBAL O *z = FIRST(o) + at[2] * PARTS;
            const u64 i0 = PHX_GROUP_ID(0) * TILE + row, j0 = panel * TILE + column;
            A c[PARTS][SPAN][SPAN];
            for (int part = 0; part < PARTS; part++)
                for (int r = 0; r < SPAN; r++)
                    for (int s = 0; s < SPAN; s++) {
                        const u64 i = i0 + r * GROUP, j = j0 + s * GROUP;
                        c[part][r][s] = 0;
                        if (more && i < m && j < n)
                            c[part][r][s] =
                                    RESUME(z[((i64)i * o_row + (i64)j * o_column) * PARTS + part]);
                    }
            for (u64 p = 0; p < k; p += DEPTH) {
                const u32 steps = (u32)PHX_MIN((u64)DEPTH, k - p);
                PHX_BARRIER();
                for (u32 e = lane; e < steps * (TILE * PARTS); e += ITEMS) {
                    left[e] = x[p * (TILE * PARTS) + e];
                    right[e] = y[p * (TILE * PARTS) + e];
                }
                PHX_BARRIER();
                for (u32 q = 0; q < steps; q++) {
                    const PHX_LOCAL_PTR(A) l = left + q * (TILE * PARTS) + row;
                    const PHX_LOCAL_PTR(A) g = right + q * (TILE * PARTS) + column;
                    A u[PARTS][SPAN], v[PARTS][SPAN];
    PHX_UNROLL
                    for (int part = 0; part < PARTS; part++)
PHX_UNROLL
                        for (int s = 0; s < SPAN; s++) {
                            u[part][s] = l[part * TILE + s * GROUP];
                            v[part][s] = g[part * TILE + s * GROUP];
                        }
PHX_UNROLL
                    for (int r = 0; r < SPAN; r++)
PHX_UNROLL
                        for (int s = 0; s < SPAN; s++)
#if PARTS == 1
                            c[0][r][s] = MAC(u[0][r], v[0][s], c[0][r][s]);
#else
                            mac_complex(u[0][r], u[1][r], v[0][s], v[1][s], &c[0][r][s],
                                        &c[1][r][s]);
#endif
                }
            }
            for (int part = 0; part < PARTS; part++)
                for (int r = 0; r < SPAN; r++)
                    for (int s = 0; s < SPAN; s++) {
                        const u64 i = i0 + r * GROUP, j = j0 + s * GROUP;
                        if (i < m && j < n)
                            z[((i64)i * o_row + (i64)j * o_column) * PARTS + part] =
                                STORE(c[part][r][s]);
                    }
        }
}
