/* CPU prelude of the scalar functions: the names that core/scalar/ expects from every dialect.
 *
 * C11 with the builtins that gcc and clang share. How to compile what includes it:
 * - -ffp-contract=off is needed: same bits on every device.
 * - -fno-math-errno makes sqrt, floor and rint instructions that vectorise; it changes no value.
 * - -fno-trapping-math lets the vectoriser turn `?:` into selects; it changes no value.
 * - never -ffast-math, -ffinite-math-only, -fno-signed-zeros or flush-to-zero.
 * phx_fma is one instruction with -mfma and a correct call into libm without it, so the bits do not
 * depend on the instruction set.
 */
#ifndef PHX_DIALECT_H
#define PHX_DIALECT_H

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "Phalanx kernels need IEEE arithmetic: compile without -ffast-math and -ffinite-math-only"
#endif
#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0
#error "Phalanx kernels need FLT_EVAL_METHOD 0 (no x87 excess precision)"
#endif

#include <stdint.h>

typedef int8_t i8;
typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef float f32;
typedef double f64;
typedef struct {
    f32 re, im;
} c64;
typedef struct {
    f64 re, im;
} c128;

#define PHX_FN static inline __attribute__((always_inline, unused))
#define PHX_TABLE(type, name, n) static const type name[n] __attribute__((unused))

PHX_FN c64 phx_make_c64(f32 re, f32 im) { return (c64){re, im}; }
PHX_FN c128 phx_make_c128(f64 re, f64 im) { return (c128){re, im}; }

#define PHX_INF __builtin_inf()
#define PHX_NAN __builtin_nan("")
#define PHX_INFF __builtin_inff()
#define PHX_NANF __builtin_nanf("")

/* Bit casts: __builtin_memcpy of a known size is folded to a register move before the vectoriser
 * runs. */
PHX_FN u64 phx_bits64(f64 x) {
    u64 u;
    __builtin_memcpy(&u, &x, sizeof u);
    return u;
}

PHX_FN f64 phx_from_bits64(u64 u) {
    f64 x;
    __builtin_memcpy(&x, &u, sizeof x);
    return x;
}

PHX_FN u32 phx_bits32(f32 x) {
    u32 u;
    __builtin_memcpy(&u, &x, sizeof u);
    return u;
}

PHX_FN f32 phx_from_bits32(u32 u) {
    f32 x;
    __builtin_memcpy(&x, &u, sizeof x);
    return x;
}

/* Exact functions: one IEEE rounding (fma, sqrt, divide) or none. */
PHX_FN f64 phx_fma(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }
PHX_FN f32 phx_fmaf(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
PHX_FN f64 phx_sqrt(f64 x) { return __builtin_sqrt(x); }
PHX_FN f32 phx_sqrtf(f32 x) { return __builtin_sqrtf(x); }
PHX_FN f64 phx_divide(f64 a, f64 b) { return a / b; }
PHX_FN f32 phx_dividef(f32 a, f32 b) { return a / b; }
PHX_FN f64 phx_floor(f64 x) { return __builtin_floor(x); }
PHX_FN f32 phx_floorf(f32 x) { return __builtin_floorf(x); }
PHX_FN f64 phx_ceil(f64 x) { return __builtin_ceil(x); }
PHX_FN f32 phx_ceilf(f32 x) { return __builtin_ceilf(x); }
PHX_FN f64 phx_trunc(f64 x) { return __builtin_trunc(x); }
PHX_FN f32 phx_truncf(f32 x) { return __builtin_truncf(x); }
PHX_FN f64 phx_rint(f64 x) { return __builtin_rint(x); }
PHX_FN f32 phx_rintf(f32 x) { return __builtin_rintf(x); }
PHX_FN f64 phx_fabs(f64 x) { return __builtin_fabs(x); }
PHX_FN f32 phx_fabsf(f32 x) { return __builtin_fabsf(x); }
PHX_FN f64 phx_copysign(f64 x, f64 y) { return __builtin_copysign(x, y); }
PHX_FN f32 phx_copysignf(f32 x, f32 y) { return __builtin_copysignf(x, y); }

#endif
