/* sin, cos, tan, asin, acos, atan, atan2 of real numbers, float32 and float64. How the
 * trigonometric argument is reduced, which of the two paths a loop should take, and why there are
 * two: real_reduce.h.
 *
 * asin, acos, atan and atan2 are branch-free. float32 is computed in f64 and rounded once. How the
 * coefficients and the stated errors were obtained: real_exp.h.
 */
#ifndef PHX_REAL_TRIG_H
#define PHX_REAL_TRIG_H

#include "real_common.h"
#include "real_reduce.h"

/* (sin(r) - r - c r^3) / r^5 in z = r^2 for c = PHX_SIN_CUBE, |r| <= 1.005 pi/4; 2^-57.9 relative to the sine. */
#define PHX_SIN_CUBE -0.1666666666666663
PHX_FN f64 phx_sin_poly(f64 z) {
    f64 p = phx_fma(1.5895131269390296e-10, z, -2.505073003771275e-08);
    p = phx_fma(p, z, 2.7557313516784404e-06);
    p = phx_fma(p, z, -0.00019841269829315195);
    return phx_fma(p, z, 0.008333333333321813);
}

/* The same for c = -1/6 as a pair, 2^-64.2. */
#define PHX_SIXTH_LO -9.23943184611842e-18
PHX_FN f64 phx_sin_poly_wide(f64 z) {
    f64 p = phx_fma(-7.586093283910409e-13, z, 1.605852132415535e-10);
    p = phx_fma(p, z, -2.5052106167171305e-08);
    p = phx_fma(p, z, 2.7557319219150304e-06);
    p = phx_fma(p, z, -0.00019841269841264821);
    return phx_fma(p, z, 0.008333333333333331);
}

/* (cos(r) - 1 + z / 2 - c z^2) / z^3 for c = PHX_COS_SQUARE; 2^-64.1 relative to the cosine. */
#define PHX_COS_SQUARE 0.041666666666666595
PHX_FN f64 phx_cos_poly(f64 z) {
    f64 p = phx_fma(-1.1358500471351102e-11, z, 2.0875701652858367e-09);
    p = phx_fma(p, z, -2.755731419746571e-07);
    p = phx_fma(p, z, 2.4801587288961432e-05);
    return phx_fma(p, z, -0.0013888888888873316);
}

/* q odd ? a : b */
PHX_FN f64 phx_if_odd(u64 q, f64 a, f64 b) { return (q & 1) != 0 ? a : b; }

/* y negated in the quadrants 2 and 3 */
PHX_FN f64 phx_quadrant_sign(u64 q, f64 y) {
    return phx_from_bits64(phx_bits64(y) ^ ((q & 2) << 62));
}

/* For f32: about 2^-51 relative. */
PHX_FN f64 phx_sin_narrow(f64 r, f64 z) { return phx_fma(phx_fma(phx_sin_poly(z), z, PHX_SIN_CUBE) * z, r, r); }
PHX_FN f64 phx_cos_narrow(f64 z) {
    return phx_fma(phx_fma(phx_fma(phx_cos_poly(z), z, PHX_COS_SQUARE), z, -0.5), z, 1.0);
}

/* c t z as a pair, for t and z + zl. */
PHX_FN phx_dd phx_times_product(f64 c, f64 t, f64 z, f64 zl) {
    phx_dd p = phx_two_prod(t, z);
    phx_dd y = phx_two_prod(p.hi, c);
    y.lo = phx_fma(phx_fma(t, zl, p.lo), c, y.lo);
    return y;
}

/* For f64: sin(r + rl) and cos(r + rl) as sums, about 2^-58 relative. */
PHX_FN phx_dd phx_sin_pair(f64 r, f64 rl, f64 z) {
    phx_dd cube = phx_times_product(-0.16666666666666666, r, z, phx_fma(r, r, -z));
    phx_dd s = phx_fast_two_sum(r, cube.hi);
    f64 c = phx_fma(z, phx_sin_poly_wide(z), PHX_SIXTH_LO);
    s.lo = phx_fma(z * c, r, phx_fma(z * phx_fma(z, 0.041666666666666664, -0.5), rl, rl) + (cube.lo + s.lo));
    return s;
}

