/* Factorizations of small matrices: a group takes a matrix of a batch at a time, and its work-items
 * share the elements. Order and arithmetic are those of docs/ops.md. T is the element, F its real part.
 */
#define AT(i, j) y[(i64)(i) * rs + (i64)(j) * cs]
#define FROM(i, j) x[(i64)(i) * xr + (i64)(j) * xc]
#define ME ((i64)PHX_LOCAL_ID(0))
/* Begins the work on matrix b; barriers are met by the whole group. */
#define EACH_MATRIX(b) for (i64 b = (i64)PHX_GROUP_ID(0); b < batch; b += (i64)PHX_GROUPS(0))
#define MATRICES                                                                                   \
    PHX_INPUT(T, in), PHX_OUTPUT(T, out), const i64 batch, const i64 m, const i64 n, const i64 xb, \
            const i64 xr, const i64 xc, const i64 yb, const i64 rs, const i64 cs
#define THIS_MATRIX(b)                                     \
    PHX_GLOBAL const T *const x = PHX_DATA(in) + (b) * xb; \
    PHX_GLOBAL T *const y = PHX_DATA(out) + (b) * yb
/* The tree of FACTOR_LANES sums that lie `step` apart. */
#define LANES 16

PHX_FN F largest_of_group(const F own, PHX_LOCAL_PTR(F) room) {
    room[ME] = own;
    for (i64 gap = GROUP / 2; gap > 0; gap /= 2) {
        PHX_BARRIER();
        if (ME < gap && room[ME + gap] > room[ME]) room[ME] = room[ME + gap];
    }
    PHX_BARRIER();
    return room[0];
}

PHX_FN T tree_of(PHX_LOCAL_PTR(T) sums, const i64 step) {
    T s[LANES];
    for (i32 l = 0; l < LANES; l++) s[l] = sums[l * step];
    for (i32 gap = LANES / 2; gap > 0; gap /= 2)
        for (i32 l = 0; l < gap; l++) s[l] = SUM(s[l], s[l + gap]);
    return s[0];
}

PHX_FN F real_tree_of(PHX_LOCAL_PTR(F) sums) {
    F s[LANES];
    for (i32 l = 0; l < LANES; l++) s[l] = sums[l];
    for (i32 gap = LANES / 2; gap > 0; gap /= 2)
        for (i32 l = 0; l < gap; l++) s[l] = s[l] + s[l + gap];
    return s[0];
}

/* The first row from `first` on that lane l has. */
PHX_FN i64 lane_from(const i64 first, const i64 l) { return first + ((l - first) & (LANES - 1)); }
