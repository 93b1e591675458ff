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
