/* Complex arithmetic: phx_<op>_c64 and phx_<op>_c128.
 *
 *   add subtract negative conj real imag equal not_equal isnan isinf isfinite round (each part)
 *   multiply divide reciprocal square abs sign (z / |z|, 0 for 0), conversions
 *
 * c64 is computed in f64 and rounded once per part: within 0.5000001 ulp.
 * c128: the sums of products a*c - b*d are taken as double-double pairs, so each part of multiply,
 * divide, reciprocal, square, abs and sign is within 1 ulp, cancellation included (measured: 0.501;
 * 0.91 where the result is subnormal). Nothing overflows or underflows on the way: where the
 * exponents are extreme, mantissas and exponents are handled apart. multiply is commutative.
 * Infinities and NaN: C11 Annex G.5 (a value with an infinite part is infinite, whatever its other
 * part; finite / 0 is infinite), which the Array API 2025.12 leaves open. NaN results are the quiet
 * NaN of the prelude or of the machine: payload and sign are not specified.
 *
 * multiply, divide, reciprocal, square and abs come in two parts, so that loops can vectorise:
 * phx_<op>_needs_care_<C> (1 or 0), and phx_<op>_main_<C>, free of branches, for all others. The
 * function without a suffix takes the right path; real_reduce.h shows the loop.
 *
 * A prelude may define PHX_OUTLINE, the qualifier of the long functions, to keep them from being
 * inlined; the default is PHX_FN.
 */
#ifndef PHX_SCALAR_COMPLEX_H
#define PHX_SCALAR_COMPLEX_H

#include "real_common.h"

#ifndef PHX_OUTLINE
#define PHX_OUTLINE PHX_FN
#endif

/* ---- parts, conversions, comparisons --------------------------------------------------------- */

