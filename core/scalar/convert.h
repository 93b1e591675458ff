/* Conversions between every pair of storage types: phx_<from>_to_<to>(x).
 *
 * Types: b (bool, u8 0 or 1), i8 i16 i32 i64 u8 u16 u32 u64, f16 and bf16 (their bits in a u16),
 * f32, f64. Every result is defined for every input and the same on every device:
 *   to a float    one rounding, to nearest, ties to even; subnormals kept; overflow gives infinity;
 *                 NaN stays a quiet NaN (f16, bf16: sign and leading payload bits kept)
 *   float to int  truncates toward zero, saturates at the type's limits, NaN gives 0
 *   int to int    wraps modulo 2**n
 *   to bool       x != 0, so NaN is true
 * Branch-free. The 64-bit integer conversions avoid the machine's own instructions, which only
 * AVX-512DQ has for vectors: they place the halves of the integer into the fraction bits of 2**52
 * and 2**84 and subtract, which rounds once.
 *
 * Needs the prelude of the dialect only.
 */
#ifndef PHX_SCALAR_CONVERT_H
#define PHX_SCALAR_CONVERT_H

/* ---- float16 and bfloat16 -------------------------------------------------------------------- */

PHX_FN f32 phx_f16_to_f32(u16 h) {
    const u32 sign = ((u32)h & 0x8000u) << 16;
    const i32 a = (i32)(((u32)h & 0x7fffu) << 13);
    /* 2**-14 * (1 + m/1024) - 2**-14 is the subnormal m * 2**-24 without a subnormal intermediate
     */
    const f32 tiny = phx_from_bits32((u32)a + 0x38800000u) - phx_from_bits32(0x38800000u);
    const u32 quiet = a > 0x0f800000 ? 0x00400000u : 0u;
    const u32 special = ((u32)a + 0x70000000u) | quiet;
    const u32 normal = (u32)a + 0x38000000u;
    const u32 large = a >= 0x0f800000 ? special : normal;
    return phx_from_bits32((a < 0x00800000 ? phx_bits32(tiny) : large) | sign);
}

PHX_FN u16 phx_f32_to_f16(f32 x) {
    const u32 u = phx_bits32(x);
    const u32 a = u & 0x7fffffffu;
    /* rebias; round to even on the 13 dropped bits: a carry moves into the exponent as it must */
    const i32 normal = (i32)((a + 0xfffu + ((a >> 13) & 1u)) >> 13) - 0x1c000;
    /* below 2**-14 the unit is 2**-24, which is float32's in [0.5, 1): let the adder round */
    const i32 tiny = (i32)(phx_bits32(phx_from_bits32(a) + 0.5f) - 0x3f000000u);
    const i32 finite = (i32)a < 0x38800000 ? tiny : (normal > 0x7c00 ? 0x7c00 : normal);
    const i32 quiet = (i32)(0x7e00u | ((a >> 13) & 0x3ffu));
    const i32 r = (i32)a > 0x7f800000 ? quiet : finite;
    return (u16)((u32)r | ((u >> 16) & 0x8000u));
}

PHX_FN f32 phx_bf16_to_f32(u16 h) {
    const u32 u = (u32)h << 16;
    return phx_from_bits32(u | ((i32)(u & 0x7fffffffu) > 0x7f800000 ? 0x00400000u : 0u));
}

PHX_FN u16 phx_f32_to_bf16(f32 x) {
    const u32 u = phx_bits32(x);
    const u32 r = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    const u32 quiet = (u >> 16) | 0x40u;
    return (u16)((i32)(u & 0x7fffffffu) > 0x7f800000 ? quiet : r);
}

/* x to float32, rounded to odd: a later rounding to 22 bits or fewer is then as if done once from x
 * (Boldo and Melquiond, Emulation of FMA and correctly rounded sums: proved algorithms using
 * rounding to odd, 2008). */
PHX_FN f32 phx_f64_to_f32_odd(f64 x) {
    const f32 y = (f32)x;
    const u32 u = phx_bits32(y);
    const f64 back = (f64)y;
    const u32 toward_zero = phx_fabs(back) > phx_fabs(x) ? u - 1u : u;
    return phx_from_bits32(back == x ? u : toward_zero | 1u);
}

