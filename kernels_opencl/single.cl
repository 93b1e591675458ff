/* What core/scalar computes in double, for devices that have none: same results, unless a comment
 * says otherwise. Comes after the headers, from which everything with f64 has been left out. */

/* ---- conversions: exact, or rounded to odd first, so that the second rounding is as if alone -- */

#define PHX_SINGLE_FROM_SMALL_(S, T)                                    \
    PHX_FN f32 phx_##S##_to_f32(T x) { return (f32)x; }                 \
    PHX_FN u16 phx_##S##_to_f16(T x) { return phx_f32_to_f16((f32)x); } \
    PHX_FN u16 phx_##S##_to_bf16(T x) { return phx_f32_to_bf16((f32)x); }
PHX_SINGLE_FROM_SMALL_(b, u8)
PHX_SINGLE_FROM_SMALL_(i8, i8)
PHX_SINGLE_FROM_SMALL_(i16, i16)
PHX_SINGLE_FROM_SMALL_(u8, u8)
PHX_SINGLE_FROM_SMALL_(u16, u16)
#undef PHX_SINGLE_FROM_SMALL_

#define PHX_SINGLE_FROM_LARGE_(T, BACK)                                                  \
    PHX_FN f32 phx_##T##_to_f32_odd(T x) {                                               \
        const f32 y = convert_float_rtz(x);                                              \
        return BACK(y) == x ? y : as_float(as_uint(y) | 1u);                             \
    }                                                                                    \
    PHX_FN u16 phx_##T##_to_f16(T x) { return phx_f32_to_f16(phx_##T##_to_f32_odd(x)); } \
    PHX_FN u16 phx_##T##_to_bf16(T x) { return phx_f32_to_bf16(phx_##T##_to_f32_odd(x)); }
PHX_SINGLE_FROM_LARGE_(i32, convert_int_sat)
PHX_SINGLE_FROM_LARGE_(u32, convert_uint_sat)
PHX_SINGLE_FROM_LARGE_(i64, convert_long_sat)
PHX_SINGLE_FROM_LARGE_(u64, convert_ulong_sat)
#undef PHX_SINGLE_FROM_LARGE_

PHX_FN f32 phx_u32_to_f32(u32 x) { return convert_float_rte(x); }
PHX_FN f32 phx_i64_to_f32(i64 x) { return convert_float_rte(x); }
PHX_FN f32 phx_u64_to_f32(u64 x) { return convert_float_rte(x); }

/* ---- division -------------------------------------------------------------------------------- */

/* The remainder is that of core/scalar/real_basic.h with the sizes of float. OpenCL's fmod would do if
 * all runtimes had it right for subnormal divisors. */
PHX_FN f32 phx_fmod_positive_f32(f32 x, f32 y) {
    f32 r = x;
    while (r >= y) {
        const f32 ny = y < 1.17549435e-38f ? y * 33554432.0f : y; /* 2**25 */
        const i32 ey = (i32)(as_uint(ny) >> 23) - (y < 1.17549435e-38f ? 25 : 0);
        const i32 er = (i32)(as_uint(r) >> 23);
        const i32 gap = er - ey - 22;
        const i32 e = gap > 0 ? gap : 0;
        const i32 e1 = e >> 1;
        const f32 d =
            y * as_float((u32)(127 + e1) << 23) * as_float((u32)(127 + e - e1) << 23);
        const f32 s = fma(-trunc(phx_dividef(r, d)), d, r);
        r = s < 0.0f ? s + d : s;
    }
    return r;
}

PHX_FN f32 phx_remainder_f32(f32 x, f32 y) {
    const f32 q = phx_dividef(x, y);
    f32 r;
    if (fabs(q) >= 16777216.0f && fabs(x) < INFINITY && y != 0.0f) {
        const f32 m = copysign(phx_fmod_positive_f32(fabs(x), fabs(y)), x);
        r = (m < 0.0f) & (y > 0.0f) ? m + y : ((m > 0.0f) & (y < 0.0f) ? m + y : m);
    } else {
        const f32 n = floor(q);
        const f32 t = fma(-n, y, x);
        const f32 lower = fma(1.0f - n, y, x);
        r = (t < 0.0f) & (y > 0.0f) ? lower : ((t > 0.0f) & (y < 0.0f) ? lower : t);
        const f32 over = ((x < 0.0f) & (y > 0.0f)) | ((x > 0.0f) & (y < 0.0f)) ? y : x;
        r = (fabs(y) == INFINITY) & (fabs(x) < INFINITY) ? over : r;
    }
    return r == 0.0f ? copysign(0.0f, y) : r;
}

/* As phx_floor_divide_f64; beyond 2**24 the rounded quotient, at most one unit from the result. */
PHX_FN f32 phx_floor_divide_f32(f32 x, f32 y) {
    const f32 q = phx_dividef(x, y);
    const f32 n = floor(q);
    const f32 r = fma(-n, y, x);
    const f32 lower = fabs(q) <= 16777216.0f ? n - 1.0f : n;
    return (r < 0.0f) & (y > 0.0f) ? lower : ((r > 0.0f) & (y < 0.0f) ? lower : n);
}

/* ---- OpenCL's own functions: section 7.4 of the OpenCL C specification has their errors ------- */

#define PHX_SINGLE_(NAME)                                  \
    PHX_FN f32 phx_##NAME##_f32(f32 x) { return NAME(x); } \
    PHX_FN f32 phx_##NAME##_for_f16(f32 x) { return NAME(x); }
PHX_SINGLE_(exp)
PHX_SINGLE_(expm1)
PHX_SINGLE_(log)
PHX_SINGLE_(log1p)
PHX_SINGLE_(log2)
PHX_SINGLE_(log10)
PHX_SINGLE_(sin)
PHX_SINGLE_(cos)
PHX_SINGLE_(tan)
PHX_SINGLE_(asin)
PHX_SINGLE_(acos)
PHX_SINGLE_(atan)
PHX_SINGLE_(sinh)
PHX_SINGLE_(cosh)
PHX_SINGLE_(tanh)
PHX_SINGLE_(asinh)
PHX_SINGLE_(acosh)
PHX_SINGLE_(atanh)
PHX_SINGLE_(cbrt)
PHX_SINGLE_(exp2)
PHX_SINGLE_(erf)
PHX_SINGLE_(erfc)
#undef PHX_SINGLE_
PHX_FN f32 phx_atan2_f32(f32 y, f32 x) { return atan2(y, x); }
PHX_FN f32 phx_hypot_f32(f32 x, f32 y) { return hypot(x, y); }
PHX_FN f32 phx_pow_f32(f32 x, f32 y) { return pow(x, y); }
PHX_FN f32 phx_logaddexp_f32(f32 x, f32 y) {
    const f32 high = fmax(x, y);
    const f32 d = fabs(x - y);
    const f32 sum = high + log1p(exp(-d));
    return d == d ? sum : (x == y ? x : x + y); /* two infinities of one sign, or a NaN */
}
