/* lgamma and digamma of positive float32 numbers in pairs: see real_ff.h. From 8 on the series of
 * Stirling, as in real_gamma.h; below, gamma(x + 1) = x gamma(x) leads to the intervals around 2 and around the
 * zero of digamma where polynomials hold. What is not positive and normal is left to double. Coefficients: own
 * fit, interpolation in Chebyshev's points. */
#ifndef PHX_REAL_GAMMA_FF_H
#define PHX_REAL_GAMMA_FF_H

#include "real_ff.h"
#include "real_gamma.h"
#include "real_log_ff.h"

#define PHX_LGAMMA_BOUND 1.8189894e-12f   /* 2^-39: below 3/2 the logarithm takes away up to 5/6 */
#define PHX_DIGAMMA_BOUND 9.09494702e-13f /* 2^-40 */

/* ln(hi + lo) of a positive normal pair. */
PHX_FN phx_ff phx_log_of_ff(phx_ff v) {
    phx_ff_split m = phx_ff_split_normal(v.hi);
    return phx_ff_plus_whole(m.k, 0.693145752f, 1.42860677e-06f, phx_log1p_of_ff(m.f, v.lo * m.unit));
}

/* 1 / d, about 2^-47. */
PHX_FN phx_ff phx_ff_inverse(f32 d) {
    f32 q = phx_dividef(1.0f, d);
    return phx_ff_of(q, phx_fmaf(-q, d, 1.0f) * q);
}

/* ln gamma(2 + e) for |e| <= 1/2; the polynomial is 2^-46 relative to it. */
PHX_FN phx_ff phx_lgamma_near_two_ff(f32 e) {
    phx_ff x = phx_ff_of(e, 0.0f);
    f32 q = phx_fmaf(1.19879e-06f, e, -2.5549145e-06f);
    q = phx_fmaf(q, e, 4.2714537e-06f);
    q = phx_fmaf(q, e, -9.220664e-06f);
    q = phx_fmaf(q, e, 2.0529556e-05f);
    q = phx_fmaf(q, e, -4.4973513e-05f);
    q = phx_fmaf(q, e, 9.945486e-05f);
    q = phx_fmaf(q, e, -0.00022314915f);
    phx_ff p = phx_ff_step(q, e, 0.0005096697f, -1.8587985e-11f);
    p = phx_ff_next(p, x, -0.0011927543f, -2.013663e-11f);
    p = phx_ff_next(p, x, 0.0028905103f, 7.366399e-11f);
    p = phx_ff_next(p, x, -0.007385551f, -1.9243078e-11f);
    p = phx_ff_next(p, x, 0.020580808f, 7.2709494e-10f);
    p = phx_ff_next(p, x, -0.0673523f, 1.3191229e-09f);
    p = phx_ff_next(p, x, 0.32246703f, 4.3294173e-09f);
    p = phx_ff_next(p, x, 0.42278433f, 6.637774e-09f);
    return phx_ff_times(p, x);
}

/* ln gamma(x) for 8 <= x <= 4e36. */
PHX_FN phx_ff phx_stirling_ff(f32 x) {
    phx_ff y = phx_ff_inverse(x), l = phx_log_ff(x), j = phx_ff_times(y, phx_ff_of(0.083333336f, -2.483527e-09f));
    f32 w = y.hi * y.hi, p = phx_fmaf(phx_fmaf(-0.0005762602f, w, 0.0007935408f), w, -0.0027777776f);
    l = phx_ff_times(phx_ff_plus(phx_ff_of(-1.0f, 0.0f), l), phx_ff_exact_sum(x, -0.5f));
    j.lo = j.lo + y.hi * w * p;
    return phx_ff_plus(l, phx_ff_plus(phx_ff_of(0.41893855f, -1.4168145e-08f), j));
}

/* ln gamma(x) for x > 0: of x - k in [3/2, 5/2) and the factors between them, or of 1 + x or 2 + x less these. */
PHX_FN phx_ff phx_lgamma_ff(f32 x) {
    phx_ff v = phx_ff_of(1.0f, 0.0f), l;
    f32 y = x;
    i32 low = x < 0.5f, less = x < 1.5f;
    if (x >= 8.0f) return phx_stirling_ff(x);
    for (i32 k = 0; k < 6; k++) {
        i32 above = y >= 2.5f;
        phx_ff product = phx_ff_times(v, phx_ff_of(y - 1.0f, 0.0f));
        v.hi = above ? product.hi : v.hi;
        v.lo = above ? product.lo : v.lo;
        y = above ? y - 1.0f : y;
    }
    l = phx_ff_times(phx_ff_of(x, 0.0f), phx_ff_exact_sum(1.0f, x));
    v = phx_ff_fast_sum(low ? l.hi : less ? x
                                          : v.hi,
                        low ? l.lo : less ? 0.0f
                                          : v.lo);
    l = phx_log_of_ff(v);
    v = phx_lgamma_near_two_ff(low ? x : less ? x - 1.0f
                                              : y - 2.0f);
    return phx_ff_plus(v, phx_ff_of(less ? -l.hi : l.hi, less ? -l.lo : l.lo));
}