PHX_FN u16 phx_f64_to_f16(f64 x) { return phx_f32_to_f16(phx_f64_to_f32_odd(x)); }
PHX_FN u16 phx_f64_to_bf16(f64 x) { return phx_f32_to_bf16(phx_f64_to_f32_odd(x)); }
PHX_FN u16 phx_f16_to_bf16(u16 h) { return phx_f32_to_bf16(phx_f16_to_f32(h)); }
PHX_FN u16 phx_bf16_to_f16(u16 h) { return phx_f32_to_f16(phx_bf16_to_f32(h)); }
PHX_FN f64 phx_f32_to_f64(f32 x) { return (f64)x; }
PHX_FN f32 phx_f64_to_f32(f64 x) { return (f32)x; }
PHX_FN f64 phx_f16_to_f64(u16 h) { return (f64)phx_f16_to_f32(h); }
PHX_FN f64 phx_bf16_to_f64(u16 h) { return (f64)phx_bf16_to_f32(h); }

/* nextafter of float16 and bfloat16, on their bits: their neighbours are none of float32's. y where
 * x == y. */
#define PHX_HALF_NEXTAFTER_(H, A_NAN)                                           \
    PHX_FN u16 phx_nextafter_##H(u16 x, u16 y) {                                \
        const f32 a = phx_##H##_to_f32(x), b = phx_##H##_to_f32(y);             \
        const u16 away = (a < b) == (a > 0.0f) ? (u16)(x + 1u) : (u16)(x - 1u); \
        const u16 r = a == 0.0f ? (u16)((y & 0x8000u) | 1u) : away;             \
        return a == b ? y : ((a == a) & (b == b) ? r : (u16)(A_NAN));           \
    }
PHX_HALF_NEXTAFTER_(f16, 0x7e00u)
PHX_HALF_NEXTAFTER_(bf16, 0x7fc0u)
#undef PHX_HALF_NEXTAFTER_

/* ---- integer to float ------------------------------------------------------------------------ */

PHX_FN f64 phx_i64_to_f64(i64 x) {
    const u64 u = (u64)x;
    const f64 hi = phx_from_bits64((u >> 32) ^ (u64)0x4530000080000000) -
                   phx_from_bits64((u64)0x4530000080100000); /* 2**84 + 2**63 + 2**52 */
    return hi + phx_from_bits64((u & 0xffffffffu) | (u64)0x4330000000000000);
}

PHX_FN f64 phx_u64_to_f64(u64 u) {
    const f64 hi = phx_from_bits64((u >> 32) | (u64)0x4530000000000000) -
                   phx_from_bits64((u64)0x4530000000100000); /* 2**84 + 2**52 */
    return hi + phx_from_bits64((u & 0xffffffffu) | (u64)0x4330000000000000);
}

/* Beyond 2**53 the low 11 bits become one sticky bit, so that these are exact or rounded to odd. */
PHX_FN f64 phx_i64_to_f64_odd(i64 x) {
    const u64 u = (u64)x;
    const u64 odd = (u & ~(u64)0x7ff) | ((u & 0x7ffu) != 0 ? 0x800u : 0u);
    const i64 limit = (i64)1 << 53;
    return phx_i64_to_f64((x > limit) | (x < -limit) ? (i64)odd : x);
}

PHX_FN f64 phx_u64_to_f64_odd(u64 u) {
    const u64 odd = (u & ~(u64)0x7ff) | ((u & 0x7ffu) != 0 ? 0x800u : 0u);
    return phx_u64_to_f64((u >> 53) != 0 ? odd : u);
}