#define PHX_COMPLEX_BASIC_(C, F, S)                                                               \
    PHX_FN C phx_complex_##C(F re, F im) {                                                        \
        C z;                                                                                      \
        z.re = re;                                                                                \
        z.im = im;                                                                                \
        return z;                                                                                 \
    }                                                                                             \
    PHX_FN F phx_real_##C(C z) { return z.re; }                                                   \
    PHX_FN F phx_imag_##C(C z) { return z.im; }                                                   \
    PHX_FN C phx_conj_##C(C z) { return phx_complex_##C(z.re, -z.im); }                           \
    PHX_FN C phx_negative_##C(C z) { return phx_complex_##C(-z.re, -z.im); }                      \
    PHX_FN C phx_add_##C(C z, C w) { return phx_complex_##C(z.re + w.re, z.im + w.im); }          \
    PHX_FN C phx_subtract_##C(C z, C w) { return phx_complex_##C(z.re - w.re, z.im - w.im); }     \
    PHX_FN C phx_round_##C(C z) { return phx_complex_##C(phx_rint##S(z.re), phx_rint##S(z.im)); } \
    PHX_FN u8 phx_equal_##C(C z, C w) { return (u8)((z.re == w.re) & (z.im == w.im)); }           \
    PHX_FN u8 phx_not_equal_##C(C z, C w) { return (u8)((z.re != w.re) | (z.im != w.im)); }       \
    PHX_FN u8 phx_isnan_##C(C z) { return (u8)((z.re != z.re) | (z.im != z.im)); }                \
    PHX_FN u8 phx_isinf_##C(C z) {                                                                \
        return (u8)((phx_fabs##S(z.re) == (F)PHX_INF) | (phx_fabs##S(z.im) == (F)PHX_INF));       \
    }                                                                                             \
    PHX_FN u8 phx_isfinite_##C(C z) {                                                             \
        return (u8)((phx_fabs##S(z.re) < (F)PHX_INF) & (phx_fabs##S(z.im) < (F)PHX_INF));         \
    }                                                                                             \
    PHX_FN u8 phx_##C##_to_b(C z) { return (u8)((z.re != (F)0) | (z.im != (F)0)); }               \
    PHX_FN C phx_f32_to_##C(f32 x) { return phx_complex_##C((F)x, (F)0); }                        \
    PHX_FN C phx_f64_to_##C(f64 x) { return phx_complex_##C((F)x, (F)0); }
PHX_COMPLEX_BASIC_(c64, f32, f)
PHX_COMPLEX_BASIC_(c128, f64, )
#undef PHX_COMPLEX_BASIC_

PHX_FN c128 phx_c64_to_c128(c64 z) { return phx_complex_c128((f64)z.re, (f64)z.im); }
PHX_FN c64 phx_c128_to_c64(c128 z) { return phx_complex_c64((f32)z.re, (f32)z.im); }

/* ---- sums of two products -------------------------------------------------------------------- */

/* a*b + c*d as a pair, close to correctly rounded in .hi even where the products cancel; symmetric
 * in the two products. The sign of a sum of zero is that of the sum of the rounded products. No product
 * may overflow; below 2**-969 products lose their low bits. */
PHX_FN phx_dd phx_dot2(f64 a, f64 b, f64 c, f64 d) {
    const phx_dd p = phx_two_prod(a, b);
    const phx_dd q = phx_two_prod(c, d);
    const phx_dd s = phx_two_sum(p.hi, q.hi);
    const phx_dd t = phx_two_sum(p.lo, q.lo);
    const phx_dd r = phx_two_sum(s.hi, t.hi);
    phx_dd v = phx_fast_two_sum(r.hi, r.lo + (s.lo + t.lo));
    v.hi = v.hi == 0.0 ? s.hi : v.hi;
    return v;
}

/* n / d of pairs, rounded once (0.5 ulp and about 2**-50). */
PHX_FN f64 phx_pair_quotient(phx_dd n, phx_dd d) {
    const f64 q = n.hi / d.hi;
    const f64 r = phx_fma(-q, d.lo, phx_fma(-q, d.hi, n.hi) + n.lo);
    return n.hi == 0.0 ? q : q + r / d.hi;
}

/* A number as m * 2**e: 1 <= |m| < 2, or m = 0 with an e below all others. */
typedef struct {
    f64 m;
    i32 e;
} phx_parts;

/* A pair times 2**e. */
typedef struct {
    phx_dd v;
    i32 e;
} phx_scaled;

PHX_FN phx_parts phx_split_parts(f64 x) {
    const f64 size = phx_fabs(x);
    const f64 y = size < 2.2250738585072014e-308 ? x * 18014398509481984.0 : x; /* 2**54 */
    const u64 u = phx_bits64(y);
    phx_parts p;
    p.e = (i32)((u >> 52) & 0x7ffu) - (size < 2.2250738585072014e-308 ? 1077 : 1023);
    p.e = x == 0.0 ? -9999 : p.e;
    p.m = x == 0.0 ? x : phx_from_bits64((u & ~((u64)0x7ff << 52)) | PHX_BITS_ONE);
    return p;
}

/* 2**e for -1022 <= e <= 1023 */
PHX_FN f64 phx_exp2_int(i32 e) { return phx_from_bits64((u64)(1023 + e) << 52); }

/* x * 2**e for any e: three factors, so that only the last product can round. */
PHX_FN f64 phx_ldexp(f64 x, i32 e) {
    const i32 c = e > 3000 ? 3000 : (e < -3000 ? -3000 : e);
    const i32 first = c / 3;
    const i32 second = (c - first) / 2;
    return x * phx_exp2_int(first) * phx_exp2_int(second) * phx_exp2_int(c - first - second);
}

/* a*b + c*d; a product which is 2**-300 of the other is kept as that, only its sign can still
 * matter. */
PHX_FN phx_scaled phx_dot2_parts(phx_parts a, phx_parts b, phx_parts c, phx_parts d) {
    const i32 p = a.e + b.e;
    const i32 q = c.e + d.e;
    phx_scaled r;
    r.e = p > q ? p : q;
    r.v = phx_dot2(a.m * phx_exp2_int(p - r.e < -300 ? -300 : p - r.e), b.m,
                   c.m * phx_exp2_int(q - r.e < -300 ? -300 : q - r.e), d.m);
    return r;
}

PHX_FN f64 phx_scaled_value(phx_scaled s) { return phx_ldexp(s.v.hi, s.e); }

PHX_FN f64 phx_scaled_quotient(phx_scaled n, phx_scaled d) {
    return phx_ldexp(phx_pair_quotient(n.v, d.v), n.e - d.e);
}

/* 0 or 2**-400 < |x| < 2**400: products and squares neither overflow nor lose bits */
PHX_FN i32 phx_is_moderate(f64 x) {
    const u64 size = phx_bits64(x) << 1;
    const u64 low = (u64)(1023 - 400) << 53;
    const u64 high = (u64)(1023 + 400) << 53;
    return (size == 0) | (size - (low + 1) < high - (low + 1));
}

/* ---- multiply -------------------------------------------------------------------------------- */

/* A number with the sign of x, which is plus if x is NaN: what sign a NaN has depends on the hardware. */
PHX_FN f64 phx_with_sign(f64 size, f64 x) { return phx_copysign(size, x == x ? x : 1.0); }
PHX_FN f64 phx_unit_if_inf(f64 x) { return phx_with_sign(phx_fabs(x) == PHX_INF ? 1.0 : 0.0, x); }
PHX_FN f64 phx_zero_if_nan(f64 x) { return x == x ? x : 0.0; }

/* The product where an operand is not finite (Annex G.5.1): an infinite one is put on the unit
 * square. */
PHX_OUTLINE c128 phx_multiply_special(c128 z, c128 w) {
    const f64 re = z.re * w.re - z.im * w.im;
    const f64 im = z.re * w.im + z.im * w.re;
    const i32 z_inf = phx_isinf_c128(z);
    const i32 w_inf = phx_isinf_c128(w);
    const i32 over = (phx_fabs(z.re * w.re) == PHX_INF) | (phx_fabs(z.im * w.im) == PHX_INF) |
                     (phx_fabs(z.re * w.im) == PHX_INF) | (phx_fabs(z.im * w.re) == PHX_INF);
    f64 a = z.re, b = z.im, c = w.re, d = w.im;
    if ((re == re) | (im == im) | !(z_inf | w_inf | over)) {
        return phx_complex_c128(re, im);
    }
    a = phx_zero_if_nan(z_inf ? phx_unit_if_inf(a) : a);
    b = phx_zero_if_nan(z_inf ? phx_unit_if_inf(b) : b);
    c = phx_zero_if_nan(w_inf ? phx_unit_if_inf(c) : c);
    d = phx_zero_if_nan(w_inf ? phx_unit_if_inf(d) : d);
    return phx_complex_c128(PHX_INF * (a * c - b * d), PHX_INF * (a * d + b * c));
}

/* The product of any finite numbers. */
PHX_OUTLINE c128 phx_multiply_wide(c128 z, c128 w) {
    const phx_parts a = phx_split_parts(z.re);
    const phx_parts b = phx_split_parts(z.im);
    const phx_parts c = phx_split_parts(w.re);
    const phx_parts d = phx_split_parts(w.im);
    const phx_parts minus_b = phx_split_parts(-z.im);
    return phx_complex_c128(phx_scaled_value(phx_dot2_parts(a, c, minus_b, d)),
                            phx_scaled_value(phx_dot2_parts(a, d, b, c)));
}

PHX_FN i32 phx_multiply_needs_care_c128(c128 z, c128 w) {
    return 1 ^ (phx_is_moderate(z.re) & phx_is_moderate(z.im) & phx_is_moderate(w.re) &
                phx_is_moderate(w.im));
}

PHX_FN c128 phx_multiply_main_c128(c128 z, c128 w) {
    return phx_complex_c128(phx_dot2(z.re, w.re, -z.im, w.im).hi,
                            phx_dot2(z.re, w.im, z.im, w.re).hi);
}

PHX_FN c128 phx_multiply_c128(c128 z, c128 w) {
    if (!phx_multiply_needs_care_c128(z, w)) {
        return phx_multiply_main_c128(z, w);
    }
    if (phx_isfinite_c128(z) & phx_isfinite_c128(w)) {
        return phx_multiply_wide(z, w);
    }
    return phx_multiply_special(z, w);
}

/* Products of f32 are exact in f64. */
PHX_FN i32 phx_multiply_needs_care_c64(c64 z, c64 w) {
    return 1 ^ ((phx_fabsf(z.re) < PHX_INFF) & (phx_fabsf(z.im) < PHX_INFF) &
                (phx_fabsf(w.re) < PHX_INFF) & (phx_fabsf(w.im) < PHX_INFF));
}

PHX_FN c64 phx_multiply_main_c64(c64 z, c64 w) {
    const f64 a = (f64)z.re, b = (f64)z.im, c = (f64)w.re, d = (f64)w.im;
    return phx_complex_c64((f32)(a * c - b * d), (f32)(a * d + b * c));
}

PHX_FN c64 phx_multiply_c64(c64 z, c64 w) {
    const f64 a = (f64)z.re, b = (f64)z.im, c = (f64)w.re, d = (f64)w.im;
    const f64 re = a * c - b * d;
    const f64 im = a * d + b * c;
    if ((re != re) & (im != im)) {
        return phx_c128_to_c64(phx_multiply_special(phx_c64_to_c128(z), phx_c64_to_c128(w)));
    }
    return phx_complex_c64((f32)re, (f32)im);
}

#define PHX_COMPLEX_SQUARE_(C)                                                              \
    PHX_FN i32 phx_square_needs_care_##C(C z) { return phx_multiply_needs_care_##C(z, z); } \
    PHX_FN C phx_square_main_##C(C z) { return phx_multiply_main_##C(z, z); }               \
    PHX_FN C phx_square_##C(C z) { return phx_multiply_##C(z, z); }
PHX_COMPLEX_SQUARE_(c64)
PHX_COMPLEX_SQUARE_(c128)
#undef PHX_COMPLEX_SQUARE_

/* ---- divide ---------------------------------------------------------------------------------- */

/* The quotient where a part is not finite or the divisor is zero (Annex G.5.1). */
PHX_OUTLINE c128 phx_divide_special(c128 z, c128 w) {
    f64 a = z.re, b = z.im, c = w.re, d = w.im;
    if ((c == 0.0) & (d == 0.0) & ((a == a) | (b == b))) {
        return phx_complex_c128(phx_copysign(PHX_INF, c) * a, phx_copysign(PHX_INF, c) * b);
    }
    if (phx_isinf_c128(z) & phx_isfinite_c128(w)) {
        a = phx_unit_if_inf(a);
        b = phx_unit_if_inf(b);
        return phx_complex_c128(PHX_INF * (a * c + b * d), PHX_INF * (b * c - a * d));
    }
    if (phx_isfinite_c128(z) & phx_isinf_c128(w)) {
        a = phx_copysign(a == 0.0 ? 0.0 : 1.0, a); /* only signs matter */
        b = phx_copysign(b == 0.0 ? 0.0 : 1.0, b);
        c = phx_unit_if_inf(c);
        d = phx_unit_if_inf(d);
        return phx_complex_c128(0.0 * (a * c + b * d), 0.0 * (b * c - a * d));
    }
    return phx_complex_c128(PHX_NAN, PHX_NAN);
}

/* The quotient of any finite numbers, the divisor not zero. */
PHX_OUTLINE c128 phx_divide_wide(c128 z, c128 w) {
    const phx_parts a = phx_split_parts(z.re);
    const phx_parts b = phx_split_parts(z.im);
    const phx_parts c = phx_split_parts(w.re);
    const phx_parts d = phx_split_parts(w.im);
    const phx_parts minus_d = phx_split_parts(-w.im);
    const phx_scaled size = phx_dot2_parts(c, c, d, d);
    return phx_complex_c128(phx_scaled_quotient(phx_dot2_parts(a, c, b, d), size),
                            phx_scaled_quotient(phx_dot2_parts(b, c, a, minus_d), size));
}

PHX_FN i32 phx_divide_needs_care_c128(c128 z, c128 w) {
    return phx_multiply_needs_care_c128(z, w) | ((w.re == 0.0) & (w.im == 0.0));
}

PHX_FN c128 phx_divide_main_c128(c128 z, c128 w) {
    const phx_dd size = phx_dot2(w.re, w.re, w.im, w.im);
    return phx_complex_c128(phx_pair_quotient(phx_dot2(z.re, w.re, z.im, w.im), size),
                            phx_pair_quotient(phx_dot2(z.im, w.re, z.re, -w.im), size));
}

PHX_FN c128 phx_divide_c128(c128 z, c128 w) {
    const i32 zero = (w.re == 0.0) & (w.im == 0.0);
    if (!phx_divide_needs_care_c128(z, w)) {
        return phx_divide_main_c128(z, w);
    }
    if (phx_isfinite_c128(z) & phx_isfinite_c128(w) & !zero) {
        return phx_divide_wide(z, w);
    }
    return phx_divide_special(z, w);
}

PHX_FN i32 phx_divide_needs_care_c64(c64 z, c64 w) {
    return phx_multiply_needs_care_c64(z, w) | ((w.re == 0.0f) & (w.im == 0.0f));
}

PHX_FN c64 phx_divide_main_c64(c64 z, c64 w) {
    const f64 a = (f64)z.re, b = (f64)z.im, c = (f64)w.re, d = (f64)w.im;
    const f64 size = c * c + d * d;
    return phx_complex_c64((f32)((a * c + b * d) / size), (f32)((b * c - a * d) / size));
}

PHX_FN c64 phx_divide_c64(c64 z, c64 w) {
    if (!phx_divide_needs_care_c64(z, w)) {
        return phx_divide_main_c64(z, w);
    }
    return phx_c128_to_c64(phx_divide_special(phx_c64_to_c128(z), phx_c64_to_c128(w)));
}

#define PHX_COMPLEX_RECIPROCAL_(C, F)                                     \
    PHX_FN i32 phx_reciprocal_needs_care_##C(C z) {                       \
        return phx_divide_needs_care_##C(phx_complex_##C((F)1, (F)0), z); \
    }                                                                     \
    PHX_FN C phx_reciprocal_main_##C(C z) {                               \
        return phx_divide_main_##C(phx_complex_##C((F)1, (F)0), z);       \
    }                                                                     \
    PHX_FN C phx_reciprocal_##C(C z) { return phx_divide_##C(phx_complex_##C((F)1, (F)0), z); }
