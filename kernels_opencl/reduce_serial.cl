/* Reductions where a work-item is a core: it takes whole blocks, and lanes are its vector registers.
 *
 * UNIT tells whether the elements that are taken together are neighbours in memory, WIDE whether
 * WIDE_TAKE and OP take vectors of 16 of them.
 */
/* Before a loop of few turns: kept as it is, it compiles sooner. */
#ifdef __clang__
#define PLAIN _Pragma("clang loop vectorize(disable) unroll(disable)")
#else
#define PLAIN
#endif

/* How many of count elements have a partner gap places behind them, gap at least count / 2. */
PHX_FN u64 reduce_pairs(u64 gap, u64 count) {
    return count < gap ? 0 : count - gap < gap ? count - gap
                                               : gap;
}
