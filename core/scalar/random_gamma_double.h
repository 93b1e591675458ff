/* Gamma random numbers of float64: the method of random_gamma.h in f64. Of the block of a try, two words
 * are for the radius of the normal number, one for its angle, and one decides.
 */
#ifndef PHX_RANDOM_GAMMA_DOUBLE_H
#define PHX_RANDOM_GAMMA_DOUBLE_H

#include "random_double.h"
#include "random_gamma.h"
#include "real_exp.h"

typedef struct {
    f64 value;
    u64 accepted;
} phx_try_f64;

PHX_FN phx_try_f64 phx_gamma_try_f64(f64 a, phx_words w) {
    f64 d = a - 0.3333333333333333;
    f64 c = 1.0 / phx_sqrt(9.0 * d);
    f64 x = phx_normal_f64(phx_join(w.a, w.b), phx_join(0u, w.c)).x;
    f64 t = phx_fma(c, x, 1.0);
    f64 v = t * t * t;
    f64 e = phx_minus_log_f64(phx_uniform_f64(phx_join(0x80000000u, w.d)));
    f64 l = phx_minus_log_f64(t > 0.0 ? v : 1.0);
    f64 bound = phx_fma(d, (v - 1.0) + l, -0.5 * x * x); /* u is accepted if -ln u is above */
    phx_try_f64 y;
    y.value = d * v;
    y.accepted = (u64)((t > 0.0) & (e > bound));
    return y;
}

PHX_FN f64 phx_gamma_factor_f64(f64 a, phx_words w) {
    return phx_exp_f64(-phx_minus_log_f64(phx_unit_f64(phx_join(w.a, w.b))) / a);
}

PHX_FN f64 phx_gamma_f64(f64 a, u64 key, u64 stream, u64 position) {
    f64 shape = a < 1.0 ? a + 1.0 : a;
    f64 value = shape - 0.3333333333333333;
    for (u32 i = 1; i < PHX_TRIES; i++) {
        phx_try_f64 y = phx_gamma_try_f64(shape, phx_philox(key, stream, position + i));
        if (y.accepted) {
            value = y.value;
            break;
        }
    }
    if (a < 1.0) value = value * phx_gamma_factor_f64(a, phx_philox(key, stream, position));
    return a > 0.0 ? value : (a == 0.0 ? 0.0 : PHX_NAN);
}

#endif