PHX_COMPLEX_RECIPROCAL_(c64, f32)
PHX_COMPLEX_RECIPROCAL_(c128, f64)
#undef PHX_COMPLEX_RECIPROCAL_

/* ---- abs and sign ---------------------------------------------------------------------------- */

/* sqrt(x*x + y*y) as a pair, for finite moderate x and y, not both zero */
PHX_FN phx_dd phx_norm_pair(f64 x, f64 y) {
    const phx_dd s = phx_dot2(x, x, y, y);
    phx_dd h;
    h.hi = phx_sqrt(s.hi);
    h.lo = (phx_fma(-h.hi, h.hi, s.hi) + s.lo) / (2.0 * h.hi);
    return h;
}

/* The power of two which brings the larger of two finite parts into [1, 2); 2**1000 at the most. */
PHX_FN i32 phx_larger_exponent(c128 z) {
    const f64 x = phx_fabs(z.re);
    const f64 y = phx_fabs(z.im);
    const i32 e = (i32)(phx_bits64(x > y ? x : y) >> 52) - 1023;
    return e < -1000 ? -1000 : e;
}

PHX_FN i32 phx_abs_needs_care_c128(c128 z) {
    return 1 ^ (phx_is_moderate(z.re) & phx_is_moderate(z.im));
}

