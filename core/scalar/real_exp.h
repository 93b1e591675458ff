/* exp, exp2, expm1, sinh, cosh, tanh of real numbers, float32 and float64.
 *
 * float32 is computed in f64 and rounded once. All functions are free of branches and of tables, so
 * that a loop over them vectorises. Coefficients: own weighted minimax fits (Lawson's iteration in
 * 300-bit arithmetic, the leading coefficients rounded to double one after the other and the rest
 * fitted again); the bound at each is the largest relative error of the result that the rounded
 * polynomial leaves. Argument reduction: Cody & Waite, Software Manual for the Elementary Functions
 * (1980); Muller, Elementary Functions (3rd ed., 2016), chapter 11. Errors of float64 are the worst
 * of 1e6 inputs against libquadmath and of 1e5 against mpmath (2026-11). float32 functions of one operand are correctly rounded, checked
 * on all 2^32 inputs as docs/numerics.md tells.
 */
#ifndef PHX_REAL_EXP_H
#define PHX_REAL_EXP_H

#include "real_common.h"

/* (2^r - 1) / r on |r| <= 1/2; 2^-51.6 relative to 2^r. The constant term is ln 2 to all its bits:
   near 0 the relative error of 2^r - 1 is that of this term. */
PHX_FN f64 phx_exp2m1_poly(f64 r) {
    f64 p = phx_fma(7.0344784267752795e-09, r, 1.0206782747812705e-07);
    p = phx_fma(p, r, 1.3215669168910677e-06);
    p = phx_fma(p, r, 1.525266872968023e-05);
    p = phx_fma(p, r, 0.00015403529982706878);
    p = phx_fma(p, r, 0.0013333558206512284);
    p = phx_fma(p, r, 0.009618129107965155);
    p = phx_fma(p, r, 0.055504108664638334);
    p = phx_fma(p, r, 0.24022650695909276);
    return phx_fma(p, r, PHX_LN2);
}

/* x * log2(e) - k is one fma, so the only error of the reduction is that of the constant (2^-56
   relative), and the scaling is exact: one rounding, also into subnormals. */
PHX_FN f32 phx_exp_f32(f32 a) {
    f64 x = (f64)a;
    f64 t = phx_fma(x, PHX_LOG2E, PHX_MAGIC);
    f64 r = phx_fma(x, PHX_LOG2E, PHX_MAGIC - t);
    f64 s = phx_from_bits64((phx_bits64(t) << 52) + PHX_BITS_ONE);
    f32 y = (f32)(phx_fma(phx_exp2m1_poly(r), r, 1.0) * s);
    y = a > 89.0f ? PHX_INFF : y;
    return a < -104.0f ? 0.0f : y;
}

/* The same without the error of the constant: r is exact. */
PHX_FN f32 phx_exp2_f32(f32 a) {
    f64 x = (f64)a;
    f64 t = x + PHX_MAGIC;
    f64 r = x - (t - PHX_MAGIC);
    f64 s = phx_from_bits64((phx_bits64(t) << 52) + PHX_BITS_ONE);
    f32 y = (f32)(phx_fma(phx_exp2m1_poly(r), r, 1.0) * s);
    y = a > 129.0f ? PHX_INFF : y;
    y = a < -151.0f ? 0.0f : y;
    return phx_nudge(y, phx_is(a, 0x3b429d37u) | phx_is(a, 0xbcf3a937u));
}

/* e^x for f32 in f64, about 2^-51 relative, |x| <= 700. */
PHX_FN f64 phx_exp_wide(f64 x) {
    f64 t = phx_fma(x, PHX_LOG2E, PHX_MAGIC);
    f64 r = phx_fma(x, PHX_LOG2E, PHX_MAGIC - t);
    f64 s = phx_from_bits64((phx_bits64(t) << 52) + PHX_BITS_ONE);
    return phx_fma(phx_exp2m1_poly(r), r, 1.0) * s;
}

/* e^x - 1 = 2^k (2^r - 1) + (2^k - 1) for f32 in f64; k = 0 near zero, where the small result keeps
   its relative accuracy. */
