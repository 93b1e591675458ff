/* lgamma, the logarithm of |gamma(x)|, and digamma, its derivative; float32 and float64.
 *
 * Both climb by gamma(x + 1) = x gamma(x) to z >= 8, where Stirling's series holds (DLMF 5.11.1,
 * 5.11.2), with the factors below 8 in pairs; its remainder is a polynomial in 1 / z^2. Near their
 * positive zeros, 1 and 2 of lgamma and 1.4616 of digamma, polynomials in the distance from the zero
 * keep the relative error small. Below 0 the reflections hold (DLMF 5.5.3, 5.5.4): near the zeros that
 * are there, where the terms cancel, the absolute error is small, 2^-54 of the largest term. No table
 * and no branch. Coefficients: own fit, as in real_exp.h.
 */
#ifndef PHX_REAL_GAMMA_H
#define PHX_REAL_GAMMA_H

#include "real_common.h"
#include "real_pow.h"
#include "real_trig.h"

/* ---- parts ----------------------------------------------------------------------------------- */

PHX_FN phx_dd phx_pair_ratio(phx_dd a, phx_dd b) {
    const f64 q = a.hi / b.hi;
    const f64 rest = phx_fma(-q, b.hi, a.hi) + phx_fma(-q, b.lo, a.lo);
    return phx_fast_two_sum(q, rest / b.hi);
}

PHX_FN phx_dd phx_negative_pair(phx_dd a) {
    a.hi = -a.hi;
    a.lo = -a.lo;
    return a;
}

/* a where the condition holds, else b. */
PHX_FN phx_dd phx_choose_pair(i32 condition, phx_dd a, phx_dd b) {
    phx_dd r;
    r.hi = condition != 0 ? a.hi : b.hi;
    r.lo = condition != 0 ? a.lo : b.lo;
    return r;
}

/* ln(hi + lo), positive. */
PHX_FN phx_dd phx_log_of_pair(phx_dd v) {
    phx_dd y = phx_log_precise(v.hi);
    y.lo = y.lo + v.lo / v.hi;
    return y;
}

/* What has been climbed: the factors' product, and this times the sum of their reciprocals. */
typedef struct {
    phx_dd product, sum;
    f64 steps;
} phx_climb;

PHX_FN phx_climb phx_climb_begin(void) {
    phx_climb c;
    c.product.hi = 1.0;
    c.product.lo = 0.0;
    c.sum.hi = 0.0;
    c.sum.lo = 0.0;
    c.steps = 0.0;
    return c;
}

/* One factor more, a + k, if it is below 8. */
PHX_FN phx_climb phx_climb_step(phx_climb c, phx_dd a, f64 k) {
    phx_dd factor = phx_two_sum(a.hi, k), sum;
    const i32 below = factor.hi < 8.0;
    factor.lo = factor.lo + a.lo;
    sum = phx_pair_sum(phx_pair_product(c.sum, factor), c.product);
    c.sum = phx_choose_pair(below, sum, c.sum);
    c.product = phx_choose_pair(below, phx_pair_product(c.product, factor), c.product);
    c.steps = below ? c.steps + 1.0 : c.steps;
    return c;
}

PHX_FN phx_climb phx_climb_all(phx_climb c, phx_dd a) {
    c = phx_climb_step(c, a, 1.0);
    c = phx_climb_step(c, a, 2.0);
    c = phx_climb_step(c, a, 3.0);
    c = phx_climb_step(c, a, 4.0);
    c = phx_climb_step(c, a, 5.0);
    c = phx_climb_step(c, a, 6.0);
    return phx_climb_step(c, a, 7.0);
}

/* 1 / z, about 2^-100. */
PHX_FN phx_dd phx_inverse_pair(phx_dd z) {
    phx_dd y;
    y.hi = 1.0 / z.hi;
    y.lo = (phx_fma(-y.hi, z.hi, 1.0) - y.hi * z.lo) * y.hi;
    return y;
}

/* sin(pi a) and cos(pi a) for a >= 0, without the signs that a's whole part gives them, 2^-57; the rest of
   a behind the nearest whole number. */
typedef struct {
    phx_dd sine, cosine;
    f64 rest;
} phx_half_turn;

