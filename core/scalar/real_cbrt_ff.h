/* The cube root of float32 in pairs: see real_ff.h. The scheme is that of real_cbrt.h; subnormal operands are
 * left to double.
 */
#ifndef PHX_REAL_CBRT_FF_H
#define PHX_REAL_CBRT_FF_H

#include "real_cbrt.h"
#include "real_ff.h"

#define PHX_CBRT_BOUND 4.54747351e-13f /* 2^-41 */

/* The root of a normal x > 0 = w 2^(3q): y with an error below 2^-21, and one step of Newton's. */
PHX_FN phx_ff phx_cbrt_ff(f32 x) {
    phx_ff_split v = phx_ff_split_normal(x);
    f32 m = 1.0f + v.f, q = phx_fmaf(v.k, 0.333333343f, PHX_MAGICF) - PHX_MAGICF;
    f32 rest = phx_fmaf(-3.0f, q, v.k); /* -1, 0, 1 */
    f32 w = m * (rest > 0.0f ? 2.0f : (rest < 0.0f ? 0.5f : 1.0f));
    f32 r = phx_fmaf(-0.104842627f, m, 0.683577431f), h, y, s, c, d;
    r = phx_fmaf(r, m, -1.86206639f);
    r = phx_fmaf(r, m, 2.75485775f);
    r = phx_fmaf(r, m, -2.46686474f);
    r = phx_fmaf(r, m, 1.99534148f);
    r = r * (rest > 0.0f ? 0.793700526f : (rest < 0.0f ? 1.25992105f : 1.0f));
    h = phx_fmaf(-w * r, r * r, 1.0f);
    r = phx_fmaf(r * h, 0.333333343f, r);
    y = w * (r * r);
    s = y * y;
    c = s * y;
    d = (w - c) - phx_fmaf(phx_fmaf(y, y, -s), y, phx_fmaf(s, y, -c));
    d = d * (r * r * 0.333333343f);
    s = phx_from_bits32((phx_bits32(q + PHX_MAGICF) << 23) + 0x3f800000u); /* 2^q */
    return phx_ff_of(y * s, d * s);
}

PHX_FN f32 phx_cbrt_f32(f32 a) {
    f32 x = phx_fabsf(a);
    phx_ff y = phx_ff_rounded(phx_cbrt_ff(x), PHX_CBRT_BOUND);
    if (phx_is_normal(x) & (y.hi == y.lo)) return phx_copysignf(y.hi, a);
    return phx_cbrt_f32_by_double(a);
}

#endif
