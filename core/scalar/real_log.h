/* log, log1p, log2, log10, asinh, acosh, atanh, logaddexp of real numbers, float32 and float64.
 *
 * x = (1 + f) 2^k and ln(1 + f) = 2 atanh(f / (2 + f)), the series in the quotient's square
 * replaced by a minimax polynomial (the classical scheme: Muller, Elementary Functions, 3rd ed.,
 * 2016, chapter 11). One division, no table and no branch, so that loops vectorise. The inverse
 * hyperbolic functions are log1p of an argument that does not cancel; in float64 the argument is a
 * pair. How the coefficients and the stated errors were obtained: real_exp.h.
 */
#ifndef PHX_REAL_LOG_H
#define PHX_REAL_LOG_H

#include "real_common.h"
#include "real_exp.h"

/* (atanh(s)/s - 1) * 2 / z with z = s^2 on |s| <= 3 - 2 sqrt(2); 2^-52.2 relative to the logarithm.
 */
PHX_FN f64 phx_atanh_poly5(f64 z) {
    f64 p = phx_fma(0.16819906242411523, z, 0.18123642177144847);
    p = phx_fma(p, z, 0.22223371457712277);
    p = phx_fma(p, z, 0.28571417136920463);
    p = phx_fma(p, z, 0.4000000005219992);
    return phx_fma(p, z, 0.6666666666658744);
}

/* The same, 2^-59.5. */
PHX_FN f64 phx_atanh_poly6(f64 z) {
    f64 p = phx_fma(0.14795936670767326, z, 0.15314060065328228);
    p = phx_fma(p, z, 0.1818356359247124);
    p = phx_fma(p, z, 0.22222198595348963);
    p = phx_fma(p, z, 0.2857142874207789);
    p = phx_fma(p, z, 0.39999999999416597);
    return phx_fma(p, z, 0.6666666666666734);
}

/* What every logarithm does at the edges of its domain; y is the value for a positive finite x. */
PHX_FN f64 phx_log_edges(f64 x, f64 y) {
    f64 low = x == 0.0 ? -PHX_INF : PHX_NAN;
    f64 high = x < PHX_INF ? y : x;
    return x > 0.0 ? high : low;
}

/* The same in f32, of which a vector holds twice as many. */
PHX_FN f32 phx_log_edgesf(f32 x, f32 y) {
    f32 low = x == 0.0f ? -PHX_INFF : PHX_NANF;
    f32 high = x < PHX_INFF ? y : x;
    return x > 0.0f ? high : low;
}

/* ln(1 + f) for f32 in f64, about 2^-51 relative. */
PHX_FN f64 phx_log1p_narrow(f64 f) {
    f64 s = f / (2.0 + f);
    f64 z = s * s;
    return phx_fma(s * z, phx_atanh_poly5(z), s + s);
}

PHX_FN f32 phx_log_f32(f32 a) {
    phx_split m = phx_split_normal((f64)a);
    f32 y = (f32)phx_fma(m.k, PHX_LN2, phx_log1p_narrow(m.f));
    i32 up = phx_is(a, 0x4c5d65a5u) | phx_is(a, 0x65d890d3u) | phx_is(a, 0x6f31a8ecu);
    i32 down = phx_is(a, 0x3c413d3au) | phx_is(a, 0x41178febu);
    return phx_log_edgesf(a, phx_nudge(y, up - down));
}

/* k ln2 + ln(1 + f + fl) = hi + lo with about 2^-59 relative error, |fl| <= ulp(1 + f), lo below 2^-6: 2 s as
   a pair, the rest s R(s^2) in one double. */
PHX_FN phx_dd phx_log_core(f64 f, f64 fl, f64 k) {
    phx_dd d = phx_fast_two_sum(2.0, f);
    f64 c = 1.0 / d.hi;
    f64 s = f * c;
    f64 sl = (phx_fma(-s, d.hi, f) - s * d.lo) * c;
    f64 z = s * s;
    phx_dd b = phx_fast_two_sum(k * PHX_LN2_HI, s + s);
    /* ln(1 + fl / (1 + f)), good to 2^-8 of itself: 1 / (1 + f) is (1 - s) / (1 + s) */
    f64 l = phx_fma(fl, phx_fma(s + s, phx_fma(-s, s, s) - 1.0, -0.5 * fl), fl);
    sl = sl + sl;
    l = phx_fma(k, PHX_LN2_LO, l + phx_fma(sl, z, sl));
    b.lo = phx_fma(s * z, phx_atanh_poly6(z), l + b.lo);
    return b;
}

