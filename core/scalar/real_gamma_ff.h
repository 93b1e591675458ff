/* lgamma and digamma of float32 in pairs: see real_ff.h. From 8 on by Stirling's series as in real_gamma.h; below,
 * by gamma(x + 1) = x gamma(x) from a polynomial about the zero, 2 of lgamma and 1.4616 of digamma, so that the
 * relative error stays small there. Below 0 by the reflections, where the bound is one of the terms: they cancel
 * near the zeros between the poles. Polynomials: interpolated at Chebyshev's nodes (mpmath), then rounded from the
 * highest coefficient down, of which the lower ones take up what is lost.
 */
#ifndef PHX_REAL_GAMMA_FF_H
#define PHX_REAL_GAMMA_FF_H

#include "real_ff.h"
#include "real_gamma.h"
#include "real_log_ff.h"
#include "real_trig_ff.h"

#define PHX_LGAMMA_BOUND 1.8189894e-12f   /* 2^-39 */
#define PHX_DIGAMMA_BOUND 9.09494702e-13f /* 2^-40 */
/* Up to the first, what is not singular has its value of 0; what is as low as the second is left to double. */
#define PHX_GAMMA_FF_BELOW -2.8421709e-14f /* -2^-45 */
#define PHX_GAMMA_FF_LEAST -4194304.0f /* -2^22 */

/* A result, and what its bound is relative to. */
typedef struct {
    phx_ff y;
    f32 size;
} phx_gamma_ff;

PHX_FN phx_gamma_ff phx_gamma_ff_of(phx_ff y, f32 size) {
    phx_gamma_ff g;
    g.y = y;
    g.size = size;
    return g;
}

PHX_FN phx_gamma_ff phx_gamma_ff_above(phx_ff y) { return phx_gamma_ff_of(y, phx_fabsf(y.hi)); }

/* As phx_ff_rounded. */
PHX_FN phx_ff phx_gamma_ff_rounded(phx_gamma_ff g, f32 bound) {
    f32 off = bound * g.size;
    return phx_ff_of(g.y.hi + (g.y.lo + off), g.y.hi + (g.y.lo - off));
}

PHX_FN phx_ff phx_ff_negative(phx_ff a) { return phx_ff_of(-a.hi, -a.lo); }

PHX_FN phx_ff phx_ff_choose(i32 condition, phx_ff a, phx_ff b) {
    return phx_ff_of(condition ? a.hi : b.hi, condition ? a.lo : b.lo);
}

PHX_FN phx_ff phx_ff_ratio(phx_ff n, phx_ff d) { return phx_ff_quotient(n, d, phx_dividef(1.0f, d.hi)); }

/* ln(hi + lo) for a positive normal hi that is the sum rounded. */
PHX_FN phx_ff phx_log_of_ff(phx_ff a) {
    phx_ff_split m = phx_ff_split_normal(a.hi);
    return phx_ff_plus_whole(m.k, 0.693145752f, 1.42860677e-06f, phx_log1p_of_ff(m.f, a.lo * m.unit));
}

/* |sin(pi a)| and |cos(pi a)| for 0 <= a < 2^22, 2^-44; and the rest of a behind the nearest whole number. */
typedef struct {
    phx_ff sine, cosine;
    f32 rest;
} phx_half_turn_ff;

PHX_FN phx_half_turn_ff phx_sincos_of_pi_ff(f32 a) {
    phx_half_turn_ff t;
    t.rest = a - ((a + PHX_MAGICF) - PHX_MAGICF);
    f32 r = phx_fabsf(t.rest);
    i32 far = r > 0.25f;
    phx_ff v = phx_ff_times(phx_ff_of(far ? 0.5f - r : r, 0.0f), phx_ff_of(3.1415927f, -8.742278e-08f));
    v = phx_ff_fast_sum(v.hi, v.lo);
    t.sine = phx_sin_or_cos_ff(v, far);
    t.cosine = phx_sin_or_cos_ff(v, !far);
    return t;
}

/* ---- lgamma ---------------------------------------------------------------------------------- */

/* ln gamma(2 + e) for -0.586 <= e <= 1/2: e P(e), 2^-46.4 relative. The last sum is above 1/8, and so its step
 * is exact, too. */