PHX_FN f64 phx_expm1_wide(f64 x) {
    f64 t = phx_fma(x, PHX_LOG2E, PHX_MAGIC);
    f64 r = phx_fma(x, PHX_LOG2E, PHX_MAGIC - t);
    f64 s = phx_from_bits64((phx_bits64(t) << 52) + PHX_BITS_ONE);
    return phx_fma(phx_exp2m1_poly(r) * r, s, s - 1.0);
}

PHX_FN f32 phx_expm1_f32(f32 a) {
    f32 y = phx_copysignf((f32)phx_expm1_wide((f64)a), a);
    y = a > 89.0f ? PHX_INFF : y;
    return a < -40.0f ? -1.0f : y;
}

/* (e^r - 1 - r - r^2 / 2 - c r^3) / r^4 on |r| <= ln(2)/2 for c = PHX_EXP_CUBE; 2^-63.8 relative to e^r. */
#define PHX_EXP_CUBE 0.1666666666666668
PHX_FN f64 phx_exp_poly(f64 r) {
    f64 q = phx_fma(2.08320894934263e-09, r, 2.51108331303534e-08);
    q = phx_fma(q, r, 2.7557546590560644e-07);
    q = phx_fma(q, r, 2.755723879957224e-06);
    q = phx_fma(q, r, 2.4801587002404223e-05);
    q = phx_fma(q, r, 0.00019841269891778522);
    q = phx_fma(q, r, 0.0013888888889044106);
    q = phx_fma(q, r, 0.008333333333319285);
    return phx_fma(q, r, 0.041666666666666394);
}

/* x + xl = k ln2 + r + rl, |r| <= ln(2)/2 (and a little), for |x| < 2^20 and |xl| <= ulp(x). */
typedef struct {
    f64 k, r, rl;
} phx_exp_arg;

PHX_FN phx_exp_arg phx_exp_reduce(f64 x, f64 xl) {
    phx_exp_arg a;
    f64 r0, l0;
    a.k = phx_fma(x, PHX_LOG2E, PHX_MAGIC) - PHX_MAGIC;
    r0 = phx_fma(-a.k, PHX_LN2_HI, x);
    l0 = phx_fma(-a.k, PHX_LN2_LO, xl);
    a.r = r0 + l0;
    a.rl = (r0 - a.r) + l0;
    return a;
}

/* e^(r + rl) = hi + lo with about 2^-59 relative error, lo below 2^-6: 1 + r + r^2 / 2 is exact. */
PHX_FN phx_dd phx_exp_core(f64 r, f64 rl) {
    f64 g = 0.5 * r;
    f64 h = g * r;
    phx_dd s = phx_fast_two_sum(1.0, r);
    phx_dd t = phx_fast_two_sum(s.hi, h);
    f64 low = phx_fma(g, r, -h) + phx_fma(r, rl, rl);
    t.lo = phx_fma(r * (h + h), phx_fma(phx_exp_poly(r), r, PHX_EXP_CUBE), low + (s.lo + t.lo));
    return t;
}

/* 2^k e^(r + rl), rounded once: 0.53 ulp. */
PHX_FN f64 phx_exp_f64(f64 x) {
    phx_exp_arg a = phx_exp_reduce(phx_clamp(x, -746.0, 710.0), 0.0);
    return phx_scale_pair(phx_exp_core(a.r, a.rl), a.k);
}

/* The same of r ln 2 as a pair. Whole powers are exact. 0.53 ulp. */
PHX_FN f64 phx_exp2_f64(f64 x) {
    f64 t = phx_clamp(x, -1080.0, 1025.0);
    f64 k = (t + PHX_MAGIC) - PHX_MAGIC;
    f64 r = t - k;
    phx_dd p = phx_two_prod(r, PHX_LN2);
    return phx_scale_pair(phx_exp_core(p.hi, phx_fma(r, 2.3190468138462996e-17, p.lo)), k);
}

/* 2^k (1 + p) - 1 with 1 + p = e^r: p and 2^k - 1 are kept as exact pairs and added from large to
   small. Everything is halved, so that k = 1024 does not overflow before the result does. 0.52 ulp.
 */
