/* float16 and bfloat16 functions of one operand that rounding twice would get wrong.
 *
 * Both are computed in float32, correctly rounded, and rounded again. That is wrong where float32
 * lands on the middle of two numbers and the even one of them is not the one on the function's side:
 * 92 inputs of float16, found by trying all (docs/numerics.md), and of bfloat16 halves of subnormals.
 * phx_<op>_for_f16(x), where x is a float16 number as float32, is one step from the middle toward
 * the function for these inputs and phx_<op>_f32(x) for all others. Functions without such inputs
 * are not here. No float16 needs the big path of the trigonometric functions (real_reduce.h).
 */
#ifndef PHX_REAL_HALF_H
#define PHX_REAL_HALF_H

#include "real_cbrt.h"
#include "real_common.h"
#include "real_erf.h"
#include "real_exp.h"
#include "real_gamma.h"
#include "real_gelu.h"
#include "real_log.h"
#include "real_sigmoid.h"
#include "real_trig.h"

PHX_FN f32 phx_exp_for_f16(f32 x) {
    return phx_nudge(phx_exp_f32(x), -phx_is(x, 0x3bef2000u) - phx_is(x, 0x3cb9e000u));
}

PHX_FN f32 phx_exp2_for_f16(f32 x) {
    return phx_nudge(phx_exp2_f32(x), phx_is(x, 0x3a38a000u));
}

/* The same significand at every third exponent. */
PHX_FN f32 phx_cbrt_for_f16(f32 x) {
    f32 y = phx_cbrt_f32(x);
    i32 operand = (i32)((phx_bits32(x) & 0x7fffffu) == 0x2a2000u);
    return phx_nudge(y, operand & (i32)((phx_bits32(y) & 0x7fffffu) == 0x315000u));
}

PHX_FN f32 phx_erf_for_f16(f32 x) {
    return phx_nudge(phx_erf_f32(x), -phx_is(phx_fabsf(x), 0x3ac24000u));
}

PHX_FN f32 phx_erfc_for_f16(f32 x) {
    return phx_nudge(phx_erfc_f32(x), phx_is(x, 0xb9e2e000u) - phx_is(x, 0x3962e000u));
}

PHX_FN f32 phx_sigmoid_for_f16(f32 x) {
    i32 up = phx_is(x, 0xbac00000u) | phx_is(x, 0xbb600000u) | phx_is(x, 0xbbb00000u) | phx_is(x, 0xbbf00000u);
    i32 down = phx_is(x, 0x3b400000u) | phx_is(x, 0x3be00000u) | phx_is(x, 0x3c300000u);
    return phx_nudge(phx_sigmoid_f32(x), up - down);
}

PHX_FN f32 phx_silu_for_f16(f32 x) {
    return phx_nudge(phx_silu_f32(x), phx_is(x, 0x33800000u) - phx_is(x, 0xc02e6000u));
}

PHX_FN f32 phx_gelu_for_f16(f32 x) {
    i32 up = phx_is(x, 0x33800000u) | phx_is(x, 0xbaaf8000u);
    return phx_nudge(phx_gelu_f32(x), up - phx_is(x, 0x3aaf8000u));
}

PHX_FN f32 phx_softplus_for_f16(f32 x) {
    return phx_nudge(phx_softplus_f32(x), -phx_is(x, 0xb8860000u));
}

/* A subnormal half of x, of which float32 has lost the rest: x/2 (1 + x/2) and the like. */
PHX_FN f32 phx_beside_half(f32 y, f32 x) {
    i32 small = (i32)(phx_fabsf(x) < 1e-37f) - (i32)(x == 0.0f);
    return phx_nudge(y, x > 0.0f ? small : -small);
}

PHX_FN f32 phx_silu_for_bf16(f32 x) { return phx_beside_half(phx_silu_f32(x), x); }

PHX_FN f32 phx_gelu_for_bf16(f32 x) { return phx_beside_half(phx_gelu_f32(x), x); }

