/* Integer arithmetic, defined for every input: phx_<op>_<type>, i8 i16 i32 i64 u8 u16 u32 u64.
 *
 *   add subtract multiply negative abs square
 *                       wrap modulo 2**n (abs of the least value is itself)
 *   floor_divide(a, b)  floor(a / b); a // 0 is 0 as in NumPy; least // -1 wraps to least
 *   remainder(a, b)     a - floor(a / b) * b, sign of b; a % 0 is 0
 *   pow(a, n)           wraps; 0**0 is 1; a negative n gives 0, but 1 for a = 1, +-1 for a = -1
 *   bitwise_left_shift(a, n)
 *                       a * 2**n, wraps; 0 where n is negative or at least the width
 *   bitwise_right_shift(a, n)
 *                       floor(a / 2**n); 0, or -1 for a < 0, where n is negative or too large
 *   sign maximum minimum clip
 *                       clip(x, lo, hi) is minimum(maximum(x, lo), hi): hi wins where lo > hi
 * maximum, minimum and clip exist for b (bool, u8 0 or 1) too.
 *
 * Arithmetic is done on unsigned words, where wrapping is defined; the way back to a signed type is
 * modulo 2**n in every dialect of C. All but pow are branch-free.
 *
 * Needs the prelude of the dialect only. A prelude may define PHX_FLOAT_QUOTIENT to 1 where float
 * division is the faster one (vectors on x86-64): quotients of 8 and 16 bits are then taken in f32,
 * those of 32 bits in f64, with the same results: if a / b is not an integer, it is below the next
 * one by 1 / |a| relative or more, which is more than the rounding (2**-24, 2**-53) can bridge.
 */
#ifndef PHX_SCALAR_INTEGER_H
#define PHX_SCALAR_INTEGER_H

#ifndef PHX_FLOAT_QUOTIENT
#define PHX_FLOAT_QUOTIENT 0
#endif

/* ---- truncated quotient, b != 0 and no overflow ---------------------------------------------- */

#define PHX_QUOTIENT_(T) \
    PHX_FN T phx_quotient_##T(T a, T b) { return (T)(a / b); }
#if PHX_FLOAT_QUOTIENT
PHX_FN i8 phx_quotient_i8(i8 a, i8 b) { return (i8)(i32)((f32)(i32)a / (f32)(i32)b); }
PHX_FN i16 phx_quotient_i16(i16 a, i16 b) { return (i16)(i32)((f32)(i32)a / (f32)(i32)b); }
PHX_FN i32 phx_quotient_i32(i32 a, i32 b) { return (i32)((f64)a / (f64)b); }
PHX_FN u8 phx_quotient_u8(u8 a, u8 b) { return (u8)(i32)((f32)(i32)a / (f32)(i32)b); }
PHX_FN u16 phx_quotient_u16(u16 a, u16 b) { return (u16)(i32)((f32)(i32)a / (f32)(i32)b); }
PHX_FN u32 phx_quotient_u32(u32 a, u32 b) {
    const f64 x = (f64)(i32)(a ^ 0x80000000u) + 2147483648.0;
    const f64 y = (f64)(i32)(b ^ 0x80000000u) + 2147483648.0;
    return (u32)(i32)(phx_trunc(x / y) - 2147483648.0) ^ 0x80000000u;
}
#else
PHX_QUOTIENT_(i8)
PHX_QUOTIENT_(i16)
PHX_QUOTIENT_(i32)
PHX_QUOTIENT_(u8)
PHX_QUOTIENT_(u16)
PHX_QUOTIENT_(u32)
#endif
PHX_QUOTIENT_(i64)
PHX_QUOTIENT_(u64)
#undef PHX_QUOTIENT_

/* ---- the same text for all eight types; W is an unsigned word at least as wide as int -------- */

#define PHX_INTEGER_COMMON_(T, W)                                    \
    PHX_FN T phx_add_##T(T a, T b) { return (T)((W)a + (W)b); }      \
    PHX_FN T phx_subtract_##T(T a, T b) { return (T)((W)a - (W)b); } \
    PHX_FN T phx_multiply_##T(T a, T b) { return (T)((W)a * (W)b); } \
    PHX_FN T phx_negative_##T(T a) { return (T)((W)0 - (W)a); }      \
    PHX_FN T phx_square_##T(T a) { return (T)((W)a * (W)a); }        \
    PHX_FN T phx_maximum_##T(T a, T b) { return a > b ? a : b; }     \
    PHX_FN T phx_minimum_##T(T a, T b) { return a < b ? a : b; }     \
    PHX_FN T phx_clip_##T(T x, T lo, T hi) {                         \
        const T y = x > lo ? x : lo;                                 \
        return y < hi ? y : hi;                                      \
    }                                                                \
    /* a**n, n as an unsigned number: square and multiply */         \
    PHX_FN T phx_power_##T(T a, u64 n) {                             \
        W r = 1u;                                                    \
        W s = (W)a;                                                  \
        while (n != 0) {                                             \
            r = (n & 1u) != 0 ? r * s : r;                           \
            s *= s;                                                  \
            n >>= 1;                                                 \
        }                                                            \
        return (T)r;                                                 \
    }