PHX_FN phx_ff phx_lgamma_near_ff(f32 e) {
    phx_ff x = phx_ff_of(e, 0.0f), p;
    f32 q = phx_fmaf(1.7547844e-06f, e, -2.5270592e-06f);
    q = phx_fmaf(q, e, 3.7306002e-06f);
    q = phx_fmaf(q, e, -9.241105e-06f);
    q = phx_fmaf(q, e, 2.0740496e-05f);
    q = phx_fmaf(q, e, -4.4968085e-05f);
    q = phx_fmaf(q, e, 9.941289e-05f);
    p = phx_ff_next(phx_ff_of(q, 0.0f), x, -2.2314976e-04f, 6.290877e-12f);
    p = phx_ff_next(p, x, 5.096742e-04f, -2.4868062e-11f);
    p = phx_ff_next(p, x, -1.1927543e-03f, 6.5359724e-13f);
    p = phx_ff_next(p, x, 2.89051e-03f, 6.1617225e-11f);
    p = phx_ff_next(p, x, -7.385551e-03f, -1.8593333e-11f);
    p = phx_ff_next(p, x, 2.0580808e-02f, 7.329871e-10f);
    p = phx_ff_next(p, x, -6.73523e-02f, 1.3190867e-09f);
    p = phx_ff_next(p, x, 3.2246703e-01f, 4.3293764e-09f);
    p = phx_ff_next(p, x, 4.2278433e-01f, 6.6377743e-09f);
    return phx_ff_times(p, x);
}

/* ln gamma(z) for z >= 8; the series 2^-45.9 of it. */
PHX_FN phx_ff phx_stirling_ff(f32 z) {
    phx_ff l = phx_log_ff(z), y = phx_ff_ratio(phx_ff_of(1.0f, 0.0f), phx_ff_of(z, 0.0f)), c;
    f32 w = y.hi * y.hi, p;
    p = phx_fmaf(phx_fmaf(phx_fmaf(7.857994e-04f, w, -5.9470325e-04f), w, 7.936491e-04f), w, -2.7777778e-03f);
    c = phx_ff_times(phx_ff_step(p, w, 0.083333336f, -2.483527e-09f), y);
    c = phx_ff_plus(phx_ff_of(0.41893855f, -1.4168145e-08f), c);
    l = phx_ff_plus(l, phx_ff_of(-1.0f, 0.0f));
    return phx_ff_plus(phx_ff_times(phx_ff_fast_sum(l.hi, l.lo), phx_ff_exact_sum(z, -0.5f)), c);
}

/* Where the polynomial begins: below sqrt(2), from which on the logarithm of a pair is a difference. */
#define PHX_LGAMMA_FF_FIRST 1.4140625f

/* One factor more, a - k, if it is PHX_LGAMMA_FF_FIRST or more. */
PHX_FN phx_ff phx_lgamma_climb(phx_ff product, f32 a, f32 k) {
    return phx_ff_choose(a - k >= PHX_LGAMMA_FF_FIRST, phx_ff_times(product, phx_ff_of(a - k, 0.0f)), product);
}

/* gamma(a) = exp(near) v, or exp(near) / v below PHX_LGAMMA_FF_FIRST; v = 1 from 8 on. */
typedef struct {
    phx_ff near, v;
} phx_lgamma_parts;

PHX_FN phx_lgamma_parts phx_lgamma_split(f32 a) {
    phx_lgamma_parts s;
    f32 e = (a - 2.0f) - phx_floorf(a - PHX_LGAMMA_FF_FIRST);
    i32 low = a < PHX_LGAMMA_FF_FIRST, least = a < 0.5f;
    phx_ff v = phx_ff_of(1.0f, 0.0f), under = phx_ff_of(a, 0.0f);
    s.v = v;
    if (a >= 8.0f) {
        s.near = phx_stirling_ff(a);
        return s;
    }
    v = phx_lgamma_climb(v, a, 1.0f);
    v = phx_lgamma_climb(v, a, 2.0f);
    v = phx_lgamma_climb(v, a, 3.0f);
    v = phx_lgamma_climb(v, a, 4.0f);
    v = phx_lgamma_climb(v, a, 5.0f);
    v = phx_lgamma_climb(v, a, 6.0f);
    under = phx_ff_choose(least, phx_ff_times(under, phx_ff_exact_sum(1.0f, a)), under);
    s.near = phx_lgamma_near_ff(least ? a : (low ? a - 1.0f : e));
    s.v = phx_ff_choose(low, under, v);
    s.v = phx_ff_fast_sum(s.v.hi, s.v.lo);
    return s;
}

PHX_FN phx_ff phx_lgamma_above_ff(f32 a) {
    phx_lgamma_parts s = phx_lgamma_split(a);
    if (a >= 8.0f) return s.near;
    phx_ff l = phx_log_of_ff(s.v);
    return phx_ff_plus(s.near, phx_ff_choose(a < PHX_LGAMMA_FF_FIRST, phx_ff_negative(l), l));
}

