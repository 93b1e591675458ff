/* log, log1p, log2, log10, sqrt and pow of complex numbers: phx_<op>_c64, phx_<op>_c128.
 *
 * The logarithm of |z| is half that of x*x + y*y, which is kept as a pair (double-double); near 1
 * it is summed from all partial products (Ogita, Rump and Oishi, Accurate sum and dot product,
 * 2005), so that it keeps its relative accuracy where the terms cancel. c64 is the c128 result
 * rounded again. Worst errors of c128 measured against mpmath, per part: sqrt 0.5 ulp (1.3 for
 * subnormal z), log 0.73, log1p 1.02, log2 1.21, log10 1.36; pow: see there. Special values: C11
 * Annex G.6.3 and G.6.4, as the Array API 2025.12 repeats them. Branch cuts: the negative real axis
 * (log1p: below -1), continuous from above for +0 and from below for -0. */
#ifndef PHX_SCALAR_COMPLEX_LOG_H
#define PHX_SCALAR_COMPLEX_LOG_H

#include "complex_exp.h"
#include "real_log.h"

/* ---- sqrt ------------------------------------------------------------------------------------ */

/* t = sqrt(2 (|x| + |z|)): the roots' parts are t/2 and |y|/t (Kahan, Branch cuts for complex
 * elementary functions, 1987). t alone is taken from the scaled number. */
PHX_OUTLINE c128 phx_sqrt_c128(c128 z) {
    const f64 x = z.re, y = z.im;
    if (phx_fabs(y) == PHX_INF) {
        return phx_complex_c128(PHX_INF, y);
    }
    if (phx_fabs(x) == PHX_INF) {
        const f64 small = y == y ? 0.0 : PHX_NAN;
        return x > 0.0 ? phx_complex_c128(x, phx_copysign(small, y))
                       : phx_complex_c128(small, phx_with_sign(PHX_INF, y));
    }
    if ((x != x) | (y != y)) {
        return phx_complex_c128(PHX_NAN, PHX_NAN);
    }
    if ((x == 0.0) & (y == 0.0)) {
        return phx_complex_c128(0.0, y);
    }
    {
        const i32 larger = phx_larger_exponent(z);
        const i32 e = larger - (larger & 1);
        const f64 ax = phx_ldexp(phx_fabs(x), -e);
        const phx_dd h = phx_norm_pair(ax, phx_ldexp(y, -e));
        const phx_dd s = phx_two_sum(h.hi, ax);
        phx_dd t, n;
        f64 large, small;
        t.hi = 2.0 * s.hi;
        t.lo = 2.0 * (s.lo + h.lo);
        t = phx_sqrt_pair(phx_fast_two_sum(t.hi, t.lo));
        large = phx_ldexp(0.5 * (t.hi + t.lo), e / 2);
        n.hi = phx_fabs(y);
        n.lo = 0.0;
        t.hi = phx_ldexp(t.hi, e / 2);
        t.lo = phx_ldexp(t.lo, e / 2);
        small = phx_pair_quotient(n, t);
        return x >= 0.0 ? phx_complex_c128(large, phx_copysign(small, y))
                        : phx_complex_c128(small, phx_copysign(large, y));
    }
}

/* ---- logarithms ------------------------------------------------------------------------------ */

/* a + b + c + d + e as a pair, as if in triple precision: two passes of error-free sums */
PHX_FN phx_dd phx_sum5(f64 a, f64 b, f64 c, f64 d, f64 e) {
    phx_dd p = phx_two_sum(a, b);
    phx_dd q = phx_two_sum(c, p.hi);
    phx_dd r = phx_two_sum(d, q.hi);
    phx_dd s = phx_two_sum(e, r.hi);
    p = phx_two_sum(p.lo, q.lo);
    q = phx_two_sum(r.lo, p.hi);
    r = phx_two_sum(s.lo, q.hi);
    s = phx_two_sum(s.hi, r.hi);
    return phx_fast_two_sum(s.hi, s.lo + (r.lo + (q.lo + p.lo)));
}

/* ln(1 + v) for a pair, -0.5 <= v <= 1 */
PHX_FN phx_dd phx_log1p_pair(phx_dd v) {
    const phx_dd u = phx_two_sum(1.0, v.hi);
    const phx_dd y = phx_log_pair(u.hi, u.lo + v.lo, 0.0);
    return phx_fast_two_sum(y.hi, y.lo);
}

/* ln(x*x + y*y) as a pair, for finite x and y, not both zero */
PHX_FN phx_dd phx_log_norm2(f64 x, f64 y) {
    const i32 e = phx_larger_exponent(phx_complex_c128(x, y));
    const i32 k = (e > 40) | (e < -40) ? e : 0;
    const f64 a = phx_ldexp(x, -k);
    const f64 b = phx_ldexp(y, -k);
    const phx_dd h = phx_dot2(a, a, b, b);
    if ((h.hi > 0.5) & (h.hi < 2.0) & (k == 0)) {
        const phx_dd p = phx_two_prod(a, a);
        const phx_dd q = phx_two_prod(b, b);
        return phx_log1p_pair(phx_sum5(-1.0, p.hi, q.hi, p.lo, q.lo));
    }
    {
        const phx_dd r = phx_log_pair(h.hi, h.lo, 2.0 * (f64)k);
        return phx_fast_two_sum(r.hi, r.lo);
    }
}

