/* What the real functions share: error-free transformations, powers of two, splitting into mantissa
 * and exponent.
 *
 * The common subset of C11 and of the C dialects of devices; the dialect's prelude comes first. All
 * functions here take and return values, never pointers. The error-free transformations are Dekker's and
 * Knuth's, see Muller et al., Handbook of Floating-Point Arithmetic (2nd ed., 2018), chapters 4.3
 * and 4.4; they are exact unless an intermediate overflows.
 */
#ifndef PHX_REAL_COMMON_H
#define PHX_REAL_COMMON_H

/* An unevaluated sum hi + lo with |lo| <= ulp(hi)/2 where a function says so. */
typedef struct {
    f64 hi, lo;
} phx_dd;

/* Adding and taking this away rounds to an integer (|x| < 2^51); its low bits then hold that
 * integer (mod 2^51). */
#define PHX_MAGIC 6755399441055744.0 /* 1.5 * 2^52 */
#define PHX_BITS_ONE ((u64)0x3ff0000000000000)
#define PHX_BITS_MANTISSA ((u64)0x000fffffffffffff)
#define PHX_BITS_SIGN ((u64)0x8000000000000000)

/* ln 2 = LN2_HI + LN2_LO to 95 bits; LN2_HI has 42, so that k * LN2_HI is exact for every binary
 * exponent k. */
#define PHX_LN2_HI 0.6931471805598903
#define PHX_LN2_LO 5.497923018708371e-14
#define PHX_LN2 0.6931471805599453
#define PHX_LOG2E 1.4426950408889634
#define PHX_LOG10E 0.4342944819032518

/* a + b = hi + lo exactly, for |a| >= |b| or a == 0. */
PHX_FN phx_dd phx_fast_two_sum(f64 a, f64 b) {
    phx_dd s;
    s.hi = a + b;
    s.lo = b - (s.hi - a);
    return s;
}

/* a + b = hi + lo exactly, whatever the magnitudes. */
PHX_FN phx_dd phx_two_sum(f64 a, f64 b) {
    phx_dd s;
    f64 t;
    s.hi = a + b;
    t = s.hi - a;
    s.lo = (a - (s.hi - t)) + (b - t);
    return s;
}

/* a * b = hi + lo exactly (no underflow). */
PHX_FN phx_dd phx_two_prod(f64 a, f64 b) {
    phx_dd p;
    p.hi = a * b;
    p.lo = phx_fma(a, b, -p.hi);
    return p;
}

/* A product of zero keeps its sign, which adding +0 would take. */
PHX_FN phx_dd phx_pair_product(phx_dd a, phx_dd b) {
    const phx_dd p = phx_two_prod(a.hi, b.hi);
    phx_dd r = phx_fast_two_sum(p.hi, p.lo + phx_fma(a.hi, b.lo, a.lo * b.hi));
    r.hi = p.hi == 0.0 ? p.hi : r.hi;
    return r;
}

PHX_FN phx_dd phx_pair_sum(phx_dd a, phx_dd b) {
    const phx_dd s = phx_two_sum(a.hi, b.hi);
    return phx_fast_two_sum(s.hi, s.lo + (a.lo + b.lo));
}

/* 2^k for an integer-valued k in [-1022, 1023]; any other value, also a NaN, gives a meaningless
 * number. */
PHX_FN f64 phx_pow2(f64 k) {
    return phx_from_bits64((phx_bits64(k + PHX_MAGIC) << 52) + PHX_BITS_ONE);
}

/* y * 2^k for |k| <= 2000: two factors, so that overflow and gradual underflow come from the last
 * multiplication. */
PHX_FN f64 phx_scale(f64 y, f64 k) {
    f64 k1 = phx_fma(k, 0.5, PHX_MAGIC) - PHX_MAGIC;
    return y * phx_pow2(k1) * phx_pow2(k - k1);
}

/* (hi + lo) * 2^k for |k| <= 2000, hi >= 0, |lo| <= ulp(hi), rounded once, also to a subnormal number: what is
 * added to the least normal number has the last bit that the result has. */
PHX_FN f64 phx_scale_pair(phx_dd y, f64 k) {
    f64 least = phx_pow2(k < -100.0 ? -1022.0 - k : -1022.0);
    phx_dd s;
    least = y.hi < least ? least : 0.0;
    s = phx_fast_two_sum(least, y.hi);
    return phx_scale((s.hi + (s.lo + y.lo)) - least, k);
}

/* x clamped to [lo, hi]; a NaN stays a NaN. */
PHX_FN f64 phx_clamp(f64 x, f64 lo, f64 hi) {
    x = x > hi ? hi : x;
    return x < lo ? lo : x;
}

/* Correct rounding of float32. An f64 value with a small error, rounded once, is the correctly rounded
 * result but where f(x) lies nearer than that error to the middle of two float32 numbers. `make
 * proof` looks at all 2^32 inputs; the few for which the wrong neighbour comes out are stated at the
 * function, and their results are nudged: docs/numerics.md. */

/* y, and one step in the last place away from zero or toward it for each of the steps. */
PHX_FN f32 phx_nudge(f32 y, i32 steps) { return phx_from_bits32(phx_bits32(y) + (u32)steps); }

/* 1 if x has these bits, else 0. */
PHX_FN i32 phx_is(f32 x, u32 bits) { return (i32)(phx_bits32(x) == bits); }

/* x/2 and more for x > 0, less for x < 0, in place of x/2 (1 + c x) with c from 1/2 to 1 for f32 below
   2^-26 in f64: where half of a subnormal is a middle, the rest alone tells the side. */
#define PHX_NEAR_HALF 1.4901161193847656e-08
PHX_FN f64 phx_near_half(f64 x) { return x * (0.5 + phx_copysign(2.220446049250313e-16, x)); }

/* x = (1 + f) * 2^k with 1 + f in [sqrt(1/2), sqrt(2)), for a positive normal x. */
typedef struct {
    f64 f, k;
} phx_split;

#define PHX_BITS_SQRT_HALF ((u64)0x3fe6a09e667f3bcd)

PHX_FN phx_split phx_split_normal(f64 x) {
    phx_split s;
    u64 v = phx_bits64(x) + (PHX_BITS_ONE - PHX_BITS_SQRT_HALF);
    f64 m = phx_from_bits64((v & PHX_BITS_MANTISSA) + PHX_BITS_SQRT_HALF);
    /* The biased exponent put under the bits of 2^52 is a conversion without an instruction AVX2
     * lacks. */
    s.k = phx_from_bits64((v >> 52) | (u64)0x4330000000000000) - 4503599627371519.0;
    s.f = m - 1.0;
    return s;
}

/* The same for any positive finite x: subnormals are scaled by 2^54 first. */
PHX_FN phx_split phx_split_any(f64 x) {
    f64 small = x < 2.2250738585072014e-308 ? 1.0 : 0.0;
    phx_split s = phx_split_normal(x < 2.2250738585072014e-308 ? x * 18014398509481984.0 : x);
    s.k = s.k - 54.0 * small;
    return s;
}

#endif
