/* Rounding, comparison and division of real numbers: phx_<op>_f32 and phx_<op>_f64.
 *
 *   trunc floor ceil round abs copysign square divide reciprocal sqrt fma
 *                         IEEE 754, one rounding or none; round: ties to even
 *   sign(x)               -1, +0 or 1; NaN for NaN
 *   signbit isnan isinf isfinite
 *                         u8 0 or 1
 *   maximum minimum clip  NaN if an argument is NaN; -0 < +0, whatever the order of the arguments
 *   nextafter(x, y)       IEEE 754; y where x == y
 *   floor_divide(x, y)    floor(x / y) of the exact quotient, rounded once (f64: beyond 2**53 the
 *                         quotient rounded once). Infinite operands: floor(divide(x, y)), which the
 *                         Array API 2025.12 prefers: inf // 2 is inf and 1 // -inf is -0, where
 *                         NumPy has nan and -1.
 *   remainder(x, y)       Python's %: x - floor(x / y) * y of the exact quotient, rounded once; a
 *                         zero has the sign of y. 5 % inf is 5, -5 % inf is inf, x % 0 and inf % y
 *                         are nan.
 * All are branch-free but remainder, which loops for quotients beyond 2**53; its main part has none.
 *
 * Needs the prelude of the dialect only.
 */
#ifndef PHX_SCALAR_REAL_BASIC_H
#define PHX_SCALAR_REAL_BASIC_H

/* ---- the same text for both widths: F float type, U its bits, S the suffix of the prelude's names  */

#define PHX_REAL_BASIC_(F, U, I, S, BITS, FROM_BITS, SIGN, INFINITE, A_NAN)                    \
    PHX_FN F phx_trunc_##F(F x) { return phx_trunc##S(x); }                                    \
    PHX_FN F phx_floor_##F(F x) { return phx_floor##S(x); }                                    \
    PHX_FN F phx_ceil_##F(F x) { return phx_ceil##S(x); }                                      \
    PHX_FN F phx_round_##F(F x) { return phx_rint##S(x); }                                     \
    PHX_FN F phx_abs_##F(F x) { return phx_fabs##S(x); }                                       \
    PHX_FN F phx_copysign_##F(F x, F y) { return phx_copysign##S(x, y); }                      \
    PHX_FN F phx_square_##F(F x) { return x * x; }                                             \
    PHX_FN F phx_divide_##F(F a, F b) { return phx_divide##S(a, b); }                          \
    PHX_FN F phx_reciprocal_##F(F x) { return phx_divide##S((F)1, x); }                        \
    PHX_FN F phx_sqrt_##F(F x) { return phx_sqrt##S(x); }                                      \
    PHX_FN F phx_fma_##F(F a, F b, F c) { return phx_fma##S(a, b, c); }                        \
    PHX_FN u8 phx_isnan_##F(F x) { return (u8)(x != x); }                                      \
    PHX_FN u8 phx_isinf_##F(F x) { return (u8)(phx_fabs##S(x) == INFINITE); }                  \
    PHX_FN u8 phx_isfinite_##F(F x) { return (u8)(phx_fabs##S(x) < INFINITE); }                \
    PHX_FN u8 phx_signbit_##F(F x) { return (u8)((I)BITS(x) < 0); }                            \
    PHX_FN F phx_sign_##F(F x) {                                                               \
        const F s = x > (F)0 ? (F)1 : (x < (F)0 ? -(F)1 : (F)0);                               \
        return x == x ? s : A_NAN;                                                             \
    }                                                                                          \
    /* equal arguments differ at most in the sign of a zero: and, or of the bits order them */ \
    PHX_FN F phx_maximum_##F(F a, F b) {                                                       \
        const F same = FROM_BITS(BITS(a) & BITS(b));                                           \
        const F r = a > b ? a : (b > a ? b : same);                                            \
        return (a == a) & (b == b) ? r : A_NAN;                                                \
    }                                                                                          \
    PHX_FN F phx_minimum_##F(F a, F b) {                                                       \
        const F same = FROM_BITS(BITS(a) | BITS(b));                                           \
        const F r = a < b ? a : (b < a ? b : same);                                            \
        return (a == a) & (b == b) ? r : A_NAN;                                                \
    }                                                                                          \
    /* minimum(maximum(x, lo), hi) with one test for NaN, which the vectoriser accepts */      \
    PHX_FN F phx_clip_##F(F x, F lo, F hi) {                                                   \
        const F m_same = FROM_BITS(BITS(x) & BITS(lo));                                        \
        const F m = x > lo ? x : (lo > x ? lo : m_same);                                       \
        const F r_same = FROM_BITS(BITS(m) | BITS(hi));                                        \
        const F r = m < hi ? m : (hi < m ? hi : r_same);                                       \
        return (x == x) & (lo == lo) & (hi == hi) ? r : A_NAN;                                 \
    }                                                                                          \
    PHX_FN F phx_nextafter_##F(F x, F y) {                                                     \
        const U u = BITS(x);                                                                   \
        const U away = (x < y) == (x > (F)0) ? u + 1u : u - 1u;                                \
        const U from_zero = (BITS(y) & SIGN) | 1u;                                             \
        const F r = FROM_BITS(x == (F)0 ? from_zero : away);                                   \
        return x == y ? y : ((x == x) & (y == y) ? r : A_NAN);                                 \
    }

