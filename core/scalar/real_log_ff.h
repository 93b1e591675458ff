/* log, log1p, log2, log10, asinh, acosh, atanh, logaddexp of float32 in pairs: see real_ff.h. The scheme and the polynomials are those of
 * real_log.h; subnormal operands, and those without a logarithm, are left to double. */
#ifndef PHX_REAL_LOG_FF_H
#define PHX_REAL_LOG_FF_H

#include "real_exp_ff.h"
#include "real_ff.h"
#include "real_log.h"

#define PHX_LOG_BOUND 9.09494702e-13f   /* 2^-40 */
#define PHX_LOG10_BOUND 3.63797881e-12f /* 2^-38 */

/* 1 / d for d in [1 + sqrt(1/2), 1 + sqrt(2)] and a little, 2^-23 relative: a polynomial, 2^-13, and a step of
 * Newton's. Shorter than a division that rounds. */
PHX_FN f32 phx_log_ff_inverse(f32 d) {
    f32 c = phx_fmaf(phx_fmaf(phx_fmaf(-0.05713694f, d, 0.47096017f), d, -1.4485842f), d, 1.9703801f);
    return phx_fmaf(c, phx_fmaf(-c, d, 1.0f), c);
}

/* ln(1 + f + fl), |fl| <= ulp(1 + f) / 2: 2 atanh(s) with s = (f + fl) / (2 + f + fl), as a polynomial in s^2
 * on |s| <= 3 - 2 sqrt(2) and a little, which is 2^-44.8 relative to the logarithm. */
PHX_FN phx_ff phx_log1p_of_ff(f32 f, f32 fl) {
    phx_ff d = phx_ff_fast_sum(2.0f, f);
    d.lo = d.lo + fl;
    phx_ff s = phx_ff_quotient(phx_ff_of(f, fl), d, phx_log_ff_inverse(d.hi));
    phx_ff z = phx_ff_times(s, s);
    f32 q = phx_fmaf(0.19583161f, z.hi, 0.22176225f);
    q = phx_fmaf(q, z.hi, 0.2857211f);
    phx_ff p = phx_ff_step(q, z.hi, 0.39999995f, phx_fmaf(q, z.lo, 9.72798e-09f));
    p = phx_ff_step(p.hi, z.hi, 0.6666667f, phx_fmaf(p.lo, z.hi, phx_fmaf(p.hi, z.lo, -1.977644e-08f)));
    p = phx_ff_step(p.hi, z.hi, 2.0f, phx_ff_cross(p, z));
    return phx_ff_times(p, s);
}

/* k a + y for a = a1 + a2, of which a1 has at most 16 bits; |k a1| > |y| or k == 0. */
PHX_FN phx_ff phx_ff_plus_whole(f32 k, f32 a1, f32 a2, phx_ff y) {
    phx_ff s = phx_ff_fast_sum(k * a1, y.hi);
    s.lo = s.lo + phx_fmaf(k, a2, y.lo);
    return s;
}

PHX_FN phx_ff phx_log_ff(f32 a) {
    phx_ff_split m = phx_ff_split_normal(a);
    return phx_ff_plus_whole(m.k, 0.693145752f, 1.42860677e-06f, phx_log1p_of_ff(m.f, 0.0f));
}

PHX_FN f32 phx_log_f32(f32 a) {
    phx_ff y = phx_ff_rounded(phx_log_ff(a), PHX_LOG_BOUND);
    if (phx_is_normal(a) & (y.hi == y.lo)) return y.hi;
    return phx_log_f32_by_double(a);
}

/* ln(1 + t). Where 1 + t needs no scaling, t itself is the exact argument. */
PHX_FN phx_ff phx_log1p_of_pair(phx_ff t) {
    phx_ff u = phx_ff_plus(phx_ff_of(1.0f, 0.0f), t);
    phx_ff_split m = phx_ff_split_normal(u.hi);
    i32 whole = m.k == 0.0f;
    phx_ff y = phx_log1p_of_ff(whole ? t.hi : m.f, whole ? t.lo : u.lo * m.unit);
    return phx_ff_plus_whole(m.k, 0.693145752f, 1.42860677e-06f, y);
}