/* ln|z| as a pair for every z: -infinity for 0, infinity for an infinite part, else NaN for NaN */
PHX_FN phx_dd phx_log_abs_pair(c128 z) {
    phx_dd r;
    r.hi = phx_isinf_c128(z) ? PHX_INF : (phx_isnan_c128(z) ? PHX_NAN : -PHX_INF);
    r.lo = 0.0;
    if (phx_isfinite_c128(z) & ((z.re != 0.0) | (z.im != 0.0))) {
        r = phx_log_norm2(z.re, z.im);
        r.hi *= 0.5;
        r.lo *= 0.5;
    }
    return r;
}

PHX_OUTLINE c128 phx_log_c128(c128 z) {
    return phx_complex_c128(phx_log_abs_pair(z).hi, phx_atan2_f64(z.im, z.re));
}

/* log(z) / ln(base): c + cl is 1 / ln(base) */
PHX_FN c128 phx_log_base(c128 z, f64 c, f64 cl) {
    const phx_dd r = phx_log_abs_pair(z);
    const f64 angle = phx_atan2_f64(z.im, z.re);
    phx_dd f;
    f.hi = c;
    f.lo = cl;
    return phx_complex_c128(phx_fabs(r.hi) < PHX_INF ? phx_pair_product(r, f).hi : r.hi,
                            angle == 0.0 ? angle : phx_fma(angle, c, angle * cl));
}

PHX_OUTLINE c128 phx_log2_c128(c128 z) {
    return phx_log_base(z, PHX_LOG2E, 2.0355273740931033e-17);
}

PHX_OUTLINE c128 phx_log10_c128(c128 z) {
    return phx_log_base(z, PHX_LOG10E, 1.098319650216765e-17);
}

/* |1 + z|**2 = 1 + (2x + x*x + y*y), summed exactly where that is near 1; s + sl is 1 + x exactly
 */
PHX_OUTLINE c128 phx_log1p_c128(c128 z) {
    const f64 x = z.re, y = z.im;
    const f64 size = phx_fabs(x) > phx_fabs(y) ? phx_fabs(x) : phx_fabs(y);
    const phx_dd s = phx_two_sum(1.0, x);
    f64 re, im;
    if (!phx_isfinite_c128(z) | (size > 1152921504606846976.0)) { /* 2**60: 1 is nothing */
        return phx_log_c128(z);
    }
    if ((s.hi == 0.0) & (y == 0.0)) {
        return phx_complex_c128(-PHX_INF, y);
    }
    {
        const phx_dd p = phx_two_prod(x, x);
        const phx_dd q = phx_two_prod(y, y);
        const phx_dd v = phx_sum5(2.0 * x, p.hi, q.hi, p.lo, q.lo);
        /* the share of sl in the logarithm and the angle; sl = 0 where s is small */
        const f64 share = s.lo == 0.0 ? 0.0 : s.lo / (s.hi + y * (y / s.hi));
        if ((v.hi > -0.5) & (v.hi < 1.0)) {
            re = 0.5 * phx_log1p_pair(v).hi;
        } else {
            const phx_dd r = phx_log_norm2(s.hi, y);
            re = 0.5 * (r.hi + (r.lo + 2.0 * share));
        }
        im = phx_atan2_f64(y, s.hi);
        im = (share == 0.0) | (y == 0.0) ? im : im - (y / s.hi) * share;
    }
    return phx_complex_c128(re, im);
}

/* ---- pow: exp(w log z) from pairs ------------------------------------------------------------ */

/* arg z as a pair: one Newton step from the sine and cosine of the rounded angle; z finite, not 0
 */
PHX_FN phx_dd phx_angle_pair(c128 z) {
    const i32 e = phx_larger_exponent(z);
    const f64 x = phx_ldexp(z.re, -e);
    const f64 y = phx_ldexp(z.im, -e);
    const f64 angle = phx_atan2_f64(z.im, z.re);
    const phx_sincos t = phx_sincos_pair(angle, 0.0);
    const f64 n = phx_dot2(y, t.c.hi, -x, t.s.hi).hi + (y * t.c.lo - x * t.s.lo);
    return phx_fast_two_sum(angle, angle == 0.0 ? 0.0 : n / phx_sqrt(x * x + y * y));
}

/* a*p + b*q of numbers and pairs */
PHX_FN phx_dd phx_dot2_pair(f64 a, phx_dd p, f64 b, phx_dd q) {
    const phx_dd r = phx_dot2(a, p.hi, b, q.hi);
    return phx_fast_two_sum(r.hi, r.lo + (a * p.lo + b * q.lo));
}

