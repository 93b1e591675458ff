/* Poisson and binomial random numbers.
 *
 * Means from 10 on: transformed rejection with a squeeze, Hoermann, The transformed rejection method for
 * generating Poisson random variables (1993), algorithm PTRS, and The generation of binomial random variates
 * (1993), algorithm BTRS; their constants. The probabilities that decide are in Loader's form, Fast and
 * accurate computation of binomial probabilities (2000), in which nothing large cancels. Means below 10:
 * the distribution is summed up until it is above a uniform number of 53 bits. An element has blocks of
 * its own, one for each try.
 */
#ifndef PHX_RANDOM_COUNTS_H
#define PHX_RANDOM_COUNTS_H

#include "random_double.h"
#include "random_gamma.h"
#include "real_exp.h"

#define PHX_HALF_LN_2PI 0.9189385332046728

/* ln k! less Stirling's formula, for k = 0 (where it is not used) to 15: mpmath. */
PHX_TABLE(f64, phx_stirling_table, 16) = {
    0.0,
    0.08106146679532726,
    0.0413406959554093,
    0.02767792568499834,
    0.020790672104103765,
    0.016644691189821193,
    0.013876128823070748,
    0.01189670994589177,
    0.010411265261972096,
    0.009255462182712733,
    0.00833056343336287,
    0.007573675487951841,
    0.00694284010720953,
    0.006408994188004207,
    0.0059513701127588475,
    0.005554733551962801,
};

/* From 16 on five terms of its series (Bernoulli numbers) are good to 10^-16. */
PHX_FN f64 phx_stirling_rest(f64 k) {
    f64 r = 1.0 / k, z = r * r, small = (k >= 0.0) & (k < 16.0) ? k : 0.0;
    f64 p = phx_fma(8.417508417508417e-4, z, -5.952380952380953e-4);
    p = phx_fma(p, z, 7.936507936507937e-4);
    p = phx_fma(p, z, -2.777777777777778e-3);
    p = phx_fma(p, z, 8.333333333333333e-2);
    f64 low = phx_stirling_table[phx_bits64(small + 4503599627370496.0) & 15u]; /* 2^52: low bits */
    return k < 16.0 ? low : p * r;
}

/* k ln(k / m) + m - k for k > 0 and m > 0. */
PHX_FN f64 phx_deviance(f64 k, f64 m) {
    f64 s = (k - m) / (k + m), z = s * s;
    f64 near = phx_fma(k * s * z, phx_atanh_poly6(z), (k - m) * s);
    f64 far = k * phx_log_f64(k / m) + (m - k);
    return z < 0.0289 ? near : far;
}

/* ln of the chance of k, Poisson with the mean m. */
PHX_FN f64 phx_poisson_chance(f64 k, f64 m) {
    f64 y = -phx_stirling_rest(k) - phx_deviance(k, m) - (PHX_HALF_LN_2PI + 0.5 * phx_log_f64(k));
    return k == 0.0 ? -m : y;
}

/* ln of the chance of k of n, each with probability p. */
PHX_FN f64 phx_binomial_chance(f64 k, f64 n, f64 p) {
    f64 none = n * phx_log1p_f64(-p), all = n * phx_log_f64(p);
    f64 rest = phx_stirling_rest(n) - phx_stirling_rest(k) - phx_stirling_rest(n - k);
    rest = rest - phx_deviance(k, n * p) - phx_deviance(n - k, n * (1.0 - p));
    rest = rest + 0.5 * phx_log_f64(n / (k * (n - k))) - PHX_HALF_LN_2PI;
    return k == 0.0 ? none : (k == n ? all : rest);
}

/* The hat of both algorithms: k is floor((2 a / us + b) u + c). */
typedef struct {
    f64 a, b, c, squeeze, height;
} phx_hat;

typedef struct {
    f64 k, u, us, v;
    u64 accepted;
} phx_try_count;

PHX_FN phx_hat phx_poisson_hat(f64 m) {
    phx_hat h;
    h.b = phx_fma(2.53, phx_sqrt(m), 0.931);
    h.a = phx_fma(0.02483, h.b, -0.059);
    h.c = m + 0.43;
    h.squeeze = 0.9277 - 3.6224 / (h.b - 2.0);
    h.height = 1.1239 + 1.1328 / (h.b - 3.4);
    return h;
}

PHX_FN phx_hat phx_binomial_hat(f64 n, f64 p) {
    f64 s = phx_sqrt(n * p * (1.0 - p));
    phx_hat h;
    h.b = phx_fma(2.53, s, 1.15);
    h.a = phx_fma(0.0248, h.b, phx_fma(0.01, p, -0.0873));
    h.c = phx_fma(n, p, 0.5);
    h.squeeze = 0.92 - 4.2 / h.b;
    h.height = (2.83 + 5.1 / h.b) * s;
    return h;
}