PHX_FN phx_dd phx_cos_pair(f64 r, f64 rl, f64 z) {
    f64 zl = phx_fma(r, r, -z);
    phx_dd square = phx_times_product(PHX_COS_SQUARE, z, z, zl + zl);
    phx_dd c = phx_fast_two_sum(1.0, -0.5 * z);
    phx_dd s = phx_fast_two_sum(c.hi, square.hi);
    f64 slope = phx_fma(r * z, 0.16666666666666666, -r); /* of the cosine, nearly */
    f64 low = phx_fma(-0.5, zl, slope * rl);
    s.lo = phx_fma(z * z * phx_cos_poly(z), z, (low + square.lo) + (c.lo + s.lo));
    return s;
}

/* sin. float64 0.51 ulp. */
PHX_FN f32 phx_sin_quarter_f32(phx_quarter t, f32 x) {
    f64 z = t.r * t.r;
    f64 y = phx_if_odd(t.q, phx_cos_narrow(z), phx_sin_narrow(t.r, z));
    y = phx_quadrant_sign(t.q, y);
    return x == 0.0f ? x : phx_nudge((f32)y, -phx_is(phx_fabsf(x), 0x46199998u));
}

PHX_FN f64 phx_sin_quarter_f64(phx_quarter t, f64 x) {
    f64 z = t.r * t.r;
    phx_dd s = phx_sin_pair(t.r, t.rl, z);
    phx_dd c = phx_cos_pair(t.r, t.rl, z);
    f64 y = phx_quadrant_sign(t.q, phx_if_odd(t.q, c.hi, s.hi) + phx_if_odd(t.q, c.lo, s.lo));
    return phx_fabs(x) < 3.725290298461914e-09 ? x : y; /* 2^-28 */
}

PHX_FN f32 phx_sin_main_f32(f32 x) { return phx_sin_quarter_f32(phx_reduce_main_f32((f64)x), x); }
PHX_FN f64 phx_sin_main_f64(f64 x) { return phx_sin_quarter_f64(phx_reduce_main_f64(x), x); }

PHX_FN f32 phx_sin_f32(f32 x) {
    if (phx_trig_needs_big_f32(x)) return phx_sin_quarter_f32(phx_reduce_big((f64)x), x);
    return phx_sin_main_f32(x);
}

PHX_FN f64 phx_sin_f64(f64 x) {
    if (phx_trig_needs_big_f64(x)) return phx_sin_quarter_f64(phx_reduce_big(x), x);
    return phx_sin_main_f64(x);
}

/* cos; float64 takes x only for the same signature. 0.51 ulp. */
PHX_FN f32 phx_cos_quarter_f32(phx_quarter t, f32 x) {
    f64 z = t.r * t.r;
    f64 y = phx_if_odd(t.q, phx_sin_narrow(t.r, z), phx_cos_narrow(z));
    i32 up = phx_is(phx_fabsf(x), 0x6115cb11u) - phx_is(phx_fabsf(x), 0x5f18b878u);
    return phx_nudge((f32)phx_quadrant_sign(t.q + 1, y), up);
}

PHX_FN f64 phx_cos_quarter_f64(phx_quarter t, f64 x) {
    f64 z = t.r * t.r;
    phx_dd s = phx_sin_pair(t.r, t.rl, z);
    phx_dd c = phx_cos_pair(t.r, t.rl, z);
    (void)x;
    return phx_quadrant_sign(t.q + 1, phx_if_odd(t.q, s.hi, c.hi) + phx_if_odd(t.q, s.lo, c.lo));
}

PHX_FN f32 phx_cos_main_f32(f32 x) { return phx_cos_quarter_f32(phx_reduce_main_f32((f64)x), x); }
PHX_FN f64 phx_cos_main_f64(f64 x) { return phx_cos_quarter_f64(phx_reduce_main_f64(x), x); }

