/* softmax: what is left when the maxima and the sums of the rows are known, and rows of one block.
 *
 * T is the type in memory, F that of the arithmetic; LOAD, STORE, EXP, RECIPROCAL. A maximum may miss
 * NaN: exp(NaN - most) finds it, as it does where the maximum is infinite, and so all becomes NaN.
 */

/* The sums of rows become the factors of their elements. */
PHX_KERNEL(256) softmax_factors(PHX_OUTPUT(F, sum), const u64 rows) {
    for (u64 row = PHX_GLOBAL_ID(0); row < rows; row += PHX_GLOBAL_SIZE(0))
        PHX_DATA(sum)[row] = RECIPROCAL(PHX_DATA(sum)[row]);
}

#define POWER(v, most, factor) STORE(EXP(LOAD(v) - LOAD(most)) * (factor))
