/* asin, acos, atan, asinh, acosh, atanh of complex numbers: phx_<op>_c64, phx_<op>_c128.
 *
 * asin and acos: Hull, Fairgrieve and Tang, Implementing the complex arcsine and arccosine
 * functions using exception handling (ACM TOMS 23, 1997); its exceptional regions are told apart
 * beforehand, and the real parts are always taken as arcs of a tangent. atanh: Kahan, Branch cuts
 * for complex elementary functions (1987). asinh(z) = -i asin(iz), atan(z) = -i atanh(iz), acosh(z)
 * = i acos(z) or -i acos(z). c64 is the c128 result rounded again. Worst errors of c128 measured
 * against mpmath, per part: asin, acos, asinh, acosh 2.0 ulp, atan, atanh 2.2 ulp. Special values
 * and branch cuts with signed zeros: C11 Annex G.6.1 and G.6.2, as the Array API 2025.12 repeats
 * them. */
#ifndef PHX_SCALAR_COMPLEX_INVERSE_H
#define PHX_SCALAR_COMPLEX_INVERSE_H

#include "complex_log.h"

/* For a point of the first quadrant: asin = (atan2(top, side), im), acos = (atan2(side, top), -im);
 * only the ratio of top and side matters. */
typedef struct {
    f64 top, side, im;
} phx_arc;

/* |(1 + x) + iy| as a pair; not both zero, below 2**61 */
PHX_FN phx_dd phx_distance_pair(f64 x, f64 y) {
    const phx_dd d = phx_two_sum(1.0, x);
    const phx_dd s = phx_dot2(d.hi, d.hi, y, y);
    const phx_dd t = phx_fast_two_sum(s.hi, s.lo + 2.0 * d.hi * d.lo);
    const phx_dd h = phx_sqrt_pair(t);
    return phx_fast_two_sum(h.hi, h.lo);
}

/* p - b for a pair p >= b; where that cancels, the sum of positive terms c instead */
PHX_FN phx_dd phx_excess(phx_dd p, f64 b, f64 c) {
    const phx_dd s = phx_two_sum(p.hi, -b);
    phx_dd r = phx_fast_two_sum(s.hi, s.lo + p.lo);
    if (r.hi < 9.313225746154785e-10 * p.hi) { /* 2**-30 */
        r.hi = c;
        r.lo = 0.0;
    }
    return r;
}

/* Finite x, y >= 0, not both zero, below 2**60. */
PHX_FN phx_arc phx_arc_quadrant(f64 x, f64 y) {
    phx_arc p;
    if (y <= 1.1102230246251565e-16 * phx_fabs(x - 1.0)) { /* 2**-53: y*y may underflow */
        const f64 root = phx_sqrt(phx_fabs(x - 1.0) * (x + 1.0));
        p.top = x < 1.0 ? x : (x == 1.0 ? 1.0 : root);
        p.side = x < 1.0 ? root : y;
        p.im = x < 1.0 ? y / root : phx_log1p_f64((x - 1.0) + root);
        return p;
    }
    {
        const phx_dd r = phx_distance_pair(x, y);
        const phx_dd s = phx_distance_pair(-x, y);
        const phx_dd sum = phx_pair_sum(r, s);
        const phx_dd a = phx_fast_two_sum(0.5 * sum.hi, 0.5 * sum.lo);
        /* the paper's u = a - 1 and gap = a - x without cancellation, for where the pairs cancel */
        const f64 yr = y / (r.hi + (x + 1.0)) * y;
        const f64 ys = y / (s.hi + phx_fabs(x - 1.0)) * y;
        const f64 wide = s.hi + phx_fabs(x - 1.0);
        const phx_dd u = phx_excess(a, 1.0, 0.5 * (yr + (x < 1.0 ? ys : wide)));
        const phx_dd gap = phx_excess(a, x, 0.5 * (yr + (x <= 1.0 ? wide : ys)));
        const phx_dd a1 = phx_pair_sum(a, phx_fast_two_sum(1.0, 0.0));
        const phx_dd ax = phx_pair_sum(a, phx_fast_two_sum(x, 0.0));
        const phx_dd root = phx_sqrt_pair(phx_pair_product(u, a1));
        const phx_dd side = phx_sqrt_pair(phx_pair_product(ax, gap));
        const phx_dd w = phx_pair_sum(u, phx_fast_two_sum(root.hi, root.lo));
        const phx_dd full = phx_pair_sum(w, phx_fast_two_sum(1.0, 0.0));
        const phx_dd l = w.hi < 1.0 ? phx_log1p_pair(w) : phx_log_pair(full.hi, full.lo, 0.0);
        p.top = x;
        p.side = side.hi + side.lo;
        p.im = l.hi + l.lo;
        return p;
    }
}

/* Above 2**60: asin z = atan(x / y) + i ln(2 |z|) */
PHX_FN phx_arc phx_arc_far(f64 x, f64 y) {
    const phx_dd l = phx_log_norm2(x, y);
    phx_arc p;
    p.top = x;
    p.side = y;
    p.im = phx_fma(0.5, l.hi, PHX_LN2) + 0.5 * l.lo;
    return p;
}