PHX_FN f64 phx_i32_to_f64(i32 x) { return (f64)x; }
PHX_FN f64 phx_u32_to_f64(u32 x) { return (f64)(i32)(x ^ 0x80000000u) + 2147483648.0; }
PHX_FN f32 phx_i32_to_f32(i32 x) { return (f32)x; }
PHX_FN f32 phx_u32_to_f32(u32 x) { return (f32)phx_u32_to_f64(x); }
PHX_FN f32 phx_i64_to_f32(i64 x) { return (f32)phx_i64_to_f64_odd(x); }
PHX_FN f32 phx_u64_to_f32(u64 x) { return (f32)phx_u64_to_f64_odd(x); }
PHX_FN u16 phx_i32_to_f16(i32 x) { return phx_f64_to_f16((f64)x); }
PHX_FN u16 phx_u32_to_f16(u32 x) { return phx_f64_to_f16(phx_u32_to_f64(x)); }
PHX_FN u16 phx_i64_to_f16(i64 x) { return phx_f64_to_f16(phx_i64_to_f64_odd(x)); }
PHX_FN u16 phx_u64_to_f16(u64 x) { return phx_f64_to_f16(phx_u64_to_f64_odd(x)); }
PHX_FN u16 phx_i32_to_bf16(i32 x) { return phx_f64_to_bf16((f64)x); }
PHX_FN u16 phx_u32_to_bf16(u32 x) { return phx_f64_to_bf16(phx_u32_to_f64(x)); }
PHX_FN u16 phx_i64_to_bf16(i64 x) { return phx_f64_to_bf16(phx_i64_to_f64_odd(x)); }
PHX_FN u16 phx_u64_to_bf16(u64 x) { return phx_f64_to_bf16(phx_u64_to_f64_odd(x)); }

/* 8 and 16 bit integers, and bool, are exact in float32. */
#define PHX_SMALL_TO_FLOAT_(S, T)                                            \
    PHX_FN f64 phx_##S##_to_f64(T x) { return (f64)(i32)x; }                 \
    PHX_FN f32 phx_##S##_to_f32(T x) { return (f32)(i32)x; }                 \
    PHX_FN u16 phx_##S##_to_f16(T x) { return phx_f32_to_f16((f32)(i32)x); } \
    PHX_FN u16 phx_##S##_to_bf16(T x) { return phx_f32_to_bf16((f32)(i32)x); }
PHX_SMALL_TO_FLOAT_(b, u8)
PHX_SMALL_TO_FLOAT_(i8, i8)
PHX_SMALL_TO_FLOAT_(i16, i16)
PHX_SMALL_TO_FLOAT_(u8, u8)
PHX_SMALL_TO_FLOAT_(u16, u16)
#undef PHX_SMALL_TO_FLOAT_

/* ---- float to integer ------------------------------------------------------------------------ */

PHX_FN i64 phx_f64_to_i64(f64 x) {
    const f64 t = phx_fabs(x) < 9223372036854775808.0 ? phx_trunc(x) : 0.0;
    const f64 hi = phx_floor(t * 2.3283064365386962890625e-10); /* 2**-32 */
    const f64 lo = t - hi * 4294967296.0;
    /* 1.5 * 2**52 leaves two's complement in the low bits */
    const u64 h = phx_bits64(hi + 6755399441055744.0) << 32;
    const i64 r = (i64)(h | (phx_bits64(lo + 4503599627370496.0) & 0xffffffffu));
    const i64 below = x <= -9223372036854775808.0 ? (i64)((u64)1 << 63) : r;
    return x >= 9223372036854775808.0 ? (i64)(~(u64)0 >> 1) : below;
}

PHX_FN u64 phx_f64_to_u64(f64 x) {
    const f64 t = (x > 0.0) & (x < 18446744073709551616.0) ? phx_trunc(x) : 0.0;
    const f64 hi = phx_floor(t * 2.3283064365386962890625e-10);
    const f64 lo = t - hi * 4294967296.0;
    const u64 h = phx_bits64(hi + 4503599627370496.0) << 32;
    const u64 r = h | (phx_bits64(lo + 4503599627370496.0) & 0xffffffffu);
    return x >= 18446744073709551616.0 ? ~(u64)0 : r;
}

PHX_FN i32 phx_f64_to_i32(f64 x) {
    const f64 low = x > -2147483648.0 ? x : -2147483648.0;
    const f64 t = low < 2147483647.0 ? low : 2147483647.0;
    return (i32)(x == x ? t : 0.0);
}

PHX_FN u32 phx_f64_to_u32(f64 x) {
    const f64 low = x > 0.0 ? x : 0.0; /* a NaN too */
    const f64 t = phx_trunc(low < 4294967295.0 ? low : 4294967295.0);
    return (u32)(i32)(t - 2147483648.0) ^ 0x80000000u;
}

PHX_FN i32 phx_f32_to_i32(f32 x) {
    const i32 r = (i32)(phx_fabsf(x) < 2147483648.0f ? x : 0.0f);
    const i32 below = x <= -2147483648.0f ? (i32)0x80000000u : r;
    return x >= 2147483648.0f ? 0x7fffffff : below;
}