/* A try, accepted where no chance needs to be computed: the most of them. */
PHX_FN phx_try_count phx_try_hat(phx_hat h, phx_words w) {
    phx_try_count y;
    y.u = phx_unit_f64(phx_join(w.a, w.b)) - 0.5;
    y.v = phx_unit_f64(phx_join(w.c, w.d));
    y.us = 0.5 - phx_fabs(y.u);
    y.k = phx_floor(phx_fma(2.0 * h.a / y.us + h.b, y.u, h.c));
    y.accepted = (u64)((y.us >= 0.07) & (y.v <= h.squeeze));
    return y;
}

/* What ln of a chance is held against, the chance of the mode left out for a binomial. */
PHX_FN f64 phx_try_level(phx_hat h, phx_try_count y) {
    return phx_log_f64(y.v * h.height / (h.a / (y.us * y.us) + h.b));
}

/* Whether a try that was not accepted at once is accepted; the chance of a binomial is less that of the mode. */
PHX_FN u64 phx_poisson_accepts(phx_hat h, phx_try_count y, f64 m) {
    u64 possible = (u64)((y.k >= 0.0) & ((y.us >= 0.013) | (y.v <= y.us)));
    return possible & (u64)(phx_try_level(h, y) <= phx_poisson_chance(y.k, m));
}

PHX_FN u64 phx_binomial_accepts(phx_hat h, phx_try_count y, f64 n, f64 p, f64 mode) {
    u64 possible = (u64)((y.k >= 0.0) & (y.k <= n));
    return possible & (u64)(phx_try_level(h, y) <= phx_binomial_chance(y.k, n, p) - mode);
}

PHX_FN f64 phx_poisson_tries(f64 m, phx_hat h, u64 key, u64 stream, u64 position) {
    for (u32 i = 0; i < PHX_TRIES; i++) {
        phx_try_count y = phx_try_hat(h, phx_philox(key, stream, position + i));
        if (y.accepted) return y.k;
        if (phx_poisson_accepts(h, y, m)) return y.k;
    }
    return phx_floor(m);
}

PHX_FN f64 phx_binomial_mode(f64 n, f64 p) { return phx_binomial_chance(phx_floor((n + 1.0) * p), n, p); }

PHX_FN f64 phx_binomial_tries(f64 n, f64 p, phx_hat h, u64 key, u64 stream, u64 position) {
    f64 mode = phx_binomial_mode(n, p);
    for (u32 i = 0; i < PHX_TRIES; i++) {
        phx_try_count y = phx_try_hat(h, phx_philox(key, stream, position + i));
        if (y.accepted) return y.k;
        if (phx_binomial_accepts(h, y, n, p, mode)) return y.k;
    }
    return phx_floor(n * p);
}

/* Sums stop where they cannot grow, so that a number next to 1 ends too. */
PHX_FN f64 phx_poisson_sum(f64 m, phx_words w) {
    f64 u = phx_uniform_f64(phx_join(w.a, w.b));
    f64 chance = phx_exp_f64(-m), sum = chance, k = 0.0;
    while (u >= sum && (k < m || chance > 1e-19)) {
        k = k + 1.0;
        chance = chance * (m / k);
        sum = sum + chance;
    }
    return k;
}

PHX_FN f64 phx_binomial_sum(f64 n, f64 p, phx_words w) {
    f64 u = phx_uniform_f64(phx_join(w.a, w.b)), odds = p / (1.0 - p);
    f64 chance = phx_exp_f64(n * phx_log1p_f64(-p)), sum = chance, k = 0.0;
    while (u >= sum && k < n && (k < n * p || chance > 1e-19)) {
        chance = chance * ((n - k) / (k + 1.0) * odds);
        k = k + 1.0;
        sum = sum + chance;
    }
    return k;
}

/* A count from numbers that no distribution has: negative, NaN, too large. */
#define PHX_NO_COUNT (-1)

PHX_FN i64 phx_poisson(f64 m, u64 key, u64 stream, u64 position) {
    if (!(m >= 0.0 && m <= 9007199254740992.0)) return PHX_NO_COUNT;
    if (m < 10.0) return (i64)phx_poisson_sum(m, phx_philox(key, stream, position));
    return (i64)phx_poisson_tries(m, phx_poisson_hat(m), key, stream, position);
}

PHX_FN i64 phx_binomial(f64 n, f64 p, u64 key, u64 stream, u64 position) {
    f64 q = p > 0.5 ? 1.0 - p : p, k;
    if (!(n >= 0.0 && n <= 9007199254740992.0 && p >= 0.0 && p <= 1.0)) return PHX_NO_COUNT;
    n = phx_floor(n);
    if (n * q < 10.0)
        k = phx_binomial_sum(n, q, phx_philox(key, stream, position));
    else
        k = phx_binomial_tries(n, q, phx_binomial_hat(n, q), key, stream, position);
    return (i64)(p > 0.5 ? n - k : k);
}

#endif
