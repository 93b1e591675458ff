/* exp, expm1, sinh, cosh, tanh, sin, cos, tan of complex numbers: phx_<op>_c64, phx_<op>_c128.
 *
 * c128 is computed from pairs (double-double, about 2**-57) of the real exp, sinh, cosh, sin and
 * cos and rounded once per part; c64 is the c128 result rounded again. Worst errors measured
 * against mpmath, per part: exp, sinh, cosh, sin, cos 0.73 ulp, tanh, tan 0.90 ulp. The real part
 * of expm1 is within 0.7 ulp of max(|expm1(x) cos y|, 2 sin(y/2)**2), of which it is the
 * difference: relative to itself it has no bound near the curve e**x cos y = 1. Nothing overflows
 * before the result does. Special values: C11 Annex G.6.2 and G.6.3, as the Array API 2025.12
 * repeats them; signs which they leave open are those of the formula for finite numbers, +0 and
 * +infinity where that has none. sin, cos and tan are -i sinh(iz), cosh(iz) and -i tanh(iz), as
 * both specifications define them. */
#ifndef PHX_SCALAR_COMPLEX_EXP_H
#define PHX_SCALAR_COMPLEX_EXP_H

#include "complex.h"
#include "real_exp.h"
#include "real_trig.h"

/* The c64 function of one argument by way of the c128 one. */
#define PHX_NARROW_(OP)                                              \
    PHX_OUTLINE c64 phx_##OP##_c64(c64 z) {                          \
        return phx_c128_to_c64(phx_##OP##_c128(phx_c64_to_c128(z))); \
    }

/* ---- pairs ----------------------------------------------------------------------------------- */

typedef struct {
    phx_dd s, c;
} phx_sincos;

PHX_FN phx_dd phx_negative_if(phx_dd a, u64 negative) {
    a.hi = negative != 0 ? -a.hi : a.hi;
    a.lo = negative != 0 ? -a.lo : a.lo;
    return a;
}

/* sin and cos of y + yl as normalised pairs, y finite and |yl| <= ulp(y) */
PHX_FN phx_sincos phx_sincos_pair(f64 y, f64 yl) {
    const phx_quarter t = phx_trig_needs_big_f64(y) ? phx_reduce_big(y) : phx_reduce_main_f64(y);
    const phx_dd r = phx_two_sum(t.r, t.rl + yl);
    const f64 z = r.hi * r.hi;
    const phx_dd s = phx_sin_pair(r.hi, r.lo, z);
    const phx_dd c = phx_cos_pair(r.hi, r.lo, z);
    phx_sincos p;
    p.s = phx_negative_if((t.q & 1) != 0 ? c : s, t.q & 2);
    p.c = phx_negative_if((t.q & 1) != 0 ? s : c, (t.q + 1) & 2);
    p.s = phx_fast_two_sum(p.s.hi, p.s.lo);
    p.c = phx_fast_two_sum(p.c.hi, p.c.lo);
    if (phx_fabs(y) < 3.725290298461914e-09) { /* 2**-28 */
        p.s.hi = y;
        p.s.lo = phx_fma(-y * y * y, 0.16666666666666666, yl);
    }
    return p;
}

/* e**(x + xl) * 2**k * s for a finite x and |s| <= 1. A tiny s is raised first, as e**x may raise
 * it. */
PHX_FN f64 phx_exp_times(f64 x, f64 xl, f64 k, phx_dd s) {
    const i32 tiny = phx_fabs(s.hi) < 3.054936363499605e-151; /* 2**-500 */
    const f64 raise = tiny ? 4.149515568880993e180 : 1.0;     /* 2**600 */
    const phx_exp_arg a = phx_exp_reduce(phx_clamp(x, -800.0, 1500.0), xl);
    phx_dd e = phx_exp_core(a.r, a.rl);
    phx_dd y;
    e = phx_fast_two_sum(e.hi, e.lo);
    s.hi *= raise;
    s.lo *= raise;
    y = phx_pair_product(e, s);
    return phx_scale(y.hi, phx_clamp(a.k + k - (tiny ? 600.0 : 0.0), -2000.0, 2000.0));
}

/* ---- exp ------------------------------------------------------------------------------------- */

