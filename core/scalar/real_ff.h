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

/* n / d, given 1 / d.hi. */
PHX_FN phx_ff phx_ff_quotient(phx_ff n, phx_ff d, f32 inverse) {
    f32 q = n.hi * inverse;
    f32 rest = phx_fmaf(-q, d.lo, phx_fmaf(-q, d.hi, n.hi) + n.lo);
    return phx_ff_fast_sum(q, rest * inverse);
}

/* The largest and the smallest number that hi + lo may round to, if it is at most `bound` of hi off. */
PHX_FN phx_ff phx_ff_rounded(phx_ff a, f32 bound) {
    return phx_ff_of(a.hi + phx_fmaf(a.hi, bound, a.lo), a.hi + phx_fmaf(a.hi, -bound, a.lo));
}

#endif