PHX_REAL_BASIC_(f32, u32, i32, f, phx_bits32, phx_from_bits32, 0x80000000u, PHX_INFF, PHX_NANF)
PHX_REAL_BASIC_(f64, u64, i64, , phx_bits64, phx_from_bits64, ((u64)1 << 63), PHX_INF, PHX_NAN)
#undef PHX_REAL_BASIC_

/* ---- floor division -------------------------------------------------------------------------- */

/* The rounded quotient can only be too large, by reaching an integer from below: then the exact
 * remainder x - n*y has the wrong sign. It cannot underflow, being a multiple of the smaller unit
 * of x and y. For an infinite y it is NaN and changes nothing. */
PHX_FN f64 phx_floor_divide_f64(f64 x, f64 y) {
    const f64 q = x / y;
    const f64 n = phx_floor(q);
    const f64 r = phx_fma(-n, y, x);
    const f64 lower = phx_fabs(q) <= 9007199254740992.0 ? n - 1.0 : n;
    return (r < 0.0) & (y > 0.0) ? lower : ((r > 0.0) & (y < 0.0) ? lower : n);
}

/* A quotient of 24-bit numbers is too far from every tie for the second rounding to matter. */
PHX_FN f32 phx_floor_divide_f32(f32 x, f32 y) { return (f32)phx_floor_divide_f64((f64)x, (f64)y); }

/* ---- remainder --------------------------------------------------------------------------------- */

/* x modulo y for finite 0 < y <= x, exactly: takes away quotients of 52 bits, from the top down. */
PHX_FN f64 phx_fmod_positive(f64 x, f64 y) {
    f64 r = x;
    while (r >= y) {
        /* d = y * 2**e, r / d < 2**52; scaled in two steps, as 2**e alone may be too large */
        const f64 ny = y < 2.2250738585072014e-308 ? y * 18014398509481984.0 : y; /* 2**54 */
        const i32 ey = (i32)(phx_bits64(ny) >> 52) - (y < 2.2250738585072014e-308 ? 54 : 0);
        const i32 er = (i32)(phx_bits64(r) >> 52);
        const i32 gap = er - ey - 51;
        const i32 e = gap > 0 ? gap : 0;
        const i32 e1 = e >> 1;
        const f64 d = y * phx_from_bits64((u64)(1023 + e1) << 52) *
                      phx_from_bits64((u64)(1023 + e - e1) << 52);
        /* negative where r / d was rounded up to an integer: one d too much */
        const f64 s = phx_fma(-phx_trunc(r / d), d, r);
        r = s < 0.0 ? s + d : s;
    }
    return r;
}

/* The exact remainder for a quotient of more than 53 bits. x and y finite, y not zero. */
PHX_FN f64 phx_remainder_large(f64 x, f64 y) {
    const f64 m = phx_copysign(phx_fmod_positive(phx_fabs(x), phx_fabs(y)), x);
    return (m < 0.0) & (y > 0.0) ? m + y : ((m > 0.0) & (y < 0.0) ? m + y : m);
}

/* Operands for whose quotients the main part is not: it holds below 2**53, and these are below 2**49. */
PHX_FN i32 phx_remainder_is_far_f64(f64 x) { return 1 ^ (i32)(phx_fabs(x) < 2147483648.0); }
PHX_FN i32 phx_remainder_is_far_f32(f32 x) { return 1 ^ (i32)(phx_fabsf(x) < 2147483648.0f); }
PHX_FN i32 phx_remainder_is_fine_f64(f64 y) {
    const f64 size = phx_fabs(y);
    return 1 ^ ((i32)(size >= 3.814697265625e-06) & (i32)(size < PHX_INF));
}
PHX_FN i32 phx_remainder_is_fine_f32(f32 y) {
    const f32 size = phx_fabsf(y);
    return 1 ^ ((i32)(size >= 3.814697265625e-06f) & (i32)(size < PHX_INFF));
}

/* With n the floor of the exact quotient, x - n*y is Python's remainder and fma rounds it once. */
PHX_FN f64 phx_remainder_main_f64(f64 x, f64 y) {
    const f64 n = phx_floor(x / y);
    const f64 t = phx_fma(-n, y, x);
    /* 1 or 0, as arithmetic: a branch on signs would be guessed wrong half of the time */
    const f64 above = (f64)(((t < 0.0) & (y > 0.0)) | ((t > 0.0) & (y < 0.0)));
    const f64 r = phx_fma(above - n, y, x);
    return r == 0.0 ? phx_copysign(0.0, y) : r;
}

PHX_FN f64 phx_remainder_f64(f64 x, f64 y) {
    if (phx_fabs(x / y) >= 9007199254740992.0 && phx_fabs(x) < PHX_INF && y != 0.0) {
        const f64 r = phx_remainder_large(x, y);
        return r == 0.0 ? phx_copysign(0.0, y) : r;
    }
    if (phx_fabs(y) == PHX_INF && phx_fabs(x) < PHX_INF)
        return x == 0.0 ? phx_copysign(0.0, y) : ((x < 0.0) == (y < 0.0) ? x : y);
    return phx_remainder_main_f64(x, y);
}

/* Rounded to 53 bits and then to 24, which is one rounding: where the sum of a 24-bit remainder m
 * and y needs more than 53 bits, |m| < 2**-28 |y|, and so close to y there is no tie of 24 bits. */
PHX_FN f32 phx_remainder_f32(f32 x, f32 y) { return (f32)phx_remainder_f64((f64)x, (f64)y); }
PHX_FN f32 phx_remainder_main_f32(f32 x, f32 y) { return (f32)phx_remainder_main_f64((f64)x, (f64)y); }

#endif