/* The same for every z without NaN, by its quadrant in the first one. */
PHX_FN phx_arc phx_arc_any(c128 z) {
    const f64 x = phx_fabs(z.re), y = phx_fabs(z.im);
    phx_arc p;
    if ((x == PHX_INF) | (y == PHX_INF)) {
        p.top = x;
        p.side = y;
        p.im = PHX_INF;
        return p;
    }
    if ((x == 0.0) & (y == 0.0)) {
        p.top = 0.0;
        p.side = 1.0;
        p.im = 0.0;
        return p;
    }
    if ((x > 1152921504606846976.0) | (y > 1152921504606846976.0)) {
        return phx_arc_far(x, y);
    }
    return phx_arc_quadrant(x, y);
}

PHX_OUTLINE c128 phx_asin_c128(c128 z) {
    if (phx_isnan_c128(z)) {
        const f64 im = phx_isinf_c128(z) ? phx_with_sign(PHX_INF, z.im) : PHX_NAN;
        return phx_complex_c128(z.re == 0.0 ? z.re : PHX_NAN, im);
    }
    {
        const phx_arc p = phx_arc_any(z);
        return phx_complex_c128(phx_copysign(phx_atan2_f64(p.top, p.side), z.re),
                                phx_copysign(p.im, z.im));
    }
}

PHX_OUTLINE c128 phx_acos_c128(c128 z) {
    if (phx_isnan_c128(z)) {
        const f64 im = phx_isinf_c128(z) ? -phx_with_sign(PHX_INF, z.im) : PHX_NAN;
        return phx_complex_c128(z.re == 0.0 ? PHX_PIO2_HI : PHX_NAN, im);
    }
    {
        const phx_arc p = phx_arc_any(z);
        return phx_complex_c128(phx_atan2_f64(p.side, phx_copysign(p.top, z.re)),
                                -phx_copysign(p.im, z.im));
    }
}

/* ---- atanh ----------------------------------------------------------------------------------- */

/* The real part for finite x > 0 and y, |z| < 2**54: log((1 + x)**2 + y**2) - log((1 - x)**2 +
 * y**2), a quarter; beside the pole at 1 y*y may underflow. */
PHX_FN f64 phx_atanh_real(f64 x, f64 y) {
    const f64 d = phx_dot2(1.0 - x, 1.0 - x, y, y).hi;
    if ((x == 1.0) & (phx_fabs(y) < 1e-100)) {
        return 0.5 * (PHX_LN2 - phx_log_f64(phx_fabs(y)));
    }
    return 0.25 * phx_log1p_f64(4.0 * x / d);
}

/* Far out: x / |z|**2 and pi/2. */
PHX_FN f64 phx_atanh_far(f64 x, f64 y) {
    const i32 e = phx_larger_exponent(phx_complex_c128(x, y));
    const f64 a = phx_ldexp(x, -e);
    const f64 b = phx_ldexp(y, -e);
    return phx_ldexp(a / (a * a + b * b), -e);
}

PHX_OUTLINE c128 phx_atanh_c128(c128 z) {
    const f64 x = phx_fabs(z.re), y = z.im;
    const f64 quarter = phx_copysign(PHX_PIO2_HI, y);
    f64 re, im;
    if (phx_isinf_c128(z)) {
        return phx_complex_c128(phx_with_sign(0.0, z.re), y == y ? quarter : PHX_NAN);
    }
    if (phx_isnan_c128(z)) {
        return phx_complex_c128(z.re == 0.0 ? z.re : PHX_NAN, PHX_NAN);
    }
    if ((x > 18014398509481984.0) | (phx_fabs(y) > 18014398509481984.0)) { /* 2**54 */
        re = phx_atanh_far(x, y);
        im = quarter;
    } else {
        re = x == 0.0 ? 0.0 : phx_atanh_real(x, y);
        im = 0.5 * phx_atan2_f64(2.0 * y, phx_dot2(1.0 - x, 1.0 + x, -y, y).hi);
    }
    return phx_complex_c128(phx_copysign(re, z.re), im);
}

/* ---- by symmetry ----------------------------------------------------------------------------- */

PHX_FN c128 phx_asinh_c128(c128 z) { return phx_times_minus_i(phx_asin_c128(phx_times_i(z))); }
PHX_FN c128 phx_atan_c128(c128 z) { return phx_times_minus_i(phx_atanh_c128(phx_times_i(z))); }

PHX_FN c128 phx_acosh_c128(c128 z) {
    const c128 a = phx_acos_c128(z);
    return phx_complex_c128(phx_fabs(a.im), phx_with_sign(a.re, z.im));
}

PHX_NARROW_(asin)
PHX_NARROW_(acos)
PHX_NARROW_(atan)
PHX_NARROW_(asinh)
PHX_NARROW_(acosh)
PHX_NARROW_(atanh)

#endif
