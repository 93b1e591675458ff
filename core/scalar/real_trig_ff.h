/* sin, cos, tan, asin, acos, atan, atan2 of float32 in pairs: see real_ff.h. */
#ifndef PHX_REAL_TRIG_FF_H
#define PHX_REAL_TRIG_FF_H

#include "real_ff.h"
#include "real_trig.h"

#define PHX_TRIG_BOUND 2.27373675e-13f /* 2^-42 */
/* Up to 2^15 quarters are taken off, and double reduces what is larger. */
#define PHX_TRIG_FF_MOST 51471.0f

/* x = n pi/2 + r, |r| <= pi/4 and a little, n in the low bits of q, for |x| <= PHX_TRIG_FF_MOST. pi/2 is three
 * numbers of 24 bits. x less the first product is a multiple of 2^-24 below 1, and so exact; the others leave
 * an error of at most 2^-56. Where `near`, which is where r is below 2^-14 for n != 0, that is too much of r. */
typedef struct {
    phx_ff r;
    u32 q;
    i32 near;
} phx_quarter_ff;

PHX_FN phx_quarter_ff phx_reduce_ff(f32 x) {
    phx_quarter_ff t;
    f32 sum = phx_fmaf(x, 0.63661975f, PHX_MAGICF), n = sum - PHX_MAGICF;
    f32 p = n * -4.371139e-08f;
    t.r = phx_ff_exact_sum(phx_fmaf(-n, 1.5707964f, x), -p);
    p = phx_fmaf(n, -1.7151245e-15f, phx_fmaf(n, -4.371139e-08f, -p));
    t.r = phx_ff_fast_sum(t.r.hi, t.r.lo - p);
    t.q = phx_bits32(sum);
    t.near = phx_fabsf(t.r.hi) < 6.1035156e-05f;
    return t;
}

/* cos(r) if `cosine`, else sin(r): 1 + z P(z) in z = r^2, times r for the sine; 2^-49.6 and 2^-53.1 relative to
 * the result. */
PHX_FN phx_ff phx_sin_or_cos_ff(phx_ff r, i32 cosine) {
    phx_ff z = phx_ff_times(r, r), p;
    f32 q = phx_fmaf(cosine ? 2.0664241e-09f : 1.5917286e-10f, z.hi, cosine ? -2.755581e-07f : -2.5051103e-08f);
    p = phx_ff_next(phx_ff_of(q, 0.0f), z, cosine ? 2.4801582e-05f : 2.7557317e-06f,
                    cosine ? 1.659402e-14f : -7.429849e-14f);
    p = phx_ff_next(p, z, cosine ? -0.0013888889f : -0.0001984127f, cosine ? 3.4460722e-11f : 2.780686e-12f);
    p = phx_ff_next(p, z, cosine ? 0.041666668f : 0.008333334f, cosine ? -1.2418205e-09f : -4.3462098e-10f);
    p = phx_ff_next(p, z, cosine ? -0.5f : -0.16666667f, cosine ? 1.2658251e-15f : 4.967054e-09f);
    p = phx_ff_next(p, z, 1.0f, 0.0f);
    return phx_ff_times(p, phx_ff_of(cosine ? 1.0f : r.hi, cosine ? 0.0f : r.lo));
}

PHX_FN f32 phx_quadrant_signf(u32 q, f32 y) { return phx_from_bits32(phx_bits32(y) ^ ((q & 2u) << 30)); }

/* x itself below 2^-12: the next term is x^3 / 6. */
PHX_FN f32 phx_sin_f32(f32 a) {
    f32 x = phx_fabsf(a);
    phx_quarter_ff t = phx_reduce_ff(a);
    i32 odd = (t.q & 1u) != 0u, tiny = x < 0.00024414062f;
    phx_ff y = phx_ff_rounded(phx_sin_or_cos_ff(t.r, odd), PHX_TRIG_BOUND);
    if (tiny | ((x <= PHX_TRIG_FF_MOST) & (odd | !t.near) & (y.hi == y.lo))) {
        return tiny ? a : phx_quadrant_signf(t.q, y.hi);
    }
    return phx_sin_f32_by_double(a);
}

PHX_FN f32 phx_cos_f32(f32 a) {
    phx_quarter_ff t = phx_reduce_ff(a);
    i32 even = (t.q & 1u) == 0u;
    phx_ff y = phx_ff_rounded(phx_sin_or_cos_ff(t.r, even), PHX_TRIG_BOUND);
    if ((phx_fabsf(a) <= PHX_TRIG_FF_MOST) & (even | !t.near) & (y.hi == y.lo)) {
        return phx_quadrant_signf(t.q + 1u, y.hi);
    }
    return phx_cos_f32_by_double(a);
}