PHX_FN f32 phx_cos_f32(f32 x) {
    if (phx_trig_needs_big_f32(x)) return phx_cos_quarter_f32(phx_reduce_big((f64)x), x);
    return phx_cos_main_f32(x);
}

PHX_FN f64 phx_cos_f64(f64 x) {
    if (phx_trig_needs_big_f64(x)) return phx_cos_quarter_f64(phx_reduce_big(x), x);
    return phx_cos_main_f64(x);
}

/* tan = sin / cos, or -cos / sin in odd quadrants; in float64 both as pairs: 0.51 ulp. */
PHX_FN f32 phx_tan_quarter_f32(phx_quarter t, f32 x) {
    f64 z = t.r * t.r;
    f64 s = phx_sin_narrow(t.r, z);
    f64 c = phx_cos_narrow(z);
    return x == 0.0f ? x : (f32)(phx_if_odd(t.q, -c, s) / phx_if_odd(t.q, s, c));
}

PHX_FN f64 phx_tan_quarter_f64(phx_quarter t, f64 x) {
    f64 z = t.r * t.r;
    phx_dd s = phx_sin_pair(t.r, t.rl, z);
    phx_dd c = phx_cos_pair(t.r, t.rl, z);
    phx_dd n = phx_fast_two_sum(phx_if_odd(t.q, -c.hi, s.hi), phx_if_odd(t.q, -c.lo, s.lo));
    phx_dd d = phx_fast_two_sum(phx_if_odd(t.q, s.hi, c.hi), phx_if_odd(t.q, s.lo, c.lo));
    f64 k = 1.0 / d.hi;
    f64 y = n.hi * k;
    y = phx_fma(phx_fma(-y, d.hi, n.hi) + phx_fma(-y, d.lo, n.lo), k, y);
    return phx_fabs(x) < 3.725290298461914e-09 ? x : y;
}

PHX_FN f32 phx_tan_main_f32(f32 x) { return phx_tan_quarter_f32(phx_reduce_main_f32((f64)x), x); }
PHX_FN f64 phx_tan_main_f64(f64 x) { return phx_tan_quarter_f64(phx_reduce_main_f64(x), x); }

PHX_FN f32 phx_tan_f32(f32 x) {
    if (phx_trig_needs_big_f32(x)) return phx_tan_quarter_f32(phx_reduce_big((f64)x), x);
    return phx_tan_main_f32(x);
}

PHX_FN f64 phx_tan_f64(f64 x) {
    if (phx_trig_needs_big_f64(x)) return phx_tan_quarter_f64(phx_reduce_big(x), x);
    return phx_tan_main_f64(x);
}

#define PHX_PIO4_HI 0.7853981633974483
#define PHX_PIO4_LO 3.061616997868383e-17

/* (asin(s) - s) / s^3 in z = s^2 <= 1/4; 2^-51.9. */
PHX_FN f64 phx_asin_poly10(f64 z) {
    f64 p = phx_fma(0.031568738276531734, z, -0.011767516130506467);
    p = phx_fma(p, z, 0.018290392693508073);
    p = phx_fma(p, z, 0.009369091572750364);
    p = phx_fma(p, z, 0.014324725261758257);
    p = phx_fma(p, z, 0.01731381581567091);
    p = phx_fma(p, z, 0.0223748981638717);
    p = phx_fma(p, z, 0.030381823971642432);
    p = phx_fma(p, z, 0.044642860209916146);
    p = phx_fma(p, z, 0.07499999996117004);
    return phx_fma(p, z, 0.16666666666683713);
}

/* (asin(s) - s - c s^3) / s^5 for c = PHX_ASIN_CUBE; 2^-59.8 relative to the arc sine. */
#define PHX_ASIN_CUBE 0.16666666666666763
PHX_FN f64 phx_asin_poly12(f64 z) {
    f64 p = phx_fma(0.032687913868740655, z, -0.021094595066043137);
    p = phx_fma(p, z, 0.021775550072017032);
    p = phx_fma(p, z, 0.0036781357716127606);
    p = phx_fma(p, z, 0.01078782334208923);
    p = phx_fma(p, z, 0.011397544306191889);
    p = phx_fma(p, z, 0.013980990080802957);
    p = phx_fma(p, z, 0.01735159765634609);
    p = phx_fma(p, z, 0.022372215799930695);
    p = phx_fma(p, z, 0.03038194267845203);
    p = phx_fma(p, z, 0.04464285717523485);
    return phx_fma(p, z, 0.07499999999970133);
}

