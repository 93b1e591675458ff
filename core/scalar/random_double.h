/* Random numbers of float64: the formulas of random.h in f64, with the table's own logarithm. */
#ifndef PHX_RANDOM_DOUBLE_H
#define PHX_RANDOM_DOUBLE_H

#include "random.h"
#include "real_log.h"
#include "real_trig.h"

/* 2^52 and the low bits: an integer below 2^52 as f64 by a pattern of bits. */
PHX_FN f64 phx_from_low52(u64 v) {
    return phx_from_bits64(v | (u64)0x4330000000000000) - 4503599627370496.0;
}

/* In [0, 1), the 53 leading bits with equal chances. */
PHX_FN f64 phx_uniform_f64(u64 r) {
    f64 high = phx_from_low52(r >> 32), low = phx_from_low52((r & 0xffffffffu) >> 11);
    return phx_fma(high, 2097152.0, low) * 1.1102230246251565e-16; /* 2^21, 2^-53 */
}

/* In (0, 1]: the middle of the interval of 2^-53, rounded. */
PHX_FN f64 phx_unit_f64(u64 r) { return phx_uniform_f64(r) + 5.551115123125783e-17; }

/* -ln u for normal u in (0, 1], about 2^-51 relative. */
PHX_FN f64 phx_minus_log_f64(f64 u) {
    phx_split m = phx_split_normal(u);
    f64 s = m.f / (2.0 + m.f);
    f64 z = s * s;
    return 0.0 - phx_fma(m.k, PHX_LN2, phx_fma(s * z, phx_atanh_poly6(z), s + s)); /* +0 for 1 */
}

typedef struct {
    f64 x, y;
} phx_pair_f64;

/* Two independent normal numbers from two words of 64 bits, as in random.h; what is left of the angle
   has 52 bits. */
PHX_FN phx_pair_f64 phx_normal_f64(u64 a, u64 b) {
    f64 r = phx_sqrt(2.0 * phx_minus_log_f64(phx_unit_f64(a)));
    u64 q = b + (u64)0x2000000000000000;
    f64 t = phx_from_low52((q & (u64)0x3fffffffffffffff) >> 10) - 2251799813685248.0;
    phx_pair_f64 y;
    f64 z, s, c;
    t = (t + 0.5) * 3.487868498008632e-16; /* 2 pi / 2^54 */
    z = t * t;
    s = phx_sin_narrow(t, z);
    c = phx_cos_narrow(z);
    y.x = (q & (u64)0x4000000000000000) != 0 ? s : c;
    y.y = (q & (u64)0x4000000000000000) != 0 ? c : s;
    y.x = r * phx_from_bits64(phx_bits64(y.x) ^ ((q ^ (q << 1)) & PHX_BITS_SIGN));
    y.y = r * phx_from_bits64(phx_bits64(y.y) ^ (q & PHX_BITS_SIGN));
    return y;
}

#endif