/* 0.53 ulp. */
PHX_FN f64 phx_log_f64(f64 x) {
    phx_split m = phx_split_any(x);
    phx_dd y = phx_log_core(m.f, 0.0, m.k);
    return phx_log_edges(x, y.hi + y.lo);
}

/* ln(1 + t) for f32 in f64, t > -1: where 1 + t needs no scaling, t itself is the exact argument.
 */
PHX_FN f64 phx_log1p_wide(f64 t) {
    phx_split m = phx_split_normal(1.0 + t);
    return phx_fma(m.k, PHX_LN2, phx_log1p_narrow(m.k == 0.0 ? t : m.f));
}

PHX_FN f32 phx_log1p_f32(f32 a) {
    f32 y = phx_copysignf((f32)phx_log1p_wide((f64)a), a);
    i32 up = phx_is(a, 0x35400003u) | phx_is(a, 0x3710001bu) | phx_is(a, 0x65d890d3u) |
             phx_is(a, 0x6f31a8ecu) | phx_is(a, 0xbb0ec8c4u);
    i32 down = phx_is(a, 0x41078febu) | phx_is(a, 0xb53ffffdu) | phx_is(a, 0xb70fffe5u);
    return phx_log_edgesf(1.0f + a, phx_nudge(y, up - down));
}

PHX_FN f32 phx_log2_f32(f32 a) {
    phx_split m = phx_split_normal((f64)a);
    return phx_log_edgesf(a, (f32)phx_fma(phx_log1p_narrow(m.f), PHX_LOG2E, m.k));
}

PHX_FN f32 phx_log10_f32(f32 a) {
    phx_split m = phx_split_normal((f64)a);
    f32 y = (f32)(phx_fma(m.k, PHX_LN2, phx_log1p_narrow(m.f)) * PHX_LOG10E);
    i32 up = phx_is(a, 0x0a4d4ce8u) | phx_is(a, 0x0efeee7au) | phx_is(a, 0x2f149212u);
    return phx_log_edgesf(a, phx_nudge(y, up));
}

PHX_FN f32 phx_asinh_f32(f32 a) {
    f32 b = phx_fabsf(a);
    f64 x = (f64)b;
    f64 y = phx_log1p_wide(x + x * x / (1.0 + phx_sqrt(phx_fma(x, x, 1.0))));
    i32 up = phx_is(b, 0x4bdd65a5u) | phx_is(b, 0x655890d3u) | phx_is(b, 0x6eb1a8ecu);
    return phx_nudge(phx_copysignf((f32)(x < PHX_INF ? y : x), a), up);
}

PHX_FN f32 phx_acosh_f32(f32 a) {
    f64 t = (f64)a - 1.0;
    f64 y = phx_log1p_wide(t + phx_sqrt(t * (t + 2.0)));
    return phx_nudge((f32)(t >= 0.0 ? (t < PHX_INF ? y : t) : PHX_NAN),
                     phx_is(a, 0x655890d3u) | phx_is(a, 0x6eb1a8ecu));
}

PHX_FN f32 phx_atanh_f32(f32 a) {
    f64 x = phx_fabs((f64)a);
    f64 y = 0.5 * phx_log1p_wide((x + x) / (1.0 - x));
    f64 edge = x == 1.0 ? PHX_INF : PHX_NAN;
    y = x < 1.0 ? y : edge;
    return phx_nudge(phx_copysignf((f32)y, a), phx_is(phx_fabsf(a), 0x39b89ba2u));
}

/* max + log1p(e^(min - max)). The k ln2 of the logarithm is added to max first: where the two
   cancel, that is exact. All of 2.5e7 random pairs were correctly rounded. */
