/* Butterflies of the Fourier transform: transforms of 2, 3, 4, 5, 7 and 8 numbers, by fma.
 *
 *   phx_fft<r>_<F>(re, im)      X[q] = sum over j of x[j] exp(-2 pi i j q / r), in place
 *   phx_fft_twiddle_<F>(re, im, c, s)
 *                               one number times c + i s
 *   phx_fft_from_pairs_<F>(re, im, br, bi, c, s)
 *                               twice number k of a real transform, from numbers k and m - k of that of
 *                               m pairs, for exp(-pi i k / m) = c + i s
 *   phx_fft_to_pairs_<F>(re, im, br, bi, c, s)
 *                               twice number k of the transform of pairs, from numbers k and m - k
 *
 * Their order is part of the definition of `fft`: docs/ops.md. An odd r takes the sums s[j] and differences
 * d[j] of x[j] and x[r-j], and for q = 1 .. r/2 two chains of fma over j,
 * m = x[0] + sum cos(2 pi j q / r) s[j] and n = -sum sin(2 pi j q / r) d[j]: X[q], X[r-q] = m +- i n.
 *
 * What the last two do is rounded about once: sums come as pairs (Knuth, The Art of Computer Programming, volume 2,
 * 4.2.2, theorem B), and so do products, by fma.
 *
 * PHX_FOURIER(F, K, FMA, FNMA, KNOWN) makes the functions for numbers of type F, which may be a vector of C:
 * K(x) is the constant x as F, FMA(a, b, c) is a*b + c and FNMA(a, b, c) is c - a*b, rounded once; KNOWN(x) is
 * x, and 0 for a NaN.
 */
#ifndef PHX_SCALAR_FOURIER_H
#define PHX_SCALAR_FOURIER_H

/* The two results of an odd length whose chains are m and n. */
#define PHX_FOURIER_PAIR_(re, im, q, r, mr, mi, nr, ni) \
    re[q] = (mr) - (ni);                                \
    im[q] = (mi) + (nr);                                \
    re[(r) - (q)] = (mr) + (ni);                        \
    im[(r) - (q)] = (mi) - (nr);