PHX_FN f64 phx_expm1_f64(f64 x) {
    phx_exp_arg a = phx_exp_reduce(phx_clamp(x, -60.0, 710.0), 0.0);
    f64 g = 0.5 * a.r;
    f64 h = g * a.r;
    f64 hl = phx_fma(g, a.r, -h);
    f64 z = h + h;
    phx_dd p = phx_fast_two_sum(a.r, h);
    phx_dd cube = phx_two_prod(a.r, z);
    phx_dd part = phx_two_prod(cube.hi, PHX_EXP_CUBE);
    phx_dd w = phx_fast_two_sum(p.hi, part.hi);
    f64 l = phx_fma(p.hi, a.rl, hl + a.rl);
    f64 q = phx_fma(z * z, phx_exp_poly(a.r), l);
    f64 s = phx_pow2(a.k - 1.0);
    phx_dd c = phx_two_sum(s, -0.5);
    phx_dd y = phx_fast_two_sum(c.hi, s * w.hi);
    q = q + phx_fma(phx_fma(2.0 * a.r, hl, cube.lo), PHX_EXP_CUBE, part.lo);
    f64 e = 2.0 * (y.hi + (y.lo + phx_fma(s, w.lo + (p.lo + q), c.lo)));
    return phx_fabs(x) < 5.551115123125783e-17 ? x : e; /* 2^-54 */
}

/* (sinh(r) - r) / r^3 in z = r^2, |r| <= ln(2)/2; 2^-61.7 relative to sinh. */
PHX_FN f64 phx_sinh_poly(f64 z) {
    f64 p = phx_fma(2.5109156493264647e-08, z, 2.755724383594248e-06);
    p = phx_fma(p, z, 0.00019841269886535553);
    p = phx_fma(p, z, 0.008333333333321449);
    return phx_fma(p, z, 0.16666666666666677);
}

/* (cosh(r) - 1 - r^2 / 2) / r^4; 2^-70.0. */
PHX_FN f64 phx_cosh_poly(f64 z) {
    f64 p = phx_fma(2.092170825284828e-09, z, 2.75572519761987e-07);
    p = phx_fma(p, z, 2.4801587349075123e-05);
    p = phx_fma(p, z, 0.0013888888888873316);
    return phx_fma(p, z, 0.041666666666666685);
}

/* sinh and cosh from one reduction and without a division:
   with a = 2^k / 2 and b = 2^-k / 2, sinh x = (a - b) cosh r + (a + b) sinh r, cosh x = (a + b)
   cosh r + (a - b) sinh r. */
typedef struct {
    f64 d, s, ch, sh; /* a - b, a + b, cosh r, sinh r */
} phx_hyper;

PHX_FN phx_hyper phx_hyper_narrow(f64 x) {
    phx_hyper h;
    phx_exp_arg e = phx_exp_reduce(x, 0.0);
    f64 z = e.r * e.r;
    f64 a = phx_pow2(e.k - 1.0);
    f64 b = phx_pow2(-1.0 - e.k);
    h.d = a - b;
    h.s = a + b;
    h.ch = phx_fma(phx_fma(phx_cosh_poly(z), z, 0.5), z, 1.0);
    h.sh = phx_fma(phx_sinh_poly(z) * z, e.r, e.r);
    return h;
}

PHX_FN f32 phx_sinh_f32(f32 a) {
    phx_hyper h = phx_hyper_narrow((f64)a);
    f32 y = phx_copysignf((f32)phx_fma(h.d, h.ch, h.s * h.sh), a);
    y = phx_fabsf(a) > 90.0f ? phx_copysignf(PHX_INFF, a) : y;
    return phx_nudge(y, -phx_is(phx_fabsf(a), 0x3a1285ffu));
}

PHX_FN f32 phx_cosh_f32(f32 a) {
    phx_hyper h = phx_hyper_narrow((f64)a);
    f32 y = (f32)phx_fma(h.s, h.ch, h.d * h.sh);
    return phx_fabsf(a) > 90.0f ? PHX_INFF : y;
}