/* x itself below 2^-26. */
PHX_FN phx_ff phx_log1p_ff(f32 a) { return phx_log1p_of_pair(phx_ff_of(a, 0.0f)); }

PHX_FN f32 phx_log1p_f32(f32 a) {
    phx_ff y = phx_ff_rounded(phx_log1p_ff(a), PHX_LOG_BOUND);
    if (phx_fabsf(a) < 1.4901161e-08f) return a;
    if ((a > -1.0f) & (a < 1.0e38f) & (y.hi == y.lo)) return y.hi;
    return phx_log1p_f32_by_double(a);
}

PHX_FN phx_ff phx_log2_ff(f32 a) {
    phx_ff_split m = phx_ff_split_normal(a);
    phx_ff y = phx_ff_times(phx_log1p_of_ff(m.f, 0.0f), phx_ff_of(1.442695f, 1.925963e-08f));
    return phx_ff_plus_whole(m.k, 1.0f, 0.0f, y);
}

PHX_FN f32 phx_log2_f32(f32 a) {
    phx_ff y = phx_ff_rounded(phx_log2_ff(a), PHX_LOG_BOUND);
    if (phx_is_normal(a) & (y.hi == y.lo)) return y.hi;
    return phx_log2_f32_by_double(a);
}

/* log10(2) has 16 bits in its first part. */
PHX_FN phx_ff phx_log10_ff(f32 a) {
    phx_ff_split m = phx_ff_split_normal(a);
    phx_ff y = phx_ff_times(phx_log1p_of_ff(m.f, 0.0f), phx_ff_of(0.4342945f, -1.010305e-08f));
    return phx_ff_plus_whole(m.k, 0.301033020f, -3.0243555e-06f, y);
}

PHX_FN f32 phx_log10_f32(f32 a) {
    phx_ff y = phx_ff_rounded(phx_log10_ff(a), PHX_LOG10_BOUND);
    if (phx_is_normal(a) & (y.hi == y.lo)) return y.hi;
    return phx_log10_f32_by_double(a);
}

#define PHX_ASINH_BOUND 1.8189894e-12f /* 2^-39, and of acosh, atanh */

/* log(1 + x + x^2 / (1 + sqrt(1 + x^2))) for 0 <= x <= 2^60. */
PHX_FN phx_ff phx_asinh_ff(f32 x) {
    phx_ff one = phx_ff_of(1.0f, 0.0f), z = phx_ff_times(phx_ff_of(x, 0.0f), phx_ff_of(x, 0.0f));
    phx_ff d = phx_ff_plus(one, phx_ff_root(phx_ff_plus(one, z)));
    phx_ff t = phx_ff_plus(phx_ff_of(x, 0.0f), phx_ff_quotient(z, d, phx_dividef(1.0f, d.hi)));
    return phx_log1p_of_pair(phx_ff_fast_sum(t.hi, t.lo));
}

/* x itself below 2^-12: the next term is x^3 / 6. */
PHX_FN f32 phx_asinh_f32(f32 a) {
    f32 x = phx_fabsf(a);
    phx_ff y = phx_ff_rounded(phx_asinh_ff(x), PHX_ASINH_BOUND);
    i32 tiny = x < 0.00024414062f;
    if (tiny | ((x <= 1.15292150e+18f) & (y.hi == y.lo))) return tiny ? a : phx_copysignf(y.hi, a);
    return phx_asinh_f32_by_double(a);
}

/* log(1 + t + sqrt(t (t + 2))) with t = x - 1 for 1 < x <= 2^60. */
PHX_FN phx_ff phx_acosh_ff(f32 a) {
    phx_ff t = phx_ff_exact_sum(a, -1.0f), z = phx_ff_times(t, phx_ff_plus(phx_ff_of(2.0f, 0.0f), t));
    t = phx_ff_plus(t, phx_ff_root(phx_ff_fast_sum(z.hi, z.lo)));
    return phx_log1p_of_pair(phx_ff_fast_sum(t.hi, t.lo));
}