PHX_FN f32 phx_lgamma_f32(f32 a) {
    phx_ff y = phx_ff_rounded(phx_lgamma_ff(a), PHX_LGAMMA_BOUND);
    if ((a >= 1.17549435e-38f) & (a <= 4.0e36f) & (y.hi == y.lo)) return y.hi;
    return phx_lgamma_f32_by_double(a);
}

/* digamma(x0 + e) for the positive zero x0 and x0 + e in [1, 2]; the polynomial is 2^-44.7 relative to it. */
PHX_FN phx_ff phx_digamma_near_zero_ff(phx_ff e) {
    f32 q = phx_fmaf(-0.00078043324f, e.hi, 0.0016797238f);
    q = phx_fmaf(q, e.hi, -0.0017530341f);
    q = phx_fmaf(q, e.hi, 0.0020595074f);
    phx_ff p = phx_ff_step(q, e.hi, -0.0032724258f, 5.629745e-11f);
    p = phx_ff_next(p, e, 0.0049783043f, -7.655853e-11f);
    p = phx_ff_next(p, e, -0.007227526f, -2.0486979e-10f);
    p = phx_ff_next(p, e, 0.0105326455f, -1.8343838e-10f);
    p = phx_ff_next(p, e, -0.015421871f, -1.5338615e-10f);
    p = phx_ff_next(p, e, 0.022598073f, -7.249017e-10f);
    p = phx_ff_next(p, e, -0.033161327f, -1.3076369e-10f);
    p = phx_ff_next(p, e, 0.048804272f, -5.9520715e-11f);
    p = phx_ff_next(p, e, -0.07219955f, -7.209431e-10f);
    p = phx_ff_next(p, e, 0.10782405f, 1.112497e-09f);
    p = phx_ff_next(p, e, -0.16394271f, 4.005249e-09f);
    p = phx_ff_next(p, e, 0.25849977f, -1.0403245e-08f);
    p = phx_ff_next(p, e, -0.44276318f, 1.0557591e-08f);
    p = phx_ff_next(p, e, 0.9676722f, 1.6634452e-08f);
    return phx_ff_times(p, e);
}

/* digamma(x) for x >= 8. */
PHX_FN phx_ff phx_digamma_far_ff(f32 x) {
    phx_ff y = phx_ff_inverse(x), w = phx_ff_times(y, y), t = phx_ff_times(w, phx_ff_of(0.083333336f, -2.483527e-09f));
    f32 p = phx_fmaf(phx_fmaf(0.0039972938f, w.hi, -0.003967275f), w.hi, 0.008333333f);
    t = phx_ff_of(-t.hi, phx_fmaf(w.hi * w.hi, p, -t.lo));
    t = phx_ff_plus(phx_ff_of(-0.5f * y.hi, -0.5f * y.lo), t);
    return phx_ff_plus(phx_log_ff(x), t);
}

/* digamma(x) for x > 0: of x - k in [1, 2) and the reciprocals between them, or of 1 + x less that of x. */
PHX_FN phx_ff phx_digamma_ff(f32 x) {
    phx_ff sum = phx_ff_of(0.0f, 0.0f), e, r;
    f32 y = x;
    i32 low = x < 1.0f;
    if (x >= 8.0f) return phx_digamma_far_ff(x);
    for (i32 k = 0; k < 6; k++) {
        i32 above = y >= 2.0f;
        r = phx_ff_plus(phx_ff_inverse(above ? y - 1.0f : 1.0f), sum);
        sum.hi = above ? r.hi : sum.hi;
        sum.lo = above ? r.lo : sum.lo;
        y = above ? y - 1.0f : y;
    }
    r = phx_ff_inverse(low ? x : 1.0f);
    sum = phx_ff_of(low ? -r.hi : sum.hi, low ? -r.lo : sum.lo);
    e = phx_ff_exact_sum(low ? 1.0f : y, low ? x : 0.0f);
    e = phx_ff_exact_sum(e.hi - 1.4616321f, e.lo - 1.243815e-08f);
    e.lo = e.lo + 1.2654464e-16f;
    return phx_ff_plus(phx_digamma_near_zero_ff(e), sum);
}

PHX_FN f32 phx_digamma_f32(f32 a) {
    phx_ff y = phx_ff_rounded(phx_digamma_ff(a), PHX_DIGAMMA_BOUND);
    if (phx_is_normal(a) & (y.hi == y.lo)) return y.hi;
    return phx_digamma_f32_by_double(a);
}

#endif
