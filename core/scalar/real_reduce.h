/* Argument reduction of the trigonometric functions: x = n pi/2 + r with |r| <= pi/4, for every
 * finite x.
 *
 * Two paths, because one that serves all arguments without a branch costs 1.7 times (AVX-512) to
 * 2.1 times (AVX2) as much in float32, and more in float64 (measured 2026-11, gcc 12):
 * - main, |x| < 2^30 (PHX_TRIG_MAIN): Cody & Waite (1980) with fma. No branch, no table, it
 *   vectorises. Infinities and NaN give NaN; for greater finite x the result is meaningless.
 * - big, 2^30 <= |x| < infinity: Payne & Hanek, "Radian reduction for trigonometric functions"
 *   (SIGNUM Newsletter 18, 1983), in 32-bit limbs. Scalar.
 *
 * phx_sin_f64 and its like take the right one by a branch. A loop that is to vectorise goes block
 * by block, of 256 elements say; the input is looked at first, so it may be the output too:
 *
 *     i32 any = 0;
 *     for (i in block) any |= phx_trig_needs_big_f64(x[i]);
 *     if (any) for (i in block) y[i] = phx_sin_f64(x[i]);
 *     else     for (i in block) y[i] = phx_sin_main_f64(x[i]);
 *
 * Below 2^30 both are the same function, so the block's size never shows in the bits. float16 has
 * no number that needs the big path.
 */
#ifndef PHX_REAL_REDUCE_H
#define PHX_REAL_REDUCE_H

#include "real_common.h"

#define PHX_TRIG_MAIN 1073741824.0

/* pi/2 = HI + LO + LOW to 161 bits. */
#define PHX_PIO2_HI 1.5707963267948966
#define PHX_PIO2_LO 6.123233995736766e-17
#define PHX_PIO2_LOW -1.4973849048591698e-33

/* r + rl, and n (mod 4) in the two low bits of q; the others are unspecified. */
typedef struct {
    f64 r, rl;
    u64 q;
} phx_quarter;

/* 1 if |x| is finite and too big for the main path, else 0. */
PHX_FN i32 phx_trig_needs_big_f64(f64 x) {
    f64 a = phx_fabs(x);
    return (i32)(a >= PHX_TRIG_MAIN) & (i32)(a < PHX_INF);
}

PHX_FN i32 phx_trig_needs_big_f32(f32 x) {
    f32 a = phx_fabsf(x);
    return (i32)(a >= 1073741824.0f) & (i32)(a < PHX_INFF);
}

/* For f32 arguments: x - n HI is exact, the second fma rounds once; rl stays 0. */
PHX_FN phx_quarter phx_reduce_main_f32(f64 x) {
    phx_quarter t;
    f64 v = phx_fma(x, 0.6366197723675814, PHX_MAGIC);
    f64 n = v - PHX_MAGIC;
    t.r = phx_fma(-n, PHX_PIO2_LO, phx_fma(-n, PHX_PIO2_HI, x));
    t.rl = 0.0;
    t.q = phx_bits64(v);
    return t;
}

/* x - n HI is exact, n LO an exact pair: r + rl is good to 2^-130, and no double below 2^30 comes
   nearer than 2^-62 to a multiple of pi/2 (Muller, Elementary Functions, 3rd ed., section 11.4). */
PHX_FN phx_quarter phx_reduce_main_f64(f64 x) {
    phx_quarter t;
    f64 v = phx_fma(x, 0.6366197723675814, PHX_MAGIC);
    f64 n = v - PHX_MAGIC;
    phx_dd p = phx_two_prod(n, PHX_PIO2_LO);
    phx_dd s = phx_two_sum(phx_fma(-n, PHX_PIO2_HI, x), -p.hi);
    s = phx_fast_two_sum(s.hi, s.lo - phx_fma(n, PHX_PIO2_LOW, p.lo));
    t.r = s.hi;
    t.rl = s.lo;
    t.q = phx_bits64(v);
    return t;
}

