/* floor_divide and remainder of float32 without double, where the quotient is an integer that float32 has and
 * its neighbours, too: the steps of real_basic.h, which are exact for the same reasons with 24 bits as with 53.
 * Larger quotients, and divisors that are 0, are left to double.
 */
#ifndef PHX_REAL_BASIC_FF_H
#define PHX_REAL_BASIC_FF_H

#include "real_basic.h"

#define PHX_WHOLE_QUOTIENT 8388608.0f /* 2^23 */

PHX_FN f32 phx_floor_divide_f32(f32 a, f32 b) {
    f32 q = phx_dividef(a, b);
    if (!(phx_fabsf(q) < PHX_WHOLE_QUOTIENT)) return phx_floor_divide_f32_by_double(a, b);
    f32 n = phx_floorf(q), r = phx_fmaf(-n, b, a);
    return ((r < 0.0f) & (b > 0.0f)) | ((r > 0.0f) & (b < 0.0f)) ? n - 1.0f : n;
}

PHX_FN f32 phx_remainder_f32(f32 a, f32 b) {
    f32 q = phx_dividef(a, b), n = phx_floorf(q), r = phx_fmaf(-n, b, a);
    if (((r < 0.0f) & (b > 0.0f)) | ((r > 0.0f) & (b < 0.0f))) r = phx_fmaf(1.0f - n, b, a);
    if (phx_fabsf(b) == PHX_INFF) r = ((a < 0.0f) & (b > 0.0f)) | ((a > 0.0f) & (b < 0.0f)) ? b : a;
    if (phx_fabsf(q) < PHX_WHOLE_QUOTIENT) return r == 0.0f ? phx_copysignf(0.0f, b) : r;
    return phx_remainder_f32_by_double(a, b);
}

#endif