PHX_FN phx_half_turn phx_sincos_of_pi(f64 a) {
    const f64 whole = a < 4503599627370496.0 ? (a + 4503599627370496.0) - 4503599627370496.0 : a;
    phx_half_turn t;
    t.rest = a - whole;
    const f64 r = phx_fabs(t.rest);
    const i32 far = r > 0.25;
    const f64 u = far ? 0.5 - r : r;
    phx_dd v = phx_two_prod(u, 3.141592653589793);
    v = phx_fast_two_sum(v.hi, phx_fma(u, 1.2246467991473532e-16, v.lo));
    const f64 z = v.hi * v.hi;
    phx_dd s = phx_sin_pair(v.hi, v.lo, z);
    phx_dd c = phx_cos_pair(v.hi, v.lo, z);
    s = phx_fast_two_sum(s.hi, s.lo);
    c = phx_fast_two_sum(c.hi, c.lo);
    t.sine = phx_choose_pair(far, c, s);
    t.cosine = phx_choose_pair(far, s, c);
    return t;
}

/* ---- lgamma ---------------------------------------------------------------------------------- */

/* (ln gamma(z) - (z - 1/2) (ln z - 1) - ln(2 pi / e) / 2) z = 1/12 + w P(w), w = 1 / z^2 <= 1/64; P to
 * 2^-49. */
PHX_FN f64 phx_stirling_poly(f64 w) {
    f64 p = phx_fma(-0.021749568928909523, w, 0.006255334910955872);
    p = phx_fma(p, w, -0.0019159371443931781);
    p = phx_fma(p, w, 0.0008417423240696201);
    p = phx_fma(p, w, -0.0005952380733117479);
    p = phx_fma(p, w, 0.0007936507936295049);
    return phx_fma(p, w, -0.0027777777777777744);
}

/* ln gamma(z) for z >= 8, about 2^-64. */
PHX_FN phx_dd phx_stirling(phx_dd z) {
    const phx_dd y = phx_inverse_pair(z);
    const f64 w = y.hi * y.hi;
    phx_dd l = phx_log_of_pair(z), m = phx_two_sum(z.hi, -0.5), j = phx_two_prod(y.hi, 0.08333333333333333), c;
    m.lo = m.lo + z.lo;
    l = phx_fast_two_sum(l.hi, l.lo);
    c = phx_fast_two_sum(l.hi, -1.0);
    c.lo = c.lo + l.lo;
    l = phx_pair_product(m, c);
    j.lo = j.lo + phx_fma(y.hi, 4.625929269271485e-18, phx_fma(y.lo, 0.08333333333333333, y.hi * w * phx_stirling_poly(w)));
    c.hi = 0.4189385332046727;
    c.lo = 1.6728209650585413e-17;
    return phx_pair_sum(l, phx_pair_sum(c, j));
}

/* (ln gamma(2 + e) / e - (1 - gamma) - c e) / e^2 for |e| <= 1/4, gamma Euler's constant, c the pair below; 2^-59.2
 * relative to ln gamma. */
PHX_FN f64 phx_lgamma_poly(f64 e) {
    f64 p = phx_fma(-2.140476950683231e-06, e, 4.590113462170465e-06);
    p = phx_fma(p, e, -9.430701391836227e-06);
    p = phx_fma(p, e, 2.04885360931396e-05);
    p = phx_fma(p, e, -4.492661291937837e-05);
    p = phx_fma(p, e, 9.945831233690223e-05);
    p = phx_fma(p, e, -0.00022315475020349824);
    p = phx_fma(p, e, 0.0005096695072081966);
    p = phx_fma(p, e, -0.0011927539117893246);
    p = phx_fma(p, e, 0.0028905103309244426);
    p = phx_fma(p, e, -0.007385551028673649);
    p = phx_fma(p, e, 0.02058080842778383);
    return phx_fma(p, e, -0.0673523010531981);
}

