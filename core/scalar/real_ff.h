/* Sums hi + lo of two float32 numbers, for devices where double is slow: about 45 bits of a value, and a
 * test whether float32's nearest number is beyond doubt.
 *
 * A function of float32 is computed as such a pair, whose error is below a bound that is stated at it. If
 * all numbers within that bound round to one float32 number, it is the correctly rounded result, and so
 * has the bits that double gives (Ziv, Fast evaluation of elementary mathematical functions with
 * correctly rounded last bit, 1991). If not, which is once in some thousand operands, double decides.
 * Operations on pairs: Dekker, A floating-point technique for extending the available precision, 1971;
 * with their errors in Joldes, Muller & Popescu, Tight and rigorous error bounds for basic building
 * blocks of double-word arithmetic, 2017.
 *
 * source.py puts the functions of real_*_ff.h behind those of real_*.h, which then have names that end
 * in _by_double. `python -m proof.pairs` compares the two on all 2^32 operands.
 */
#ifndef PHX_REAL_FF_H
#define PHX_REAL_FF_H

#define PHX_MAGICF 12582912.0f /* 1.5 * 2^23; the low bits of a sum with it are those of an integer */

typedef struct {
    f32 hi, lo;
} phx_ff;

PHX_FN phx_ff phx_ff_of(f32 hi, f32 lo) {
    phx_ff p;
    p.hi = hi;
    p.lo = lo;
    return p;
}

/* a + b exactly, for |a| >= |b| or a == 0. */
PHX_FN phx_ff phx_ff_fast_sum(f32 a, f32 b) {
    f32 s = a + b;
    return phx_ff_of(s, b - (s - a));
}

/* a + b exactly, whatever the magnitudes. */
PHX_FN phx_ff phx_ff_exact_sum(f32 a, f32 b) {
    f32 s = a + b, t = s - a;
    return phx_ff_of(s, (a - (s - t)) + (b - t));
}

/* What the low parts add to a product; that of both is too small to matter. */
PHX_FN f32 phx_ff_cross(phx_ff a, phx_ff b) { return phx_fmaf(a.hi, b.lo, a.lo * b.hi); }

/* a * b, at most 2^-46 relative from it. */
PHX_FN phx_ff phx_ff_times(phx_ff a, phx_ff b) {
    f32 p = a.hi * b.hi;
    return phx_ff_of(p, phx_fmaf(a.hi, b.hi, -p) + phx_ff_cross(a, b));
}

/* c + a * b + rest where |a b| <= |c| / 2, so that c less the sum is exact; rest is below 2^-22 of c. At most
 * 2^-46 of c from it. */
PHX_FN phx_ff phx_ff_step(f32 a, f32 b, f32 c, f32 rest) {
    f32 s = phx_fmaf(a, b, c);
    return phx_ff_of(s, phx_fmaf(a, b, c - s) + rest);
}

/* c + a x where |a x| <= |c| / 2; at most 2^-46 of c from it. */
PHX_FN phx_ff phx_ff_next(phx_ff a, phx_ff x, f32 hi, f32 lo) {
    return phx_ff_step(a.hi, x.hi, hi, phx_fmaf(a.lo, x.hi, phx_fmaf(a.hi, x.lo, lo)));
}

/* c + a x whatever the magnitudes, at most 2^-46 of c and of a x from it. */
PHX_FN phx_ff phx_ff_any_next(phx_ff a, phx_ff x, f32 hi, f32 lo) {
    phx_ff p = phx_ff_times(a, x), s = phx_ff_exact_sum(hi, p.hi);
    s.lo = s.lo + (p.lo + lo);
    return s;
}

/* a + b, whose high parts are added exactly. */
PHX_FN phx_ff phx_ff_plus(phx_ff a, phx_ff b) {
    phx_ff s = phx_ff_exact_sum(a.hi, b.hi);
    s.lo = s.lo + (a.lo + b.lo);
    return s;
}

/* n / d, given 1 / d.hi. */
PHX_FN phx_ff phx_ff_quotient(phx_ff n, phx_ff d, f32 inverse) {
    f32 q = n.hi * inverse;
    f32 rest = phx_fmaf(-q, d.lo, phx_fmaf(-q, d.hi, n.hi) + n.lo);
    return phx_ff_fast_sum(q, rest * inverse);
}

/* x = (1 + f) 2^k with 1 + f in [sqrt(1/2), sqrt(2)), for a positive normal x; `unit` is 2^-k, |k| < 127. */
typedef struct {
    f32 f, k, unit;
} phx_ff_split;

PHX_FN phx_ff_split phx_ff_split_normal(f32 x) {
    phx_ff_split s;
    u32 v = phx_bits32(x) + (0x3f800000u - 0x3f3504f3u);
    s.f = phx_from_bits32((v & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
    s.k = phx_from_bits32((v >> 23) | 0x4b000000u) - 8388735.0f; /* as phx_split_normal */
    s.unit = phx_from_bits32(0x7f000000u - (v & 0xff800000u));
    return s;
}

/* The square root of a pair > 0, at most 2^-46 relative from it. */
PHX_FN phx_ff phx_ff_root(phx_ff a) {
    f32 h = phx_sqrtf(a.hi);
    return phx_ff_of(h, (phx_fmaf(-h, h, a.hi) + a.lo) * phx_dividef(0.5f, h));
}

PHX_FN i32 phx_is_normal(f32 a) { return (a >= 1.17549435e-38f) & (a < PHX_INFF); }

/* The largest and the smallest number that hi + lo may round to, if it is at most `bound` of hi off. */
PHX_FN phx_ff phx_ff_rounded(phx_ff a, f32 bound) {
    return phx_ff_of(a.hi + phx_fmaf(a.hi, bound, a.lo), a.hi + phx_fmaf(a.hi, -bound, a.lo));
}

#endif
