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

#define COLUMNS (VECTORS * LANES)

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

#ifdef DIRECT_STEP
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
#endif

#if PARTS == 1
/* Products with few rows or columns, straight from memory: LINE chains along one axis side by side. A
 * work-item takes tasks, each a line at one place of the two other axes, `u` and `v`.
 *
 * Neighbours in memory are vectors; others are taken a few at a time, whose sums are registers (vectors
 * would be gathered, which takes longer). */
#define TOGETHER(X, Y)                                      \
    for (u64 p = 0; p < k; p++, x += a_step, y += b_step) { \
        PHX_INDEPENDENT                                     \
        for (int l = 0; l < LINE; l++)                      \
            sums[l] = MAC(LOAD(X), LOAD(Y), sums[l]);       \
    }
#define APART(X, Y)                                                             \
    for (int at = 0; at < LINE; at += 8, x += 8 * a_lane, y += 8 * b_lane) {    \
        __global const S *xs = x, *ys = y;                                      \
        A few[8] = {0, 0, 0, 0, 0, 0, 0, 0};                                    \
        for (u64 p = 0; p < k; p++, xs += a_step, ys += b_step) {               \
            PHX_UNROLL                                                          \
            for (int l = 0; l < 8; l++) few[l] = MAC(LOAD(X), LOAD(Y), few[l]); \
        }                                                                       \
        for (int l = 0; l < 8; l++) sums[at + l] = few[l];                      \
    }

#ifdef TURN
/* Chains that are neighbours in memory: a line of them, and a wide one, long enough that no fma waits
 * for the one before it. */
#define NEIGHBOURS(NAME, START, BESIDE, FINISH)                                           \
    PHX_FN void NAME(A *sums, __global const S *x, __global const S *y, const i64 x_step, \
                     const i64 y_step, const u64 k) {                                     \
        START                                                                             \
        for (u64 p = 0; p < k; p++, x += x_step, y += y_step) {                           \
            const VECTOR b = (VECTOR)((A) * y);                                           \
            BESIDE                                                                        \
        }                                                                                 \
        FINISH                                                                            \
    }
NEIGHBOURS(beside, LINE_START, LINE_BESIDE, LINE_FINISH)
NEIGHBOURS(beside_wide, WIDE_START, WIDE_BESIDE, WIDE_FINISH)

#ifdef __clang__
typedef QUARTER quarter __attribute__((aligned(sizeof(A))));
#define MIXED __builtin_shufflevector
/* Where mac_vector takes lanes apart, clang would gather each lane from before the shuffles. */
#if defined(__FMA__) && defined(__has_builtin)
#define SHUFFLED(v) __asm__("" : "+v"(v))
#else
#define SHUFFLED(v)
#endif

/* LINE chains whose steps are neighbours in memory: TURNED steps of a vector of chains are transposed
 * in registers at once. */
PHX_FN void turned(A *sums, __global const S *x, __global const S *y, const i64 lane,
                   const i64 y_step, const u64 k) {
    LINE_START
    u64 p = 0;
    for (; p + TURNED <= k; p += TURNED, x += TURNED, y += TURNED * y_step) {
        TURN
    }
    LINE_FINISH
    for (; p < k; p++, x++, y += y_step)
        for (int l = 0; l < LINE; l++) sums[l] = MAC(LOAD(x[l * lane]), LOAD(*y), sums[l]);
}
#endif
#endif

/* A task is a line of `line` chains, LINE or WIDE. The last one of an axis begins early enough to be
 * whole, and stores only what is its own. */
__kernel void lines(PHX_INPUT(S, a), PHX_INPUT(S, b), PHX_OUTPUT(O, o), const u64 line, const u64 tasks,
                    const u64 lanes, const u64 us, const u64 k, const i64 a_step, const i64 b_step,
                    const i64 a_lane, const i64 b_lane, const i64 o_lane, const i64 a_u, const i64 b_u,
                    const i64 o_u, const i64 a_v, const i64 b_v, const i64 o_v) {
    const u64 per = (tasks + get_global_size(0) - 1) / get_global_size(0);
    const u64 begin = get_global_id(0) * per, end = min(begin + per, tasks);
    const u64 count = (lanes + line - 1) / line;
    for (u64 task = begin; task < end; task++) {
        const u64 rest = task / count, own = (task - rest * count) * line;
        const u64 first = lanes < line ? 0 : min(own, lanes - line), after = min(first + line, lanes);
        const i64 v = (i64)(rest / us), u = (i64)(rest % us);
        __global const S *x = FIRST(a) + (i64)first * a_lane + u * a_u + v * a_v;
        __global const S *y = FIRST(b) + (i64)first * b_lane + u * b_u + v * b_v;
        __global O *z = FIRST(o) + (i64)first * o_lane + u * o_u + v * o_v;
        A sums[WIDE];
        for (int l = 0; l < WIDE; l++) sums[l] = 0;
        if (lanes < line)
            for (u64 p = 0; p < k; p++, x += a_step, y += b_step)
                for (int l = 0; l < (int)lanes; l++)
                    sums[l] = MAC(LOAD(x[l * a_lane]), LOAD(y[l * b_lane]), sums[l]);
#ifdef TURN
        else if (line == WIDE && b_lane == 0)
            beside_wide(sums, x, y, a_step, b_step, k);
        else if (line == WIDE)
            beside_wide(sums, y, x, b_step, a_step, k);
        else if (a_lane == 1 && b_lane == 0)
            beside(sums, x, y, a_step, b_step, k);
        else if (a_lane == 0 && b_lane == 1)
            beside(sums, y, x, b_step, a_step, k);
#ifdef MIXED
        else if (a_step == 1 && b_lane == 0)
            turned(sums, x, y, a_lane, b_step, k);
        else if (b_step == 1 && a_lane == 0)
            turned(sums, y, x, b_lane, a_step, k);
#endif
#endif
        else if (a_lane == 1 && b_lane == 0)
            TOGETHER(x[l], y[0])
        else if (a_lane == 0 && b_lane == 1)
            TOGETHER(x[0], y[l])
        else if (b_lane == 0)
            APART(xs[l * a_lane], ys[0])
        else
            APART(xs[l * a_lane], ys[l * b_lane])
        for (u64 l = own - first; l < after - first; l++) z[(i64)l * o_lane] = STORE(sums[l]);
    }
}
#endif