/* 32 zero bits, then the bits of 2/pi after the point. */
PHX_TABLE(u32, phx_two_over_pi, 39) = {
    0x00000000,
    0xa2f9836e,
    0x4e441529,
    0xfc2757d1,
    0xf534ddc0,
    0xdb629599,
    0x3c439041,
    0xfe5163ab,
    0xdebbc561,
    0xb7246e3a,
    0x424dd2e0,
    0x06492eea,
    0x09d1921c,
    0xfe1deb1c,
    0xb129a73e,
    0xe88235f5,
    0x2ebb4484,
    0xe99c7026,
    0xb45f7e41,
    0x3991d639,
    0x835339f4,
    0x9c845f8b,
    0xbdf9283b,
    0x1ff897ff,
    0xde05980f,
    0xef2f118b,
    0x5a0a6d1f,
    0x6d367ecf,
    0x27cb09b7,
    0x4f463f66,
    0x9e5fea2d,
    0x7527bac7,
    0xebe5f17b,
    0x3d0739f7,
    0x8a5292ea,
    0x6bfb5fb1,
    0x1f8d5d08,
    0x56033046,
    0xfc7b6bab,
};

/* 32 bits of 2/pi, from bit s of word j on. */
PHX_FN u64 phx_two_over_pi_at(u64 j, u64 s) {
    u64 w = ((u64)phx_two_over_pi[j] << 32) | (u64)phx_two_over_pi[j + 1];
    return ((w << s) >> 32) & (u64)0xffffffff;
}

/* |x| = m 2^e; the 192 bits of 2/pi that start at weight 2^(1-e), times m, modulo 2^192: two bits
   of quadrant, 190 bits of fraction. What is cut off is below 2^-137, the fraction at least 2^-62
   away from 0 and 1. */
PHX_FN phx_quarter phx_reduce_big(f64 x) {
    phx_quarter t;
    u64 u = phx_bits64(x) & ~PHX_BITS_SIGN;
    u64 m = (u & PHX_BITS_MANTISSA) | (u64)0x0010000000000000;
    u64 at = (u >> 52) - 1045; /* e + 30, e = biased exponent - 1075 */
    u64 j = at >> 5;
    u64 s = at & 31;
    u64 w5 = phx_two_over_pi_at(j, s), w4 = phx_two_over_pi_at(j + 1, s),
        w3 = phx_two_over_pi_at(j + 2, s);
    u64 w2 = phx_two_over_pi_at(j + 3, s), w1 = phx_two_over_pi_at(j + 4, s),
        w0 = phx_two_over_pi_at(j + 5, s);
    u64 lo = m & (u64)0xffffffff, hi = m >> 32, low32 = (u64)0xffffffff;
    u64 a0 = lo * w0;
    u64 a1 = lo * w1 + (a0 >> 32);
    u64 a2 = lo * w2 + (a1 >> 32);
    u64 a3 = lo * w3 + (a2 >> 32);
    u64 a4 = lo * w4 + (a3 >> 32);
    u64 a5 = lo * w5 + (a4 >> 32);
    u64 b1 = hi * w0 + (a1 & low32);
    u64 b2 = hi * w1 + (a2 & low32) + (b1 >> 32);
    u64 b3 = hi * w2 + (a3 & low32) + (b2 >> 32);
    u64 b4 = hi * w3 + (a4 & low32) + (b3 >> 32);
    u64 b5 = hi * w4 + (a5 & low32) + (b4 >> 32);
    u64 top = (b5 << 32) | (b4 & low32);
    u64 mid = (b3 << 32) | (b2 & low32);
    u64 f1 = (top << 2) | (mid >> 62);
    u64 f0 = (mid << 2) | ((b1 & low32) >> 30);
    u64 neg =
        (u64)0 - (f1 >> 63); /* a fraction of 1/2 and more counts down from the next quadrant */
    u64 q = (top >> 62) + (f1 >> 63);
    phx_dd g, h;
    f64 sign = (neg != 0) == (x < 0.0) ? 1.0 : -1.0;
    f1 = f1 ^ neg;
    f0 = f0 ^ neg;
    g = phx_fast_two_sum((f64)(f1 >> 32) * 2.3283064365386963e-10,
                         (f64)(f1 & low32) * 5.421010862427522e-20);
    h = phx_fast_two_sum((f64)(f0 >> 32) * 1.262177448353619e-29,
                         (f64)(f0 & low32) * 2.938735877055719e-39);
    g = phx_fast_two_sum(g.hi, g.lo + h.hi);
    g = phx_fast_two_sum(g.hi, g.lo + h.lo);
    t.r = sign * (g.hi * PHX_PIO2_HI);
    t.rl = sign * (phx_fma(g.hi, PHX_PIO2_HI, -(g.hi * PHX_PIO2_HI)) +
                   phx_fma(g.hi, PHX_PIO2_LO, g.lo * PHX_PIO2_HI));
    t.q = x < 0.0 ? (u64)0 - q : q;
    return t;
}

#endif