/* sin / cos, or -cos / sin in odd quadrants. */
PHX_FN phx_ff phx_tan_ff(phx_quarter_ff t) {
    i32 odd = (t.q & 1u) != 0u;
    phx_ff n = phx_sin_or_cos_ff(t.r, odd), d = phx_sin_or_cos_ff(t.r, !odd);
    return phx_ff_quotient(phx_ff_of(odd ? -n.hi : n.hi, odd ? -n.lo : n.lo), d, phx_dividef(1.0f, d.hi));
}

/* x itself below 2^-13: the next term is x^3 / 3. */
PHX_FN f32 phx_tan_f32(f32 a) {
    f32 x = phx_fabsf(a);
    phx_quarter_ff t = phx_reduce_ff(a);
    phx_ff y = phx_ff_rounded(phx_tan_ff(t), PHX_TRIG_BOUND);
    i32 tiny = x < 0.00012207031f;
    if (tiny | ((x <= PHX_TRIG_FF_MOST) & !t.near & (y.hi == y.lo))) return tiny ? a : y.hi;
    return phx_tan_f32_by_double(a);
}

/* float16 has no number for which double takes another way. */
PHX_FN f32 phx_sin_main_f32(f32 a) { return phx_sin_f32(a); }
PHX_FN f32 phx_cos_main_f32(f32 a) { return phx_cos_f32(a); }
PHX_FN f32 phx_tan_main_f32(f32 a) { return phx_tan_f32(a); }

#define PHX_ASIN_BOUND 9.09494702e-13f /* 2^-40, and of acos, atan */

/* asin(s) = s + s z P(z) in z = s^2 <= 1/4; 2^-43.5. */
PHX_FN phx_ff phx_asin_series_ff(phx_ff s, phx_ff z) {
    f32 q = phx_fmaf(0.027921911f, z.hi, -0.0030645712f);
    phx_ff p;
    q = phx_fmaf(q, z.hi, 0.015791222f);
    q = phx_fmaf(q, z.hi, 0.013141906f);
    p = phx_ff_next(phx_ff_of(q, 0.0f), z, 0.017451288f, 8.663414e-10f);
    p = phx_ff_next(p, z, 0.022364879f, 5.8905514e-10f);
    p = phx_ff_next(p, z, 0.030382264f, -4.6388865e-10f);
    p = phx_ff_next(p, z, 0.04464285f, -1.2419701e-09f);
    p = phx_ff_next(p, z, 0.075f, -2.8977176e-09f);
    p = phx_ff_next(p, z, 0.16666667f, -4.9673345e-09f);
    return phx_ff_times(phx_ff_next(p, z, 1.0f, 0.0f), s);
}

/* asin(x) for 0 <= x <= 1/2, else asin(sqrt((1 - x) / 2)), of which the half is exact. */
PHX_FN phx_ff phx_asin_part_ff(f32 x) {
    i32 far = x > 0.5f;
    phx_ff s = phx_ff_of(x, 0.0f), z = phx_ff_times(s, s), r;
    z = far ? phx_ff_of(phx_fmaf(-0.5f, x, 0.5f), 0.0f) : z;
    r = phx_ff_root(z);
    return phx_asin_series_ff(far ? r : s, z);
}

/* base - factor y, for a pair base. */
PHX_FN phx_ff phx_ff_less(f32 hi, f32 lo, f32 factor, phx_ff y) {
    return phx_ff_plus(phx_ff_of(hi, lo), phx_ff_of(-factor * y.hi, -factor * y.lo));
}

PHX_FN phx_ff phx_asin_ff(f32 x) {
    phx_ff y = phx_asin_part_ff(x);
    return x > 0.5f ? phx_ff_less(1.5707964f, -4.371139e-08f, 2.0f, y) : y;
}

/* x itself below 2^-12: the next term is x^3 / 6. */
PHX_FN f32 phx_asin_f32(f32 a) {
    f32 x = phx_fabsf(a);
    phx_ff y = phx_ff_rounded(phx_asin_ff(x), PHX_ASIN_BOUND);
    i32 tiny = x < 0.00024414062f;
    if (tiny | ((x < 1.0f) & (y.hi == y.lo))) return tiny ? a : phx_copysignf(y.hi, a);
    return phx_asin_f32_by_double(a);
}

