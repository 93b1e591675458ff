/* Schur's real form: what a step of QR with two shifts and blocks of two rows need.
 *
 *   phx_share_<F>(f, g, x)             x / |(f, g)|, of real numbers
 *   phx_reflector_<F>(v)               (x, y, z) to (beta, y / (x - beta), z / (x - beta)); gives tau
 *   phx_two_shifts_<F>(v, corner, top) the first column of (H - s)(H - conj s), scaled
 *   phx_two_rows_<F>(m, c, s)          a block of two rows to standard form, and its rotation
 *   phx_half_gap_<F>(m)                the imaginary part of a block's first eigenvalue, or 0
 *   phx_solve_two_<C>(y, m, w, least)  (M - w) y' = y for a block M
 *
 * Francis (Computer Journal 4, 1961); Golub and Van Loan 2013, 7.5. The standard form, equal numbers on
 * the diagonal or 0 below it, is that of Bai and Demmel (Linear Algebra Appl. 186, 1993).
 */
#ifndef PHX_FRANCIS_H
#define PHX_FRANCIS_H

#define PHX_FRANCIS_(F, S, EPS)                                                                       \
    PHX_FN F phx_larger_##F(F a, F b) {                                                               \
        const F x = phx_fabs##S(a), y = phx_fabs##S(b);                                               \
        return x > y ? x : y;                                                                         \
    }                                                                                                 \
    PHX_FN F phx_length_##F(F a, F b) {                                                               \
        const F power = phx_power_below_##F(phx_larger_##F(a, b));                                    \
        const F x = phx_divide##S(a, power), y = phx_divide##S(b, power);                             \
        return power * phx_sqrt##S(phx_fma##S(y, y, x * x));                                          \
    }                                                                                                 \
    PHX_FN F phx_share_##F(F f, F g, F x) {                                                           \
        const F power = phx_power_below_##F(phx_larger_##F(f, g));                                    \
        const F p = phx_divide##S(f, power), q = phx_divide##S(g, power);                             \
        return phx_divide##S(phx_divide##S(x, power), phx_sqrt##S(phx_fma##S(q, q, p * p)));          \
    }                                                                                                 \
    PHX_FN F phx_reflector_##F(F *v) {                                                                \
        const F power = phx_power_below_##F(phx_larger_##F(phx_larger_##F(v[0], v[1]), v[2]));        \
        const F x = phx_divide##S(v[0], power), y = phx_divide##S(v[1], power);                       \
        const F z = phx_divide##S(v[2], power);                                                       \
        if (y == (F)0 && z == (F)0) {                                                                 \
            v[1] = (F)0;                                                                              \
            v[2] = (F)0;                                                                              \
            return (F)0;                                                                              \
        }                                                                                             \
        const F beta = -phx_copysign##S(phx_sqrt##S(phx_fma##S(z, z, phx_fma##S(y, y, x * x))), x);   \
        v[0] = power * beta;                                                                          \
        v[1] = phx_divide##S(y, x - beta);                                                            \
        v[2] = phx_divide##S(z, x - beta);                                                            \
        return phx_divide##S(beta - x, beta);                                                         \
    }                                                                                                 \
    PHX_FN void phx_two_shifts_##F(F *v, const F *corner, const F *top) {                             \
        const F most = phx_larger_##F(phx_larger_##F(corner[0], corner[1]),                           \
                                      phx_larger_##F(corner[2], corner[3]));                          \
        const F power = phx_power_below_##F(most);                                                    \
        const F p = phx_divide##S(corner[0], power), q = phx_divide##S(corner[1], power);             \
        const F r = phx_divide##S(corner[2], power), t = phx_divide##S(corner[3], power);             \
        const F mean = (F)0.5 * p + (F)0.5 * t, apart = (F)0.5 * p - (F)0.5 * t;                      \
        const F square = phx_fma##S(apart, apart, q * r);                                             \
        const F root = phx_sqrt##S(phx_fabs##S(square));                                              \
        const F near = apart > (F)0 ? mean - root : mean + root;                                      \
        const F re = power * (square < (F)0 ? mean : near);                                           \
        const F im = power * (square < (F)0 ? root : (F)0);                                           \
        const F scale = phx_fabs##S(top[0] - re) + im + phx_fabs##S(top[2]);                          \
        const F below = phx_divide##S(top[2], scale), off = top[0] - re;                              \
        v[0] = phx_fma##S(below, top[1],                                                              \
                          phx_fma##S(off, phx_divide##S(off, scale), im * phx_divide##S(im, scale))); \
        v[1] = below * (off + (top[3] - re));                                                         \
        v[2] = below * top[4];                                                                        \
    }                                                                                                 \
    PHX_FN F phx_half_gap_##F(const F *m) {                                                           \
        return m[2] == (F)0 ? (F)0 : phx_sqrt##S(phx_fabs##S(m[1])) * phx_sqrt##S(phx_fabs##S(m[2])); \
    }                                                                                                 \
    PHX_FN void phx_real_rows_##F(F *m, F *turn, F p, F scale, F z) {                                 \
        const F far = p + phx_copysign##S(phx_sqrt##S(scale) * phx_sqrt##S(z), p);                    \
        const F length = phx_length_##F(m[2], far);                                                   \
        const F less = phx_divide##S(m[1], far) * m[2];                                               \
        m[0] = m[3] + far;                                                                            \
        m[3] = m[3] - less;                                                                           \
        m[1] = m[1] - m[2];                                                                           \
        turn[0] = phx_divide##S(far, length);                                                         \
        turn[1] = phx_divide##S(m[2], length);                                                        \
        m[2] = (F)0;                                                                                  \
    }                                                                                                 \
    PHX_FN void phx_equal_rows_##F(F *m, F *turn, F p) {                                              \
        const F sigma = m[1] + m[2], length = phx_length_##F(sigma, (F)2 * p);                        \
        const F c = phx_sqrt##S((F)0.5 * ((F)1 + phx_divide##S(phx_fabs##S(sigma), length)));         \
        const F s = phx_copysign##S((F)1, sigma) * -phx_divide##S(p, length * c);                     \
        const F a = phx_fma##S(m[1], s, m[0] * c), b = phx_fma##S(m[1], c, -m[0] * s);                \
        const F u = phx_fma##S(m[3], s, m[2] * c), v = phx_fma##S(m[3], c, -m[2] * s);                \
        const F mean = (F)0.5 * phx_fma##S(u, s, a * c) + (F)0.5 * phx_fma##S(v, c, -b * s);          \
        turn[0] = c;                                                                                  \
        turn[1] = s;                                                                                  \
        m[0] = mean;                                                                                  \
        m[1] = phx_fma##S(v, s, b * c);                                                               \
        m[2] = phx_fma##S(u, c, -a * s);                                                              \
        m[3] = mean;                                                                                  \
        if (m[2] == (F)0 || (m[1] != (F)0 && (m[1] > (F)0) != (m[2] > (F)0))) return;                 \
        const F e = phx_sqrt##S(phx_fabs##S(m[1])), f = phx_sqrt##S(phx_fabs##S(m[2]));               \
        const F gap = phx_copysign##S(e * f, m[2]), over = phx_length_##F(e, f);                      \
        const F x = phx_divide##S(e, over), y = phx_divide##S(f, over);                               \
        m[0] = mean + gap;                                                                            \
        m[3] = mean - gap;                                                                            \
        m[1] = m[1] - m[2];                                                                           \
        m[2] = (F)0;                                                                                  \
        turn[0] = phx_fma##S(c, x, -s * y);                                                           \
        turn[1] = phx_fma##S(c, y, s * x);                                                            \
    }                                                                                                 \
    PHX_FN void phx_two_rows_##F(F *m, F *turn) {                                                     \
        turn[0] = (F)1;                                                                               \
        turn[1] = (F)0;                                                                               \
        if (m[2] == (F)0) return;                                                                     \
        if (m[1] == (F)0) {                                                                           \
            const F a = m[0];                                                                         \
            turn[0] = (F)0;                                                                           \
            turn[1] = (F)1;                                                                           \
            m[0] = m[3];                                                                              \
            m[3] = a;                                                                                 \
            m[1] = -m[2];                                                                             \
            m[2] = (F)0;                                                                              \
            return;                                                                                   \
        }                                                                                             \
        if (m[0] == m[3] && (m[1] > (F)0) != (m[2] > (F)0)) return;                                   \
        const F p = (F)0.5 * m[0] - (F)0.5 * m[3];                                                    \
        const F scale = phx_larger_##F(p, phx_larger_##F(m[1], m[2]));                                \
        const F z = phx_fma##S(phx_divide##S(p, scale), p, phx_divide##S(m[1], scale) * m[2]);        \
        if (z >= (F)4 * (F)EPS * scale) phx_real_rows_##F(m, turn, p, scale, z);                      \
        else phx_equal_rows_##F(m, turn, p);                                                          \
    }