/* A complex number in pairs, and the product of two. */
typedef struct {
    phx_dd re, im;
} phx_complex_dd;

PHX_FN phx_dd phx_dot2_pairs(phx_dd a, phx_dd p, phx_dd b, phx_dd q) {
    const phx_dd r = phx_dot2(a.hi, p.hi, b.hi, q.hi);
    const f64 low = (a.hi * p.lo + a.lo * p.hi) + (b.hi * q.lo + b.lo * q.hi);
    return phx_fast_two_sum(r.hi, r.lo + low);
}

PHX_FN phx_complex_dd phx_multiply_pairs(phx_complex_dd z, phx_complex_dd w) {
    phx_complex_dd y;
    phx_dd minus;
    minus.hi = -z.im.hi;
    minus.lo = -z.im.lo;
    y.re = phx_dot2_pairs(z.re, w.re, minus, w.im);
    y.im = phx_dot2_pairs(z.re, w.im, z.im, w.re);
    return y;
}

/* z**n for an integer 0 < n <= 64 by squaring and multiplying in pairs: powers of whole numbers are exact. */
PHX_FN c128 phx_power_c128(c128 z, i32 n) {
    phx_complex_dd x, r;
    i32 empty = 1;
    x.re.hi = z.re;
    x.im.hi = z.im;
    x.re.lo = 0.0;
    x.im.lo = 0.0;
    r = x;
    while (n != 0) {
        if ((n & 1) != 0) {
            r = empty ? x : phx_multiply_pairs(r, x);
            empty = 0;
        }
        n >>= 1;
        x = n != 0 ? phx_multiply_pairs(x, x) : x;
    }
    return phx_complex_c128(r.re.hi, r.im.hi);
}

/* exp(w log z) in general: within 1.5 + |w log z| / 8 units of 2**-53 of |z**w|; a part which is
 * small against the other has no bound of its own. Exact decisions before it: z**0 = 1; 0**w = 0
 * for re w > 0, infinity with NaN (as 1 / 0) for a negative real w, else NaN; z**n by
 * multiplication for integers |n| <= 64 where the power stays moderate. */
PHX_OUTLINE c128 phx_pow_c128(c128 z, c128 w) {
    if ((w.re == 0.0) & (w.im == 0.0)) {
        return phx_complex_c128(1.0, 0.0);
    }
    if ((z.re == 0.0) & (z.im == 0.0) & !phx_isnan_c128(w)) {
        if (w.re > 0.0) {
            return phx_complex_c128(0.0, 0.0);
        }
        return phx_complex_c128((w.re < 0.0) & (w.im == 0.0) ? PHX_INF : PHX_NAN, PHX_NAN);
    }
    if (!phx_isfinite_c128(z) | !phx_isfinite_c128(w)) {
        return phx_exp_c128(phx_multiply_c128(w, phx_log_c128(z)));
    }
    if ((w.im == 0.0) & (phx_fabs(w.re) <= 64.0) & (phx_trunc(w.re) == w.re)) {
        const c128 p = phx_power_c128(z, (i32)phx_fabs(w.re));
        const f64 size = phx_fabs(p.re) + phx_fabs(p.im);
        if ((size > 1e-270) & (size < 1e300)) {
            return w.re > 0.0 ? p : phx_reciprocal_c128(p);
        }
    }
    {
        const phx_dd l = phx_log_abs_pair(z);
        const phx_dd t = phx_angle_pair(z);
        const phx_dd u = phx_dot2_pair(w.re, l, -w.im, t);
        const phx_dd v = phx_dot2_pair(w.re, t, w.im, l);
        if (!(phx_fabs(v.hi) < PHX_INF) | !(phx_fabs(u.hi) < PHX_INF)) {
            return phx_exp_c128(phx_multiply_c128(w, phx_complex_c128(l.hi, t.hi)));
        }
        if (v.hi == 0.0) {
            phx_dd one;
            one.hi = 1.0;
            one.lo = 0.0;
            return phx_complex_c128(phx_exp_times(u.hi, u.lo, 0.0, one), v.hi);
        }
        {
            const phx_sincos d = phx_sincos_pair(v.hi, v.lo);
            return phx_complex_c128(phx_exp_times(u.hi, u.lo, 0.0, d.c),
                                    phx_exp_times(u.hi, u.lo, 0.0, d.s));
        }
    }
}

PHX_OUTLINE c64 phx_pow_c64(c64 z, c64 w) {
    return phx_c128_to_c64(phx_pow_c128(phx_c64_to_c128(z), phx_c64_to_c128(w)));
}

PHX_NARROW_(sqrt)
PHX_NARROW_(log)
PHX_NARROW_(log1p)
PHX_NARROW_(log2)
PHX_NARROW_(log10)

#endif