PHX_OUTLINE c128 phx_exp_c128(c128 z) {
    const f64 x = z.re, y = z.im;
    if (y == 0.0) {
        return phx_complex_c128(phx_exp_f64(x), y);
    }
    if (phx_isfinite_c128(z)) {
        const phx_sincos t = phx_sincos_pair(y, 0.0);
        return phx_complex_c128(phx_exp_times(x, 0.0, 0.0, t.c), phx_exp_times(x, 0.0, 0.0, t.s));
    }
    if (x == -PHX_INF) {
        const i32 turn = phx_fabs(y) < PHX_INF;
        return phx_complex_c128(turn ? phx_copysign(0.0, phx_cos_f64(y)) : 0.0,
                                turn ? phx_copysign(0.0, phx_sin_f64(y)) : 0.0);
    }
    if (x == PHX_INF) {
        const i32 turn = phx_fabs(y) < PHX_INF;
        return phx_complex_c128(turn ? phx_copysign(PHX_INF, phx_cos_f64(y)) : PHX_INF,
                                turn ? phx_copysign(PHX_INF, phx_sin_f64(y)) : PHX_NAN);
    }
    return phx_complex_c128(PHX_NAN, PHX_NAN);
}

/* ---- sinh, cosh, tanh ------------------------------------------------------------------------ */

typedef struct {
    phx_dd s, c;
} phx_sinhcosh;

/* sinh and cosh of x as normalised pairs, |x| <= 40 */
PHX_FN phx_sinhcosh phx_sinhcosh_pair(f64 x) {
    const phx_hyper_pair h = phx_hyper_wide(phx_fabs(x));
    const phx_dd s = phx_hyper_sum(h.d, h.s, h);
    const phx_dd c = phx_hyper_sum(h.s, h.d, h);
    phx_sinhcosh p;
    p.s = phx_negative_if(phx_fast_two_sum(2.0 * s.hi, 2.0 * s.lo), x < 0.0);
    p.c = phx_fast_two_sum(2.0 * c.hi, 2.0 * c.lo);
    if (phx_fabs(x) < 3.725290298461914e-09) { /* 2**-28 */
        p.s.hi = x;
        p.s.lo = x * x * x * 0.16666666666666666;
    }
    return p;
}

PHX_OUTLINE c128 phx_sinh_c128(c128 z) {
    const f64 x = z.re, y = z.im;
    if (y == 0.0) {
        return phx_complex_c128(phx_sinh_f64(x), y);
    }
    if (!(phx_fabs(y) < PHX_INF)) {
        return phx_complex_c128((x == 0.0) | (phx_fabs(x) == PHX_INF) ? x : PHX_NAN, PHX_NAN);
    }
    if (!(phx_fabs(x) < PHX_INF)) {
        return phx_complex_c128(x * phx_cos_f64(y), phx_fabs(x) * phx_sin_f64(y));
    }
    {
        const phx_sincos t = phx_sincos_pair(y, 0.0);
        if (phx_fabs(x) > 40.0) {
            return phx_complex_c128(phx_copysign(1.0, x) *
                                        phx_exp_times(phx_fabs(x), 0.0, -1.0, t.c),
                                    phx_exp_times(phx_fabs(x), 0.0, -1.0, t.s));
        } else {
            const phx_sinhcosh h = phx_sinhcosh_pair(x);
            return phx_complex_c128(phx_pair_product(h.s, t.c).hi, phx_pair_product(h.c, t.s).hi);
        }
    }
}

PHX_OUTLINE c128 phx_cosh_c128(c128 z) {
    const f64 x = z.re, y = z.im;
    const f64 zero = phx_with_sign(0.0, x) * phx_with_sign(1.0, y);
    if (y == 0.0) {
        return phx_complex_c128(phx_cosh_f64(x), zero);
    }
    if (!(phx_fabs(y) < PHX_INF)) {
        return phx_complex_c128(phx_fabs(x) == PHX_INF ? PHX_INF : PHX_NAN,
                                x == 0.0 ? zero : PHX_NAN);
    }
    if (!(phx_fabs(x) < PHX_INF)) {
        return phx_complex_c128(phx_fabs(x) * phx_cos_f64(y), x * phx_sin_f64(y));
    }
    {
        const phx_sincos t = phx_sincos_pair(y, 0.0);
        if (phx_fabs(x) > 40.0) {
            return phx_complex_c128(phx_exp_times(phx_fabs(x), 0.0, -1.0, t.c),
                                    phx_copysign(1.0, x) *
                                        phx_exp_times(phx_fabs(x), 0.0, -1.0, t.s));
        } else {
            const phx_sinhcosh h = phx_sinhcosh_pair(x);
            return phx_complex_c128(phx_pair_product(h.c, t.c).hi, phx_pair_product(h.s, t.s).hi);
        }
    }
}

/* (sinh x cosh x + i sin y cos y) / (sinh(x)**2 + cos(y)**2); far out 1 + 4i sin y cos y e**-2|x|
 */
