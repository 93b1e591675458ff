/* exp, exp2, expm1, tanh, sinh, cosh of float32 in pairs: see real_ff.h. Polynomials as real_exp.h has them. */
#ifndef PHX_REAL_EXP_FF_H
#define PHX_REAL_EXP_FF_H

#include "real_exp.h"
#include "real_ff.h"

/* Bounds of the errors, relative. */
#define PHX_EXP_BOUND 9.09494702e-13f /* 2^-40 */
#define PHX_EXPM1_BOUND 1.8189894e-12f /* 2^-39, and of tanh */

/* e^r - 1, |r| <= ln(2)/2 and a little: r + r^2 times a polynomial, which is 2^-42.8 relative to the result.
 * The terms from r^6 on are at most 2^-16 of it, so one number is enough for them. */
PHX_FN phx_ff phx_expm1_of_ff(phx_ff r) {
    f32 q = phx_fmaf(2.7634424e-06f, r.hi, 2.4869494e-05f);
    q = phx_fmaf(q, r.hi, 0.00019841187f);
    q = phx_fmaf(q, r.hi, 0.0013888837f);
    phx_ff p = phx_ff_step(q, r.hi, 0.008333334f, -3.9956946e-10f);
    p = phx_ff_step(p.hi, r.hi, 0.041666668f, phx_fmaf(p.lo, r.hi, phx_fmaf(p.hi, r.lo, -1.1211911e-09f)));
    p = phx_ff_step(p.hi, r.hi, 0.16666667f, phx_fmaf(p.lo, r.hi, phx_fmaf(p.hi, r.lo, -4.9674966e-09f)));
    p = phx_ff_step(p.hi, r.hi, 0.5f, phx_ff_cross(p, r));
    p = phx_ff_step(p.hi, r.hi, 1.0f, phx_ff_cross(p, r));
    return phx_ff_times(p, r);
}

/* x = k ln2 + r, |r| <= ln(2)/2 and a little, for |x| <= 128; `sum` is k + PHX_MAGICF. ln2 is three numbers of
 * 15, 15 and 24 bits. k has 8: the first two products are exact, and so is what the first leaves of x. */
typedef struct {
    f32 k, sum;
    phx_ff r;
} phx_exp_ff_arg;

PHX_FN phx_exp_ff_arg phx_exp_ff_reduce(f32 x) {
    phx_exp_ff_arg a;
    a.sum = phx_fmaf(x, 1.44269504f, PHX_MAGICF);
    a.k = a.sum - PHX_MAGICF;
    a.r = phx_ff_exact_sum(phx_fmaf(-a.k, 0.693145752f, x), -a.k * 1.42859062e-06f);
    a.r.lo = phx_fmaf(-a.k, 1.61985095e-11f, a.r.lo);
    return a;
}

/* 2^k y where the result is a normal number. */
PHX_FN f32 phx_ff_scaled(f32 y, f32 sum) { return phx_from_bits32(phx_bits32(y) + (phx_bits32(sum) << 23)); }

PHX_FN phx_ff phx_exp_of_ff(phx_ff r) {
    phx_ff w = phx_expm1_of_ff(r);
    phx_ff y = phx_ff_fast_sum(1.0f, w.hi);
    y.lo = y.lo + w.lo;
    return y;
}

PHX_FN f32 phx_exp_f32(f32 a) {
    phx_exp_ff_arg x = phx_exp_ff_reduce(a);
    phx_ff y = phx_ff_rounded(phx_exp_of_ff(x.r), PHX_EXP_BOUND);
    if ((a >= -87.3f) & (a <= 88.7f) & (y.hi == y.lo)) return phx_ff_scaled(y.hi, x.sum);
    if ((a > 89.0f) | (a < -104.0f)) return a > 0.0f ? PHX_INFF : 0.0f;
    return phx_exp_f32_by_double(a);
}

/* The same with r = (x - k) ln2. */
PHX_FN phx_exp_ff_arg phx_exp2_ff_reduce(f32 x) {
    phx_exp_ff_arg a;
    a.sum = x + PHX_MAGICF;
    a.k = a.sum - PHX_MAGICF;
    a.r = phx_ff_times(phx_ff_of(x - a.k, 0.0f), phx_ff_of(0.69314718f, -1.9046542e-09f));
    return a;
}

PHX_FN f32 phx_exp2_f32(f32 a) {
    phx_exp_ff_arg x = phx_exp2_ff_reduce(a);
    phx_ff y = phx_ff_rounded(phx_exp_of_ff(x.r), PHX_EXP_BOUND);
    if ((a >= -126.0f) & (a <= 127.9f) & (y.hi == y.lo)) return phx_ff_scaled(y.hi, x.sum);
    if ((a > 129.0f) | (a < -151.0f)) return a > 0.0f ? PHX_INFF : 0.0f;
    return phx_exp2_f32_by_double(a);
}

