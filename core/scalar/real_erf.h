/* erf and erfc, float32 and float64.
 *
 * Below 9/16 erf(x) = x (2 / sqrt(pi) + x^2 P(x^2)). Above, erfc(x) = e^(-x^2) (1 + Q(t)) / (1 + 2x) with
 * t = (x - 3) / (x + 3): the form of Shepherd & Laframboise, Chebyshev approximation of
 * (1 + 2x) exp(x^2) erfc x in 0 <= x < oo (Math. Comp. 36, 1981). Each function takes the one from 1 or 2
 * where it has to. x^2, the exponential, the quotient and the sums are pairs. No table and no branch.
 * Coefficients: own fits at Chebyshev's points in 200-bit arithmetic, each rounded to double; the bound at
 * each is the largest relative error of the result that the rounded polynomial leaves. Errors of float64
 * are those of real_exp.h.
 */
#ifndef PHX_REAL_ERF_H
#define PHX_REAL_ERF_H

#include "real_common.h"
#include "real_exp.h"

/* 2 / sqrt(pi) as a pair. */
#define PHX_TWO_BY_ROOT_PI 1.1283791670955126
#define PHX_TWO_BY_ROOT_PI_LO 1.533545961316588e-17

/* (erf(x) / x - 2 / sqrt(pi)) / z in z = x^2, |x| <= 9/16, is c + z P(z), c = PHX_ERF_CUBE as a pair; 2^-61 relative
   to erf(x), and 2^-57.8 without c's second part. The parts of P = odd + z even are polynomials in s = z^2. */
#define PHX_ERF_CUBE -0.37612638903183754
#define PHX_ERF_CUBE_LO 1.3412789928614721e-17
PHX_FN f64 phx_erf_even(f64 s) {
    f64 p = phx_fma(-1.6246595455806598e-07, s, -1.4925552293301194e-05);
    p = phx_fma(p, s, -0.0008548327011960946);
    return phx_fma(p, s, -0.026866170645129875);
}

PHX_FN f64 phx_erf_odd(f64 s) {
    f64 q = phx_fma(1.2991997765484035e-08, s, 1.6457725792713836e-06);
    q = phx_fma(q, s, 0.00012055331622285776);
    q = phx_fma(q, s, 0.005223977625386361);
    return phx_fma(q, s, 0.11283791670955125);
}

PHX_FN f64 phx_erf_poly(f64 z) {
    f64 s = z * z;
    return phx_fma(phx_erf_odd(s), z, phx_fma(phx_erf_even(s), s, PHX_ERF_CUBE));
}

/* (1 + 2x) e^(x^2) erfc(x) - 1 in t = (x - 3) / (x + 3), x in [9/16, 28]; 2^-56.4. For float32. */
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

/* The same as a pair, for x from 0.4749 on, 2^-64.5: the first terms in pairs, which are joined to c + h t. */
PHX_FN phx_dd phx_erfc_join(phx_dd sum, f64 c_lo, phx_dd h, phx_dd p, f64 t) {
    sum.lo = sum.lo + (phx_fma(h.lo, t, p.lo) + c_lo);
    return sum;
}

/* For a c that has h t's exponent or a greater one, and whatever they have. */
PHX_FN phx_dd phx_erfc_fast_step(f64 c, f64 c_lo, phx_dd h, f64 t) {
    const phx_dd p = phx_two_prod(h.hi, t);
    return phx_erfc_join(phx_fast_two_sum(c, p.hi), c_lo, h, p, t);
}

PHX_FN phx_dd phx_erfc_step(f64 c, f64 c_lo, phx_dd h, f64 t) {
    const phx_dd p = phx_two_prod(h.hi, t);
    return phx_erfc_join(phx_two_sum(c, p.hi), c_lo, h, p, t);
}

PHX_FN phx_dd phx_erfc_pair(f64 t) {
    f64 s = t * t;
    f64 u = s * s;
    phx_dd h;
    f64 a = phx_fma(-1.147520329229389e-08, u, -1.474847439061426e-07);
    a = phx_fma(a, u, -7.334000841989951e-07);
    a = phx_fma(a, u, -0.00010515991731793434);
    a = phx_fma(a, u, -0.023770514919665423);
    f64 b = phx_fma(1.5178083143108638e-09, u, 1.0224069492244842e-07);
    b = phx_fma(b, u, 3.4724875402050103e-06);
    b = phx_fma(b, u, 0.00012509937140525048);
    b = phx_fma(b, u, 0.0025293918168269123);
    f64 c = phx_fma(1.61335714926143e-09, u, 4.726958124498106e-08);
    c = phx_fma(c, u, 3.6092259015447663e-07);
    c = phx_fma(c, u, 4.95006864543661e-06);
    c = phx_fma(c, u, 0.0018886903737768568);
    f64 d = phx_fma(-1.8910130529737882e-10, u, -1.393219250255515e-08);
    d = phx_fma(d, u, -6.168026683546576e-07);
    d = phx_fma(d, u, -2.010061128898772e-05);
    d = phx_fma(d, u, -0.0007798322771558006);
    h.hi = phx_fma(phx_fma(phx_fma(d, t, c), s, phx_fma(b, t, a)), t, 0.06830802734391833);
    h.lo = 4.7511650926488675e-18;
    h = phx_erfc_fast_step(-0.11927366341527398, 3.894216841912752e-18, h, t);
    h = phx_erfc_fast_step(0.12964515870276272, -6.133368036289714e-18, h, t);
    h = phx_erfc_step(-0.04756229435345119, 1.0938143167640863e-18, h, t);
    h = phx_erfc_step(-0.1356211061245812, 4.402912709325264e-18, h, t);
    return phx_erfc_fast_step(0.25300805826972966, -1.0237469266263269e-17, h, t);
}