/* ln |gamma(-a)| = ln(pi) - near - ln(a sin(pi a) v), or / v below PHX_LGAMMA_FF_FIRST; the size is half of the
 * terms'. */
PHX_FN phx_gamma_ff phx_lgamma_below_ff(f32 a) {
    phx_lgamma_parts s = phx_lgamma_split(a);
    phx_ff sine = phx_sincos_of_pi_ff(a).sine, v = phx_ff_times(phx_ff_times(phx_ff_of(a, 0.0f), sine), s.v), l;
    phx_ff low = phx_ff_choose(a < 0.5f, phx_ff_ratio(sine, phx_ff_exact_sum(1.0f, a)), sine);
    v = phx_ff_choose(a < PHX_LGAMMA_FF_FIRST, low, v);
    l = phx_log_of_ff(phx_ff_fast_sum(v.hi, v.lo));
    v = phx_ff_plus(phx_ff_of(1.1447299f, 3.317301e-08f), phx_ff_negative(s.near));
    f32 size = 0.5f * (1.1447299f + phx_fabsf(s.near.hi) + phx_fabsf(l.hi));
    return phx_gamma_ff_of(phx_ff_plus(v, phx_ff_negative(l)), size);
}

PHX_FN phx_gamma_ff phx_lgamma_ff(f32 x) {
    if (x < PHX_GAMMA_FF_BELOW) return phx_lgamma_below_ff(-x);
    return phx_gamma_ff_above(phx_lgamma_above_ff(phx_fabsf(x)));
}

/* x has a value of lgamma or digamma in pairs: it is normal, and not so large that terms overflow. */
PHX_FN i32 phx_gamma_ff_usual(f32 x) {
    return phx_is_normal(phx_fabsf(x)) & (x < 1.0e36f) & (x > PHX_GAMMA_FF_LEAST);
}

PHX_FN i32 phx_gamma_pole(f32 x) { return (x < 0.0f) & (x == phx_floorf(x)); }

PHX_FN f32 phx_lgamma_f32(f32 a) {
    phx_ff y = phx_gamma_ff_rounded(phx_lgamma_ff(a), PHX_LGAMMA_BOUND);
    if (phx_gamma_pole(a)) return PHX_INFF;
    if (phx_gamma_ff_usual(a) & (y.hi == y.lo)) return y.hi;
    return phx_lgamma_f32_by_double(a);
}

/* ---- digamma --------------------------------------------------------------------------------- */

/* digamma(x0 + e) for 1 <= x0 + e <= 2, x0 the positive zero: e P(e), 2^-45.6 relative. */
PHX_FN phx_ff phx_digamma_near_ff(phx_ff e) {
    phx_ff p;
    f32 q = phx_fmaf(-7.8043225e-04f, e.hi, 1.6797234e-03f);
    q = phx_fmaf(q, e.hi, -1.753035e-03f);
    q = phx_fmaf(q, e.hi, 2.0595079e-03f);
    q = phx_fmaf(q, e.hi, -3.2724256e-03f);
    q = phx_fmaf(q, e.hi, 4.9783043e-03f);
    p = phx_ff_next(phx_ff_of(q, 0.0f), e, -7.2275265e-03f, 2.0223463e-10f);
    p = phx_ff_next(p, e, 1.05326455e-02f, -2.997515e-10f);
    p = phx_ff_next(p, e, -1.5421871e-02f, -1.2009084e-10f);
    p = phx_ff_next(p, e, 2.2598073e-02f, -6.9488787e-10f);
    p = phx_ff_next(p, e, -3.3161327e-02f, -1.3822245e-10f);
    p = phx_ff_next(p, e, 4.8804272e-02f, -6.278891e-11f);
    p = phx_ff_next(p, e, -7.219955e-02f, -7.2025835e-10f);
    p = phx_ff_next(p, e, 1.0782405e-01f, 1.1126544e-09f);
    p = phx_ff_next(p, e, -1.6394271e-01f, 4.0052246e-09f);
    p = phx_ff_next(p, e, 2.5849977e-01f, -1.0403248e-08f);
    p = phx_ff_next(p, e, -4.4276318e-01f, 1.0557591e-08f);
    p = phx_ff_next(p, e, 9.676722e-01f, 1.6634452e-08f);
    return phx_ff_times(p, e);
}