#define PHX_FOURIER(F, K, FMA, FNMA, KNOWN)                                                     \
    PHX_FN void phx_fft_twiddle_##F(F *re, F *im, F c, F s) {                                   \
        const F x = *re, y = *im;                                                               \
        *re = FNMA(y, s, x * c);                                                                \
        *im = FMA(y, c, x * s);                                                                 \
    }                                                                                           \
    PHX_FN F phx_fft_sum_##F(F a, F b, F *low) {                                                \
        const F sum = a + b, back = sum - a;                                                    \
        *low = (a - (sum - back)) + (b - back);                                                 \
        return sum;                                                                             \
    }                                                                                           \
    PHX_FN F phx_fft_turned_##F(F e, F x, F y, F c, F s, F low) {                               \
        const F p = x * c, q = -(y * s);                                                        \
        F lost, rest;                                                                           \
        const F turned = phx_fft_sum_##F(p, q, &lost);                                          \
        const F found = phx_fft_sum_##F(e, turned, &rest);                                      \
        low = low + (FMA(x, c, -p) + FNMA(y, s, -q));                                           \
        return found + KNOWN(rest + (lost + low));                                              \
    }                                                                                           \
    PHX_FN void phx_fft_from_pairs_##F(F *re, F *im, F br, F bi, F c, F s) {                    \
        F er, ei, xl, yl;                                                                       \
        const F x = phx_fft_sum_##F(*im, bi, &xl), y = phx_fft_sum_##F(br, -*re, &yl);          \
        const F sr = phx_fft_sum_##F(*re, br, &er), si = phx_fft_sum_##F(*im, -bi, &ei);        \
        *re = phx_fft_turned_##F(sr, x, y, c, s, FNMA(yl, s, FMA(xl, c, er)));                  \
        *im = phx_fft_turned_##F(si, y, -x, c, s, FMA(xl, s, FMA(yl, c, ei)));                  \
    }                                                                                           \
    PHX_FN void phx_fft_to_pairs_##F(F *re, F *im, F br, F bi, F c, F s) {                      \
        F er, ei, xl, yl;                                                                       \
        const F x = phx_fft_sum_##F(*re, -br, &xl), y = phx_fft_sum_##F(*im, bi, &yl);          \
        const F sr = phx_fft_sum_##F(*re, br, &er), si = phx_fft_sum_##F(*im, -bi, &ei);        \
        *re = phx_fft_turned_##F(sr, x, y, s, c, FNMA(yl, c, FMA(xl, s, er)));                  \
        *im = phx_fft_turned_##F(si, y, -x, s, c, FMA(xl, c, FMA(yl, s, ei)));                  \
    }                                                                                           \
    PHX_FN void phx_fft2_##F(F *re, F *im) {                                                    \
        const F x = re[0], y = im[0];                                                           \
        re[0] = x + re[1];                                                                      \
        im[0] = y + im[1];                                                                      \
        re[1] = x - re[1];                                                                      \
        im[1] = y - im[1];                                                                      \
    }                                                                                           \
    PHX_FN void phx_fft4_##F(F *re, F *im) {                                                    \
        const F ar = re[0] + re[2], ai = im[0] + im[2], br = re[0] - re[2], bi = im[0] - im[2]; \
        const F cr = re[1] + re[3], ci = im[1] + im[3], dr = re[1] - re[3], di = im[1] - im[3]; \
        re[0] = ar + cr;                                                                        \
        im[0] = ai + ci;                                                                        \
        re[1] = br + di;                                                                        \
        im[1] = bi - dr;                                                                        \
        re[2] = ar - cr;                                                                        \
        im[2] = ai - ci;                                                                        \
        re[3] = br - di;                                                                        \
        im[3] = bi + dr;                                                                        \
    }                                                                                           \
    PHX_FN void phx_fft8_##F(F *re, F *im) {                                                    \
        const F h = K(0.70710678118654752440);                                                  \
        F er[4], ei[4], vr[4], vi[4];                                                           \
        er[0] = re[0], er[1] = re[2], er[2] = re[4], er[3] = re[6];                             \
        ei[0] = im[0], ei[1] = im[2], ei[2] = im[4], ei[3] = im[6];                             \
        vr[0] = re[1], vr[1] = re[3], vr[2] = re[5], vr[3] = re[7];                             \
        vi[0] = im[1], vi[1] = im[3], vi[2] = im[5], vi[3] = im[7];                             \
        phx_fft4_##F(er, ei);                                                                   \
        phx_fft4_##F(vr, vi);                                                                   \
        re[0] = er[0] + vr[0];                                                                  \
        im[0] = ei[0] + vi[0];                                                                  \
        re[4] = er[0] - vr[0];                                                                  \
        im[4] = ei[0] - vi[0];                                                                  \
        const F ar = vr[1] + vi[1], ai = vi[1] - vr[1];                                         \
        re[1] = FMA(h, ar, er[1]);                                                              \
        im[1] = FMA(h, ai, ei[1]);                                                              \
        re[5] = FNMA(h, ar, er[1]);                                                             \
        im[5] = FNMA(h, ai, ei[1]);                                                             \
        re[2] = er[2] + vi[2];                                                                  \
        im[2] = ei[2] - vr[2];                                                                  \
        re[6] = er[2] - vi[2];                                                                  \
        im[6] = ei[2] + vr[2];                                                                  \
        const F br = vi[3] - vr[3], bi = vr[3] + vi[3];                                         \
        re[3] = FMA(h, br, er[3]);                                                              \
        im[3] = FNMA(h, bi, ei[3]);                                                             \
        re[7] = FNMA(h, br, er[3]);                                                             \
        im[7] = FMA(h, bi, ei[3]);                                                              \
    }                                                                                           \
    PHX_FN void phx_fft3_##F(F *re, F *im) {                                                    \
        const F c1 = K(0.5), s1 = K(0.86602540378443864676);                                    \
        const F sr = re[1] + re[2], si = im[1] + im[2], dr = re[2] - re[1], di = im[2] - im[1]; \
        const F mr = FNMA(c1, sr, re[0]), mi = FNMA(c1, si, im[0]);                             \
        const F nr = s1 * dr, ni = s1 * di;                                                     \
        re[0] = re[0] + sr;                                                                     \
        im[0] = im[0] + si;                                                                     \
        PHX_FOURIER_PAIR_(re, im, 1, 3, mr, mi, nr, ni)                                         \
    }                                                                                           \
    PHX_FN void phx_fft5_##F(F *re, F *im) {                                                    \
        const F c1 = K(0.30901699437494742410), c2 = K(0.80901699437494742410);                 \
        const F s1 = K(0.95105651629515357212), s2 = K(0.58778525229247312917);                 \
        const F sr1 = re[1] + re[4], si1 = im[1] + im[4], sr2 = re[2] + re[3];                  \
        const F si2 = im[2] + im[3], dr1 = re[4] - re[1], di1 = im[4] - im[1];                  \
        const F dr2 = re[3] - re[2], di2 = im[3] - im[2];                                       \
        const F mr1 = FNMA(c2, sr2, FMA(c1, sr1, re[0]));                                       \
        const F mi1 = FNMA(c2, si2, FMA(c1, si1, im[0]));                                       \
        const F mr2 = FMA(c1, sr2, FNMA(c2, sr1, re[0]));                                       \
        const F mi2 = FMA(c1, si2, FNMA(c2, si1, im[0]));                                       \
        const F nr1 = FMA(s2, dr2, s1 * dr1), ni1 = FMA(s2, di2, s1 * di1);                     \
        const F nr2 = FNMA(s1, dr2, s2 * dr1), ni2 = FNMA(s1, di2, s2 * di1);                   \
        re[0] = re[0] + sr1 + sr2;                                                              \
        im[0] = im[0] + si1 + si2;                                                              \
        PHX_FOURIER_PAIR_(re, im, 1, 5, mr1, mi1, nr1, ni1)                                     \
        PHX_FOURIER_PAIR_(re, im, 2, 5, mr2, mi2, nr2, ni2)                                     \
    }                                                                                           \
    PHX_FN void phx_fft7_##F(F *re, F *im) {                                                    \
        const F c1 = K(0.62348980185873353053), c2 = K(0.22252093395631440429);                 \
        const F c3 = K(0.90096886790241912624), s1 = K(0.78183148246802980871);                 \
        const F s2 = K(0.97492791218182360702), s3 = K(0.43388373911755812048);                 \
        const F sr1 = re[1] + re[6], si1 = im[1] + im[6], dr1 = re[6] - re[1];                  \
        const F di1 = im[6] - im[1], sr2 = re[2] + re[5], si2 = im[2] + im[5];                  \
        const F dr2 = re[5] - re[2], di2 = im[5] - im[2], sr3 = re[3] + re[4];                  \
        const F si3 = im[3] + im[4], dr3 = re[4] - re[3], di3 = im[4] - im[3];                  \
        const F mr1 = FNMA(c3, sr3, FNMA(c2, sr2, FMA(c1, sr1, re[0])));                        \
        const F mi1 = FNMA(c3, si3, FNMA(c2, si2, FMA(c1, si1, im[0])));                        \
        const F mr2 = FMA(c1, sr3, FNMA(c3, sr2, FNMA(c2, sr1, re[0])));                        \
        const F mi2 = FMA(c1, si3, FNMA(c3, si2, FNMA(c2, si1, im[0])));                        \
        const F mr3 = FNMA(c2, sr3, FMA(c1, sr2, FNMA(c3, sr1, re[0])));                        \
        const F mi3 = FNMA(c2, si3, FMA(c1, si2, FNMA(c3, si1, im[0])));                        \
        const F nr1 = FMA(s3, dr3, FMA(s2, dr2, s1 * dr1));                                     \
        const F ni1 = FMA(s3, di3, FMA(s2, di2, s1 * di1));                                     \
        const F nr2 = FNMA(s1, dr3, FNMA(s3, dr2, s2 * dr1));                                   \
        const F ni2 = FNMA(s1, di3, FNMA(s3, di2, s2 * di1));                                   \
        const F nr3 = FMA(s2, dr3, FNMA(s1, dr2, s3 * dr1));                                    \
        const F ni3 = FMA(s2, di3, FNMA(s1, di2, s3 * di1));                                    \
        re[0] = re[0] + sr1 + sr2 + sr3;                                                        \
        im[0] = im[0] + si1 + si2 + si3;                                                        \
        PHX_FOURIER_PAIR_(re, im, 1, 7, mr1, mi1, nr1, ni1)                                     \
        PHX_FOURIER_PAIR_(re, im, 2, 7, mr2, mi2, nr2, ni2)                                     \
        PHX_FOURIER_PAIR_(re, im, 3, 7, mr3, mi3, nr3, ni3)                                     \
    }
#define PHX_FOURIER_SINGLE_(x) x##f
#define PHX_FOURIER_DOUBLE_(x) x
#define PHX_FOURIER_FNMAF_(a, b, c) phx_fmaf(-(a), b, c)
#define PHX_FOURIER_FNMA_(a, b, c) phx_fma(-(a), b, c)
PHX_FN f32 phx_fft_known_f32(f32 x) { return x == x ? x : 0.0f; }
PHX_FN f64 phx_fft_known_f64(f64 x) { return x == x ? x : 0.0; }
PHX_FOURIER(f32, PHX_FOURIER_SINGLE_, phx_fmaf, PHX_FOURIER_FNMAF_, phx_fft_known_f32)
PHX_FOURIER(f64, PHX_FOURIER_DOUBLE_, phx_fma, PHX_FOURIER_FNMA_, phx_fft_known_f64)

#endif