PHX_FN phx_ff phx_acos_ff(f32 a) {
    phx_ff y = phx_asin_part_ff(phx_fabsf(a)), twice = phx_ff_of(2.0f * y.hi, 2.0f * y.lo);
    phx_ff far = a > 0.0f ? twice : phx_ff_less(3.1415927f, -8.742278e-08f, 1.0f, twice);
    phx_ff mid = phx_ff_less(1.5707964f, -4.371139e-08f, a > 0.0f ? 1.0f : -1.0f, y);
    return phx_fabsf(a) > 0.5f ? far : mid;
}

PHX_FN f32 phx_acos_f32(f32 a) {
    phx_ff y = phx_ff_rounded(phx_acos_ff(a), PHX_ASIN_BOUND);
    if ((phx_fabsf(a) < 1.0f) & (y.hi == y.lo)) return y.hi;
    return phx_acos_f32_by_double(a);
}

/* atan(t) = t + t z P(z) in z = t^2, |t| <= 1.0005 tan(pi/8); 2^-45.8. */
PHX_FN phx_ff phx_atan_series_ff(phx_ff t) {
    phx_ff z = phx_ff_times(t, t), p;
    f32 q = phx_fmaf(-0.027215933f, z.hi, 0.0516355f);
    q = phx_fmaf(q, z.hi, -0.06548096f);
    q = phx_fmaf(q, z.hi, 0.076804005f);
    p = phx_ff_next(phx_ff_of(q, 0.0f), z, -0.09090179f, -1.4724844e-09f);
    p = phx_ff_next(p, z, 0.11111085f, -3.59623e-09f);
    p = phx_ff_next(p, z, -0.14285713f, -3.359909e-09f);
    p = phx_ff_next(p, z, 0.2f, -3.0257654e-09f);
    p = phx_ff_next(p, z, -0.33333334f, 9.9342055e-09f);
    return phx_ff_times(phx_ff_next(p, z, 1.0f, 0.0f), t);
}

/* The angle of (x, y), y >= 0: from the nearest of the multiples of pi/4 on, as
 * real_trig.h has it. */
PHX_FN phx_ff phx_angle_ff(f32 y, f32 x) {
    f32 wide = phx_fabsf(x), big = y > wide ? y : wide, low = y > wide ? wide : y;
    i32 swap = y > wide, far = low > 0.41421357f * big;
    phx_ff n = far ? phx_ff_exact_sum(low, -big) : phx_ff_of(low, 0.0f);
    phx_ff d = far ? phx_ff_exact_sum(low, big) : phx_ff_of(big, 0.0f);
    phx_ff t = phx_atan_series_ff(phx_ff_quotient(n, d, phx_dividef(1.0f, d.hi)));
    f32 m = swap ? (far ? 1.0f : 2.0f) : (far ? 1.0f : 0.0f), sign = swap ? 1.0f : -1.0f;
    m = x < 0.0f ? 4.0f - m : m;
    sign = x < 0.0f ? -sign : sign;
    n = phx_ff_times(phx_ff_of(m, 0.0f), phx_ff_of(0.7853982f, -2.1855694e-08f));
    return phx_ff_less(n.hi, n.lo, sign, t);
}

PHX_FN phx_ff phx_atan_ff(f32 x) { return phx_angle_ff(x, 1.0f); }

/* x itself below 2^-13: the next term is x^3 / 3; that of 2^30 beyond it. */
PHX_FN f32 phx_atan_f32(f32 a) {
    f32 x = phx_fabsf(a);
    phx_ff y = phx_ff_rounded(phx_atan_ff(x > 1073741824.0f ? 1073741824.0f : x), PHX_ASIN_BOUND);
    i32 tiny = x < 0.00012207031f;
    if (tiny | ((x <= PHX_INFF) & (y.hi == y.lo))) return tiny ? a : phx_copysignf(y.hi, a);
    return phx_atan_f32_by_double(a);
}

/* Of numbers from 2^-30 to 2^30. */
PHX_FN f32 phx_atan2_f32(f32 a, f32 b) {
    f32 y = phx_fabsf(a), x = phx_fabsf(b), big = y > x ? y : x, low = y > x ? x : y;
    phx_ff v = phx_ff_rounded(phx_angle_ff(y, b), PHX_ASIN_BOUND);
    i32 usual = (big <= 1073741824.0f) & (low >= 9.31322575e-10f);
    if (usual & (v.hi == v.lo)) return phx_copysignf(v.hi, a);
    return phx_atan2_f32_by_double(a, b);
}

#endif