/* e^x - 1 = 2^k (e^r - 1) + (2^k - 1) for x <= 87. */
PHX_FN phx_ff phx_expm1_ff(f32 x) {
    phx_exp_ff_arg a = phx_exp_ff_reduce(x);
    phx_ff w = phx_expm1_of_ff(a.r);
    f32 s = phx_ff_scaled(1.0f, a.sum);
    phx_ff c = phx_ff_exact_sum(s, -1.0f);
    phx_ff y = phx_ff_fast_sum(c.hi, s * w.hi);
    y.lo = y.lo + phx_fmaf(s, w.lo, c.lo);
    return y;
}

/* x itself below 2^-26: the next term is x^2 / 2. -1 below -18: e^-18 < 2^-25. */
PHX_FN f32 phx_expm1_f32(f32 a) {
    phx_ff y = phx_ff_rounded(phx_expm1_ff(a), PHX_EXPM1_BOUND);
    i32 tiny = phx_fabsf(a) < 1.4901161e-08f;
    if ((a >= -18.0f) & (a <= 87.0f) & ((y.hi == y.lo) | tiny)) return tiny ? a : y.hi;
    if ((a > 89.0f) | (a < -18.0f)) return a > 0.0f ? PHX_INFF : -1.0f;
    return phx_expm1_f32_by_double(a);
}

/* (e^2x - 1) / (e^2x + 1) for 0 <= x <= 40. */
PHX_FN phx_ff phx_tanh_ff(f32 x) {
    phx_ff n = phx_expm1_ff(2.0f * x);
    phx_ff d = phx_ff_exact_sum(2.0f, n.hi);
    d.lo = d.lo + n.lo;
    return phx_ff_quotient(n, d, phx_dividef(1.0f, d.hi));
}

/* x itself below 2^-13, for the next term is x^3 / 3, and 1 above 9.1. */
PHX_FN f32 phx_tanh_f32(f32 a) {
    f32 x = phx_fabsf(a);
    phx_ff y = phx_ff_rounded(phx_tanh_ff(x > 9.2f ? 9.2f : x), PHX_EXPM1_BOUND);
    i32 tiny = x < 0.00012207031f, large = x > 9.1f;
    if (tiny | large | (y.hi == y.lo)) return tiny ? a : phx_copysignf(large ? 1.0f : y.hi, a);
    return phx_tanh_f32_by_double(a);
}

/* (w + w / (1 + w)) / 2 with w = e^x - 1, for 0 <= x <= 87. */
PHX_FN phx_ff phx_sinh_ff(f32 x) {
    phx_ff w = phx_expm1_ff(x), d = phx_ff_plus(phx_ff_of(1.0f, 0.0f), w);
    phx_ff y = phx_ff_plus(w, phx_ff_quotient(w, d, phx_dividef(1.0f, d.hi)));
    return phx_ff_of(0.5f * y.hi, 0.5f * y.lo);
}

/* x itself below 2^-12: the next term is x^3 / 6. */
PHX_FN f32 phx_sinh_f32(f32 a) {
    f32 x = phx_fabsf(a);
    phx_ff y = phx_ff_rounded(phx_sinh_ff(x > 87.0f ? 87.0f : x), PHX_EXPM1_BOUND);
    i32 tiny = x < 0.00024414062f;
    if (tiny | ((x <= 87.0f) & (y.hi == y.lo))) return tiny ? a : phx_copysignf(y.hi, a);
    if (x > 90.0f) return phx_copysignf(PHX_INFF, a);
    return phx_sinh_f32_by_double(a);
}

/* (e^x + e^-x) / 2 for 0 <= x <= 87. */
PHX_FN phx_ff phx_cosh_ff(f32 x) {
    phx_ff one = phx_ff_of(1.0f, 0.0f), e = phx_ff_plus(one, phx_expm1_ff(x));
    phx_ff y = phx_ff_plus(e, phx_ff_quotient(one, e, phx_dividef(1.0f, e.hi)));
    return phx_ff_of(0.5f * y.hi, 0.5f * y.lo);
}

PHX_FN f32 phx_cosh_f32(f32 a) {
    f32 x = phx_fabsf(a);
    phx_ff y = phx_ff_rounded(phx_cosh_ff(x > 87.0f ? 87.0f : x), PHX_EXPM1_BOUND);
    if ((x <= 87.0f) & (y.hi == y.lo)) return y.hi;
    if (x > 90.0f) return PHX_INFF;
    return phx_cosh_f32_by_double(a);
}

#endif
