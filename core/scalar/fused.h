/* Steps of the factorizations: sums of products that round once a step, quotients, parts.
 *
 *   phx_plus_product_<S>(s, a, b)   s + a b          phx_quotient_<S>(a, b)    a / b
 *   phx_minus_product_<S>(s, a, b)  s - a b          phx_over_<S>(a, r)        a / r for real r
 *   phx_plus_inner_<S>(s, a, b)     s + conj(a) b    phx_scaled_by_<S>(a, r)   a r for real r
 *   phx_plus_square_<S>(s, a)       s + |a|^2, real  phx_turned_<S>(a, c, b, s) c a + s b, real c and s
 *   phx_size_<S>(a)                 |re| + |im|      phx_largest_part_<S>(a)   max(|re|, |im|)
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

#endif