/* Up to 1/2 the series of asin |x|; above, asin |x| = pi/2 - 2 asin(s), s = sqrt((1 - |x|) / 2)
   (Cody & Waite, 1980). asin(s or |x|) = s + c, and + low in f64; |x| > 1 gives NaN through the square root. */
typedef struct {
    f64 s, c, low;
} phx_asin_parts;

PHX_FN phx_asin_parts phx_asin_narrow(f64 ax) {
    phx_asin_parts a;
    f64 z = ax > 0.5 ? phx_fma(-0.5, ax, 0.5) : ax * ax;
    a.s = ax > 0.5 ? phx_sqrt(z) : ax;
    a.low = 0.0;
    a.c = a.s * (z * phx_asin_poly10(z));
    return a;
}

PHX_FN phx_asin_parts phx_asin_wide(f64 ax) {
    phx_asin_parts a;
    f64 z = ax > 0.5 ? phx_fma(-0.5, ax, 0.5) : ax * ax;
    f64 s = phx_sqrt(z);
    f64 sl = phx_fma(-s, s, z) * (0.5 / (s + 1e-300)); /* s = 0 must not make 0 / 0 */
    a.s = ax > 0.5 ? s : ax;
    sl = ax > 0.5 ? sl : 0.0;
    phx_dd cube = phx_times_product(PHX_ASIN_CUBE, a.s, z, phx_fma(a.s, a.s, -z));
    a.c = cube.hi;
    a.low = phx_fma(z * z * phx_asin_poly12(z), a.s, cube.lo + phx_fma(0.5 * z, sl, sl));
    return a;
}

PHX_FN f32 phx_asin_f32(f32 x) {
    f64 ax = phx_fabs((f64)x);
    phx_asin_parts a = phx_asin_narrow(ax);
    f64 y = a.s + a.c;
    y = ax > 0.5 ? phx_fma(-2.0, y, PHX_PIO2_HI) : y;
    return phx_nudge(phx_copysignf((f32)y, x), -phx_is(phx_fabsf(x), 0x3f083a1au));
}

PHX_FN f32 phx_acos_f32(f32 x) {
    f64 ax = phx_fabs((f64)x);
    phx_asin_parts a = phx_asin_narrow(ax);
    f64 y = a.s + a.c;
    f64 far = x > 0.0f ? y + y : phx_fma(-2.0, y, 2.0 * PHX_PIO2_HI);
    f64 mid = PHX_PIO2_HI - (x > 0.0f ? y : -y);
    return phx_nudge((f32)(ax > 0.5 ? far : mid),
                     phx_is(x, 0x328885a3u) | phx_is(x, 0x39826222u));
}

/* 0.53 ulp. */
PHX_FN f64 phx_asin_f64(f64 x) {
    f64 ax = phx_fabs(x);
    phx_asin_parts a = phx_asin_wide(ax);
    f64 m = ax > 0.5 ? -2.0 : 1.0;
    phx_dd y = phx_fast_two_sum(ax > 0.5 ? PHX_PIO2_HI : 0.0, m * a.s);
    phx_dd v = phx_fast_two_sum(y.hi, m * a.c);
    return phx_copysign(v.hi + (v.lo + (y.lo + phx_fma(m, a.low, ax > 0.5 ? PHX_PIO2_LO : 0.0))), x);
}

/* 0.52 ulp: from 0, pi / 2 or pi, the sum a.s + a.c + a.low times 2, 1 or -1, -2. */
PHX_FN f64 phx_acos_f64(f64 x) {
    f64 ax = phx_fabs(x);
    phx_asin_parts a = phx_asin_wide(ax);
    f64 right = phx_copysign(1.0, x);
    f64 m = ax > 0.5 ? right + right : -right;
    f64 turns = ax > 0.5 ? 1.0 - right : 1.0;
    phx_dd y = phx_fast_two_sum(turns * PHX_PIO2_HI, m * a.s);
    phx_dd v = phx_fast_two_sum(y.hi, m * a.c);
    return v.hi + (v.lo + (y.lo + phx_fma(m, a.low, turns * PHX_PIO2_LO)));
}

