/* GPU: tiles of operands that are read where they lie: for few rows or columns, and for small matrices.
 * A group has ROWS x COLUMNS elements of a product, a work-item DOWN x ACROSS of them, which lie apart:
 * neighbouring work-items take neighbouring ones. DEPTH steps of k are in local memory, while the next ones
 * are on their way. All of these are powers of two; there are no fewer work-items than lanes or steps.
 * Where PAIRED, COLUMNS is 1, and each row has a column of its own.
 */
#define ITEMS_DOWN (ROWS / DOWN)
#define ITEMS_ACROSS (COLUMNS / ACROSS)
#define ITEMS (ITEMS_DOWN * ITEMS_ACROSS)
#define RIGHT (PAIRED ? ROWS : COLUMNS) /* lanes of the right operand */
#define HELD(lanes) ((lanes) * DEPTH > ITEMS ? (lanes) * DEPTH / ITEMS : 1)
#define BOX(lanes, part, q, t) (((part) * DEPTH + (q)) * ((lanes) + 1) + (t))
#define TURN PHX_MIN(DEPTH, 8) /* steps of k whose reads do not wait for each other */
#define SIZE(i) ((i) < 0 ? -(i) : (i))

/* Which elements of a box of steps and lanes a work-item brings: element h has this lane and this step. Neighbouring
 * work-items take neighbouring steps (`along`) or lanes. */
#define LANE(h, lanes, along) (along ? id / DEPTH + (h) * (ITEMS / DEPTH) : id % (lanes))
#define STEP(h, lanes, along) (along ? id % DEPTH : id / (lanes) + (h) * (ITEMS / (lanes)))

/* Reads the elements of a box, of `count` lanes and `steps` steps that there are; others are zeros. */
PHX_FN void bring(S *held, PHX_GLOBAL const S *x, u32 id, u32 lanes, i32 along, u32 count, u32 steps, i64 lane_step,
        i64 k_step) {
    const i64 next = (along ? ITEMS / DEPTH * lane_step : ITEMS / lanes * k_step) * PARTS;
    x += (LANE(0, lanes, along) * lane_step + STEP(0, lanes, along) * k_step) * PARTS;
    PHX_UNROLL
    for (u32 h = 0; h < HELD(lanes); h++, x += next) {
        const i32 there = LANE(h, lanes, along) < count && STEP(h, lanes, along) < steps;
        PHX_UNROLL
        for (u32 part = 0; part < PARTS; part++) held[h * PARTS + part] = there ? x[part] : 0;
    }
}

/* Puts them into the box. */
PHX_FN void keep(const S *held, PHX_LOCAL_PTR(A) box, u32 id, u32 lanes, i32 along) {
    PHX_UNROLL
    for (u32 h = 0; h < HELD(lanes); h++) {
        const u32 t = LANE(h, lanes, along), q = STEP(h, lanes, along);
        if (lanes * DEPTH >= ITEMS || (t < lanes && q < DEPTH))
            PHX_UNROLL
            for (u32 part = 0; part < PARTS; part++) box[BOX(lanes, part, q, t)] = LOAD(held[h * PARTS + part]);
    }
}

/* The same, where compilers see either way as constant. */
#define BRING(held, x, lanes, along, count, steps, lane_step, k_step)      \
    do {                                                                   \
        if (along)                                                         \
            bring(held, x, id, lanes, 1, count, steps, lane_step, k_step); \
        else                                                               \
            bring(held, x, id, lanes, 0, count, steps, lane_step, k_step); \
    } while (0)
#define KEEP(held, box, lanes, along)      \
    do {                                   \
        if (along)                         \
            keep(held, box, id, lanes, 1); \
        else                               \
            keep(held, box, id, lanes, 0); \
    } while (0)

/* The products of one step of k. */
PHX_FN void multiply_boxes(const PHX_LOCAL_PTR(A) left, const PHX_LOCAL_PTR(A) right, u32 q, u32 row, u32 column,
        A c[PARTS][DOWN][ACROSS]) {
    A u[PARTS][DOWN], v[PARTS][ACROSS];
    PHX_UNROLL
    for (u32 part = 0; part < PARTS; part++) {
        PHX_UNROLL
        for (u32 r = 0; r < DOWN; r++) u[part][r] = left[BOX(ROWS, part, q, r * ITEMS_DOWN + row)];
        PHX_UNROLL
        for (u32 s = 0; s < ACROSS; s++) v[part][s] = right[BOX(RIGHT, part, q, PAIRED ? row : s * ITEMS_ACROSS + column)];
    }
    PHX_UNROLL
    for (u32 r = 0; r < DOWN; r++)
        PHX_UNROLL
        for (u32 s = 0; s < ACROSS; s++)
#if PARTS == 1
            c[0][r][s] = MAC(u[0][r], v[0][s], c[0][r][s]);
#elif TURNED
            mac_complex(v[0][s], v[1][s], u[0][r], u[1][r], &c[0][r][s], &c[1][r][s]);
#else
            mac_complex(u[0][r], u[1][r], v[0][s], v[1][s], &c[0][r][s], &c[1][r][s]);
#endif
}