PHX_FN f32 phx_lgamma_for_f16(f32 x) {
    i32 up = phx_is(x, 0x398cc000u) | phx_is(x, 0xc2626000u);
    i32 down = phx_is(x, 0x4010e000u);
    return phx_nudge(phx_lgamma_f32(x), up - down);
}

PHX_FN f32 phx_digamma_for_f16(f32 x) {
    i32 up = phx_is(x, 0x3ac9c000u) | phx_is(x, 0x452a0000u) | phx_is(x, 0xbedc6000u) | phx_is(x, 0xc17c4000u);
    i32 down = phx_is(x, 0x39150000u) | phx_is(x, 0x3b61c000u) | phx_is(x, 0x3bc98000u) | phx_is(x, 0x45d12000u) | phx_is(x, 0xb81f8000u) | phx_is(x, 0xbdbf0000u);
    return phx_nudge(phx_digamma_f32(x), up - down);
}

PHX_FN f32 phx_expm1_for_f16(f32 x) { return phx_nudge(phx_expm1_f32(x), phx_is(x, 0x3a350000u)); }

PHX_FN f32 phx_log_for_f16(f32 x) { return phx_nudge(phx_log_f32(x), -phx_is(x, 0x3baf0000u)); }

PHX_FN f32 phx_log1p_for_f16(f32 x) {
    return phx_nudge(phx_log1p_f32(x), phx_is(x, 0x3bc06000u) - phx_is(x, 0xbbbfa000u));
}

PHX_FN f32 phx_log10_for_f16(f32 x) {
    i32 up = phx_is(x, 0x3e7f0000u) | phx_is(x, 0x453a0000u);
    i32 down = phx_is(x, 0x3e71e000u) | phx_is(x, 0x42fc2000u) | phx_is(x, 0x4633a000u);
    return phx_nudge(phx_log10_f32(x), up - down);
}

PHX_FN f32 phx_sin_for_f16(f32 x) {
    f32 a = phx_fabsf(x);
    return phx_nudge(phx_sin_main_f32(x), phx_is(a, 0x3e566000u) - phx_is(a, 0x43960000u));
}

PHX_FN f32 phx_cos_for_f16(f32 x) {
    return phx_nudge(phx_cos_main_f32(x), phx_is(phx_fabsf(x), 0x3d6f8000u));
}

PHX_FN f32 phx_tan_for_f16(f32 x) {
    f32 a = phx_fabsf(x);
    i32 up = phx_is(a, 0x3d128000u) | phx_is(a, 0x46e94000u);
    return phx_nudge(phx_tan_main_f32(x), up - phx_is(a, 0x42bda000u));
}

PHX_FN f32 phx_acos_for_f16(f32 x) {
    i32 up = phx_is(x, 0xb6960000u) | phx_is(x, 0xbf0e8000u);
    return phx_nudge(phx_acos_f32(x), up - phx_is(x, 0xbd95e000u));
}

PHX_FN f32 phx_atan_for_f16(f32 x) {
    f32 a = phx_fabsf(x);
    i32 up = phx_is(a, 0x3ce8a000u) | phx_is(a, 0x3e56a000u) | phx_is(a, 0x40cdc000u);
    return phx_nudge(phx_atan_f32(x), up);
}

PHX_FN f32 phx_sinh_for_f16(f32 x) {
    return phx_nudge(phx_sinh_f32(x), phx_is(phx_fabsf(x), 0x401e4000u));
}

PHX_FN f32 phx_cosh_for_f16(f32 x) {
    return phx_nudge(phx_cosh_f32(x), phx_is(phx_fabsf(x), 0x3d000000u));
}

PHX_FN f32 phx_asinh_for_f16(f32 x) {
    f32 a = phx_fabsf(x);
    return phx_nudge(phx_asinh_f32(x), phx_is(a, 0x3e57a000u) - phx_is(a, 0x4163e000u));
}

PHX_FN f32 phx_acosh_for_f16(f32 x) { return phx_nudge(phx_acosh_f32(x), phx_is(x, 0x3f9c8000u)); }

#endif
