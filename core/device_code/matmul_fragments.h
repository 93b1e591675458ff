/* GPU with matrix units for double (PHX_MATRIX_F64, prelude.h), of which 32 work-items make a block of 16 x 8
 * elements and 8 steps of k at a time: DOWN x ACROSS blocks are theirs, WARPS_DOWN x WARPS_ACROSS of them make
 * a group. DEPTH steps of both panels at a time are in local memory, while those of two more are on their way.
 *
 * Which row of a block is which of the product is free: pairs that a work-item needs are neighbours in local
 * memory, so that it reads them at once; rows of local memory have gaps, so that such reads never wait for each
 * other.
 *
 * A complex product is a real one of twice the steps and twice the columns: of a step, (ar, ai) stands on the
 * left, and on the right (br, bi) over (-bi, br). The second row is made of the first one when it is read.
 */
#define ROWS (WARPS_DOWN * DOWN * 16)
#define COLUMNS (WARPS_ACROSS * ACROSS * 8)
#define WIDTH (COLUMNS / PARTS) /* columns of the product */
#define ITEMS (WARPS_DOWN * WARPS_ACROSS * 32)
#define STAGES 3
#define LEFT (ROWS / 2) /* packs of a step of k in a panel */
#define RIGHT (COLUMNS / 2)
#define GAP (PARTS == 2 ? 4 : 0) /* between the halves of a step in local memory */
#define LEFT_STEP (LEFT + 2)
#define RIGHT_STEP (RIGHT + GAP + (GAP ? 6 : 2))
#define LEFT_CHUNK (DEPTH * LEFT_STEP)
#define RIGHT_CHUNK (DEPTH / PARTS * RIGHT_STEP)
PHX_PACK(A, 2, vec);

/* Begins to copy `depth` steps of a panel, of which there are `steps`. Others change no sum: +0 times -0 is -0.
 * ITEMS is a multiple of `packs`, so that a work-item copies the same pack of several steps. */
PHX_FN void bring(PHX_LOCAL_PTR(vec) box, PHX_GLOBAL const vec *x, u32 id, u32 depth, u32 packs, u32 gap, u32 step,
        u64 steps, A missing) {
    const u32 own = id % packs, first = id / packs, next = ITEMS / packs;
    const u32 to = first * step + own + (own >= packs / 2 ? gap : 0);
    if (steps >= depth) {
    PHX_UNROLL
        for (u32 h = 0; h < depth / next; h++) PHX_ASYNC_COPY(box, to + h * next * step, x + id + h * ITEMS);
        return;
    }
    vec none;
    none.v[0] = none.v[1] = missing;
    for (u32 h = 0; h < depth / next; h++)
        if (first + h * next < steps)
            PHX_ASYNC_COPY(box, to + h * next * step, x + id + h * ITEMS);
        else
            box[to + h * next * step] = none;
}

/* Both panels, from a step on. */
#define BRING(stage, first)                                                                               \
    do {                                                                                                  \
        const u64 rest = steps - (first);                                                                 \
        bring(left + (stage) * LEFT_CHUNK, x + (first) * LEFT, id, DEPTH, LEFT, 0, LEFT_STEP, rest, 0.0); \
        bring(right + (stage) * RIGHT_CHUNK, y + (first) / PARTS * RIGHT, id, DEPTH / PARTS, RIGHT, GAP,  \
                RIGHT_STEP, rest / PARTS, -0.0);                                                          \
    } while (0)

/* Of a step, the columns from `block` on that a work-item needs, a pair; `there` tells that there is this step. */
PHX_FN vec right_pair(const PHX_LOCAL_PTR(vec) right, u32 step, u32 block, u32 g, i32 there) {
#if PARTS == 1
    return right[step * RIGHT_STEP + block / 2 + g];
#else
    const u32 second = step % 2, imaginary = block >= WIDTH, half = second ? 1 - imaginary : imaginary;
    vec pair = right[step / 2 * RIGHT_STEP + (block - imaginary * WIDTH) / 2 + half * (RIGHT / 2 + GAP) + g];
    const i32 flip = second && !imaginary && there;
    pair.v[0] = flip ? -pair.v[0] : pair.v[0];
    pair.v[1] = flip ? -pair.v[1] : pair.v[1];
    return pair;
#endif
}