PHX_FN f64 phx_abs_main_c128(c128 z) {
    const phx_dd p = phx_norm_pair(z.re, z.im);
    return (z.re == 0.0) | (z.im == 0.0) ? phx_fabs(z.re) + phx_fabs(z.im) : p.hi + p.lo;
}

PHX_FN f64 phx_abs_c128(c128 z) {
    const i32 e = phx_larger_exponent(z);
    if (!phx_isfinite_c128(z)) {
        return phx_isinf_c128(z) ? PHX_INF : PHX_NAN;
    }
    if ((z.re == 0.0) | (z.im == 0.0) | !phx_abs_needs_care_c128(z)) {
        return phx_abs_main_c128(z);
    }
    {
        const phx_dd p = phx_norm_pair(phx_ldexp(z.re, -e), phx_ldexp(z.im, -e));
        return phx_ldexp(p.hi + p.lo, e);
    }
}

/* Squares of f32 are exact in f64. */
PHX_FN f32 phx_abs_c64(c64 z) {
    const f64 x = (f64)z.re, y = (f64)z.im;
    const f32 h = (f32)phx_sqrt(x * x + y * y);
    return phx_isinf_c64(z) ? PHX_INFF : h;
}

/* z / |z|; an infinite z: the unit of its direction on an axis, NaN where both parts are infinite.
 */
