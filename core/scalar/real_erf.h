/* erf and erfc, float32 and float64.
 *
 * Below 9/16 erf(x) = x (2 / sqrt(pi) + x^2 P(x^2)). Above, erfc(x) = e^(-x^2) (1 + Q(t)) / (1 + 2x) with
 * t = (x - 3) / (x + 3): the form of Shepherd & Laframboise, Chebyshev approximation of
 * (1 + 2x) exp(x^2) erfc x in 0 <= x < oo (Math. Comp. 36, 1981). Each function takes the one from 1 or 2
 * where it has to. x^2, the exponential, the quotient and the sums are pairs. No table and no branch.
 * Coefficients: own fits at Chebyshev's points in 200-bit arithmetic, each rounded to double; the bound at
 * each is the largest relative error of the result that the rounded polynomial leaves. Errors of float64
 * are the worst of 1e5 inputs against mpmath (2026-11).
 */
#ifndef PHX_REAL_ERF_H
#define PHX_REAL_ERF_H

#include "real_common.h"
#include "real_exp.h"

/* 2 / sqrt(pi) as a pair. */
#define PHX_TWO_BY_ROOT_PI 1.1283791670955126
#define PHX_TWO_BY_ROOT_PI_LO 1.533545961316588e-17

/* (erf(x) / x - 2 / sqrt(pi)) / z in z = x^2, |x| <= 9/16; 2^-57.8. */
PHX_FN f64 phx_erf_poly(f64 z) {
    f64 s = z * z;
    f64 p = phx_fma(-1.6246595455806598e-07, s, -1.4925552293301194e-05);
    p = phx_fma(p, s, -0.0008548327011960946);
    p = phx_fma(p, s, -0.026866170645129875);
    p = phx_fma(p, s, -0.37612638903183754);
    f64 q = phx_fma(1.2991997765484035e-08, s, 1.6457725792713836e-06);
    q = phx_fma(q, s, 0.00012055331622285776);
    q = phx_fma(q, s, 0.005223977625386361);
    q = phx_fma(q, s, 0.11283791670955125);
    return phx_fma(q, z, p);
}

/* (1 + 2x) e^(x^2) erfc(x) - 1 in t = (x - 3) / (x + 3), x in [9/16, 28]; 2^-56.4. */
PHX_FN f64 phx_erfc_poly(f64 t) {
    f64 s = t * t;
    f64 p = phx_fma(-3.552178575839132e-09, s, 3.267384535960366e-08);
    p = phx_fma(p, s, -1.331252249284773e-07);
    p = phx_fma(p, s, 3.523161697053463e-07);
    p = phx_fma(p, s, -7.300713561677469e-07);
    p = phx_fma(p, s, 4.949221106274562e-06);
    p = phx_fma(p, s, -0.00010515977622444049);
    p = phx_fma(p, s, 0.0018886903589217493);
    p = phx_fma(p, s, -0.02377051491874194);
    p = phx_fma(p, s, -0.11927366341530372);
    p = phx_fma(p, s, -0.047562294353450815);
    p = phx_fma(p, s, 0.25300805826972966);
    f64 q = phx_fma(-1.1793817818102533e-08, s, 1.01572617513838e-07);
    q = phx_fma(q, s, -6.175976361668077e-07);
    q = phx_fma(q, s, 3.4733759588622913e-06);
    q = phx_fma(q, s, -2.010101810641734e-05);
    q = phx_fma(q, s, 0.00012509947596463098);
    q = phx_fma(q, s, -0.0007798322930660524);
    q = phx_fma(q, s, 0.002529391818229021);
    q = phx_fma(q, s, 0.0683080273438525);
    q = phx_fma(q, s, 0.12964515870276408);
    q = phx_fma(q, s, -0.1356211061245812);
    return phx_fma(q, t, p);
}

/* The derivative of that, within 0.015: for what t was rounded by. */
PHX_FN f64 phx_erfc_slope(f64 t) {
    return phx_fma(phx_fma(phx_fma(-0.45, t, 0.554), t, -0.115), t, -0.146);
}

/* erf(x) for |x| <= 9/16. */
PHX_FN phx_dd phx_erf_near(f64 x) {
    f64 z = x * x;
    phx_dd p = phx_two_prod(x, PHX_TWO_BY_ROOT_PI);
    p.lo = p.lo + phx_fma(x * z, phx_erf_poly(z), x * PHX_TWO_BY_ROOT_PI_LO);
    return phx_fast_two_sum(p.hi, p.lo);
}

/* erfc(x) = (hi + lo) 2^k for x in [9/16, 28], both x and its square as pairs. */
typedef struct {
    f64 hi, lo, k;
} phx_erfc_parts;