#define PHX_UNSIGNED_(T, W, BITS)                                       \
    PHX_INTEGER_COMMON_(T, W)                                           \
    PHX_FN T phx_abs_##T(T a) { return a; }                             \
    PHX_FN T phx_sign_##T(T a) { return (T)(a != 0); }                  \
    PHX_FN T phx_floor_divide_##T(T a, T b) {                           \
        const T q = phx_quotient_##T(a, b == 0 ? (T)1 : b);             \
        return b == 0 ? (T)0 : q;                                       \
    }                                                                   \
    PHX_FN T phx_remainder_##T(T a, T b) {                              \
        const T q = phx_quotient_##T(a, b == 0 ? (T)1 : b);             \
        return b == 0 ? (T)0 : (T)((W)a - (W)q * (W)b);                 \
    }                                                                   \
    PHX_FN T phx_pow_##T(T a, T n) { return phx_power_##T(a, (u64)n); } \
    PHX_FN T phx_bitwise_left_shift_##T(T a, T n) {                     \
        const T r = (T)((W)a << ((W)n & (BITS - 1u)));                  \
        return n < BITS ? r : (T)0;                                     \
    }                                                                   \
    PHX_FN T phx_bitwise_right_shift_##T(T a, T n) {                    \
        const T r = (T)((W)a >> ((W)n & (BITS - 1u)));                  \
        return n < BITS ? r : (T)0;                                     \
    }

/* U is the unsigned type of T's width. The divisor -1 is replaced before dividing (least / -1 traps
 * on x86). */
#define PHX_SIGNED_(T, U, W, BITS)                                                     \
    PHX_INTEGER_COMMON_(T, W)                                                          \
    PHX_FN T phx_abs_##T(T a) { return a < 0 ? (T)((W)0 - (W)a) : a; }                 \
    PHX_FN T phx_sign_##T(T a) { return (T)((a > 0) - (a < 0)); }                      \
    PHX_FN T phx_floor_divide_##T(T a, T b) {                                          \
        const T d = (b == 0) | (b == -1) ? (T)1 : b;                                   \
        const T q = phx_quotient_##T(a, d);                                            \
        const T r = (T)((W)a - (W)q * (W)d);                                           \
        const T f = (T)((W)q - (W)((r != 0) & ((r ^ d) < 0)));                         \
        const T n = b == -1 ? (T)((W)0 - (W)a) : f;                                    \
        return b == 0 ? (T)0 : n;                                                      \
    }                                                                                  \
    PHX_FN T phx_remainder_##T(T a, T b) {                                             \
        const T d = (b == 0) | (b == -1) ? (T)1 : b;                                   \
        const T q = phx_quotient_##T(a, d);                                            \
        const T r = (T)((W)a - (W)q * (W)d);                                           \
        const T m = (r != 0) & ((r ^ d) < 0) ? (T)((W)r + (W)d) : r;                   \
        return (b == 0) | (b == -1) ? (T)0 : m;                                        \
    }                                                                                  \
    PHX_FN T phx_pow_##T(T a, T n) {                                                   \
        const T odd = (n & 1) != 0 ? a : (T)1;                                         \
        const T unit = a == 1 ? (T)1 : (a == -1 ? odd : (T)0);                         \
        return n < 0 ? unit : phx_power_##T(a, (u64)n);                                \
    }                                                                                  \
    PHX_FN T phx_bitwise_left_shift_##T(T a, T n) {                                    \
        const T r = (T)((W)(U)a << ((W)(U)n & (BITS - 1u)));                           \
        return (U)n < BITS ? r : (T)0;                                                 \
    }                                                                                  \
    /* flip a < 0, shift in zeros, flip back: AVX2 cannot shift signed 64-bit lanes */ \
    PHX_FN T phx_bitwise_right_shift_##T(T a, T n) {                                   \
        const U s = a < 0 ? (U) ~(U)0 : (U)0;                                          \
        const U r = (U)((W)((U)a ^ s) >> ((W)(U)n & (BITS - 1u)));                     \
        return (T)(((U)n < BITS ? r : (U)0) ^ s);                                      \
    }

PHX_SIGNED_(i8, u8, u32, 8u)
PHX_SIGNED_(i16, u16, u32, 16u)
PHX_SIGNED_(i32, u32, u32, 32u)
PHX_SIGNED_(i64, u64, u64, 64u)
PHX_UNSIGNED_(u8, u32, 8u)
PHX_UNSIGNED_(u16, u32, 16u)
PHX_UNSIGNED_(u32, u32, 32u)
PHX_UNSIGNED_(u64, u64, 64u)
#undef PHX_INTEGER_COMMON_
#undef PHX_UNSIGNED_
#undef PHX_SIGNED_

PHX_FN u8 phx_maximum_b(u8 a, u8 b) { return (u8)(a | b); }
PHX_FN u8 phx_minimum_b(u8 a, u8 b) { return (u8)(a & b); }
PHX_FN u8 phx_clip_b(u8 x, u8 lo, u8 hi) { return (u8)((x | lo) & hi); }

#endif