/* (atan(t) - t) / t^3 in z = t^2, |t| <= 1.0005 tan(pi/8); 2^-54.7. */
PHX_FN f64 phx_atan_poly9(f64 z) {
    f64 p = phx_fma(0.021262582539372812, z, -0.04359412194110403);
    p = phx_fma(p, z, 0.05692684658488374);
    p = phx_fma(p, z, -0.06641156702351433);
    p = phx_fma(p, z, 0.07690073377179535);
    p = phx_fma(p, z, -0.09090782851330488);
    p = phx_fma(p, z, 0.11111106676210805);
    p = phx_fma(p, z, -0.14285714195915486);
    p = phx_fma(p, z, 0.19999999999098175);
    return phx_fma(p, z, -0.33333333333330195);
}

/* (atan(t) - t - c t^3) / t^5 for c = PHX_ATAN_CUBE; 2^-63.8 relative to the arc tangent. */
#define PHX_ATAN_CUBE -0.33333333333333326
PHX_FN f64 phx_atan_poly11(f64 z) {
    f64 p = phx_fma(0.015101102275428054, z, -0.03337572639192583);
    p = phx_fma(p, z, 0.04499005310944207);
    p = phx_fma(p, z, -0.05217199946344367);
    p = phx_fma(p, z, 0.05876818760518639);
    p = phx_fma(p, z, -0.06666204074782242);
    p = phx_fma(p, z, 0.07692281061785353);
    p = phx_fma(p, z, -0.09090908060617368);
    p = phx_fma(p, z, 0.11111111085537209);
    p = phx_fma(p, z, -0.14285714285338927);
    return phx_fma(p, z, 0.19999999999997203);
}

/* The angle of (x, y), x and y >= 0, not both 0 nor both infinite, as m pi/4 + sign * atan(num /
   den): the smaller over the greater, and (a - 1) / (a + 1) above tan(pi/8); one division. num and
   den as pairs. */
typedef struct {
    phx_dd num, den;
    f64 m, sign;
} phx_octant;

PHX_FN phx_octant phx_octant_of(f64 y, f64 x) {
    phx_octant o;
    f64 swap = y > x ? 1.0 : 0.0;
    f64 big = y > x ? y : x;
    f64 low = y > x ? x : y;
    phx_dd d = phx_fast_two_sum(big, -low);
    phx_dd s = phx_fast_two_sum(big, low);
    f64 far = low > 0.41421356237309503 * big ? 1.0 : 0.0;
    o.num.hi = far > 0.0 ? -d.hi : low;
    o.num.lo = far > 0.0 ? -d.lo : 0.0;
    o.den.hi = far > 0.0 ? s.hi : big;
    o.den.lo = far > 0.0 ? s.lo : 0.0;
    o.m = swap > 0.0 ? 2.0 - far : far;
    o.sign = swap > 0.0 ? -1.0 : 1.0;
    return o;
}

/* m pi/4 + sign * atan(num / den) in f64, to 0.52 ulp. */
PHX_FN f64 phx_octant_angle(phx_octant o) {
    f64 k = 1.0 / o.den.hi;
    f64 t = o.num.hi * k;
    f64 tl = (phx_fma(-t, o.den.hi, o.num.hi) + phx_fma(-t, o.den.lo, o.num.lo)) * k;
    f64 z = t * t;
    phx_dd cube = phx_times_product(PHX_ATAN_CUBE, t, z, phx_fma(t, t, -z));
    f64 c = phx_fma(z * z * phx_atan_poly11(z), t, cube.lo + phx_fma(tl, phx_fma(z, z, -z), tl));
    f64 base = o.m * PHX_PIO4_HI;
    f64 low = phx_fma(o.m, PHX_PIO4_HI, -base) + o.m * PHX_PIO4_LO;
    phx_dd s = phx_fast_two_sum(base, o.sign * t);
    phx_dd y = phx_fast_two_sum(s.hi, o.sign * cube.hi);
    return y.hi + (y.lo + (s.lo + phx_fma(o.sign, c, low)));
}

