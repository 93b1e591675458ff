/* Gamma random numbers of float32 and what computes in it, without f64.
 *
 * Marsaglia & Tsang, A simple method for generating gamma variables (ACM TOMS 26, 2000): for a >= 1 and a
 * normal x, d (1 + c x)^3 with d = a - 1/3 and c = 1 / sqrt(9 d) is accepted in at least 95 of 100 cases;
 * for a < 1 it is the number for a + 1 times U^(1/a), their section 6. An element has blocks of its own:
 * the first is for U, each of the others for a try.
 */
#ifndef PHX_RANDOM_GAMMA_H
#define PHX_RANDOM_GAMMA_H

#include "random.h"
#include "softmax_exp.h"

/* Blocks of an element of an op that may try more than once: all fail with a probability below 10^-19. */
#define PHX_TRIES 32

typedef struct {
    f32 value;
    u32 accepted;
} phx_try_f32;

/* One try; a is the shape, or the shape + 1 if that is below 1. */
PHX_FN phx_try_f32 phx_gamma_try_f32(f32 a, phx_words w) {
    f32 d = a - 0.333333333f;
    f32 c = phx_dividef(1.0f, phx_sqrtf(9.0f * d));
    f32 x = phx_normal_f32(w.a, w.b).x;
    f32 t = phx_fmaf(c, x, 1.0f);
    f32 v = t * t * t;
    f32 e = phx_minus_log_f32(phx_unit_f32(w.c));
    f32 l = phx_minus_log_f32(t > 0.0f ? v : 1.0f);
    f32 bound = phx_fmaf(d, (v - 1.0f) + l, -0.5f * x * x); /* u is accepted if -ln u is above */
    phx_try_f32 y;
    y.value = d * v;
    y.accepted = (u32)((t > 0.0f) & (e > bound));
    return y;
}

/* What the number for a + 1 is multiplied by, for a shape a below 1. */
PHX_FN f32 phx_gamma_factor_f32(f32 a, phx_words w) {
    return phx_softmax_exp_f32(phx_dividef(-phx_minus_log_f32(phx_unit_f32(w.a)), a));
}

/* An element whose first block is at position; 0 for a shape of 0, NaN for less. */
PHX_FN f32 phx_gamma_f32(f32 a, u64 key, u64 stream, u64 position) {
    f32 shape = a < 1.0f ? a + 1.0f : a;
    f32 value = shape - 0.333333333f;
    for (u32 i = 1; i < PHX_TRIES; i++) {
        phx_try_f32 y = phx_gamma_try_f32(shape, phx_philox(key, stream, position + i));
        if (y.accepted) {
            value = y.value;
            break;
        }
    }
    if (a < 1.0f) value = value * phx_gamma_factor_f32(a, phx_philox(key, stream, position));
    return a > 0.0f ? value : (a == 0.0f ? 0.0f : PHX_NANF);
}

#endif
