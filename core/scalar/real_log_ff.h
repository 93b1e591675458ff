/* log, log1p, log2, log10 of float32 in pairs: see real_ff.h. The scheme and the polynomials are those of
 * real_log.h; subnormal operands, and those without a logarithm, are left to double. */
#ifndef PHX_REAL_LOG_FF_H
#define PHX_REAL_LOG_FF_H

#include "real_ff.h"
#include "real_log.h"

#define PHX_LOG_BOUND 9.09494702e-13f   /* 2^-40 */
#define PHX_LOG10_BOUND 3.63797881e-12f /* 2^-38 */

/* x = (1 + f) 2^k with 1 + f in [sqrt(1/2), sqrt(2)), for a positive normal x; `unit` is 2^-k, |k| < 127. */
typedef struct {
    f32 f, k, unit;
} phx_ff_split;

PHX_FN phx_ff_split phx_ff_split_normal(f32 x) {
    phx_ff_split s;
    u32 v = phx_bits32(x) + (0x3f800000u - 0x3f3504f3u);
    s.f = phx_from_bits32((v & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
    s.k = phx_from_bits32((v >> 23) | 0x4b000000u) - 8388735.0f; /* as phx_split_normal */
    s.unit = phx_from_bits32(0x7f000000u - (v & 0xff800000u));
    return s;
}

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

PHX_FN i32 phx_is_normal(f32 a) { return (a >= 1.17549435e-38f) & (a < PHX_INFF); }

PHX_FN phx_ff phx_log_ff(f32 a) {
    phx_ff_split m = phx_ff_split_normal(a);
    return phx_ff_plus_whole(m.k, 0.693145752f, 1.42860677e-06f, phx_log1p_of_ff(m.f, 0.0f));
}

PHX_FN f32 phx_log_f32(f32 a) {
    phx_ff y = phx_ff_rounded(phx_log_ff(a), PHX_LOG_BOUND);
    if (phx_is_normal(a) & (y.hi == y.lo)) return y.hi;
    return phx_log_f32_by_double(a);
}

/* Where 1 + x needs no scaling, x itself is the exact argument; it is the result below 2^-26. */
PHX_FN phx_ff phx_log1p_ff(f32 a) {
    phx_ff u = phx_ff_exact_sum(1.0f, a);
    phx_ff_split m = phx_ff_split_normal(u.hi);
    i32 whole = m.k == 0.0f;
    phx_ff y = phx_log1p_of_ff(whole ? a : m.f, whole ? 0.0f : u.lo * m.unit);
    return phx_ff_plus_whole(m.k, 0.693145752f, 1.42860677e-06f, y);
}

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

#endif