PHX_FN f32 phx_logaddexp_f32(f32 a, f32 b) {
    f64 m = (f64)(a > b ? a : b);
    f64 n = (f64)(a > b ? b : a);
    f64 x = phx_clamp(n - m, -700.0, 0.0);
    f64 t = phx_fma(x, PHX_LOG2E, PHX_MAGIC);
    f64 r = phx_fma(x, PHX_LOG2E, PHX_MAGIC - t);
    f64 e = phx_fma(phx_exp2m1_poly(r), r, 1.0) * phx_pow2(t - PHX_MAGIC);
    phx_split u = phx_split_normal(1.0 + e);
    f64 y = phx_log1p_narrow(u.k == 0.0 ? e : u.f);
    y = phx_fma(u.k, PHX_LN2_HI, m) + phx_fma(u.k, PHX_LN2_LO, y);
    y = m < PHX_INF && n > -PHX_INF ? y : m;
    return a != a || b != b ? a + b : (f32)y;
}

/* ln(hi + lo) for hi > 0 normal or not, |lo| <= ulp(hi), plus extra * ln2. */
PHX_FN phx_dd phx_log_pair(f64 hi, f64 lo, f64 extra) {
    phx_split m = phx_split_any(hi);
    /* beyond 2^100 every caller's lo is negligible; the bound keeps 2^-k a normal number */
    return phx_log_core(m.f, lo * phx_pow2(-(m.k > 100.0 ? 100.0 : m.k)), m.k + extra);
}

/* 2^-29: below, ln(1 + x) is x - x^2 / 2, and 1 + x has lost too much of x. */
#define PHX_LINEAR 1.862645149230957e-09

/* 0.53 ulp. */
PHX_FN f64 phx_log1p_f64(f64 x) {
    phx_dd u = phx_two_sum(1.0, x);
    phx_dd y = phx_log_pair(u.hi, u.lo, 0.0);
    f64 z = phx_log_edges(u.hi, y.hi + y.lo);
    return phx_fabs(x) < PHX_LINEAR ? phx_fma(-0.5 * x, x, x) : z;
}

/* log2 = k + ln(1 + f) log2(e), log10 = ln * log10(e), the constants as pairs: exact powers come
   out exact. log2 0.55 ulp, log10 0.53 ulp. */
PHX_FN f64 phx_log2_f64(f64 x) {
    phx_split m = phx_split_any(x);
    phx_dd y = phx_log_core(m.f, 0.0, 0.0);
    phx_dd p = phx_two_prod(y.hi, PHX_LOG2E);
    f64 pl = p.lo + phx_fma(y.hi, 2.0355273740931033e-17, y.lo * PHX_LOG2E);
    phx_dd s = phx_fast_two_sum(m.k, p.hi);
    return phx_log_edges(x, s.hi + (s.lo + pl));
}

PHX_FN f64 phx_log10_f64(f64 x) {
    phx_split m = phx_split_any(x);
    phx_dd y = phx_log_core(m.f, 0.0, m.k);
    phx_dd p = phx_two_prod(y.hi, PHX_LOG10E);
    return phx_log_edges(x,
                         p.hi + (p.lo + phx_fma(y.hi, 1.098319650216765e-17, y.lo * PHX_LOG10E)));
}

/* sqrt(w.hi + w.lo) as a pair, for w.hi > 0: one Newton correction. */
PHX_FN phx_dd phx_sqrt_pair(phx_dd w) {
    phx_dd r;
    r.hi = phx_sqrt(w.hi);
    r.lo = (phx_fma(-r.hi, r.hi, w.hi) + w.lo) * (0.5 / r.hi);
    return r;
}

/* ln(x + sqrt(x^2 + 1)); above 2^28 it is ln(2x) to 2^-58. sqrt(...) - 1 is exact, so small x keep
   their accuracy. 0.53 ulp. */
