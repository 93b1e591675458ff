/* sigmoid, silu and softplus of float32 in pairs: see real_ff.h. */
#ifndef PHX_REAL_SIGMOID_FF_H
#define PHX_REAL_SIGMOID_FF_H

#include "real_exp_ff.h"
#include "real_log_ff.h"
#include "real_sigmoid.h"

/* n / (1 + e^-x) for -60 <= x <= 18: the low part of the result is a normal number. */
PHX_FN phx_ff phx_times_sigmoid_ff(f32 n, f32 x) {
    phx_ff w = phx_expm1_ff(-x);
    phx_ff d = phx_ff_exact_sum(2.0f, w.hi);
    d.lo = d.lo + w.lo;
    return phx_ff_quotient(phx_ff_of(n, 0.0f), d, phx_dividef(1.0f, d.hi));
}

/* 1 above 18: e^-18 < 2^-25. */
PHX_FN f32 phx_sigmoid_f32(f32 a) {
    phx_ff y = phx_ff_rounded(phx_times_sigmoid_ff(1.0f, a), PHX_EXPM1_BOUND);
    if ((a >= -60.0f) & (a <= 18.0f) & (y.hi == y.lo)) return y.hi;
    if (a > 18.0f) return 1.0f;
    return phx_sigmoid_f32_by_double(a);
}

/* Its operand above 18; half of it below 2^-26, for the next term is x^2 / 4. */
PHX_FN f32 phx_silu_f32(f32 a) {
    phx_ff y = phx_ff_rounded(phx_times_sigmoid_ff(a, a), PHX_EXPM1_BOUND);
    f32 x = phx_fabsf(a);
    if ((a >= -60.0f) & (a <= 18.0f) & (x > 1.4901161e-08f) & (y.hi == y.lo)) return y.hi;
    if (a > 18.0f) return a;
    if (((x <= 1.4901161e-08f) & (x > 7.52316385e-37f)) | (a == 0.0f)) return 0.5f * a; /* 2^-120 */
    return phx_silu_f32_by_double(a);
}

/* log(1 + e^-|x|) and x above 0, for |x| <= 60. */
PHX_FN phx_ff phx_softplus_ff(f32 a) {
    phx_ff y = phx_log1p_exp_ff(phx_ff_of(phx_fabsf(a), 0.0f));
    return phx_ff_plus(phx_ff_of(a > 0.0f ? a : 0.0f, 0.0f), y);
}

/* Its operand above 18: e^-18 < 2^-25. */
PHX_FN f32 phx_softplus_f32(f32 a) {
    phx_ff y = phx_ff_rounded(phx_softplus_ff(a), PHX_EXPM1_BOUND);
    if ((a >= -60.0f) & (a <= 18.0f) & (y.hi == y.lo)) return y.hi;
    if (a > 18.0f) return a;
    return phx_softplus_f32_by_double(a);
}

#endif
