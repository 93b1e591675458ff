/* A tile straight from memory, where columns are neighbours in b. The last one of an axis begins early
 * enough to be whole, and stores only what is its own. */
__kernel void direct(PHX_INPUT(S, a), PHX_INPUT(S, b), PHX_OUTPUT(O, o), const axes batch, const u64 m,
                     const u64 n, const u64 k, const i64 a_row, const i64 a_step, const i64 b_step,
                     const i64 o_row, const i64 o_column) {
    const u64 i = get_global_id(0) * ROWS, i0 = min(i, m - ROWS);
    const u64 j = get_global_id(1) * COLUMNS, j0 = min(j, n - COLUMNS);
    i64 at[3] = {0, 0, 0};
    walk(&batch, (place)get_global_id(2), at);
    __global const S *x = FIRST(a) + at[0] + (i64)i0 * a_row, *y = FIRST(b) + at[1] + (i64)j0;
    __global O *z = FIRST(o) + at[2] + (i64)i0 * o_row + (i64)j0 * o_column;
    A sums[ROWS * COLUMNS];
    const int more = 0;
    START
    for (u64 p = 0; p < k; p++, x += a_step, y += b_step) {
        DIRECT_STEP
    }
    if (o_column == 1 && i == i0 && j == j0) {
        DIRECT_FINISH
        return;
    }
    FINISH
    for (u64 r = i - i0; r < ROWS; r++)
        for (u64 s = j - j0; s < COLUMNS; s++)
            z[(i64)r * o_row + (i64)s * o_column] = STORE(sums[r * COLUMNS + s]);
}
