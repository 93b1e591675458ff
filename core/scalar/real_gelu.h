/* gelu, float32 and float64: x P(X <= x) of a standard normal X (Hendrycks & Gimpel, Gaussian Error Linear
 * Units, 2016), which is x/2 (1 + erf(x / sqrt 2)), and on the left -|x|/2 erfc(|x| / sqrt 2). The forms are
 * those of real_erf.h, in which x^2 / 2 is exact, so nothing cancels. Its limit at -inf is -0.
 */
#ifndef PHX_REAL_GELU_H
#define PHX_REAL_GELU_H

#include "real_common.h"
#include "real_erf.h"

/* sqrt(1/2) and sqrt(2 / pi) as pairs. */
#define PHX_ROOT_HALF 0.7071067811865476
#define PHX_ROOT_HALF_LO -4.833646656726457e-17
#define PHX_ROOT_TWO_BY_PI 0.7978845608028654
#define PHX_ROOT_TWO_BY_PI_LO -4.98465440455546e-17
/* From here |x| / sqrt 2 is above 9/16. */
#define PHX_GELU_FAR 0.79549513
/* The same for 0.475, which float64 takes. */
#define PHX_GELU_FROM 0.672

PHX_FN f32 phx_gelu_f32(f32 a) {
    f64 x = (f64)a, size = phx_fabs(x);
    f64 b = phx_clamp(size, PHX_GELU_FAR, 16.0);
    f64 far = 0.5 * b * phx_erfc_far_narrow(0.5 * (b * b), b * PHX_ROOT_HALF);
    f64 z = (size < PHX_GELU_FAR ? x : PHX_GELU_FAR) * PHX_ROOT_HALF;
    f64 near = 0.5 * x * (1.0 + phx_erf_near_narrow(z));
    f64 right = x < 16.0 ? x - far : x;
    near = size < PHX_NEAR_HALF ? phx_near_half(x) : near;
    near = size < PHX_GELU_FAR ? near : (x < 0.0 ? -far : right);
    return phx_nudge((f32)near, -phx_is(a, 0x37b0a46fu));
}

/* x/2 (1 + erf(x / sqrt 2)) for |x| <= 0.7955. */
PHX_FN f64 phx_gelu_near(f64 x) {
    phx_dd p = phx_two_prod(x, PHX_ROOT_TWO_BY_PI), t = phx_two_prod(x, PHX_ROOT_HALF), q;
    p.lo = phx_fma(x, PHX_ROOT_TWO_BY_PI_LO, p.lo);
    t.lo = phx_fma(x, PHX_ROOT_HALF_LO, t.lo);
    p = phx_erf_sum(p, t, phx_two_prod(x, 0.5 * x));
    q = phx_two_sum(1.0, p.hi);
    q = phx_fast_two_sum(q.hi, q.lo + p.lo);
    x = 0.5 * x;
    p = phx_two_prod(x, q.hi);
    return p.hi + phx_fma(x, q.lo, p.lo);
}

/* 0.55 ulp. */
PHX_FN f64 phx_gelu_f64(f64 x) {
    f64 size = phx_fabs(x);
    f64 near = phx_gelu_near(size < PHX_GELU_FROM ? x : PHX_GELU_FROM);
    f64 b = phx_clamp(size, PHX_GELU_FROM, 39.5);
    phx_dd square = phx_two_prod(b, 0.5 * b), z = phx_two_prod(b, PHX_ROOT_HALF), far;
    phx_erfc_parts erfc;
    f64 left, right;
    z.lo = phx_fma(b, PHX_ROOT_HALF_LO, z.lo);
    erfc = phx_erfc_far_of(square, z);
    far = phx_two_prod(0.5 * b, erfc.hi);
    far.lo = phx_fma(0.5 * b, erfc.lo, far.lo);
    left = -phx_scale_pair(far, erfc.k);
    right = x < 39.0 ? phx_taken_from(x, far.hi, far.lo, erfc.k) : x;
    return phx_copysign(size < PHX_GELU_FROM ? near : (x < 0.0 ? left : right), x);
}

#endif