PHX_FRANCIS_(f32, f, 1.1920928955078125e-07f)
PHX_FRANCIS_(f64, , 2.220446049250313e-16)
#undef PHX_FRANCIS_

/* Elimination with the larger of the first column as the pivot; a last pivot below `least` becomes that. */
#define PHX_FRANCIS_SOLVE_(C, F)                                                        \
    PHX_FN C phx_apart_##C(C d, F least) {                                              \
        return phx_size_##C(d) < least ? phx_make_##C(least, (F)0) : d;                 \
    }                                                                                   \
    PHX_FN void phx_solve_two_##C(C *y, const F *m, C w, F least) {                     \
        const C p = phx_make_##C(m[0] - w.re, -w.im), q = phx_make_##C(m[1], (F)0);     \
        const C r = phx_make_##C(m[2], (F)0), t = phx_make_##C(m[3] - w.re, -w.im);     \
        const i32 keeps = phx_size_##C(p) >= phx_size_##C(r);                           \
        const C head = keeps ? p : r, right = keeps ? q : t, own = keeps ? y[0] : y[1]; \
        const C l = phx_quotient_##C(keeps ? r : p, head);                              \
        const C d = phx_minus_product_##C(keeps ? t : q, l, right);                     \
        const C s = phx_minus_product_##C(keeps ? y[1] : y[0], l, own);                 \
        y[1] = phx_quotient_##C(s, phx_apart_##C(d, least));                            \
        y[0] = phx_quotient_##C(phx_minus_product_##C(own, right, y[1]), head);         \
    }
PHX_FRANCIS_SOLVE_(c64, f32)
PHX_FRANCIS_SOLVE_(c128, f64)
#undef PHX_FRANCIS_SOLVE_

#endif