PHX_FN u32 phx_f32_to_u32(f32 x) {
    const f32 t = (x > 0.0f) & (x < 4294967296.0f) ? x : 0.0f;
    const f32 low = t >= 2147483648.0f ? t - 2147483648.0f : t;
    const u32 r = (u32)(i32)low | (t >= 2147483648.0f ? 0x80000000u : 0u);
    return x >= 4294967296.0f ? 0xffffffffu : r;
}

PHX_FN i64 phx_f32_to_i64(f32 x) { return phx_f64_to_i64((f64)x); }
PHX_FN u64 phx_f32_to_u64(f32 x) { return phx_f64_to_u64((f64)x); }

#define PHX_FLOAT_TO_SMALL_(F, D, LOW, HIGH)           \
    PHX_FN D phx_##F##_to_##D(F x) {                   \
        const F low = x > (F)(LOW) ? x : (F)(LOW);     \
        const F t = low < (F)(HIGH) ? low : (F)(HIGH); \
        return (D)(i32)(x == x ? t : (F)0);            \
    }
PHX_FLOAT_TO_SMALL_(f32, i8, -128, 127)
PHX_FLOAT_TO_SMALL_(f32, i16, -32768, 32767)
PHX_FLOAT_TO_SMALL_(f32, u8, 0, 255)
PHX_FLOAT_TO_SMALL_(f32, u16, 0, 65535)
PHX_FLOAT_TO_SMALL_(f64, i8, -128, 127)
PHX_FLOAT_TO_SMALL_(f64, i16, -32768, 32767)
PHX_FLOAT_TO_SMALL_(f64, u8, 0, 255)
PHX_FLOAT_TO_SMALL_(f64, u16, 0, 65535)
#undef PHX_FLOAT_TO_SMALL_

PHX_FN u8 phx_f32_to_b(f32 x) { return (u8)(x != 0.0f); }
PHX_FN u8 phx_f64_to_b(f64 x) { return (u8)(x != 0.0); }
PHX_FN u8 phx_f16_to_b(u16 h) { return (u8)((h & 0x7fffu) != 0); }
PHX_FN u8 phx_bf16_to_b(u16 h) { return (u8)((h & 0x7fffu) != 0); }

#define PHX_HALF_TO_INT_(D)                                                      \
    PHX_FN D phx_f16_to_##D(u16 h) { return phx_f32_to_##D(phx_f16_to_f32(h)); } \
    PHX_FN D phx_bf16_to_##D(u16 h) { return phx_f32_to_##D(phx_bf16_to_f32(h)); }
PHX_HALF_TO_INT_(i8)
PHX_HALF_TO_INT_(i16)
PHX_HALF_TO_INT_(i32)
PHX_HALF_TO_INT_(i64)
PHX_HALF_TO_INT_(u8)
PHX_HALF_TO_INT_(u16)
PHX_HALF_TO_INT_(u32)
PHX_HALF_TO_INT_(u64)
#undef PHX_HALF_TO_INT_

/* ---- integer and bool to integer and bool ---------------------------------------------------- */

#define PHX_CAST_(S, T, D) \
    PHX_FN D phx_##S##_to_##D(T x) { return (D)x; }
#define PHX_INT_TO_INT_(S, T) \
    PHX_CAST_(S, T, i8)       \
    PHX_CAST_(S, T, i16)      \
    PHX_CAST_(S, T, i32)      \
    PHX_CAST_(S, T, i64)      \
    PHX_CAST_(S, T, u8)       \
    PHX_CAST_(S, T, u16)      \
    PHX_CAST_(S, T, u32)      \
    PHX_CAST_(S, T, u64)      \
    PHX_FN u8 phx_##S##_to_b(T x) { return (u8)(x != 0); }
PHX_INT_TO_INT_(b, u8)
PHX_INT_TO_INT_(i8, i8)
PHX_INT_TO_INT_(i16, i16)
PHX_INT_TO_INT_(i32, i32)
PHX_INT_TO_INT_(i64, i64)
PHX_INT_TO_INT_(u8, u8)
PHX_INT_TO_INT_(u16, u16)
PHX_INT_TO_INT_(u32, u32)
PHX_INT_TO_INT_(u64, u64)
#undef PHX_INT_TO_INT_
#undef PHX_CAST_

#endif
