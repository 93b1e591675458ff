/* Random numbers: the generator Philox 4x32-10, and what its words become, without f64.
 *
 * Philox: Salmon, Moraes, Dror & Shaw, Parallel random numbers: as easy as 1, 2, 3 (SC'11), whose section 4.3
 * has the multipliers and the steps of the key. It enciphers a counter of four words, so that any block
 * of numbers can be had without those before it. docs/ops.md says which element gets which words.
 *
 * The logarithm, sine and cosine of float32 are chains of fma of their own and part of the definition of
 * what they make. Coefficients: own weighted minimax fits (Lawson's iteration, one coefficient after the
 * other rounded to float32 and the rest fitted again); their errors stand at the functions.
 */
#ifndef PHX_RANDOM_H
#define PHX_RANDOM_H

/* The four words of a counter. */
typedef struct {
    u32 a, b, c, d;
} phx_words;

PHX_FN phx_words phx_philox_round(phx_words x, u32 k, u32 l) {
    u64 p = (u64)x.a * 0xD2511F53u;
    u64 q = (u64)x.c * 0xCD9E8D57u;
    phx_words y;
    y.a = (u32)(q >> 32) ^ x.b ^ k;
    y.b = (u32)q;
    y.c = (u32)(p >> 32) ^ x.d ^ l;
    y.d = (u32)p;
    return y;
}

/* Ten rounds. The counter's words are position and stream, the key's those of key, low ones first. */
PHX_FN phx_words phx_philox(u64 key, u64 stream, u64 position) {
    u32 k = (u32)key, l = (u32)(key >> 32);
    phx_words x;
    x.a = (u32)position;
    x.b = (u32)(position >> 32);
    x.c = (u32)stream;
    x.d = (u32)(stream >> 32);
    x = phx_philox_round(x, k, l);
    x = phx_philox_round(x, k + 0x9E3779B9u, l + 0xBB67AE85u);
    x = phx_philox_round(x, k + 0x3C6EF372u, l + 0x76CF5D0Au);
    x = phx_philox_round(x, k + 0xDAA66D2Bu, l + 0x32370B8Fu);
    x = phx_philox_round(x, k + 0x78DDE6E4u, l + 0xED9EBA14u);
    x = phx_philox_round(x, k + 0x1715609Du, l + 0xA9066899u);
    x = phx_philox_round(x, k + 0xB54CDA56u, l + 0x646E171Eu);
    x = phx_philox_round(x, k + 0x5384540Fu, l + 0x1FD5C5A3u);
    x = phx_philox_round(x, k + 0xF1BBCDC8u, l + 0xDB3D7428u);
    return phx_philox_round(x, k + 0x8FF34781u, l + 0x96A522ADu);
}

PHX_FN u64 phx_join(u32 low, u32 high) { return (u64)low | ((u64)high << 32); }

/* floor(r n / 2^64) for n in [1, 2^64), and r for n = 0, which stands for 2^64. */
PHX_FN u64 phx_below(u64 r, u64 n) {
    u64 rl = (u32)r, rh = r >> 32, nl = (u32)n, nh = n >> 32;
    u64 t = rh * nl + ((rl * nl) >> 32);
    u64 u = rl * nh + (u32)t;
    return n == 0 ? r : rh * nh + (t >> 32) + (u >> 32);
}

/* The same for n in [1, 2^32). */
PHX_FN u64 phx_below_narrow(u64 r, u64 n) {
    u64 rl = (u32)r, rh = r >> 32, nl = (u32)n;
    return (rh * nl + ((rl * nl) >> 32)) >> 32;
}

/* In [0, 1), all multiples of a power of two with equal chances: 24, 11 or 8 leading bits of a word. */
PHX_FN f32 phx_uniform_f32(u32 w) { return (f32)(i32)(w >> 8) * 5.9604644775390625e-8f; }
PHX_FN f32 phx_uniform_f16(u32 w) { return (f32)(i32)(w >> 21) * 4.8828125e-4f; }
PHX_FN f32 phx_uniform_bf16(u32 w) { return (f32)(i32)(w >> 24) * 3.90625e-3f; }

/* In (0, 1]: (w + 1/2) / 2^32 rounded, so that small ones are as fine as the word. */
PHX_FN f32 phx_unit_f32(u32 w) {
    f32 high = (f32)(i32)(w >> 8), low = (f32)(i32)(w & 255u) + 0.5f;
    return phx_fmaf(high, 5.9604644775390625e-8f, low * 2.3283064365386963e-10f);
}

/* -ln u for normal u in (0, 1]: u = (1 + f) 2^k with 1 + f in [sqrt(1/2), sqrt(2)); of ln(1 + f) the terms
   f - f^2/2 are exact, the rest 2^-27.3. */
PHX_FN f32 phx_minus_log_f32(f32 u) {
    u32 v = phx_bits32(u) - 0x3f3504f3u; /* sqrt(1/2) */
    i32 e = (i32)v >> 23;
    f32 k = (f32)e;
    f32 f = phx_from_bits32(phx_bits32(u) - ((u32)e << 23)) - 1.0f;
    f32 p = phx_fmaf(-0.076369405f, f, 0.12762485f);
    p = phx_fmaf(p, f, -0.1315955f);
    p = phx_fmaf(p, f, 0.1420154f);
    p = phx_fmaf(p, f, -0.1662341f);
    p = phx_fmaf(p, f, 0.20001243f);
    p = phx_fmaf(p, f, -0.2500082f);
    p = phx_fmaf(p, f, 0.3333333f);
    p = phx_fmaf(p * f, f, -0.5f * f);
    p = phx_fmaf(p, f, f);
    return 0.0f - phx_fmaf(k, 0.69314718f, p); /* +0 for 1 */
}

typedef struct {
    f32 x, y;
} phx_pair_f32;

/* Two independent normal numbers from two words: Box & Muller, A note on the generation of random normal
   deviates (1958). The angle's quarter is in two bits of b, what is left of it, in [-pi/4, pi/4], in 24;
   the sine of that is 2^-27.9 and the cosine 2^-33 but for rounding. */
PHX_FN phx_pair_f32 phx_normal_f32(u32 a, u32 b) {
    f32 r = phx_sqrtf(2.0f * phx_minus_log_f32(phx_unit_f32(a)));
    u32 q = b + 0x20000000u;
    f32 t = ((f32)((i32)((q & 0x3fffffffu) >> 6) - 8388608) + 0.5f) * 9.3626757e-8f; /* 2 pi / 2^26 */
    f32 z = t * t;
    f32 s = phx_fmaf(phx_fmaf(-1.9518289e-4f, z, 8.332189e-3f), z, -0.16666655f);
    f32 c = phx_fmaf(phx_fmaf(2.4432562e-5f, z, -1.3887311e-3f), z, 4.1666646e-2f);
    phx_pair_f32 y;
    s = phx_fmaf(s * z, t, t);
    c = phx_fmaf(phx_fmaf(c, z, -0.5f), z, 1.0f);
    y.x = (q & 0x40000000u) != 0 ? s : c;
    y.y = (q & 0x40000000u) != 0 ? c : s;
    /* by quarter: (c, s), (-s, c), (-c, -s), (s, -c) */
    y.x = r * phx_from_bits32(phx_bits32(y.x) ^ ((q ^ (q << 1)) & 0x80000000u));
    y.y = r * phx_from_bits32(phx_bits32(y.y) ^ (q & 0x80000000u));
    return y;
}

#endif
