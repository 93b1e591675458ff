/* Steps of the factorizations: sums of products that round once a step, quotients, parts.
 *
 *   phx_plus_product_<S>(s, a, b)   s + a b          phx_quotient_<S>(a, b)    a / b
 *   phx_minus_product_<S>(s, a, b)  s - a b          phx_over_<S>(a, r)        a / r for real r
 *   phx_plus_inner_<S>(s, a, b)     s + conj(a) b    phx_scaled_by_<S>(a, r)   a r for real r
 *   phx_plus_square_<S>(s, a)       s + |a|^2, real  phx_turned_<S>(a, c, b, s) c a + s b, real c and s
 *   phx_size_<S>(a)                 |re| + |im|      phx_largest_part_<S>(a)   max(|re|, |im|)
 *   phx_share_<C>(f, g, x)          x / |(f, g)|     phx_shift_<C>(p, q, r, s) Wilkinson's shift
 *
 * A complex step is four of fma, as in the op matmul. The complex quotient is R. L. Smith's (Algorithm
 * 116, CACM 5, 1962) with fma: nothing overflows on the way.
 */
#ifndef PHX_FUSED_H
#define PHX_FUSED_H

#define PHX_FUSED_REAL_(F, S)                                                       \
    PHX_FN F phx_plus_product_##F(F s, F a, F b) { return phx_fma##S(a, b, s); }    \
    PHX_FN F phx_minus_product_##F(F s, F a, F b) { return phx_fma##S(-a, b, s); }  \
    PHX_FN F phx_plus_inner_##F(F s, F a, F b) { return phx_fma##S(a, b, s); }      \
    PHX_FN F phx_plus_square_##F(F s, F a) { return phx_fma##S(a, a, s); }          \
    PHX_FN F phx_quotient_##F(F a, F b) { return phx_divide##S(a, b); }             \
    PHX_FN F phx_over_##F(F a, F r) { return phx_divide##S(a, r); }                 \
    PHX_FN F phx_scaled_by_##F(F a, F r) { return a * r; }                          \
    PHX_FN F phx_turned_##F(F a, F c, F b, F s) { return phx_fma##S(s, b, c * a); } \
    PHX_FN F phx_size_##F(F a) { return phx_fabs##S(a); }                           \
    PHX_FN F phx_largest_part_##F(F a) { return phx_fabs##S(a); }                   \
    PHX_FN F phx_conjugate_##F(F a) { return a; }                                   \
    PHX_FN F phx_sum_##F(F a, F b) { return a + b; }                                \
    PHX_FN F phx_re_##F(F a) { return a; }                                          \
    PHX_FN F phx_im_##F(F a) {                                                      \
        (void)a;                                                                    \
        return (F)0;                                                                \
    }                                                                               \
    PHX_FN F phx_of_parts_##F(F re, F im) {                                         \
        (void)im;                                                                   \
        return re;                                                                  \
    }
PHX_FUSED_REAL_(f32, f)
PHX_FUSED_REAL_(f64, )
#undef PHX_FUSED_REAL_

#define PHX_FUSED_COMPLEX_(C, F, S)                                                              \
    PHX_FN C phx_plus_product_##C(C s, C a, C b) {                                               \
        s.re = phx_fma##S(-a.im, b.im, phx_fma##S(a.re, b.re, s.re));                            \
        s.im = phx_fma##S(a.im, b.re, phx_fma##S(a.re, b.im, s.im));                             \
        return s;                                                                                \
    }                                                                                            \
    PHX_FN C phx_minus_product_##C(C s, C a, C b) {                                              \
        s.re = phx_fma##S(a.im, b.im, phx_fma##S(-a.re, b.re, s.re));                            \
        s.im = phx_fma##S(-a.im, b.re, phx_fma##S(-a.re, b.im, s.im));                           \
        return s;                                                                                \
    }                                                                                            \
    PHX_FN C phx_plus_inner_##C(C s, C a, C b) {                                                 \
        s.re = phx_fma##S(a.im, b.im, phx_fma##S(a.re, b.re, s.re));                             \
        s.im = phx_fma##S(-a.im, b.re, phx_fma##S(a.re, b.im, s.im));                            \
        return s;                                                                                \
    }                                                                                            \
    PHX_FN F phx_plus_square_##C(F s, C a) {                                                     \
        return phx_fma##S(a.im, a.im, phx_fma##S(a.re, a.re, s));                                \
    }                                                                                            \
    PHX_FN C phx_quotient_##C(C a, C b) {                                                        \
        const i32 wide = phx_fabs##S(b.re) >= phx_fabs##S(b.im);                                 \
        const F x = wide ? b.re : b.im, y = wide ? b.im : b.re;                                  \
        const F r = phx_divide##S(y, x);                                                         \
        const F d = phx_fma##S(y, r, x);                                                         \
        C q;                                                                                     \
        q.re = phx_divide##S(wide ? phx_fma##S(a.im, r, a.re) : phx_fma##S(a.re, r, a.im), d);   \
        q.im = phx_divide##S(wide ? phx_fma##S(-a.re, r, a.im) : phx_fma##S(a.im, r, -a.re), d); \
        return q;                                                                                \
    }                                                                                            \
    PHX_FN C phx_over_##C(C a, F r) {                                                            \
        a.re = phx_divide##S(a.re, r);                                                           \
        a.im = phx_divide##S(a.im, r);                                                           \
        return a;                                                                                \
    }                                                                                            \
    PHX_FN C phx_scaled_by_##C(C a, F r) {                                                       \
        a.re = a.re * r;                                                                         \
        a.im = a.im * r;                                                                         \
        return a;                                                                                \
    }                                                                                            \
    PHX_FN C phx_turned_##C(C a, F c, C b, F s) {                                                \
        a.re = phx_fma##S(s, b.re, c * a.re);                                                    \
        a.im = phx_fma##S(s, b.im, c * a.im);                                                    \
        return a;                                                                                \
    }                                                                                            \
    PHX_FN F phx_size_##C(C a) { return phx_fabs##S(a.re) + phx_fabs##S(a.im); }                 \
    PHX_FN F phx_largest_part_##C(C a) {                                                         \
        const F x = phx_fabs##S(a.re), y = phx_fabs##S(a.im);                                    \
        return x > y ? x : y;                                                                    \
    }                                                                                            \
    PHX_FN C phx_conjugate_##C(C a) { return phx_make_##C(a.re, -a.im); }                        \
    PHX_FN C phx_sum_##C(C a, C b) { return phx_make_##C(a.re + b.re, a.im + b.im); }            \
    PHX_FN F phx_re_##C(C a) { return a.re; }                                                    \
    PHX_FN F phx_im_##C(C a) { return a.im; }                                                    \
    PHX_FN C phx_of_parts_##C(F re, F im) { return phx_make_##C(re, im); }