PHX_KERNEL_OF(ITEMS) tile(PHX_INPUT(A, a), PHX_INPUT(A, b), PHX_OUTPUT(O, o), const axes batch,
        const u64 first_batch, const u64 batches, const u64 m, const u64 n,
        const u64 k, const u64 a_batch, const u64 b_batch, const i64 o_row,
        const i64 o_column, const u64 more) {
    PHX_LOCAL_ARRAY(vec, left, STAGES * LEFT_CHUNK);
    PHX_LOCAL_ARRAY(vec, right, STAGES * RIGHT_CHUNK);
    const u32 id = (u32)PHX_LOCAL_ID(0), warp = id / 32, g = id % 32 / 4, t = id % 4;
    const u32 row = warp / WARPS_ACROSS * DOWN * 16 + 2 * g, column = warp % WARPS_ACROSS * ACROSS * 8;
    const u64 columns = (n + WIDTH - 1) / WIDTH, steps = k * PARTS;
    for (u64 number = PHX_GROUP_ID(2); number < batches; number += PHX_GROUPS(2))
        for (u64 panel = PHX_GROUP_ID(1); panel < columns; panel += PHX_GROUPS(1)) {
            PHX_GLOBAL const vec *x =
                    (PHX_GLOBAL const vec *)(PHX_DATA(a) + number * a_batch) + PHX_GROUP_ID(0) * steps * LEFT;
            PHX_GLOBAL const vec *y = (PHX_GLOBAL const vec *)(PHX_DATA(b) + number * b_batch) + panel * k * RIGHT;
            i64 at[3] = {0, 0, 0};
            walk(&batch, (place)(first_batch + number), at);
            PHX_GLOBAL O *z = FIRST(o) + at[2] * PARTS;
            const u64 i0 = PHX_GROUP_ID(0) * ROWS + row;
            A c[DOWN][ACROSS][4]; /* the last axis: two columns of a row, then of the next one */
#define EACH_ELEMENT(body)                                                                        \
    PHX_UNROLL                                                                                    \
    for (u32 r = 0; r < DOWN; r++)                                                                \
        PHX_UNROLL                                                                                \
        for (u32 s = 0; s < ACROSS; s++)                                                          \
            PHX_UNROLL                                                                            \
            for (u32 e = 0; e < 4; e++) {                                                         \
                const u32 own = column + s / 2 * 16 + 4 * t + s % 2 + e % 2 * 2, part = own / WIDTH; \
                const u64 i = i0 + r * 16 + e / 2, j = panel * WIDTH + own % WIDTH;               \
                const i64 place = ((i64)i * o_row + (i64)j * o_column) * PARTS + part;            \
                body                                                                              \
            }
            EACH_ELEMENT(c[r][s][e] = 0; if (more && i < m && j < n) c[r][s][e] = z[place];)
            BRING(0, 0);
            PHX_ASYNC_MARK();
            if (steps > DEPTH) BRING(1, DEPTH);
            PHX_ASYNC_MARK();
            u32 stage = 0;
            for (u64 p = 0; p < steps; p += DEPTH) {
                const u32 free = stage ? stage - 1 : STAGES - 1;
                PHX_ASYNC_WAIT_BUT(1);
                PHX_BARRIER();
                if (p + 2 * DEPTH < steps) BRING(free, p + 2 * DEPTH);
                PHX_ASYNC_MARK();
                PHX_UNROLL
                for (u32 q = 0; q < DEPTH; q += 8) {
                    vec u[2][DOWN], v[2][ACROSS / 2];
                    PHX_UNROLL
                    for (u32 h = 0; h < 2; h++) {
                        const u32 step = q + 4 * h + t;
                        PHX_UNROLL
                        for (u32 r = 0; r < DOWN; r++)
                            u[h][r] = left[stage * LEFT_CHUNK + step * LEFT_STEP + row / 2 + r * 8];
                        PHX_UNROLL
                        for (u32 s = 0; s < ACROSS / 2; s++)
                            v[h][s] = right_pair(right + stage * RIGHT_CHUNK, step, column + s * 16, g, p + step < steps);
                    }
                    PHX_UNROLL
                    for (u32 r = 0; r < DOWN; r++)
                        PHX_UNROLL
                        for (u32 s = 0; s < ACROSS; s++)
                            PHX_MATRIX_F64(c[r][s], u[0][r].v[0], u[0][r].v[1], u[1][r].v[0], u[1][r].v[1],
                                    v[0][s / 2].v[s % 2], v[1][s / 2].v[s % 2]);
                }
                stage = stage + 1 == STAGES ? 0 : stage + 1;
            }
            PHX_ASYNC_WAIT();
            PHX_BARRIER();
            EACH_ELEMENT(if (i < m && j < n) z[place] = c[r][s][e];)
        }
}