/* The angle for f32: x and y as above; left of the axis where side is -1, not 1. */
PHX_FN f64 phx_angle_narrow(f64 y, f64 x, f64 side) {
    f64 steep = 2.414213562373095 * x, flat = 0.41421356237309503 * x;
    f64 num = y > steep ? -x : (y > flat ? y - x : y);
    f64 den = y > steep ? y : (y > flat ? y + x : x);
    f64 m = y > steep ? 2.0 : (y > flat ? 1.0 : 0.0);
    f64 t = num / den;
    f64 z = t * t;
    t = t * side;
    return phx_fma(side < 0.0 ? 4.0 - m : m, PHX_PIO4_HI, phx_fma(z * phx_atan_poly9(z), t, t));
}

/* The other half plane: pi - angle. */
PHX_FN phx_octant phx_octant_mirror(phx_octant o, f64 x) {
    f64 left = phx_copysign(1.0, x);
    o.m = left < 0.0 ? 4.0 - o.m : o.m;
    o.sign = o.sign * left;
    return o;
}

PHX_FN f32 phx_atan_f32(f32 a) {
    f64 x = (f64)phx_fabsf(a);
    f64 y = phx_angle_narrow(x < 1e30 ? x : 1e30, 1.0, 1.0);
    f32 z = phx_nudge(phx_copysignf((f32)y, a), phx_is(phx_fabsf(a), 0x3d8d6b23u));
    return a != a ? a : z;
}

/* Beyond 2^60 it is pi/2 in f64. 0.52 ulp. */
PHX_FN f64 phx_atan_f64(f64 a) {
    f64 x = phx_fabs(a);
    f64 y =
        phx_octant_angle(phx_octant_of(x < 1152921504606846976.0 ? x : 1152921504606846976.0, 1.0));
    return x != x ? a : phx_copysign(y, a);
}

/* 0 and infinity: (0, 0) goes as (0, 1), (inf, inf) as (1, 1), (inf, finite) as (1, 0). */
PHX_FN f64 phx_atan2_finite(f64 v, f64 other) {
    f64 at = v == PHX_INF ? 1.0 : 0.0;
    f64 some = other == PHX_INF ? at : v;
    return v == PHX_INF ? 1.0 : some;
}

/* All of 2.5e7 random pairs were correctly rounded. */
PHX_FN f32 phx_atan2_f32(f32 a, f32 b) {
    f64 y = phx_fabs((f64)a);
    f64 x = phx_fabs((f64)b);
    f64 v = phx_atan2_finite(y, x);
    f64 u = phx_atan2_finite(x, y);
    f64 r = phx_angle_narrow(v, v + u == 0.0 ? 1.0 : u, phx_copysign(1.0, (f64)b));
    return a != a || b != b ? a + b : phx_copysignf((f32)r, a);
}

/* Arguments are scaled, so that neither the sum nor the reciprocal nor what the quotient leaves is outside of the
   normal range. 0.52 ulp. */
PHX_FN f64 phx_atan2_f64(f64 a, f64 b) {
    f64 y = phx_fabs(a);
    f64 x = phx_fabs(b);
    f64 v = phx_atan2_finite(y, x);
    f64 u = phx_atan2_finite(x, y);
    f64 big = v > u ? v : u;
    f64 up = big < 2.037035976334486e+90 ? 4.149515568880993e+180 : 1.0;  /* 2^600 below 2^300 */
    f64 s = big > 4.149515568880993e+180 ? 7.888609052210118e-31 : up;    /* 2^-100 above 2^600 */
    phx_octant o = phx_octant_mirror(phx_octant_of(v * s, big == 0.0 ? 1.0 : u * s), b);
    return a != a || b != b ? a + b : phx_copysign(phx_octant_angle(o), a);
}

#endif
