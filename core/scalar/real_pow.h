/* pow and hypot of real numbers, float32 and float64; special values as in C11 Annex F.10.4.3 and
 * F.10.4.4, which the Python Array API standard 2025.12 follows. Branch-free and table-free, so
 * that loops over them vectorise.
 *
 * pow is e^(y ln x). An absolute error of the exponent is a relative error of the result, and the
 * exponent reaches 745: float64 takes ln x as a pair good to about 2^-69 (Muller et al., Handbook
 * of Floating-Point Arithmetic, 2nd ed., section 10.2 gives the argument), float32 the pair of the
 * ordinary logarithm. How the coefficients and the stated errors were obtained: real_exp.h.
 */
#ifndef PHX_REAL_POW_H
#define PHX_REAL_POW_H

#include "real_common.h"
#include "real_exp.h"
#include "real_log.h"

/* (ln((1+s)/(1-s)) - 2s - s z (2/3 + c z)) / (s z^3) with z = s^2, |s| <= 3 - 2 sqrt(2), and c = 2/5 nearly, both
 * constants pairs; 2^-71.5 relative to the logarithm. */
PHX_FN f64 phx_atanh_tail(f64 z) {
    f64 p = phx_fma(0.11882011753833562, z, 0.11688122037319033);
    p = phx_fma(p, z, 0.13335638741484876);
    p = phx_fma(p, z, 0.15384575130673983);
    p = phx_fma(p, z, 0.18181818593677843);
    p = phx_fma(p, z, 0.2222222221985859);
    return phx_fma(p, z, 0.2857142857143536);
}

/* ln x for positive finite x as a pair: 2 atanh(s), s = f / (2 + f), with s, s^2 and the first three
 * terms in pairs. */
PHX_FN phx_dd phx_log_precise(f64 x) {
    phx_split m = phx_split_any(x);
    phx_dd d = phx_fast_two_sum(2.0, m.f);
    f64 c = 1.0 / d.hi;
    f64 s = m.f * c;
    f64 sl = (phx_fma(-s, d.hi, m.f) - s * d.lo) * c;
    phx_dd z = phx_two_prod(s, s);
    phx_dd q = phx_two_prod(z.hi, 0.3999999999999999);
    phx_dd t = phx_fast_two_sum(0.6666666666666666, q.hi);
    phx_dd p = phx_two_prod(s, z.hi);
    phx_dd g, a, b;
    z.lo = phx_fma(s + s, sl, z.lo);
    q.lo = phx_fma(z.hi, 1.3819604479589195e-17, phx_fma(z.lo, 0.4, q.lo));
    t.lo = t.lo + (phx_fma(z.hi * z.hi, phx_atanh_tail(z.hi), q.lo) + 3.702106459093158e-17);
    p.lo = p.lo + phx_fma(s, z.lo, sl * z.hi);
    g = phx_two_prod(p.hi, t.hi);
    g.lo = g.lo + phx_fma(p.hi, t.lo, p.lo * t.hi);
    a = phx_fast_two_sum(s + s, g.hi);
    a.lo = a.lo + phx_fma(2.0, sl, g.lo);
    b = phx_fast_two_sum(m.k * PHX_LN2_HI, a.hi);
    return phx_fast_two_sum(b.hi, b.lo + phx_fma(m.k, PHX_LN2_LO, a.lo));
}

/* ln |x| at the ends: 0 and infinity enter as -inf and +inf. */
PHX_FN f64 phx_pow_log(f64 ax, f64 l) {
    l = ax == 0.0 ? -PHX_INF : l;
    return ax == PHX_INF ? PHX_INF : l;
}

/* e^(y (hi + lo)) = 2^k * value, the exponent clamped to +-bound (beyond which the result has left
 * its format). */
typedef struct {
    phx_dd value;
    f64 k;
} phx_power;

PHX_FN phx_power phx_pow_exp(f64 y, f64 hi, f64 lo, f64 bound) {
    phx_power p;
    f64 t = y * hi;
    f64 tl = phx_fma(y, hi, -t) + y * lo;
    phx_exp_arg a = phx_exp_reduce(phx_clamp(t, -bound, bound), phx_fabs(t) < bound ? tl : 0.0);
    p.value = phx_exp_core(a.r, a.rl);
    p.k = a.k;
    return p;
}

