/* The exponential inside of softmax, for float32 and what is computed in it: of x <= 0, without f64.
 *
 * x = k ln2 + r with |r| <= ln(2)/2 and a little, by Cody & Waite's two steps (Software Manual for the
 * Elementary Functions, 1980), the first of which is exact: k has 8 bits and the leading part of ln2 15.
 * Coefficients: own weighted minimax fit (Lawson's iteration in 60-digit arithmetic, one after the other
 * rounded to float32 and the rest fitted again), 2^-28.2 relative to e^r.
 *
 * 0.892 ulp, 0.858 where the result is subnormal: the largest errors over all float32 from -0 to
 * -infinity, against the double exp of glibc 2.36 (2026-11).
 */
#ifndef PHX_SOFTMAX_EXP_H
#define PHX_SOFTMAX_EXP_H

/* 1.5 * 2^23 + 127 + 64: adding it rounds to an integer, and the low bits of the sum are those of the
   float 2^(k + 64). The factor 2^64 keeps the product normal; taking it away again is the only
   rounding of a subnormal result. At -104 the result is 0. */
#define PHX_SOFTMAX_MAGIC 12583103.0f

PHX_FN f32 phx_softmax_exp_f32(f32 a) {
    f32 x = a < -104.0f ? -104.0f : a;
    f32 t = phx_fmaf(x, 1.44269504f, PHX_SOFTMAX_MAGIC);
    f32 k = t - PHX_SOFTMAX_MAGIC;
    f32 r = phx_fmaf(k, -1.42860677e-06f, phx_fmaf(k, -0.693145752f, x));
    f32 p = phx_fmaf(0.00138189550f, r, 0.00836870540f);
    p = phx_fmaf(p, r, 0.0416682884f);
    p = phx_fmaf(p, r, 0.166665211f);
    p = phx_fmaf(p, r, 0.499999940f);
    p = phx_fmaf(p, r, 1.0f);
    p = phx_fmaf(p, r, 1.0f);
    return p * phx_from_bits32(phx_bits32(t) << 23) * 5.42101086e-20f; /* 2^-64 */
}

#endif
