/* Matrix products: the kernels of matmul.py, which defines before this text
 *   S         an element in memory            A         the type that accumulates
 *   O         an element of the result        RESUME(x) O to A
 *   LOAD(x)   S to A                          STORE(x)  A to O
 *   MAC(a, b, c)  a * b + c, fma for floats   PARTS     1, or 2 for complex numbers
 * Complex numbers lie in memory as pairs of S; LOAD and STORE see one part. O is S; or A, where the
 * result is the sums of blocks of k, which `join` and `finish` make the product of.
 *
 * A packed operand is cut into panels of so many lanes as a tile has (rows of the left, columns of
 * the right matrix): [batch][panel][step of k][part][lane]; missing lanes are zeros. Steps are
 * never padded: one more step would turn -0 into +0.
 */
#define FIRST(x) (x##_memory + x##_first * PARTS)

PHX_FN void mac_complex(A ar, A ai, A br, A bi, A *re, A *im) {
    *re = MAC(ar, br, *re);
    *re = MAC(-ai, bi, *re);
    *im = MAC(ar, bi, *im);
    *im = MAC(ai, br, *im);
}

/* One work-item per element, straight from memory: for small products and vectors. Of the division, NVIDIA's
 * compiler makes one of 32 bits for small numbers by itself: its PTX has both, and the test. */
PHX_KERNEL(64) plain(PHX_INPUT(S, a), PHX_INPUT(S, b), PHX_OUTPUT(O, o), const axes batch,
        const u64 batches, const u64 m, const u64 n, const u64 k,
        const i64 a_row, const i64 a_step, const i64 b_step, const i64 b_column,
        const i64 o_row, const i64 o_column, const u64 first) {
    const u64 id = first + PHX_GLOBAL_ID(0);
    if (id >= m * n) return;
    const i64 i = (i64)(id / n), j = (i64)(id % n);
    for (u64 number = PHX_GLOBAL_ID(1); number < batches; number += PHX_GLOBAL_SIZE(1)) {
        i64 at[3] = {0, 0, 0};
        walk(&batch, (place)number, at);
        PHX_GLOBAL const S *x = FIRST(a) + (at[0] + i * a_row) * PARTS;
        PHX_GLOBAL const S *y = FIRST(b) + (at[1] + j * b_column) * PARTS;
        PHX_GLOBAL O *z = FIRST(o) + (at[2] + i * o_row + j * o_column) * PARTS;
        A re = 0;
#if PARTS == 1
        for (u64 p = 0; p < k; p++, x += a_step, y += b_step) re = MAC(LOAD(*x), LOAD(*y), re);
#else
        A im = 0;
        for (u64 p = 0; p < k; p++, x += 2 * a_step, y += 2 * b_step)
            mac_complex(x[0], x[1], y[0], y[1], &re, &im);
        z[1] = STORE(im);
#endif
        z[0] = STORE(re);
    }
}

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
