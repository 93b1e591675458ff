/* The sums of blocks of k lie one after the other; each of the first ones takes in what lies `behind`. */
PHX_KERNEL(64) join(PHX_OUTPUT(A, sums), const u64 behind, const u64 count) {
    PHX_GLOBAL A *to = FIRST(sums);
    for (u64 i = PHX_GLOBAL_ID(0); i < count * PARTS; i += PHX_GLOBAL_SIZE(0))
        to[i] = to[i] + to[behind * PARTS + i];
}

/* The joined sums (batches, m, n) become elements of the result. */
PHX_KERNEL(64) finish(PHX_INPUT(A, sums), PHX_OUTPUT(O, o), const axes batch, const u64 batches,
        const u64 m, const u64 n, const i64 o_row, const i64 o_column, const u64 first) {
    const u64 id = first + PHX_GLOBAL_ID(0);
    if (id >= m * n) return;
    for (u64 number = PHX_GLOBAL_ID(1); number < batches; number += PHX_GLOBAL_SIZE(1)) {
        i64 at[3] = {0, 0, 0};
        walk(&batch, (place)number, at);
        PHX_GLOBAL const A *from = FIRST(sums) + (number * m * n + id) * PARTS;
        PHX_GLOBAL O *to =
                FIRST(o) + (at[2] + (i64)(id / n) * o_row + (i64)(id % n) * o_column) * PARTS;
        for (int part = 0; part < PARTS; part++) to[part] = STORE(from[part]);
    }
}