PHX_KERNEL_OF(ITEMS) unpacked(PHX_INPUT(S, a), PHX_INPUT(S, b), PHX_OUTPUT(O, o), const axes batch,
        const u64 batches, const u64 m, const u64 n, const u64 k,
        const i64 a_row, const i64 a_step, const i64 b_step, const i64 b_column,
        const i64 o_row, const i64 o_column) {
    PHX_LOCAL_ARRAY(A, left, PARTS * DEPTH * (ROWS + 1));
    PHX_LOCAL_ARRAY(A, right, PARTS * DEPTH * (RIGHT + 1));
    const u32 id = (u32)PHX_LOCAL_ID(0), row = id / ITEMS_ACROSS, column = id % ITEMS_ACROSS;
    const i32 along_left = SIZE(a_step) < SIZE(a_row), along_right = SIZE(b_step) < SIZE(b_column);
    for (u64 number = PHX_GROUP_ID(2); number < batches; number += PHX_GROUPS(2)) {
        i64 at[3] = {0, 0, 0};
        walk(&batch, (place)number, at);
        for (u64 j0 = PHX_GROUP_ID(1) * COLUMNS; j0 < n; j0 += PHX_GROUPS(1) * COLUMNS)
            for (u64 i0 = PHX_GROUP_ID(0) * ROWS; i0 < m; i0 += PHX_GROUPS(0) * ROWS) {
                PHX_GLOBAL const S *x = FIRST(a) + (at[0] + (i64)i0 * a_row) * PARTS;
                PHX_GLOBAL const S *y = FIRST(b) + (at[1] + (i64)(PAIRED ? i0 : j0) * b_column) * PARTS;
                PHX_GLOBAL O *z = FIRST(o) + (at[2] + (i64)i0 * o_row + (i64)j0 * o_column) * PARTS;
                S next_left[HELD(ROWS) * PARTS], next_right[HELD(RIGHT) * PARTS];
                A c[PARTS][DOWN][ACROSS];
                PHX_UNROLL
                for (u32 part = 0; part < PARTS; part++)
                    PHX_UNROLL
                    for (u32 r = 0; r < DOWN; r++)
                        PHX_UNROLL
                        for (u32 s = 0; s < ACROSS; s++) c[part][r][s] = 0;
                const u32 rows = (u32)PHX_MIN(m - i0, (u64)ROWS), columns = (u32)PHX_MIN(n - j0, (u64)COLUMNS);
                u32 steps = (u32)PHX_MIN(k, (u64)DEPTH);
                BRING(next_left, x, ROWS, along_left, rows, steps, a_row, a_step);
                BRING(next_right, y, RIGHT, along_right, PAIRED ? rows : columns, steps, b_column, b_step);
                for (u64 p = DEPTH; steps; p += DEPTH) {
                    const u32 following = p < k ? (u32)PHX_MIN(k - p, (u64)DEPTH) : 0;
                    PHX_BARRIER();
                    KEEP(next_left, left, ROWS, along_left);
                    KEEP(next_right, right, RIGHT, along_right);
                    PHX_BARRIER();
                    if (following) {
                        x += DEPTH * a_step * PARTS;
                        y += DEPTH * b_step * PARTS;
                        BRING(next_left, x, ROWS, along_left, rows, following, a_row, a_step);
                        BRING(next_right, y, RIGHT, along_right, PAIRED ? rows : columns, following, b_column, b_step);
                    }
                    u32 q = 0;
                    for (; q + TURN <= steps; q += TURN)
                        PHX_UNROLL
                        for (u32 own = 0; own < TURN; own++) multiply_boxes(left, right, q + own, row, column, c);
                    for (; q < steps; q++) multiply_boxes(left, right, q, row, column, c);
                    steps = following;
                }
                PHX_UNROLL
                for (u32 r = 0; r < DOWN; r++)
                    PHX_UNROLL
                    for (u32 s = 0; s < ACROSS; s++) {
                        const u32 i = r * ITEMS_DOWN + row, j = s * ITEMS_ACROSS + column;
                        if (i < rows && j < columns)
                            PHX_UNROLL
                            for (u32 part = 0; part < PARTS; part++)
                                z[((i64)i * o_row + (i64)j * o_column) * PARTS + part] = STORE(c[part][r][s]);
                    }
            }
    }
}