PHX_FN f32 phx_acosh_f32(f32 a) {
    phx_ff y = phx_ff_rounded(phx_acosh_ff(a), PHX_ASINH_BOUND);
    if ((a > 1.0f) & (a <= 1.15292150e+18f) & (y.hi == y.lo)) return y.hi;
    return phx_acosh_f32_by_double(a);
}

/* log(1 + 2x / (1 - x)) / 2 for 0 <= x < 1. */
PHX_FN phx_ff phx_atanh_ff(f32 x) {
    phx_ff d = phx_ff_exact_sum(1.0f, -x);
    phx_ff y = phx_log1p_of_pair(phx_ff_quotient(phx_ff_of(2.0f * x, 0.0f), d, phx_dividef(1.0f, d.hi)));
    return phx_ff_of(0.5f * y.hi, 0.5f * y.lo);
}

/* x itself below 2^-13: the next term is x^3 / 3. */
PHX_FN f32 phx_atanh_f32(f32 a) {
    f32 x = phx_fabsf(a);
    phx_ff y = phx_ff_rounded(phx_atanh_ff(x), PHX_ASINH_BOUND);
    i32 tiny = x < 0.00012207031f;
    if (tiny | ((x < 1.0f) & (y.hi == y.lo))) return tiny ? a : phx_copysignf(y.hi, a);
    return phx_atanh_f32_by_double(a);
}

#define PHX_LOGADDEXP_BOUND 9.09494702e-13f /* 2^-40, absolute; and 2^-43 relative */

/* log(1 + e^-d) for a pair d in [0, 80]; 2^-40 relative. 1 + e^-d is halved if it is beyond sqrt(2). */
PHX_FN phx_ff phx_log1p_exp_ff(phx_ff d) {
    phx_exp_ff_arg g = phx_exp_ff_reduce(-d.hi);
    f32 s = phx_ff_scaled(1.0f, g.sum);
    phx_ff e = phx_exp_of_ff(phx_ff_exact_sum(g.r.hi, g.r.lo - d.lo)), f;
    e = phx_ff_fast_sum(s * e.hi, s * e.lo);
    i32 beyond = e.hi > 0.41421357f;
    f = phx_ff_fast_sum(-1.0f, e.hi);
    f = phx_ff_of(beyond ? 0.5f * f.hi : e.hi, beyond ? 0.5f * (f.lo + e.lo) : e.lo);
    return phx_ff_plus_whole(beyond ? 1.0f : 0.0f, 0.693145752f, 1.42860677e-06f, phx_log1p_of_ff(f.hi, f.lo));
}

PHX_FN phx_ff phx_logaddexp_ff(f32 a, f32 b) {
    f32 m = a > b ? a : b, n = a > b ? b : a;
    return phx_ff_plus(phx_ff_of(m, 0.0f), phx_log1p_exp_ff(phx_ff_exact_sum(m, -n)));
}

/* The greater one where the smaller one does not count: e^-60 < 2^-86, and that is 2^-40 or more. */
PHX_FN f32 phx_logaddexp_f32(f32 a, f32 b) {
    f32 m = a > b ? a : b, size = phx_fabsf(a > b ? a - b : b - a);
    phx_ff v = phx_logaddexp_ff(a, b);
    f32 off = phx_fmaf(phx_fabsf(v.hi), 1.13686838e-13f, PHX_LOGADDEXP_BOUND), y = v.hi + (v.lo + off);
    i32 far = (size > 60.0f) & (phx_fabsf(m) > 9.09494702e-13f);
    if (far | ((size <= 60.0f) & (phx_fabsf(m) < 1.0e38f) & (y == v.hi + (v.lo - off)))) return far ? m : y;
    return phx_logaddexp_f32_by_double(a, b);
}

#endif