PHX_FN c128 phx_sign_c128(c128 z) {
    if (phx_isnan_c128(z) | ((phx_fabs(z.re) == PHX_INF) & (phx_fabs(z.im) == PHX_INF))) {
        return phx_complex_c128(PHX_NAN, PHX_NAN);
    }
    if (phx_isinf_c128(z)) {
        const f64 re = phx_fabs(z.re) == PHX_INF ? phx_copysign(1.0, z.re) : 0.0;
        const f64 im = phx_fabs(z.im) == PHX_INF ? phx_copysign(1.0, z.im) : 0.0;
        return phx_complex_c128(re, im);
    }
    if ((z.re == 0.0) & (z.im == 0.0)) {
        return phx_complex_c128(0.0, 0.0);
    }
    {
        const i32 e = phx_larger_exponent(z);
        const f64 x = phx_ldexp(z.re, -e);
        const f64 y = phx_ldexp(z.im, -e);
        const phx_dd h = phx_norm_pair(x, y);
        phx_dd a, b;
        a.hi = x;
        b.hi = y;
        a.lo = b.lo = 0.0;
        return phx_complex_c128(phx_pair_quotient(a, h), phx_pair_quotient(b, h));
    }
}

PHX_FN c64 phx_sign_c64(c64 z) { return phx_c128_to_c64(phx_sign_c128(phx_c64_to_c128(z))); }

#endif