/* e (a + b e + e^2 rest), a and b pairs and b e below a. */
PHX_FN phx_dd phx_gamma_near(phx_dd e, phx_dd a, phx_dd b, f64 rest) {
    const phx_dd p = phx_two_prod(b.hi, e.hi);
    phx_dd c = phx_fast_two_sum(a.hi, p.hi);
    c.lo = c.lo + (a.lo + phx_fma(e.hi * e.hi, rest, phx_fma(b.lo, e.hi, p.lo)));
    return phx_pair_product(e, phx_fast_two_sum(c.hi, c.lo));
}

/* ln gamma(2 + e). */
PHX_FN phx_dd phx_lgamma_near_two(f64 e) {
    phx_dd v, a, b;
    v.hi = e;
    v.lo = 0.0;
    a.hi = 0.42278433509846713;
    a.lo = 4.942915152430645e-18;
    b.hi = 0.3224670334241132;
    b.lo = 1.5659451238275892e-17;
    return phx_gamma_near(v, a, b, phx_lgamma_poly(e));
}

/* ln |gamma(x)| at the ends; y is the value elsewhere, and rest what x has behind a whole number. */
PHX_FN f64 phx_lgamma_edges(f64 x, f64 rest, f64 y) {
    const i32 pole = (x <= 0.0) & (rest == 0.0);
    y = pole | (phx_fabs(x) > 2.5599833278516383e305) ? PHX_INF : y;
    return x == x ? y : x;
}

PHX_FN f64 phx_lgamma_f64(f64 x) {
    const f64 a = phx_fabs(x);
    const i32 below = a < 8.0, negative = (x < 0.0) & (a > 8.673617379884035e-19); /* 2^-60 */
    const f64 e = a < 1.5 ? a - 1.0 : a - 2.0;
    const i32 near = (phx_fabs(e) <= 0.25) & (x > 0.0);
    const phx_half_turn turn = phx_sincos_of_pi(a);
    phx_dd start, one, base, v, y;
    phx_climb c = phx_climb_begin();
    start.hi = a;
    start.lo = 0.0;
    one = c.product;
    c.steps = below ? 1.0 : 0.0;
    c = phx_climb_all(c, start);
    base = phx_choose_pair(near, phx_lgamma_near_two(e), phx_stirling(phx_two_sum(a, c.steps)));
    /* ln gamma(x) = base - ln v, and ln(pi) - base - ln v below 0 */
    v = phx_choose_pair(below, phx_pair_product(start, c.product), one);
    v = phx_choose_pair(near, phx_choose_pair(a < 1.5, start, one), v);
    y = phx_choose_pair(below, phx_pair_ratio(turn.sine, c.product), phx_pair_product(turn.sine, start));
    v = phx_choose_pair(negative, y, v);
    y.hi = 1.1447298858494002;
    y.lo = 1.0265951162707826e-17;
    y = phx_choose_pair(negative, phx_pair_sum(y, phx_negative_pair(base)), base);
    y = phx_pair_sum(y, phx_negative_pair(phx_log_of_pair(v)));
    return phx_lgamma_edges(x, turn.rest, y.hi);
}

PHX_FN f32 phx_lgamma_f32(f32 a) {
    i32 up = phx_is(a, 0xb0d6f2cau);
    i32 down = phx_is(a, 0x3b7c53aau);
    return phx_nudge((f32)phx_lgamma_f64((f64)a), up - down);
}

/* ---- digamma --------------------------------------------------------------------------------- */

/* (ln z - 1 / (2 z) - digamma(z)) z^2 = 1/12 - w P(w), w = 1 / z^2 <= 1/64; P to 2^-47. */
PHX_FN f64 phx_digamma_tail(f64 w) {
    f64 p = phx_fma(0.3138845137528966, w, -0.08078706522220509);
    p = phx_fma(p, w, 0.021066778686441738);
    p = phx_fma(p, w, -0.007575618505021876);
    p = phx_fma(p, w, 0.004166666309138111);
    p = phx_fma(p, w, -0.003968253967907064);
    return phx_fma(p, w, 0.008333333333333278);
}

/* (digamma(x0 + e) / e - digamma'(x0) - c e) / e^2 for |e| <= 1/8, x0 the positive zero, c the pair below; 2^-61.3
 * relative to digamma. */