/* digamma(z) for z >= 8; the series 2^-44.1 of it. */
PHX_FN phx_ff phx_digamma_far_ff(phx_ff z) {
    phx_ff y = phx_ff_ratio(phx_ff_of(1.0f, 0.0f), z), w = phx_ff_times(y, y), c;
    f32 p = phx_fmaf(phx_fmaf(6.9676293e-03f, w.hi, -4.1608755e-03f), w.hi, 3.968236e-03f);
    p = phx_fmaf(p, w.hi, -8.333334e-03f);
    c = phx_ff_times(phx_ff_step(p, w.hi, 0.083333336f, -2.483527e-09f), w);
    c = phx_ff_plus(phx_ff_of(0.5f * y.hi, 0.5f * y.lo), c);
    return phx_ff_plus(phx_log_of_ff(z), phx_ff_negative(c));
}

/* The product of what has been climbed, and this times the sum of the factors' reciprocals. */
typedef struct {
    phx_ff product, sum;
} phx_climb_ff;

/* One factor more, x - k, if it is 1 or more. */
PHX_FN phx_climb_ff phx_digamma_climb(phx_climb_ff c, phx_ff x, f32 k) {
    i32 used = x.hi - k >= 1.0f;
    phx_ff factor = phx_ff_of(x.hi - k, x.lo);
    c.sum = phx_ff_choose(used, phx_ff_plus(phx_ff_times(c.sum, factor), c.product), c.sum);
    c.product = phx_ff_choose(used, phx_ff_times(c.product, factor), c.product);
    return c;
}

/* digamma(x) = digamma(t) + sum, t from 1 to 2: for -2^-45 <= x != 0. */
PHX_FN phx_ff phx_digamma_above_ff(phx_ff x) {
    i32 low = x.hi < 1.0f;
    phx_ff t;
    phx_climb_ff c;
    if (x.hi >= 8.0f) return phx_digamma_far_ff(x);
    t = phx_ff_choose(low, phx_ff_exact_sum(1.0f, x.hi), phx_ff_of(x.hi - (phx_floorf(x.hi) - 1.0f), x.lo));
    t = phx_ff_exact_sum(t.hi - 1.4616321f, t.lo - 1.243815e-08f);
    t.lo = t.lo + 1.2654464e-16f;
    c.product = phx_ff_of(1.0f, 0.0f);
    c.sum = phx_ff_of(0.0f, 0.0f);
    c = phx_digamma_climb(c, x, 1.0f);
    c = phx_digamma_climb(c, x, 2.0f);
    c = phx_digamma_climb(c, x, 3.0f);
    c = phx_digamma_climb(c, x, 4.0f);
    c = phx_digamma_climb(c, x, 5.0f);
    c = phx_digamma_climb(c, x, 6.0f);
    c.sum = phx_ff_choose(low, phx_ff_of(-1.0f, 0.0f), c.sum);
    c.product = phx_ff_choose(low, x, c.product);
    return phx_ff_plus(phx_digamma_near_ff(t), phx_ff_ratio(c.sum, phx_ff_fast_sum(c.product.hi, c.product.lo)));
}

/* digamma(-a) = digamma(1 + a) + pi / tan(pi a). */
PHX_FN phx_gamma_ff phx_digamma_below_ff(f32 a) {
    phx_half_turn_ff turn = phx_sincos_of_pi_ff(a);
    phx_ff y = phx_digamma_above_ff(phx_ff_exact_sum(1.0f, a));
    phx_ff c = phx_ff_times(phx_ff_ratio(turn.cosine, turn.sine), phx_ff_of(3.1415927f, -8.742278e-08f));
    c = phx_ff_choose(turn.rest < 0.0f, phx_ff_negative(c), c);
    return phx_gamma_ff_of(phx_ff_plus(y, c), phx_fabsf(y.hi) + phx_fabsf(c.hi));
}

PHX_FN phx_gamma_ff phx_digamma_ff(f32 x) {
    if (x < PHX_GAMMA_FF_BELOW) return phx_digamma_below_ff(-x);
    return phx_gamma_ff_above(phx_digamma_above_ff(phx_ff_of(x, 0.0f)));
}

PHX_FN f32 phx_digamma_f32(f32 a) {
    phx_ff y = phx_gamma_ff_rounded(phx_digamma_ff(a), PHX_DIGAMMA_BOUND);
    if (phx_gamma_pole(a)) return PHX_NANF;
    if (phx_gamma_ff_usual(a) & (y.hi == y.lo)) return y.hi;
    return phx_digamma_f32_by_double(a);
}

#endif