PHX_FUSED_COMPLEX_(c64, f32, f)
PHX_FUSED_COMPLEX_(c128, f64, )
#undef PHX_FUSED_COMPLEX_

/* The power of two at or below a positive number, and 2^-126 or 2^-1022 for what is below that. */
PHX_FN f32 phx_power_below_f32(f32 x) {
    const u32 bits = phx_bits32(x) & (u32)0x7f800000;
    return phx_from_bits32(bits ? bits : (u32)0x00800000);
}
PHX_FN f64 phx_power_below_f64(f64 x) {
    const u64 bits = phx_bits64(x) & ((u64)0x7ff << 52);
    return phx_from_bits64(bits ? bits : (u64)1 << 52);
}

/* The shift is the eigenvalue of (p q; r s) that is nearer to s: s - q r / (h +- sqrt(h h + q r)) with
 * h = (p - s) / 2 and the sign of the larger divisor. All is over a power of two, so that squares stay normal.
 */
#define PHX_FUSED_SHIFT_(C, F, S)                                                                          \
    PHX_FN C phx_share_##C(C f, C g, C x) {                                                                \
        const F m = phx_largest_part_##C(f), o = phx_largest_part_##C(g);                                  \
        const F power = phx_power_below_##F(m > o ? m : o);                                                \
        const F t = phx_plus_square_##C((F)0, phx_over_##C(f, power));                                     \
        const F h = phx_sqrt##S(phx_plus_square_##C(t, phx_over_##C(g, power)));                           \
        return phx_over_##C(phx_over_##C(x, power), h);                                                    \
    }                                                                                                      \
    PHX_FN C phx_root_##C(C d) {                                                                           \
        const F power = phx_power_below_##F(phx_largest_part_##C(d)), re = phx_fabs##S(d.re);              \
        const F m = power * phx_sqrt##S(phx_plus_square_##C((F)0, phx_over_##C(d, power)));                \
        const F t = phx_sqrt##S((F)0.5 * m + (F)0.5 * re);                                                 \
        const F u = t == (F)0 ? (F)0 : phx_divide##S((F)0.5 * d.im, t);                                    \
        return d.re >= (F)0 ? phx_make_##C(t, u) : phx_make_##C(phx_fabs##S(u), phx_copysign##S(t, d.im)); \
    }                                                                                                      \
    PHX_FN C phx_shift_##C(C p, C q, C r, C s) {                                                           \
        const C zero = phx_make_##C((F)0, (F)0);                                                           \
        C h = phx_make_##C((F)0.5 * p.re - (F)0.5 * s.re, (F)0.5 * p.im - (F)0.5 * s.im);                  \
        F most = phx_largest_part_##C(h);                                                                  \
        most = phx_largest_part_##C(q) > most ? phx_largest_part_##C(q) : most;                            \
        most = phx_largest_part_##C(r) > most ? phx_largest_part_##C(r) : most;                            \
        const F power = phx_power_below_##F(most);                                                         \
        h = phx_over_##C(h, power);                                                                        \
        const C g = phx_plus_product_##C(zero, phx_over_##C(q, power), phx_over_##C(r, power));            \
        const C root = phx_root_##C(phx_plus_product_##C(g, h, h));                                        \
        const C one = phx_sum_##C(h, root);                                                                \
        const C other = phx_make_##C(h.re - root.re, h.im - root.im);                                      \
        const C e = phx_size_##C(one) >= phx_size_##C(other) ? one : other;                                \
        if (phx_size_##C(e) == (F)0) return s;                                                             \
        const C less = phx_scaled_by_##C(phx_quotient_##C(g, e), power);                                   \
        return phx_make_##C(s.re - less.re, s.im - less.im);                                               \
    }
PHX_FUSED_SHIFT_(c64, f32, f)
PHX_FUSED_SHIFT_(c128, f64, )
#undef PHX_FUSED_SHIFT_

#endif
