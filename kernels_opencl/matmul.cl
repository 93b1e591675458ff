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

/* One work-item per element, straight from memory: for small products and vectors. */
__kernel void plain(PHX_INPUT(S, a), PHX_INPUT(S, b), PHX_OUTPUT(O, o), const axes batch,
                    const ulong batches, const ulong m, const ulong n, const ulong k,
                    const long a_row, const long a_step, const long b_step, const long b_column,
                    const long o_row, const long o_column) {
    const ulong id = get_global_id(0);
    if (id >= m * n) return;
    const long i = (long)(id / n), j = (long)(id % n);
    for (ulong number = get_global_id(1); number < batches; number += get_global_size(1)) {
        long at[3] = {0, 0, 0};
        walk(&batch, (place)number, at);
        __global const S *x = FIRST(a) + (at[0] + i * a_row) * PARTS;
        __global const S *y = FIRST(b) + (at[1] + j * b_column) * PARTS;
        __global O *z = FIRST(o) + (at[2] + i * o_row + j * o_column) * PARTS;
        A re = 0;
#if PARTS == 1
        for (ulong p = 0; p < k; p++, x += a_step, y += b_step) re = MAC(LOAD(*x), LOAD(*y), re);
#else
        A im = 0;
        for (ulong p = 0; p < k; p++, x += 2 * a_step, y += 2 * b_step)
            mac_complex(x[0], x[1], y[0], y[1], &re, &im);
        z[1] = STORE(im);
#endif
        z[0] = STORE(re);
    }
}

/* The sums of blocks of k lie one after the other; each of the first ones takes in what lies `behind`. */
__kernel void join(PHX_OUTPUT(A, sums), const ulong behind, const ulong count) {
    __global A *to = FIRST(sums);
    for (ulong i = get_global_id(0); i < count * PARTS; i += get_global_size(0))
        to[i] = to[i] + to[behind * PARTS + i];
}

/* The joined sums (batches, m, n) become elements of the result. */
__kernel void finish(PHX_INPUT(A, sums), PHX_OUTPUT(O, o), const axes batch, const ulong batches,
                     const ulong m, const ulong n, const long o_row, const long o_column) {
    const ulong id = get_global_id(0);
    if (id >= m * n) return;
    for (ulong number = get_global_id(1); number < batches; number += get_global_size(1)) {
        long at[3] = {0, 0, 0};
        walk(&batch, (place)number, at);
        __global const A *from = FIRST(sums) + (number * m * n + id) * PARTS;
        __global O *to =
            FIRST(o) + (at[2] + (long)(id / n) * o_row + (long)(id % n) * o_column) * PARTS;
        for (int part = 0; part < PARTS; part++) to[part] = STORE(from[part]);
    }
}

/* One work-item per step of k and panel. */
__kernel void pack(PHX_INPUT(S, x), PHX_OUTPUT(A, o), const axes batch, const ulong operand,
                   const ulong first_batch, const ulong batches, const ulong panels,
                   const ulong tile, const ulong lanes, const ulong k, const long lane_step,
                   const long k_step) {
    const ulong p = get_global_id(0);
    if (p >= k) return;
    for (ulong number = get_global_id(2); number < batches; number += get_global_size(2)) {
        long at[3] = {0, 0, 0};
        walk(&batch, (place)(first_batch + number), at);
        for (ulong panel = get_global_id(1); panel < panels; panel += get_global_size(1)) {
            __global const S *from =
                FIRST(x) +
                (at[operand] + (long)p * k_step + (long)(panel * tile) * lane_step) * PARTS;
            __global A *to = PHX_DATA(o) + ((number * panels + panel) * k + p) * tile * PARTS;
            const ulong own = min(tile, lanes - panel * tile);
            for (int part = 0; part < PARTS; part++, from++, to += tile) {
                for (ulong t = 0; t < own; t++) to[t] = LOAD(from[(long)t * lane_step * PARTS]);
                for (ulong t = own; t < tile; t++) to[t] = 0;
            }
        }
    }
}

#ifdef GROUP
/* GPU: GROUP * GROUP work-items make a tile of SPAN * GROUP rows and columns, SPAN * SPAN elements
 * each; DEPTH steps of both panels at a time are in local memory. */
#define SPAN 4
#define TILE (SPAN * GROUP)
#define ITEMS (GROUP * GROUP)

