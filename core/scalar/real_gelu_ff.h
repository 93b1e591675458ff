/* gelu of float32 in pairs: see real_ff.h. The forms are those of real_gelu.h. */
#ifndef PHX_REAL_GELU_FF_H
#define PHX_REAL_GELU_FF_H

#include "real_erf_ff.h"
#include "real_gelu.h"

PHX_FN phx_ff phx_gelu_ff(f32 a) {
    f32 x = phx_fabsf(a);
    phx_ff halved = phx_ff_of(0.5f * a, 0.0f), square = phx_ff_times(phx_ff_of(x, 0.0f), phx_ff_of(0.5f * x, 0.0f));
    phx_ff z = phx_ff_times(phx_ff_of(x, 0.0f), phx_ff_of(0.70710677f, 1.21016175e-08f)), y;
    if (x < 0.7954951f) {
        y = phx_ff_times(phx_erf_ratio_ff(square), phx_ff_of(a < 0.0f ? -z.hi : z.hi, a < 0.0f ? -z.lo : z.lo));
        return phx_ff_times(phx_ff_plus(phx_ff_of(1.0f, 0.0f), y), halved);
    }
    y = phx_ff_times(phx_erfc_far_ff(square, z), halved);
    return a < 0.0f ? y : phx_ff_taken_from(a, y);
}

/* Its operand above 8, -0 where it is above -2^-150; half of its operand below 2^-26, for the next term is
 * x^2 / sqrt(2 pi). */
PHX_FN f32 phx_gelu_f32(f32 a) {
    phx_ff y = phx_ff_rounded(phx_gelu_ff(a), PHX_ERF_BOUND);
    f32 x = phx_fabsf(a);
    if ((a >= -11.5f) & (a <= 8.0f) & (x > 1.4901161e-08f) & (y.hi == y.lo)) return y.hi;
    if ((a > 8.0f) | (a < -15.0f)) return a > 0.0f ? a : -0.0f;
    if (((x <= 1.4901161e-08f) & (x > 7.52316385e-37f)) | (a == 0.0f)) return 0.5f * a; /* 2^-120 */
    return phx_gelu_f32_by_double(a);
}

#endif