/* The signs and the special cases around |x|^y = r. */
PHX_FN f64 phx_pow_edges(f64 x, f64 y, f64 r) {
    f64 h = 0.5 * y;
    f64 v = x == -PHX_INF ? 0.0 : x; /* -inf takes any exponent */
    u64 sign =
        phx_rint(h) == h ? (u64)0 : phx_bits64(x) & PHX_BITS_SIGN; /* beyond 2^53 every y is even */
    f64 p = phx_fabs(x) == 1.0 ? 1.0 : r;
    f64 q = phx_from_bits64(phx_bits64(p) ^ sign);
    p = v < 0.0 ? PHX_NAN : p;
    p = phx_rint(y) == y ? q : p;
    p = x != x || y != y ? x + y : p;
    return x == 1.0 || y == 0.0 ? 1.0 : p;
}

/* 0.53 ulp. */
PHX_FN f64 phx_pow_f64(f64 x, f64 y) {
    f64 ax = phx_fabs(x);
    phx_dd l = phx_log_precise(ax);
    phx_power p = phx_pow_exp(y, phx_pow_log(ax, l.hi), l.lo, 800.0);
    return phx_pow_edges(x, y, phx_scale_pair(p.value, p.k));
}

/* A power may be exact in float32 or half-way between two of its numbers: rounding to 51 bits first
   (Dekker's splitting) takes away the error of the last 2, so such a result is exact and its tie
   goes to even. All of 2.5e7 random pairs were correctly rounded. */
PHX_FN f32 phx_pow_f32(f32 a, f32 b) {
    f64 x = (f64)a;
    f64 y = (f64)b;
    f64 ax = phx_fabs(x);
    phx_split m = phx_split_normal(ax);
    phx_dd g = phx_log_core(m.f, 0.0, m.k);
    phx_dd l = phx_fast_two_sum(g.hi, g.lo);
    phx_power p = phx_pow_exp(y, phx_pow_log(ax, l.hi), l.lo, 200.0);
    f64 v = p.value.hi + p.value.lo;
    f64 c = v * 5.0;
    return (f32)phx_pow_edges(x, y, (c - (c - v)) * phx_pow2(p.k));
}

/* Correctly rounded. The squares are exact in f64. The root of their sum is rounded to odd there: its last bit
   becomes 1 where the exact root is another number, and f32 has so many bits less that rounding once more
   does no harm (Boldo & Melquiond 2008, theorem 1). What tells is the sign of the remainder. */
PHX_FN f32 phx_hypot_f32(f32 a, f32 b) {
    f64 x = (f64)a;
    f64 y = (f64)b;
    phx_dd s = phx_two_sum(x * x, y * y);
    f64 h = phx_sqrt(s.hi);
    f64 rest = phx_fma(-h, h, s.hi) + s.lo;
    u64 below = (phx_bits64(h) - (rest < 0.0 ? (u64)1 : (u64)0)) | (u64)1;
    h = phx_fabs(rest) > 0.0 ? phx_from_bits64(below) : h;
    return phx_fabs(x) == PHX_INF || phx_fabs(y) == PHX_INF ? PHX_INFF : (f32)h;
}

/* Scaled by a power of two, squares and sum as pairs, one Newton correction of the root. 0.50 ulp. */
PHX_FN f64 phx_hypot_f64(f64 a, f64 b) {
    f64 x = phx_fabs(a);
    f64 y = phx_fabs(b);
    f64 u = x > y ? x : y;
    f64 v = x > y ? y : x;
    f64 tiny = u < 6.879105134148699e-136 ? 4.149515568880993e+180 : 1.0; /* 2^600 below 2^-449 */
    f64 in = u > 3.3519519824856493e+153 ? 2.409919865102884e-181 : tiny; /* 2^-600 above 2^510 */
    f64 back = u < 6.879105134148699e-136 ? -600.0 : 0.0;
    phx_dd p = phx_two_prod(u * in, u * in);
    phx_dd q = phx_two_prod(v * in, v * in);
    phx_dd s = phx_fast_two_sum(p.hi, q.hi), h;
    h.hi = phx_sqrt(s.hi);
    h.lo = (phx_fma(-h.hi, h.hi, s.hi) + (s.lo + (p.lo + q.lo))) * (0.5 / h.hi);
    h.lo = h.hi > 0.0 ? h.lo : 0.0;
    h.hi = phx_scale_pair(h, u > 3.3519519824856493e+153 ? 600.0 : back);
    return x == PHX_INF || y == PHX_INF ? PHX_INF : h.hi;
}

#endif