__kernel void tile(PHX_INPUT(A, a), PHX_INPUT(A, b), PHX_OUTPUT(O, o), const axes batch,
                   const ulong first_batch, const ulong batches, const ulong m, const ulong n,
                   const ulong k, const ulong a_batch, const ulong b_batch, const long o_row,
                   const long o_column, const ulong more) {
    __local A left[DEPTH * TILE * PARTS], right[DEPTH * TILE * PARTS];
    const uint lane = (uint)get_local_id(0), row = lane / GROUP, column = lane % GROUP;
    const ulong columns = (n + TILE - 1) / TILE;
    for (ulong number = get_global_id(2); number < batches; number += get_global_size(2))
        for (ulong panel = get_global_id(1); panel < columns; panel += get_global_size(1)) {
            __global const A *x =
                PHX_DATA(a) + number * a_batch + get_group_id(0) * k * (TILE * PARTS);
            __global const A *y = PHX_DATA(b) + number * b_batch + panel * k * (TILE * PARTS);
            long at[3] = {0, 0, 0};
            walk(&batch, (place)(first_batch + number), at);
            __global O *z = FIRST(o) + at[2] * PARTS;
            const ulong i0 = get_group_id(0) * TILE + row, j0 = panel * TILE + column;
            A c[PARTS][SPAN][SPAN];
            for (int part = 0; part < PARTS; part++)
                for (int r = 0; r < SPAN; r++)
                    for (int s = 0; s < SPAN; s++) {
                        const ulong i = i0 + r * GROUP, j = j0 + s * GROUP;
                        c[part][r][s] = 0;
                        if (more && i < m && j < n)
                            c[part][r][s] =
                                RESUME(z[((long)i * o_row + (long)j * o_column) * PARTS + part]);
                    }
            for (ulong p = 0; p < k; p += DEPTH) {
                const uint steps = (uint)min((ulong)DEPTH, k - p);
                barrier(CLK_LOCAL_MEM_FENCE);
                for (uint e = lane; e < steps * (TILE * PARTS); e += ITEMS) {
                    left[e] = x[p * (TILE * PARTS) + e];
                    right[e] = y[p * (TILE * PARTS) + e];
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                for (uint q = 0; q < steps; q++) {
                    __local const A *l = left + q * (TILE * PARTS) + row;
                    __local const A *g = right + q * (TILE * PARTS) + column;
                    A u[PARTS][SPAN], v[PARTS][SPAN];
#pragma unroll
                    for (int part = 0; part < PARTS; part++)
#pragma unroll
                        for (int s = 0; s < SPAN; s++) {
                            u[part][s] = l[part * TILE + s * GROUP];
                            v[part][s] = g[part * TILE + s * GROUP];
                        }
#pragma unroll
                    for (int r = 0; r < SPAN; r++)
#pragma unroll
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
                        const ulong i = i0 + r * GROUP, j = j0 + s * GROUP;
                        if (i < m && j < n)
                            z[((long)i * o_row + (long)j * o_column) * PARTS + part] =
                                STORE(c[part][r][s]);
                    }
        }
}
#endif

#ifdef LANES
/* CPU: one work-item makes a tile of ROWS rows and VECTORS vectors of LANES columns, in registers.
 * The tile is spelt out by matmul.py: START, STEP and FINISH name each register.
 *
 * PoCL's fma, vload and vstore are calls that it does not inline. Where the processor has fma,
 * clang's builtin for each lane becomes one vector instruction of the same value. */
typedef VECTOR vector __attribute__((aligned(sizeof(A))));

PHX_FN VECTOR mac_vector(VECTOR a, VECTOR b, VECTOR c) {
#if defined(FUSED) && defined(__FMA__) && defined(__has_builtin)
    VECTOR r;
    FUSED
    return r;
#else
    return MAC_VECTOR(a, b, c);
#endif
}

#define COLUMNS (VECTORS * LANES)

__kernel void tile(PHX_INPUT(A, a), PHX_INPUT(A, b), PHX_OUTPUT(O, o), const axes batch,
                   const ulong first_batch, const ulong batches, const ulong m, const ulong n,
                   const ulong k, const ulong a_batch, const ulong b_batch, const long o_row,
                   const long o_column, const ulong more) {
    const ulong i0 = get_global_id(0) * ROWS, j0 = get_global_id(1) * COLUMNS;
    const ulong number = get_global_id(2);
    __global const A *x = PHX_DATA(a) + number * a_batch + i0 * k * PARTS;
    __global const A *y = PHX_DATA(b) + number * b_batch + j0 * k * PARTS;
    long at[3] = {0, 0, 0};
    walk(&batch, (place)(first_batch + number), at);
    __global O *z = FIRST(o) + (at[2] + (long)i0 * o_row + (long)j0 * o_column) * PARTS;
    const int rows = (int)min((ulong)ROWS, m - i0), columns = (int)min((ulong)COLUMNS, n - j0);
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
    for (ulong p = 0; p < k; p++, x += ROWS * PARTS, y += COLUMNS * PARTS) {
        STEP
    }
    FINISH
    for (int part = 0; part < PARTS; part++)
        for (int r = 0; r < rows; r++)
            for (int s = 0; s < columns; s++)
                z[(r * o_row + s * o_column) * PARTS + part] =
                    STORE(sums[(part * ROWS + r) * COLUMNS + s]);
}
#endif