/* The derivative of that, within 0.02: for what t was rounded by. */
PHX_FN f64 phx_erfc_slope(f64 t) {
    return phx_fma(phx_fma(phx_fma(-0.502, t, 0.585), t, -0.105), t, -0.1495);
}

/* erf(t) for |t| <= 9/16, from 2 t / sqrt(pi), t and its square z, all as pairs. */
PHX_FN phx_dd phx_erf_sum(phx_dd first, phx_dd t, phx_dd z) {
    phx_dd cube = phx_two_prod(t.hi, z.hi);
    phx_dd y = phx_two_prod(cube.hi, PHX_ERF_CUBE);
    f64 s = z.hi * z.hi;
    f64 rest = phx_fma(t.hi, z.lo, phx_fma(t.lo, z.hi, cube.lo));
    rest = phx_fma(rest, PHX_ERF_CUBE, phx_fma(cube.hi, PHX_ERF_CUBE_LO, y.lo));
    y = phx_fast_two_sum(first.hi, y.hi);
    rest = rest + (first.lo + y.lo);
    y.lo = phx_fma(cube.hi * z.hi, phx_fma(phx_erf_even(s), z.hi, phx_erf_odd(s)), rest);
    return y;
}

PHX_FN phx_dd phx_erf_near(f64 x) {
    phx_dd p = phx_two_prod(x, PHX_TWO_BY_ROOT_PI), t;
    p.lo = phx_fma(x, PHX_TWO_BY_ROOT_PI_LO, p.lo);
    t.hi = x;
    t.lo = 0.0;
    return phx_erf_sum(p, t, phx_two_prod(x, x));
}

/* erfc(x) = (hi + lo) 2^k for x in [9/16, 28], both x and its square as pairs. */
typedef struct {
    f64 hi, lo, k;
} phx_erfc_parts;

PHX_FN phx_erfc_parts phx_erfc_far_of(phx_dd square, phx_dd x) {
    phx_erfc_parts y;
    phx_exp_arg a = phx_exp_reduce(-square.hi, -square.lo);
    phx_dd e = phx_exp_core(a.r, a.rl);
    phx_dd n, d = phx_two_sum(x.hi, 3.0), b = phx_two_sum(1.0, x.hi + x.hi);
    f64 c = 1.0 / (d.hi * b.hi); /* one division for two quotients */
    f64 of_d = c * b.hi, of_b = c * d.hi;
    f64 over = d.hi - 6.0; /* exact: over + low is x - 3 */
    f64 low = d.lo + x.lo;
    f64 q = over * of_d;
    f64 rest = (phx_fma(-q, d.hi, over) + phx_fma(-q, low, low)) * of_d;
    phx_dd h = phx_erfc_pair(q);
    phx_dd g = phx_fast_two_sum(1.0, h.hi);
    g.lo = g.lo + phx_fma(rest, phx_erfc_slope(q), h.lo);
    b.lo = b.lo + (x.lo + x.lo);
    e = phx_fast_two_sum(e.hi, e.lo);
    n = phx_two_prod(e.hi, g.hi);
    n.lo = n.lo + phx_fma(e.hi, g.lo, e.lo * g.hi);
    q = n.hi * of_b;
    n = phx_fast_two_sum(q, (phx_fma(-q, b.hi, n.hi) + phx_fma(-q, b.lo, n.lo)) * of_b);
    y.hi = n.hi;
    y.lo = n.lo;
    y.k = a.k;
    return y;
}

/* erfc(x) for x in [9/16, 28]. */
PHX_FN phx_erfc_parts phx_erfc_far(f64 x) {
    phx_dd exact;
    exact.hi = x;
    exact.lo = 0.0;
    return phx_erfc_far_of(phx_two_prod(x, x), exact);
}

/* base - (hi + lo) 2^k, rounded once, for a base from 1/2 on. */
PHX_FN f64 phx_taken_from(f64 base, f64 hi, f64 lo, f64 k) {
    f64 m = phx_pow2(k < -100.0 ? -100.0 : k);
    phx_dd s = phx_fast_two_sum(base, -(hi * m));
    return s.hi + phx_fma(-lo, m, s.lo);
}

/* 0.53 ulp. Tiny arguments are scaled, whose products would have no low part. */
PHX_FN f64 phx_erf_f64(f64 x) {
    f64 a = phx_fabs(x);
    f64 k = a < 1e-270 ? -200.0 : 0.0;
    phx_dd near = phx_erf_near(a < 0.5625 ? a * (a < 1e-270 ? 1.6069380442589903e+60 : 1.0) : 0.5625);
    phx_erfc_parts far = phx_erfc_far(phx_clamp(a, 0.5625, 28.0));
    f64 y = a < 0.5625 ? phx_scale_pair(near, k) : phx_taken_from(1.0, far.hi, far.lo, far.k);
    return phx_copysign(y, x);
}

/* Below, erfc is above 1/2, where an ulp is twice as large. */
#define PHX_ERFC_FROM 0.475
/* 0.54 ulp. */
PHX_FN f64 phx_erfc_f64(f64 x) {
    f64 a = phx_fabs(x);
    phx_dd near = phx_erf_near(a < PHX_ERFC_FROM ? x : PHX_ERFC_FROM), v;
    phx_erfc_parts far = phx_erfc_far(phx_clamp(a, PHX_ERFC_FROM, 28.0));
    v.hi = far.hi;
    v.lo = far.lo;
    f64 positive = phx_scale_pair(v, far.k);
    f64 y = x < 0.0 ? phx_taken_from(2.0, far.hi, far.lo, far.k) : positive;
    return a < PHX_ERFC_FROM ? phx_taken_from(1.0, near.hi, near.lo, 0.0) : y;
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
