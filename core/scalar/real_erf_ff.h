/* erf and erfc of float32 in pairs: see real_ff.h. The forms are those of real_erf.h; t = (x - c) / (x + c) with
 * c = 17/8, for which |t| < 0.6 as far as the results are normal numbers.
 */
#ifndef PHX_REAL_ERF_FF_H
#define PHX_REAL_ERF_FF_H

#include "real_erf.h"
#include "real_exp_ff.h"
#include "real_ff.h"

#define PHX_ERF_BOUND 9.09494702e-13f /* 2^-40 */

/* erf(x) / x in z = x^2 for |x| <= 9/16; 2^-50.6. */
PHX_FN phx_ff phx_erf_ratio_ff(phx_ff z) {
    f32 q = phx_fmaf(1.4297428e-06f, z.hi, -1.479946e-05f);
    phx_ff p;
    q = phx_fmaf(q, z.hi, 0.000120512734f);
    q = phx_fmaf(q, z.hi, -0.00085482496f);
    p = phx_ff_next(phx_ff_of(q, 0.0f), z, 0.005223977f, -1.6331915e-10f);
    p = phx_ff_next(p, z, -0.026866172f, 9.1824714e-10f);
    p = phx_ff_next(p, z, 0.11283792f, -1.3946302e-09f);
    p = phx_ff_next(p, z, -0.37612638f, -1.0257198e-08f);
    return phx_ff_next(p, z, 1.1283792f, -5.8635383e-08f);
}

/* (1 + 2x) e^(x^2) erfc(x) in t, x in [9/16, 8.25]; 2^-45.1. */
PHX_FN phx_ff phx_erfc_factor_ff(phx_ff t) {
    f32 q = phx_fmaf(8.986537e-07f, t.hi, 6.262082e-06f);
    phx_ff p;
    q = phx_fmaf(q, t.hi, 3.8513163e-06f);
    q = phx_fmaf(q, t.hi, -2.7018732e-05f);
    q = phx_fmaf(q, t.hi, -5.165999e-05f);
    q = phx_fmaf(q, t.hi, 5.8588834e-05f);
    q = phx_fmaf(q, t.hi, 0.00030525043f);
    p = phx_ff_any_next(phx_ff_of(q, 0.0f), t, 6.103186e-06f, -8.154253e-14f);
    p = phx_ff_any_next(p, t, -0.0015742761f, -5.41894e-11f);
    p = phx_ff_any_next(p, t, -0.0007763635f, -1.5672822e-11f);
    p = phx_ff_any_next(p, t, 0.009323384f, -2.563459e-10f);
    p = phx_ff_any_next(p, t, 0.0011655675f, -3.294965e-12f);
    p = phx_ff_any_next(p, t, -0.06979723f, -3.0075087e-10f);
    p = phx_ff_any_next(p, t, 0.16604309f, -7.115305e-09f);
    p = phx_ff_any_next(p, t, -0.14803995f, -4.835267e-09f);
    p = phx_ff_any_next(p, t, -0.1022864f, 1.0841621e-09f);
    return phx_ff_any_next(p, t, 1.2740194f, 5.367414e-08f);
}

/* erfc(x) for x in [9/16, 8.25], x and its square as pairs. */
PHX_FN phx_ff phx_erfc_far_ff(phx_ff square, phx_ff x) {
    phx_exp_ff_arg a = phx_exp_ff_reduce(-square.hi);
    phx_ff n = phx_ff_plus(x, phx_ff_of(-2.125f, 0.0f)), d = phx_ff_plus(x, phx_ff_of(2.125f, 0.0f)), t;
    f32 s = phx_ff_scaled(1.0f, a.sum);
    a.r = phx_ff_exact_sum(a.r.hi, a.r.lo - square.lo);
    t = phx_ff_quotient(n, d, phx_dividef(1.0f, d.hi));
    n = phx_ff_times(phx_exp_of_ff(a.r), phx_erfc_factor_ff(t));
    d = phx_ff_plus(phx_ff_of(1.0f, 0.0f), phx_ff_of(2.0f * x.hi, 2.0f * x.lo));
    t = phx_ff_quotient(n, d, phx_dividef(1.0f, d.hi));
    return phx_ff_of(s * t.hi, s * t.lo);
}

PHX_FN phx_ff phx_ff_taken_from(f32 base, phx_ff y) {
    return phx_ff_plus(phx_ff_of(base, 0.0f), phx_ff_of(-y.hi, -y.lo));
}

PHX_FN phx_ff phx_erf_ff(f32 x) {
    phx_ff one = phx_ff_of(x, 0.0f), square = phx_ff_times(one, one);
    if (x < 0.5625f) return phx_ff_times(phx_erf_ratio_ff(square), one);
    return phx_ff_taken_from(1.0f, phx_erfc_far_ff(square, one));
}

/* 1 above 4: erfc(4) < 2^-25. */
PHX_FN f32 phx_erf_f32(f32 a) {
    f32 x = phx_fabsf(a);
    phx_ff y = phx_ff_rounded(phx_erf_ff(x > 4.0f ? 4.0f : x), PHX_ERF_BOUND);
    i32 large = x > 4.0f;
    if (large | ((x > 7.8886091e-31f) & (y.hi == y.lo))) return phx_copysignf(large ? 1.0f : y.hi, a);
    return phx_erf_f32_by_double(a);
}

PHX_FN phx_ff phx_erfc_ff(f32 a) {
    f32 x = phx_fabsf(a);
    phx_ff one = phx_ff_of(x, 0.0f), square = phx_ff_times(one, one), y;
    if (x < 0.5625f) return phx_ff_taken_from(1.0f, phx_ff_times(phx_erf_ratio_ff(square), phx_ff_of(a, 0.0f)));
    y = phx_erfc_far_ff(square, one);
    return a < 0.0f ? phx_ff_taken_from(2.0f, y) : y;
}

/* 2 below -4, and 0 where it is below 2^-150. */
PHX_FN f32 phx_erfc_f32(f32 a) {
    phx_ff y = phx_ff_rounded(phx_erfc_ff(a), PHX_ERF_BOUND);
    if ((a >= -4.0f) & (a <= 8.2f) & (y.hi == y.lo)) return y.hi;
    if ((a < -4.0f) | (a > 10.1f)) return a < 0.0f ? 2.0f : 0.0f;
    return phx_erfc_f32_by_double(a);
}

#endif