/* (e^2x - 1) / (e^2x + 1): e^2x = 2^k + p as in expm1, so both terms are one addition each. */
PHX_FN f32 phx_tanh_f32(f32 a) {
    f64 x = 2.0 * (f64)phx_fabsf(a);
    f64 t = phx_fma(x, PHX_LOG2E, PHX_MAGIC);
    f64 r = phx_fma(x, PHX_LOG2E, PHX_MAGIC - t);
    f64 s = phx_from_bits64((phx_bits64(t) << 52) + PHX_BITS_ONE);
    f64 p = phx_exp2m1_poly(r) * (r * s);
    f32 y = (f32)((p + (s - 1.0)) / (p + (s + 1.0)));
    y = phx_nudge(y, phx_is(phx_fabsf(a), 0x3d7c3055u));
    return phx_copysignf(phx_fabsf(a) > 20.0f ? 1.0f : y, a);
}

/* The same in f64: d and s as pairs (halved once more, for the range), r + rl, h near r^2 / 2. */
typedef struct {
    phx_dd d, s;
    f64 r, h, sh, ch; /* sinh x = r + sh, cosh x = 1 + h + ch */
} phx_hyper_pair;

/* x in [0, 710.6] */
PHX_FN phx_hyper_pair phx_hyper_wide(f64 x) {
    phx_hyper_pair h;
    phx_exp_arg e = phx_exp_reduce(x, 0.0);
    f64 g = 0.5 * e.r;
    f64 z = e.r * e.r;
    f64 a = phx_pow2(e.k - 2.0);
    f64 b = phx_pow2(-2.0 - (e.k > 60.0 ? 60.0 : e.k));
    h.d = phx_fast_two_sum(a, -b);
    h.s = phx_fast_two_sum(a, b);
    h.r = e.r;
    h.h = 0.5 * z;
    h.sh = phx_fma(phx_sinh_poly(z) * z, e.r, phx_fma(h.h, e.rl, e.rl));
    h.ch = phx_fma(phx_cosh_poly(z) * z, z, phx_fma(e.r, e.rl, phx_fma(g, e.r, -h.h)));
    return h;
}

/* u (1 + h + ch) + v (r + sh) = hi + lo, |u| >= |v r| or u = 0; about 2^-59 relative. */
PHX_FN phx_dd phx_hyper_sum(phx_dd u, phx_dd v, phx_hyper_pair h) {
    phx_dd p = phx_two_prod(v.hi, h.r);
    phx_dd q = phx_two_prod(u.hi, h.h);
    phx_dd y = phx_fast_two_sum(u.hi, p.hi);
    phx_dd w = phx_fast_two_sum(y.hi, q.hi);
    f64 low = phx_fma(v.lo, h.r, phx_fma(u.lo, h.h, u.lo)) + ((w.lo + y.lo) + (p.lo + q.lo));
    return phx_fast_two_sum(w.hi, phx_fma(v.hi, h.sh, phx_fma(u.hi, h.ch, low)));
}

/* 0.55 ulp; x itself below 2^-28. */
PHX_FN f64 phx_sinh_f64(f64 x) {
    f64 ax = phx_fabs(x);
    phx_hyper_pair h = phx_hyper_wide(phx_clamp(ax, 0.0, 710.6));
    phx_dd y = phx_hyper_sum(h.d, h.s, h);
    return ax < 3.725290298461914e-09 ? x : phx_copysign(2.0 * (y.hi + y.lo), x); /* 2^-28 */
}

/* 0.52 ulp. */
PHX_FN f64 phx_cosh_f64(f64 x) {
    phx_hyper_pair h = phx_hyper_wide(phx_clamp(phx_fabs(x), 0.0, 710.6));
    phx_dd y = phx_hyper_sum(h.s, h.d, h);
    return 2.0 * (y.hi + y.lo);
}

/* sinh / cosh as pairs, the quotient corrected once. 0.54 ulp. */
PHX_FN f64 phx_tanh_f64(f64 x) {
    f64 ax = phx_fabs(x);
    phx_hyper_pair h = phx_hyper_wide(phx_clamp(ax, 0.0, 22.0));
    phx_dd n = phx_hyper_sum(h.d, h.s, h);
    phx_dd d = phx_hyper_sum(h.s, h.d, h);
    f64 c = 1.0 / d.hi;
    f64 q = n.hi * c;
    f64 y = phx_fma(phx_fma(-q, d.hi, n.hi) + phx_fma(-q, d.lo, n.lo), c, q);
    return ax < 3.725290298461914e-09 ? x : phx_copysign(y, x);
}

#endif