PHX_FN f64 phx_asinh_f64(f64 x) {
    f64 ax = phx_fabs(x);
    f64 big = ax > 268435456.0 ? 1.0 : 0.0;
    f64 a = big > 0.0 ? 1.0 : ax;
    phx_dd q = phx_two_prod(a, a);
    phx_dd w = phx_two_sum(1.0, q.hi);
    phx_dd r, v, u, y;
    w.lo = w.lo + q.lo;
    r = phx_sqrt_pair(w);
    v = phx_two_sum(a, r.hi - 1.0);
    u = phx_two_sum(1.0, v.hi);
    u.lo = u.lo + (v.lo + r.lo);
    y = phx_log_pair(big > 0.0 ? ax : u.hi, big > 0.0 ? 0.0 : u.lo, big);
    q.hi = phx_copysign(ax < PHX_INF ? y.hi + y.lo : ax, x);
    return ax < 3.725290298461914e-09 ? x : q.hi; /* 2^-28 */
}

/* ln(1 + (x - 1) + sqrt(x^2 - 1)); x^2 - 1 is an exact pair. 0.53 ulp. */
PHX_FN f64 phx_acosh_f64(f64 x) {
    f64 big = x > 268435456.0 ? 1.0 : 0.0;
    f64 a = big > 0.0 ? 2.0 : x;
    phx_dd q = phx_two_prod(a, a);
    phx_dd r = phx_sqrt_pair(phx_fast_two_sum(q.hi - 1.0, q.lo));
    phx_dd v = phx_two_sum(a - 1.0, r.hi);
    phx_dd u = phx_two_sum(1.0, v.hi);
    phx_dd y;
    u.lo = u.lo + (v.lo + r.lo);
    y = phx_log_pair(big > 0.0 ? x : u.hi, big > 0.0 ? 0.0 : u.lo, big);
    a = x < PHX_INF ? y.hi + y.lo : x;
    return x > 1.0 ? a : (x == 1.0 ? 0.0 : PHX_NAN);
}

/* ln(1 + 2x / (1 - x)) / 2, the quotient as a pair. 0.53 ulp. */
PHX_FN f64 phx_atanh_f64(f64 x) {
    f64 ax = phx_fabs(x);
    phx_dd d = phx_fast_two_sum(1.0, -ax);
    f64 c = 1.0 / d.hi;
    f64 q = (ax + ax) * c;
    f64 ql = (phx_fma(-q, d.hi, ax + ax) - q * d.lo) * c;
    phx_dd u = phx_two_sum(1.0, q);
    phx_dd y = phx_log_pair(u.hi, u.lo + ql, 0.0);
    f64 edge = ax == 1.0 ? PHX_INF : PHX_NAN;
    f64 z = phx_copysign(ax < 1.0 ? 0.5 * (y.hi + y.lo) : edge, x);
    return ax < 3.725290298461914e-09 ? x : z; /* 2^-28 */
}

/* max + log1p(e^(min - max)), the difference and both functions as pairs: the greater of 1 ulp and
   2^-55 (measured 1.15 * 2^-56). The second matters where the sum changes its sign, e^a + e^b near 1. */
PHX_FN f64 phx_logaddexp_f64(f64 a, f64 b) {
    f64 m = a > b ? a : b;
    f64 n = a > b ? b : a;
    phx_dd d = phx_two_sum(n, -m);
    phx_exp_arg g = phx_exp_reduce(phx_clamp(d.hi, -800.0, 0.0), d.hi > -750.0 ? d.lo : 0.0);
    phx_dd e = phx_exp_core(g.r, g.rl);
    phx_dd f = phx_fast_two_sum(e.hi, e.lo);
    phx_dd v, u, y, s;
    v.hi = phx_scale(f.hi, g.k);
    v.lo = phx_scale(f.lo, g.k);
    u = phx_fast_two_sum(1.0, v.hi);
    y = phx_log_pair(u.hi, u.lo + v.lo, 0.0);
    y.lo = v.hi < PHX_LINEAR ? phx_fma(-0.5 * v.hi, v.hi, v.lo) : y.lo;
    y.hi = v.hi < PHX_LINEAR ? v.hi : y.hi;
    s = phx_two_sum(m, y.hi);
    f64 z = m < PHX_INF && n > -PHX_INF ? s.hi + (s.lo + y.lo) : m;
    return a != a || b != b ? a + b : z;
}

#endif
