/* pow and hypot of float32 in pairs: see real_ff.h. */
#ifndef PHX_REAL_POW_FF_H
#define PHX_REAL_POW_FF_H

#include "real_exp_ff.h"
#include "real_log_ff.h"
#include "real_pow.h"

#define PHX_POW_BOUND 9.09494702e-13f   /* 2^-40: of the exponential, and of the exponent times the exponent */
#define PHX_HYPOT_BOUND 2.27373675e-13f /* 2^-42 */

/* |x|^y = 2^k y, `sum` is k + PHX_MAGICF; `size` is |y log |x||, at most 87. */
typedef struct {
    phx_ff y;
    f32 sum, size;
} phx_pow_ff_parts;

PHX_FN phx_pow_ff_parts phx_pow_ff(f32 a, f32 b) {
    phx_pow_ff_parts p;
    phx_ff t = phx_ff_times(phx_log_ff(phx_fabsf(a)), phx_ff_of(b, 0.0f));
    phx_exp_ff_arg g = phx_exp_ff_reduce(t.hi);
    p.y = phx_exp_of_ff(phx_ff_exact_sum(g.r.hi, g.r.lo + t.lo));
    p.sum = g.sum;
    p.size = phx_fabsf(t.hi);
    return p;
}

/* A negative x has powers of whole y. Those that are the middle of two numbers, such as 4097^2, never pass. */
PHX_FN f32 phx_pow_f32(f32 a, f32 b) {
    phx_pow_ff_parts p = phx_pow_ff(a, b);
    f32 h = 0.5f * b;
    i32 whole = phx_rintf(b) == b, odd = whole & (phx_rintf(h) != h);
    phx_ff y = phx_ff_rounded(p.y, phx_fmaf(p.size, PHX_POW_BOUND, PHX_POW_BOUND));
    if (phx_is_normal(phx_fabsf(a)) & ((a > 0.0f) | whole) & (p.size <= 87.0f) & (y.hi == y.lo)) {
        f32 z = phx_ff_scaled(y.hi, p.sum);
        return (a < 0.0f) & odd ? -z : z;
    }
    return phx_pow_f32_by_double(a, b);
}

PHX_FN phx_ff phx_hypot_ff(f32 a, f32 b) {
    phx_ff x = phx_ff_of(a, 0.0f), y = phx_ff_of(b, 0.0f);
    phx_ff s = phx_ff_plus(phx_ff_times(x, x), phx_ff_times(y, y));
    return phx_ff_root(phx_ff_fast_sum(s.hi, s.lo));
}

PHX_FN f32 phx_hypot_f32(f32 a, f32 b) {
    f32 x = phx_fabsf(a), y = phx_fabsf(b), most = x > y ? x : y;
    phx_ff r = phx_ff_rounded(phx_hypot_ff(a, b), PHX_HYPOT_BOUND);
    if ((most >= 9.09494702e-13f) & (most <= 1.15292150e+18f) & (r.hi == r.lo)) return r.hi; /* 2^-40 to 2^60 */
    return phx_hypot_f32_by_double(a, b);
}

#endif
