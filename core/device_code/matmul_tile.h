/* GPU: GROUP * GROUP work-items make a tile of SPAN * GROUP rows and columns, SPAN * SPAN elements
 * each; DEPTH steps of both panels at a time are in local memory, while the next ones are on their way.
 * WIDE elements are moved at once: 16 bytes.
 */
#define TILE (SPAN * GROUP)
#define ITEMS (GROUP * GROUP)
#define STEP (PARTS * TILE / WIDE) /* packs of a step of k */
#define CHUNK (DEPTH * STEP)
#define HELD ((CHUNK + ITEMS - 1) / ITEMS)
PHX_PACK(A, WIDE, vec);

/* Where a work-item's rows, or columns, lie in a tile: WIDE neighbours, then those GROUP packs behind. */
#define PLACE(own, r) (((r) / WIDE * GROUP + (own)) * WIDE + (r) % WIDE)

#ifdef PHX_ASYNC_COPY
#define ON_THE_WAY
#define BRING(h, i, e)                \
    PHX_ASYNC_COPY(left, i, x + (e)); \
    PHX_ASYNC_COPY(right, i, y + (e))
#define ARRIVE(many, i) PHX_ASYNC_WAIT()
#else
#define ON_THE_WAY vec next_left[HELD], next_right[HELD]
#define BRING(h, i, e)   \
    next_left[h] = x[e]; \
    next_right[h] = y[e]
#define ARRIVE(many, i)                                    \
    PHX_UNROLL                                             \
    for (u32 h = 0; h < HELD; h++)                         \
        if (lane + h * ITEMS < (many) * STEP) {            \
            left[(i) + lane + h * ITEMS] = next_left[h];   \
            right[(i) + lane + h * ITEMS] = next_right[h]; \
        }
#endif

/* The products of one step of k. */
PHX_FN void multiply_step(const PHX_LOCAL_PTR(vec) left, const PHX_LOCAL_PTR(vec) right, A c[PARTS][SPAN][SPAN]) {
    A u[PARTS][SPAN], v[PARTS][SPAN];
    PHX_UNROLL
    for (u32 part = 0; part < PARTS; part++)
        PHX_UNROLL
        for (u32 s = 0; s < SPAN / WIDE; s++) {
            const vec l = left[part * (TILE / WIDE) + s * GROUP], r = right[part * (TILE / WIDE) + s * GROUP];
            PHX_UNROLL
            for (u32 e = 0; e < WIDE; e++) {
                u[part][s * WIDE + e] = l.v[e];
                v[part][s * WIDE + e] = r.v[e];
            }
        }
    PHX_UNROLL
    for (u32 r = 0; r < SPAN; r++)
        PHX_UNROLL
        for (u32 s = 0; s < SPAN; s++)
#if PARTS == 1
            c[0][r][s] = MAC(u[0][r], v[0][s], c[0][r][s]);
#else
            mac_complex(u[0][r], u[1][r], v[0][s], v[1][s], &c[0][r][s], &c[1][r][s]);
#endif
}

PHX_KERNEL_OF(ITEMS) tile(PHX_INPUT(A, a), PHX_INPUT(A, b), PHX_OUTPUT(O, o), const axes batch,
        const u64 first_batch, const u64 batches, const u64 m, const u64 n,
        const u64 k, const u64 a_batch, const u64 b_batch, const i64 o_row,
        const i64 o_column, const u64 more) {
    PHX_LOCAL_ARRAY(vec, left, 2 * CHUNK);
    PHX_LOCAL_ARRAY(vec, right, 2 * CHUNK);
    PHX_LOCAL_ARRAY(u32, own, ITEMS);
    const u32 lane = (u32)PHX_LOCAL_ID(0), row = lane / GROUP, column = lane % GROUP;
    const u64 columns = (n + TILE - 1) / TILE;
    own[lane] = lane;
    for (u64 number = PHX_GLOBAL_ID(2); number < batches; number += PHX_GLOBAL_SIZE(2))
        for (u64 panel = PHX_GLOBAL_ID(1); panel < columns; panel += PHX_GLOBAL_SIZE(1)) {
            PHX_GLOBAL const vec *x = (PHX_GLOBAL const vec *)(PHX_DATA(a) + number * a_batch) + PHX_GROUP_ID(0) * k * STEP;
            PHX_GLOBAL const vec *y = (PHX_GLOBAL const vec *)(PHX_DATA(b) + number * b_batch) + panel * k * STEP;
            i64 at[3] = {0, 0, 0};
            walk(&batch, (place)(first_batch + number), at);
            PHX_GLOBAL O *z = FIRST(o) + at[2] * PARTS;
            const u64 i0 = PHX_GROUP_ID(0) * TILE, j0 = panel * TILE;
            A c[PARTS][SPAN][SPAN];
            PHX_UNROLL
            for (u32 part = 0; part < PARTS; part++)
                PHX_UNROLL
                for (u32 r = 0; r < SPAN; r++)
                    PHX_UNROLL
                    for (u32 s = 0; s < SPAN; s++) {
                        const u64 i = i0 + PLACE(row, r), j = j0 + PLACE(column, s);
                        c[part][r][s] = 0;
                        if (more && i < m && j < n)
                            c[part][r][s] =
                                    RESUME(z[((i64)i * o_row + (i64)j * o_column) * PARTS + part]);
                    }
            ON_THE_WAY;
            u32 first = 0, steps = (u32)PHX_MIN((u64)DEPTH, k); /* of the chunk at hand, in local memory */
            PHX_UNROLL
            for (u32 h = 0; h < HELD; h++) {
                const u32 e = lane + h * ITEMS;
                if (e < steps * STEP) {
                    BRING(h, e, e);
                }
            }
            ARRIVE(steps, 0);
            for (u64 p = 0; p < k; p += DEPTH) {
                const u64 behind = p + DEPTH;
                const u32 following = behind < k ? (u32)PHX_MIN((u64)DEPTH, k - behind) : 0;
                const u32 other = CHUNK - first;
                PHX_BARRIER();
                PHX_UNROLL
                for (u32 h = 0; h < HELD; h++) {
                    const u32 e = lane + h * ITEMS;
                    if (e < following * STEP) {
                        BRING(h, other + e, behind * STEP + e);
                    }
                }
                if (steps == DEPTH) {
                    PHX_UNROLL
                    for (u32 q = 0; q < DEPTH; q++)
                        multiply_step(left + (first + q * STEP + row), right + (first + q * STEP + column), c);
                } else
                    for (u32 q = 0; q < steps; q++)
                        multiply_step(left + (first + q * STEP + row), right + (first + q * STEP + column), c);
                ARRIVE(following, other);
                first = other;
                steps = following;
            }
            PHX_BARRIER();
            /* A compiler that saw through this would keep the places of all elements in registers
             * from the start, which halves how many groups run side by side. */
            const u32 row_again = own[lane] / GROUP, column_again = own[lane] % GROUP;
            PHX_UNROLL
            for (u32 part = 0; part < PARTS; part++)
                PHX_UNROLL
                for (u32 r = 0; r < SPAN; r++)
                    PHX_UNROLL
                    for (u32 s = 0; s < SPAN; s++) {
                        const u64 i = i0 + PLACE(row_again, r), j = j0 + PLACE(column_again, s);
                        if (i < m && j < n)
                            z[((i64)i * o_row + (i64)j * o_column) * PARTS + part] =
                                STORE(c[part][r][s]);
                    }
        }
}