PHX_OUTLINE c128 phx_tanh_c128(c128 z) {
    const f64 x = z.re, y = z.im;
    const f64 one = phx_copysign(1.0, x);
    if (y == 0.0) {
        return phx_complex_c128(phx_tanh_f64(x), y);
    }
    /* The Array API wants the sign of y, where Annex G has that of sin 2y. */
    if (phx_fabs(x) == PHX_INF) {
        return phx_complex_c128(one, phx_with_sign(0.0, y));
    }
    if (!(phx_fabs(y) < PHX_INF)) {
        return phx_complex_c128(x == 0.0 ? x : PHX_NAN, PHX_NAN);
    }
    if (x != x) {
        return phx_complex_c128(PHX_NAN, PHX_NAN);
    }
    {
        const phx_sincos t = phx_sincos_pair(y, 0.0);
        const phx_dd n = phx_pair_product(t.s, t.c);
        if (phx_fabs(x) > 22.0) {
            const f64 ax = phx_fabs(x) < 400.0 ? phx_fabs(x) : 400.0;
            return phx_complex_c128(one, phx_exp_times(-2.0 * ax, 0.0, 2.0, n));
        } else {
            const phx_sinhcosh h = phx_sinhcosh_pair(x);
            const phx_dd d = phx_pair_sum(phx_pair_product(h.s, h.s), phx_pair_product(t.c, t.c));
            return phx_complex_c128(phx_pair_quotient(phx_pair_product(h.s, h.c), d),
                                    phx_pair_quotient(n, d));
        }
    }
}

/* ---- expm1 ----------------------------------------------------------------------------------- */

/* e**x - 1 as a pair for |x| <= 40; sinh x + 2 sinh(x/2)**2 where that is small */
PHX_FN phx_dd phx_expm1_pair(f64 x) {
    if (phx_fabs(x) < 0.5) {
        const phx_dd h = phx_sinhcosh_pair(0.5 * x).s;
        const phx_dd q = phx_pair_product(h, h);
        return phx_pair_sum(phx_sinhcosh_pair(x).s, phx_fast_two_sum(2.0 * q.hi, 2.0 * q.lo));
    } else {
        const phx_exp_arg a = phx_exp_reduce(x, 0.0);
        const phx_dd e = phx_exp_core(a.r, a.rl);
        const f64 s = phx_pow2(a.k);
        return phx_pair_sum(phx_fast_two_sum(s * e.hi, s * e.lo), phx_fast_two_sum(-1.0, 0.0));
    }
}

/* Re = expm1(x) cos y - 2 sin(y/2)**2 */
PHX_OUTLINE c128 phx_expm1_c128(c128 z) {
    const f64 x = z.re, y = z.im;
    c128 e;
    if (y == 0.0) { /* + 0.0: the standard wants +0 for a real part of -0 */
        return phx_complex_c128(phx_expm1_f64(x) + 0.0, y);
    }
    if (!phx_isfinite_c128(z) | (phx_fabs(x) > 40.0)) {
        e = phx_exp_c128(z);
        return phx_complex_c128(e.re - 1.0, e.im);
    }
    {
        const phx_sincos t = phx_sincos_pair(y, 0.0);
        const phx_dd h = phx_sincos_pair(0.5 * y, 0.0).s;
        phx_dd q = phx_pair_product(h, h);
        q.hi *= -2.0;
        q.lo *= -2.0;
        return phx_complex_c128(phx_pair_sum(phx_pair_product(phx_expm1_pair(x), t.c), q).hi,
                                phx_exp_times(x, 0.0, 0.0, t.s));
    }
}

/* ---- sin, cos, tan: w = f(iz), and -iw for the odd ones -------------------------------------- */

PHX_FN c128 phx_times_i(c128 z) { return phx_complex_c128(-z.im, z.re); }
PHX_FN c128 phx_times_minus_i(c128 z) { return phx_complex_c128(z.im, -z.re); }

PHX_FN c128 phx_sin_c128(c128 z) { return phx_times_minus_i(phx_sinh_c128(phx_times_i(z))); }
PHX_FN c128 phx_cos_c128(c128 z) { return phx_cosh_c128(phx_times_i(z)); }
PHX_FN c128 phx_tan_c128(c128 z) { return phx_times_minus_i(phx_tanh_c128(phx_times_i(z))); }

PHX_NARROW_(exp)
PHX_NARROW_(expm1)
PHX_NARROW_(sinh)
PHX_NARROW_(cosh)
PHX_NARROW_(tanh)
PHX_NARROW_(sin)
PHX_NARROW_(cos)
PHX_NARROW_(tan)

#endif
