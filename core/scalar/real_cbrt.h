/* The real cube root, float32 and float64.
 *
 * x = w 2^(3q) with w in [2^-1.5, 2^1.5]. The reciprocal of w's cube root comes from a polynomial and one
 * step of third order, the root from one step of Newton's with the residual in two parts (Muller,
 * Elementary Functions, 3rd ed., 2016, 5.4). No division, no table and no branch. Coefficients: own fit,
 * as in real_exp.h.
 */
#ifndef PHX_REAL_CBRT_H
#define PHX_REAL_CBRT_H

#include "real_common.h"

/* m^(-1/3) on [sqrt(1/2), sqrt(2)]; 2^-17.1. */
PHX_FN f64 phx_rcbrt_poly(f64 m) {
    f64 p = phx_fma(-0.10484262703707782, m, 0.683577431562695);
    p = phx_fma(p, m, -1.8620663942011886);
    p = phx_fma(p, m, 2.754857752141042);
    p = phx_fma(p, m, -2.4668647417873153);
    return phx_fma(p, m, 1.995341481913526);
}

/* 0.50 ulp: what is rounded is the root to 2^-90. */
PHX_FN f64 phx_cbrt_f64(f64 x) {
    f64 a = phx_fabs(x);
    phx_split v = phx_split_any(a);
    f64 m = 1.0 + v.f;
    f64 q = phx_fma(v.k, 0.3333333333333333, PHX_MAGIC) - PHX_MAGIC;
    f64 rest = phx_fma(-3.0, q, v.k); /* -1, 0, 1 */
    f64 w = m * (rest > 0.0 ? 2.0 : (rest < 0.0 ? 0.5 : 1.0));
    f64 r = phx_rcbrt_poly(m);
    r = r * (rest > 0.0 ? 0.7937005259840998 : (rest < 0.0 ? 1.2599210498948732 : 1.0));
    f64 h = phx_fma(-w * r, r * r, 1.0);
    r = phx_fma(r * h, phx_fma(h, 0.2222222222222222, 0.3333333333333333), r);
    f64 y = w * (r * r);
    phx_dd s = phx_two_prod(y, y);
    phx_dd c = phx_two_prod(s.hi, y);
    f64 d = (w - c.hi) - phx_fma(s.lo, y, c.lo);
    y = phx_fma(d, r * r * 0.3333333333333333, y);
    y = phx_copysign(y * phx_pow2(q), x);
    return a > 0.0 && a < PHX_INF ? y : x;
}

/* w r^2 for r near w^(-1/3) and h = 1 - w r^3 below 2^-15.5, times (1 - h)^(-2/3) = 1 + 2/3 h + 5/9 h^2 + 40/81 h^3. */
PHX_FN f32 phx_cbrt_f32(f32 x) {
    f32 a = phx_fabsf(x);
    phx_split v = phx_split_normal((f64)a);
    f64 m = 1.0 + v.f;
    f64 t = phx_fma(v.k, 0.3333333333333333, PHX_MAGIC);
    f64 rest = phx_fma(-3.0, t - PHX_MAGIC, v.k); /* -1, 0, 1 */
    f64 w = m * (rest > 0.0 ? 2.0 : (rest < 0.0 ? 0.5 : 1.0));
    f64 s = phx_from_bits64((phx_bits64(t) << 52) + PHX_BITS_ONE);
    f64 r = phx_rcbrt_poly(m);
    r = r * (rest > 0.0 ? 0.7937005259840998 : (rest < 0.0 ? 1.2599210498948732 : 1.0));
    f64 h = phx_fma(-w * r, r * r, 1.0);
    f64 y = w * r * r;
    f64 p = phx_fma(phx_fma(h, 0.49382716049382713, 0.5555555555555556), h, 0.6666666666666666);
    f32 z = phx_copysignf((f32)(phx_fma(y * h, p, y) * s), x);
    return a > 0.0f && a < PHX_INFF ? z : x;
}

#endif