PHX_FN phx_erfc_parts phx_erfc_far_of(phx_dd square, phx_dd x) {
    phx_erfc_parts y;
    phx_exp_arg a = phx_exp_reduce(-square.hi, -square.lo);
    phx_dd e = phx_exp_core(a.r, a.rl);
    phx_dd n = phx_two_sum(x.hi, -3.0), d = phx_two_sum(x.hi, 3.0);
    f64 c = 1.0 / d.hi;
    f64 q = n.hi * c;
    f64 rest = (phx_fma(-q, d.hi, n.hi) + phx_fma(-q, d.lo + x.lo, n.lo + x.lo)) * c;
    phx_dd g = phx_fast_two_sum(1.0, phx_fma(rest, phx_erfc_slope(q), phx_erfc_poly(q)));
    d = phx_two_sum(1.0, x.hi + x.hi);
    d.lo = d.lo + (x.lo + x.lo);
    n = phx_two_prod(e.hi, g.hi);
    c = 1.0 / d.hi;
    q = n.hi * c;
    n.lo = n.lo + phx_fma(e.hi, g.lo, e.lo * g.hi);
    n = phx_fast_two_sum(q, (phx_fma(-q, d.hi, n.hi) + phx_fma(-q, d.lo, n.lo)) * c);
    y.hi = n.hi;
    y.lo = n.lo;
    y.k = a.k;
    return y;
}

/* erfc(x) for x in [9/16, 28]. */
PHX_FN phx_dd phx_erfc_far(f64 x) {
    phx_dd exact, y;
    phx_erfc_parts parts;
    exact.hi = x;
    exact.lo = 0.0;
    parts = phx_erfc_far_of(phx_two_prod(x, x), exact);
    y.hi = phx_scale(parts.hi, parts.k);
    y.lo = phx_scale(parts.lo, parts.k);
    return y;
}

/* base - v, rounded once. */
PHX_FN f64 phx_taken_from(f64 base, phx_dd v) {
    phx_dd s = phx_fast_two_sum(base, -v.hi);
    return s.hi + (s.lo - v.lo);
}

PHX_FN f64 phx_erf_f64(f64 x) {
    f64 a = phx_fabs(x);
    phx_dd near = phx_erf_near(a < 0.5625 ? a : 0.5625);
    phx_dd far = phx_erfc_far(phx_clamp(a, 0.5625, 28.0));
    f64 y = a < 0.5625 ? near.hi + near.lo : phx_taken_from(1.0, far);
    return phx_copysign(y, x);
}

PHX_FN f64 phx_erfc_f64(f64 x) {
    f64 a = phx_fabs(x);
    phx_dd near = phx_erf_near(a < 0.5625 ? x : 0.5625);
    phx_dd far = phx_erfc_far(phx_clamp(a, 0.5625, 28.0));
    f64 positive = far.hi + far.lo;
    f64 y = x < 0.0 ? phx_taken_from(2.0, far) : positive;
    return a < 0.5625 ? phx_taken_from(1.0, near) : y;
}

/* erf(x) for |x| <= 9/16 and a float32 x in f64. */
PHX_FN f64 phx_erf_near_narrow(f64 x) {
    f64 z = x * x;
    f64 rest = phx_fma(x * z, phx_erf_poly(z), x * PHX_TWO_BY_ROOT_PI_LO);
    return phx_fma(x, PHX_TWO_BY_ROOT_PI, rest);
}

/* erfc(x) for x in [9/16, 28] with an exact square in f64, about 2^-51.5; one division does for both. */
PHX_FN f64 phx_erfc_far_narrow(f64 square, f64 x) {
    f64 a = x + 3.0, b = 1.0 + (x + x);
    f64 k = phx_fma(square, -PHX_LOG2E, PHX_MAGIC);
    f64 r = phx_fma(square, -PHX_LOG2E, PHX_MAGIC - k);
    f64 s = phx_from_bits64((phx_bits64(k) << 52) + PHX_BITS_ONE);
    f64 c = 1.0 / (a * b);
    f64 q = phx_erfc_poly((x - 3.0) * b * c);
    f64 e = s * (a * c);
    r = phx_fma(square, -2.0355273740931033e-17, r);
    e = phx_fma(e * phx_exp2m1_poly(r), r, e);
    return phx_fma(e, q, e);
}

PHX_FN f32 phx_erf_f32(f32 x) {
    f64 a = phx_fabs((f64)x);
    f64 near = phx_erf_near_narrow(a < 0.5625 ? a : 0.5625);
    f64 b = phx_clamp(a, 0.5625, 4.0);
    f64 far = phx_erfc_far_narrow(b * b, b);
    return phx_copysignf((f32)(a < 0.5625 ? near : 1.0 - far), x);
}

PHX_FN f32 phx_erfc_f32(f32 x) {
    f64 a = phx_fabs((f64)x);
    f64 near = 1.0 - phx_erf_near_narrow(a < 0.5625 ? (f64)x : 0.5625);
    f64 b = phx_clamp(a, 0.5625, 10.5);
    f64 far = phx_erfc_far_narrow(b * b, b);
    f32 y = (f32)(a < 0.5625 ? near : (x < 0.0f ? 2.0 - far : far));
    return phx_nudge(y, -phx_is(x, 0xb76c9f62u));
}

#endif
