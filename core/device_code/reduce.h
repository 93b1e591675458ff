/* What the reductions of all types share.
 *
 * The program defines: T, A, U, R types of an element in memory, of an accumulator within a block, of a
 * block's result, and of the result in memory; S scalar type of the scratch that holds U; TAKE(v, row)
 * the A of an element of a row; DECLARE(N), SET, STEP, MERGE, RESULT on N accumulators; JOIN(a, b) of
 * two U; EMPTY the U of no elements; FINISH(u, n) the R of a row; AUX_* what TAKE needs besides.
 *
 * Order of evaluation (core/optable/structured.py): blocks of BLOCK elements; lane j of LANES takes the
 * elements j, j + LANES, ... in turn; lanes, then blocks, are combined in a tree.
 */
/* The smallest power of two that is not below count. */
PHX_FN u64 reduce_top(u64 count) {
    u64 top = 1;
    while (top < count) top *= 2;
    return top;
}
