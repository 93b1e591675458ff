/* The elements of a pass of a Fourier transform of rows of p.n. Before a pass a row holds n / m transforms
 * of m numbers, number k of transform b at b + (n / m) k; behind it there are n / (r m) of r m numbers.
 *
 * C is the type of complex numbers, F that of their parts. Of a row of x the first `given` elements are
 * there, and zeros follow. SWAP_IN and SWAP_OUT of `flags` exchange the parts, which makes the inverse;
 * ROWS_FIRST lets neighbours take the same element of neighbouring rows. `first` is where the twiddles of
 * the pass begin in w: number (j - 1) m + k is for number k of the transform j that takes part. `place` is
 * unsigned, of 32 bits where the number of an element fits.
 */
#define SWAP_IN 1
#define SWAP_OUT 2
#define ROWS_FIRST 4

PHX_FN C fft_load(PHX_GLOBAL const C *x, u64 i, const row_plan *p, u64 given, u64 flags) {
    C z;
    z.re = z.im = (F)0;
    if (i < given) z = x[(i64)i * p->sn];
    const F re = z.re;
    z.re = flags & SWAP_IN ? z.im : z.re;
    z.im = flags & SWAP_IN ? re : z.im;
    return z;
}

PHX_FN void fft_store(PHX_GLOBAL C *y, F re, F im, F scale, u64 flags) {
    C z;
    z.re = (flags & SWAP_OUT ? im : re) * scale;
    z.im = (flags & SWAP_OUT ? re : im) * scale;
    *y = z;
}
