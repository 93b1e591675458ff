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

/* ---- functions of networks: by exp(-|x|), or its root, so that nothing underflows before the result --- */

PHX_FN f32 phx_sigmoid_f32(f32 x) {
    const f32 e = exp(-fabs(x));
    return phx_dividef(x < 0.0f ? e : 1.0f, 1.0f + e);
}
PHX_FN f32 phx_silu_f32(f32 x) {
    const f32 a = x < -120.0f ? -120.0f : x;
    const f32 root = exp(-0.5f * fabs(a)), e = root * root;
    const f32 y = phx_dividef(x < 0.0f ? a * root : a, 1.0f + e);
    return x < 0.0f ? y * root : y;
}
/* What the argument is rounded by counts twice its size, by the derivative of erfc. */
PHX_FN f32 phx_gelu_f32(f32 x) {
    const f32 a = x < -16.0f ? -16.0f : x;
    const f32 z = a * -0.707106769f;
    const f32 rest = fma(a, -0.707106769f, -z) - a * 1.21016175e-8f;
    const f32 y = erfc(z);
    return 0.5f * a * (a < 0.0f ? fma(-2.0f * z * rest, y, y) : y);
}
PHX_FN f32 phx_softplus_f32(f32 x) { return (x < 0.0f ? 0.0f : x) + log1p(exp(-fabs(x))); }
PHX_FN f32 phx_sigmoid_for_f16(f32 x) { return phx_sigmoid_f32(x); }
PHX_FN f32 phx_silu_for_f16(f32 x) { return phx_silu_f32(x); }
PHX_FN f32 phx_gelu_for_f16(f32 x) { return phx_gelu_f32(x); }
PHX_FN f32 phx_softplus_for_f16(f32 x) { return phx_softplus_f32(x); }
PHX_FN f32 phx_silu_for_bf16(f32 x) { return phx_silu_f32(x); }
PHX_FN f32 phx_gelu_for_bf16(f32 x) { return phx_gelu_f32(x); }

/* ---- lgamma and digamma: core/scalar/real_gamma.h says how; here the terms are of one float --------- */

/* ln gamma(2 + e) / e for |e| <= 1/2; 2^-25.6. */
PHX_FN f32 phx_lgamma_poly_single(f32 e) {
    f32 p = fma(-5.2081188187003136e-05f, e, 0.0001149824820458889f);
    p = fma(p, e, -0.00022131047444418073f);
    p = fma(p, e, 0.0005056692752987146f);
    p = fma(p, e, -0.0011929584434255958f);
    p = fma(p, e, 0.002890954026952386f);
    p = fma(p, e, -0.007385541684925556f);
    p = fma(p, e, 0.02058078907430172f);
    p = fma(p, e, -0.0673523023724556f);
    p = fma(p, e, 0.32246702909469604f);
    return fma(p, e, 0.42278432846069336f);
}

/* digamma(x0 + e) / e for |e| <= 1/2, x0 the positive zero; 2^-25.4. */
PHX_FN f32 phx_digamma_poly_single(f32 e) {
    f32 p = fma(0.014755239710211754f, e, -0.02159017138183117f);
    p = fma(p, e, 0.02147119678556919f);
    p = fma(p, e, -0.03151402622461319f);
    p = fma(p, e, 0.0489313006401062f);
    p = fma(p, e, -0.072385273873806f);
    p = fma(p, e, 0.10781829059123993f);
    p = fma(p, e, -0.16393429040908813f);
    p = fma(p, e, 0.2584998309612274f);
    p = fma(p, e, -0.4427632689476013f);
    return fma(p, e, 0.9676722288131714f);
}

/* ln gamma(a) for a > 0: within [1/2, 8) by the one between 3/2 and 5/2. */
PHX_FN f32 phx_lgamma_positive(f32 a) {
    const f32 y = 1.0f / a;
    const f32 tail = y * fma(y * y, fma(y * y, 7.9365e-4f, -2.7777778e-3f), 0.083333333f);
    const f32 far = fma(a - 0.5f, log(a) - 1.0f, 0.41893853f + tail);
    f32 e = a, product = 1.0f;
    for (int k = 0; k < 6; k++) {
        const bool above = e >= 2.5f;
        e = above ? e - 1.0f : e;
        product = above ? product * e : product;
    }
    const f32 low = a < 0.5f ? log(a) + log1p(a) : log1p(a - 1.0f);
    const f32 d = a < 0.5f ? a : (a < 1.5f ? a - 1.0f : e - 2.0f);
    const f32 near = d * phx_lgamma_poly_single(d) + (a < 1.5f ? -low : log(product));
    return a < 8.0f ? near : far;
}

PHX_FN f32 phx_lgamma_f32(f32 x) {
    const f32 a = fabs(x);
    const f32 y = phx_lgamma_positive(a);
    const f32 below = 1.1447299f - log(a) - log(fabs(sinpi(a))) - y;
    const f32 r = x < -1e-10f ? below : (a < 1e-10f ? -log(a) : y);
    const f32 edge = (a == INFINITY) | ((x <= 0.0f) & (floor(x) == x)) ? INFINITY : r;
    return x == x ? (a > 4.085003e36f ? INFINITY : edge) : x;
}

PHX_FN f32 phx_digamma_f32(f32 x) {
    const f32 a = fabs(x);
    f32 z = x < 0.0f ? 1.0f + a : a, sum = 0.0f;
    for (int k = 0; k < 8; k++) {
        const bool below = z < 8.0f;
        sum = below ? sum + 1.0f / z : sum;
        z = below ? z + 1.0f : z;
    }
    const f32 y = 1.0f / z, w = y * y;
    const f32 tail = fma(0.5f, y, w * fma(w, fma(w, 3.968254e-3f, -8.3333333e-3f), 0.083333333f));
    const f32 e = (x - 1.4616321325302124f) - 1.243815006546356e-08f;
    const f32 positive = fabs(e) <= 0.5f ? e * phx_digamma_poly_single(e) : log(z) - tail - sum;
    const f32 r = x < 0.0f ? positive + 3.14159265f * cospi(a) / sinpi(a) : positive;
    const f32 pole = (x < 0.0f) & (floor(x) == x) ? NAN : r;
    const f32 tiny = a < 1e-10f ? -1.0f / x : pole;
    return x > -INFINITY ? (x == INFINITY ? x : tiny) : NAN;
}
PHX_FN f32 phx_lgamma_for_f16(f32 x) { return phx_lgamma_f32(x); }
PHX_FN f32 phx_digamma_for_f16(f32 x) { return phx_digamma_f32(x); }
