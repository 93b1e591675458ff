/* softmax, log_softmax and layer_norm: what is left when the centres and the sums of the rows are known, and
 * rows of one block.
 *
 * T is the type in memory, F that of the arithmetic, C that of a centre which CENTRE reads; LOAD, STORE. An
 * element x becomes h = HELD(x - centre); a row's factor is FACTOR of the sum of its PART(h), and the result
 * LAST(h, factor, w, b). If AFFINE, weights and biases lie `ws` and `bs` apart. A centre that is the maximum
 * may miss NaN: HELD(NaN - centre) finds it, as it does where the maximum is infinite, and so all becomes NaN.
 */
#if AFFINE
#define WEIGHTS , PHX_INPUT(T, weight), PHX_INPUT(T, bias), const i64 ws, const i64 bs
#define WEIGHT(i) LOAD(PHX_DATA(weight)[(i64)(i) * ws])
#define BIAS(i) LOAD(PHX_DATA(bias)[(i64)(i) * bs])
#else
#define WEIGHTS
#define WEIGHT(i) 1
#define BIAS(i) 0
#endif

/* The sums of rows of n become the factors of their elements. */
PHX_KERNEL(256) normalize_factors(PHX_OUTPUT(F, sum), const u64 rows, const u64 n, const F eps) {
    for (u64 row = PHX_GLOBAL_ID(0); row < rows; row += PHX_GLOBAL_SIZE(0))
        PHX_DATA(sum)[row] = FACTOR(PHX_DATA(sum)[row], n, eps);
}

#define RESULT(v, centre, factor, w, b) STORE(LAST(HELD(LOAD(v) - CENTRE(centre)), factor, w, b))