PHX_FN f64 phx_digamma_poly(f64 e) {
    f64 p = phx_fma(-0.003451065523994355, e, 0.0050455707553959325);
    p = phx_fma(p, e, -0.007202939636504288);
    p = phx_fma(p, e, 0.01053646045442624);
    p = phx_fma(p, e, -0.015424780889478268);
    p = phx_fma(p, e, 0.022597670136194535);
    p = phx_fma(p, e, -0.03316112640647519);
    p = phx_fma(p, e, 0.048804288064198544);
    p = phx_fma(p, e, -0.07219956125658834);
    p = phx_fma(p, e, 0.1078240506914577);
    p = phx_fma(p, e, -0.16394270544240647);
    return phx_fma(p, e, 0.2584997609556509);
}

/* digamma(x0 + e), e a pair. */
PHX_FN phx_dd phx_digamma_near_zero(phx_dd e) {
    phx_dd a, b;
    a.hi = 0.9676722454476212;
    a.lo = -3.387874303038943e-17;
    b.hi = -0.4427631689835921;
    b.lo = -2.4685968258808798e-17;
    return phx_gamma_near(e, a, b, phx_digamma_poly(e.hi));
}

/* digamma(z) for z >= 8. */
PHX_FN phx_dd phx_digamma_far(phx_dd z) {
    const phx_dd y = phx_inverse_pair(z);
    const f64 w = y.hi * y.hi;
    phx_dd l = phx_log_of_pair(z), rest;
    rest.hi = -0.5 * y.hi;
    rest.lo = -phx_fma(w, phx_fma(-w, phx_digamma_tail(w), 0.08333333333333333), 0.5 * y.lo);
    l = phx_fast_two_sum(l.hi, l.lo);
    return phx_pair_sum(l, rest);
}

/* digamma at the ends, as phx_lgamma_edges. */
PHX_FN f64 phx_digamma_edges(f64 x, f64 rest, f64 y) {
    y = (x < 0.0) & (rest == 0.0) ? PHX_NAN : y;
    y = phx_fabs(x) < 8.673617379884035e-19 ? -1.0 / x : y; /* 2^-60 */
    y = x == PHX_INF ? x : y;
    return x > -PHX_INF ? y : PHX_NAN;
}

PHX_FN f64 phx_digamma_f64(f64 x) {
    const f64 a = phx_fabs(x);
    const i32 negative = x < 0.0;
    const phx_half_turn turn = phx_sincos_of_pi(a);
    const phx_dd start = phx_two_sum(a, negative ? 1.0 : 0.0);
    phx_dd e, y, z, c, zero;
    phx_climb climb = phx_climb_begin();
    zero = climb.sum;
    climb = phx_climb_all(phx_climb_step(climb, start, 0.0), start);
    z = phx_two_sum(start.hi, climb.steps);
    z = phx_fast_two_sum(z.hi, z.lo + start.lo);
    y = phx_pair_sum(phx_digamma_far(z), phx_negative_pair(phx_pair_ratio(climb.sum, climb.product)));
    e = phx_two_sum(x - 1.4616321449683622, -9.549995429965697e-17);
    y = phx_choose_pair(phx_fabs(e.hi) <= 0.125, phx_digamma_near_zero(e), y);
    /* digamma(-a) = digamma(1 + a) + pi / tan(pi a) */
    c.hi = 3.141592653589793;
    c.lo = 1.2246467991473532e-16;
    c = phx_pair_product(c, phx_pair_ratio(turn.cosine, turn.sine));
    c = phx_choose_pair(turn.rest < 0.0, phx_negative_pair(c), c);
    y = phx_pair_sum(y, phx_choose_pair(negative, c, zero));
    return phx_digamma_edges(x, turn.rest, y.hi);
}

PHX_FN f32 phx_digamma_f32(f32 a) {
    i32 up = phx_is(a, 0x65d890d3u) | phx_is(a, 0x6f31a8ecu);
    i32 down = phx_is(a, 0x3ecab682u) | phx_is(a, 0xa7de86a9u) | phx_is(a, 0xa7e05475u) | phx_is(a, 0xc5a60943u);
    return phx_nudge((f32)phx_digamma_f64((f64)a), up - down);
}

#endif
