/* sigmoid, silu and softplus, float32 and float64: 1 / (1 + e^-x), x times that, and its integral
 * log(1 + e^x). All use e^-|x|, which does not overflow. How the stated errors were obtained: real_exp.h.
 */
#ifndef PHX_REAL_SIGMOID_H
#define PHX_REAL_SIGMOID_H

#include "real_common.h"
#include "real_exp.h"
#include "real_log.h"

/* Near 0 it is 1/2 + x/4 - x^3/48. Where x/4 is the middle of two float32 numbers, f64 loses the cubic
   term, which alone tells the side: 2^-52 in its stead. Up to 2^-14 that does no harm, as x/4 is on a middle
   or farther from it than both: by 2^-49 at least from 2^-24 on, by 2^-40 from 2^-15 on. */
PHX_FN f32 phx_sigmoid_f32(f32 a) {
    f64 x = (f64)a;
    f64 y = 1.0 / (1.0 + phx_exp_wide(phx_clamp(-x, -110.0, 110.0)));
    f64 near = 0.5 + (x * 0.25 - phx_copysign(2.220446049250313e-16, x));
    return phx_nudge((f32)(phx_fabs(x) < 6.103515625e-05 ? near : y), phx_is(a, 0xba928601u));
}

/* Its limit at -inf is -0. */
PHX_FN f32 phx_silu_f32(f32 a) {
    f64 x = phx_clamp((f64)a, -120.0, PHX_INF);
    f64 y = x / (1.0 + phx_exp_wide(phx_clamp(-x, -110.0, 120.0)));
    return (f32)(phx_fabs(x) < PHX_NEAR_HALF ? phx_near_half(x) : y);
}

PHX_FN f32 phx_softplus_f32(f32 a) {
    f64 x = (f64)a;
    f64 e = phx_exp_wide(phx_clamp(-phx_fabs(x), -120.0, 0.0));
    i32 up = phx_is(a, 0x39ea41d0u) | phx_is(a, 0x3ad68ba7u);
    return phx_nudge((f32)((x < 0.0 ? 0.0 : x) + phx_log1p_wide(e)), up);
}

/* 0.52 ulp for sigmoid, 0.53 for silu.
   factor * sigmoid(x): factor / (1 + e) for x >= 0, factor e / (1 + e) below, with e = e^-|x| as a pair. */
PHX_FN f64 phx_times_sigmoid(f64 factor, f64 x) {
    phx_exp_arg a = phx_exp_reduce(phx_clamp(-phx_fabs(x), -800.0, 0.0), 0.0);
    phx_dd e = phx_exp_core(a.r, a.rl), d, n, y;
    f64 s = phx_pow2(a.k < -100.0 ? -100.0 : a.k); /* below that e does not count in 1 + e */
    f64 c, q;
    e = phx_fast_two_sum(e.hi, e.lo);
    d = phx_fast_two_sum(1.0, s * e.hi);
    n = phx_two_prod(factor, x < 0.0 ? e.hi : 1.0);
    n.lo = x < 0.0 ? phx_fma(factor, e.lo, n.lo) : n.lo;
    d.lo = phx_fma(s, e.lo, d.lo);
    c = 1.0 / d.hi;
    q = n.hi * c;
    y = phx_fast_two_sum(q, (phx_fma(-q, d.hi, n.hi) + phx_fma(-q, d.lo, n.lo)) * c);
    return phx_scale_pair(y, x < 0.0 ? a.k : 0.0);
}

PHX_FN f64 phx_sigmoid_f64(f64 x) { return phx_times_sigmoid(1.0, x); }

PHX_FN f64 phx_silu_f64(f64 x) {
    f64 y = phx_times_sigmoid(phx_clamp(phx_fabs(x), 0.0, 800.0), x);
    return phx_copysign(x > 60.0 ? x : y, x); /* infinity and -0, too */
}

/* 0.52 ulp. Far on the left it is e^x - e^2x / 2. */
PHX_FN f64 phx_softplus_f64(f64 x) {
    phx_exp_arg g = phx_exp_reduce(phx_clamp(-phx_fabs(x), -800.0, 0.0), 0.0);
    phx_dd e = phx_exp_core(g.r, g.rl);
    phx_dd f = phx_fast_two_sum(e.hi, e.lo);
    f64 z = phx_scale(f.hi, g.k);
    phx_dd u = phx_fast_two_sum(1.0, z);
    phx_dd y = phx_log_pair(u.hi, u.lo + phx_scale(f.lo, g.k), 0.0);
    phx_dd s = phx_two_sum(x > 0.0 ? x : 0.0, y.hi);
    f64 near = s.hi + (s.lo + y.lo);
    f.lo = phx_fma(-0.5 * z, f.hi, f.lo);
    near = (x < 0.0) & (z < PHX_LINEAR) ? phx_scale_pair(f, g.k) : near;
    return x < PHX_INF ? near : x;
}

#endif
