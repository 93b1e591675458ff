/* The reference of `make proof`: the C library's functions in double, and a test whether rounding
 * their result is beyond doubt.
 *
 * For every input x, v is f(x) with a relative error below MARGIN. Where all numbers that near to v
 * round to what was got, it is the correctly rounded f(x). Every other input goes back to the
 * caller, who decides it with more precision: a result that is wrong, and a right one of which v
 * lies nearer than MARGIN to the middle of two numbers, about one of 70,000 in float32.
 *
 * MARGIN is 2^-44, 512 units in the last place of double. glibc states at most 2 for these functions
 * (The GNU C Library manual, "Known Maximum Errors in Math Functions") and 4 for the vector forms
 * that are taken where there are some (libmvec). A v below 2^-1022 has no such bound, but rounds to
 * 0 in every format here, as f(x) does. This file shares nothing with core/scalar.
 */
#include <math.h>
#include <quadmath.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#if __GLIBC_PREREQ(2, 35)
#define LIBMVEC(NAME) extern __attribute__((const, simd("notinbranch"))) double NAME(double);
#endif
#endif
#ifndef LIBMVEC
#define LIBMVEC(NAME)
#endif

#define MARGIN 0x1p-44
#define BLOCK 1024

/* digamma(x) by DLMF 5.11.2 and 5.5.4 in the widest format that keeps it below MARGIN: __float128 where
 * the result is a difference near its zeros. */
#define DIGAMMA(NAME, F, LOG, TAN)                                                           \
    static F NAME(double x) {                                                                \
        static const double numerator[] = {1, -1, 1, -1, 5, -691, 7, -3617, 43867, -174611}; \
        static const double denominator[] = {6, 30, 42, 30, 66, 2730, 6, 510, 798, 330};     \
        const F pi = 3.14159265358979323846264338327950288Q;                                 \
        F z = x < 0 ? 1 - (F)x : (F)x, y = 0, w, power = 1;                                  \
        for (; z < 16; z += 1) y -= 1 / z;                                                   \
        w = 1 / (z * z);                                                                     \
        y += LOG(z) - 1 / (2 * z);                                                           \
        for (int k = 0; k < 10; k++) {                                                       \
            power *= w;                                                                      \
            y -= (F)numerator[k] / denominator[k] / (2 * k + 2) * power;                     \
        }                                                                                    \
        if (x < 0) y -= pi / TAN(pi * ((F)x - (F)rint(x)));                                  \
        return y;                                                                            \
    }
DIGAMMA(digamma_long, long double, logl, tanl)
DIGAMMA(digamma_quad, __float128, logq, tanq)

static double digamma(double x) {
    if (x == 0) return -1 / x;
    if (isnan(x) || (x < 0 && (isinf(x) || x == rint(x)))) return NAN;
    if (isinf(x)) return x;
    const long double y = digamma_long(x);
    return fabsl(y) < 0x1p-6L ? (double)digamma_quad(x) : (double)y;
}

/* x/2 (1 + c x) near 0 with c from 1/2 to 1, on its side of x/2 by more than MARGIN: half of a subnormal may be
 * a middle. */
static double beside_half(double x) { return x / 2 * (1 + copysign(4 * MARGIN, x)); }

static double sigmoid(double x) { return (x < 0 ? exp(x) : 1) / (1 + exp(-fabs(x))); }

static double silu(double x) {
    if (fabs(x) < 0x1p-60) return beside_half(x);
    return x < -800 ? -0.0 : (isinf(x) ? x : x * sigmoid(x));
}

/* What the argument is rounded by counts twice its size, by the derivative of erfc. */
static double gelu(double x) {
    if (fabs(x) < 0x1p-60) return beside_half(x);
    if (x < -60) return -0.0;
    const double half = 0.70710678118654752440, rest = -4.833646656726457e-17;
    const double z = -x * half, error = fma(-x, half, -z) - x * rest;
    const double y = erfc(z);
    return x / 2 * (z > 0 ? y - 2 * z * error * y : y);
}

typedef void (*evaluate_fn)(const float *x, double *v, int64_t count);

#define EVALUATE(NAME, VALUE)                                                \
    static void evaluate_##NAME(const float *in, double *v, int64_t count) { \
        for (int64_t i = 0; i < count; i++) {                                \
            const double x = in[i];                                          \
            v[i] = VALUE;                                                    \
        }                                                                    \
    }

/* Of the C library; then X(name, value of f in double). */
#define LIBRARY(X) \
    X(exp)         \
    X(expm1)       \
    X(log)         \
    X(log1p)       \
    X(log2)        \
    X(log10)       \
    X(sin)         \
    X(cos)         \
    X(tan)         \
    X(asin)        \
    X(acos)        \
    X(atan)        \
    X(sinh)        \
    X(cosh)        \
    X(tanh)        \
    X(asinh)       \
    X(acosh)       \
    X(atanh)       \
    X(cbrt)        \
    X(exp2)        \
    X(erf)         \
    X(erfc)
#define ROUNDED(X) X(sqrt, sqrt(x)) X(reciprocal, 1.0 / x)
#define SCALAR(X)                                       \
    X(lgamma, lgamma(x))                                \
    X(digamma, digamma(x))                              \
    X(sigmoid, sigmoid(x))                              \
    X(silu, silu(x))                                    \
    X(softplus, (x < 0 ? 0 : x) + log1p(exp(-fabs(x)))) \
    X(gelu, gelu(x))
/* These are exact in double: the square of 24 bits has 48, and its exponent is within range. */
#define EXACT(X)                                        \
    X(square, (x) * (x))                                \
    X(abs, fabs(x))                                     \
    X(negative, -x)                                     \
    X(positive, x)                                      \
    X(conj, x)                                          \
    X(real, x)                                          \
    X(ceil, ceil(x))                                    \
    X(floor, floor(x))                                  \
    X(round, rint(x))                                   \
    X(trunc, trunc(x))                                  \
    X(sign, isnan(x) ? x : (double)((x > 0) - (x < 0))) \
    X(isfinite, (double)(isfinite(x) != 0))             \
    X(isinf, (double)(isinf(x) != 0))                   \
    X(isnan, (double)(isnan(x) != 0))                   \
    X(signbit, (double)(signbit(x) != 0))

LIBRARY(LIBMVEC)
#define EVALUATE_LIBRARY(NAME) EVALUATE(NAME, NAME(x))
LIBRARY(EVALUATE_LIBRARY)
ROUNDED(EVALUATE)
SCALAR(EVALUATE)
EXACT(EVALUATE)

static const struct {
    const char *name;
    evaluate_fn evaluate;
    double margin;
} functions[] = {
#define LIBRARY_ROW(NAME) {#NAME, evaluate_##NAME, MARGIN},
#define ROUNDED_ROW(NAME, VALUE) {#NAME, evaluate_##NAME, MARGIN},
#define EXACT_ROW(NAME, VALUE) {#NAME, evaluate_##NAME, 0.0},
    LIBRARY(LIBRARY_ROW) ROUNDED(ROUNDED_ROW) SCALAR(ROUNDED_ROW) EXACT(EXACT_ROW)};

enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

/* The name of a function, or NULL behind the last one. */
const char *reference_name(int which) { return which < FUNCTIONS ? functions[which].name : NULL; }

/* 1 if v is exact. */
int reference_is_exact(int which) { return functions[which].margin == 0.0; }

/* v of count inputs. */
void reference_evaluate(int which, const float *x, double *v, int64_t count) {
    functions[which].evaluate(x, v, count);
}

/* A binary format: bits of the significand, least and greatest exponent. */
typedef struct {
    int digits, least, greatest;
} format;

/* v to the nearest number of a format, ties to even; every format is part of float32. */
static float round_to(double v, format f) {
    int exponent;
    if (f.digits == 24) return (float)v;
    if (v == 0 || !isfinite(v)) return (float)v;
    frexp(v, &exponent);
    const int last = (exponent - 1 > f.least ? exponent - 1 : f.least) - f.digits + 1;
    const double r = ldexp(rint(ldexp(v, -last)), last);
    return fabs(r) >= ldexp(1.0, f.greatest + 1) ? (float)copysign(INFINITY, v) : (float)r;
}

static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static int is_beyond_doubt(double v, double margin, float got, format f) {
    if (isnan(v)) return isnan(got);
    const uint32_t bits = bits_of(got);
    return bits_of(round_to(v * (1.0 - margin), f)) == bits && bits_of(round_to(v * (1.0 + margin), f)) == bits;
}

/* The usual case as a loop without branches. */
static int64_t count_doubtful(const double *v, double margin, const float *got, int64_t count) {
    int64_t doubtful = 0;
    for (int64_t i = 0; i < count; i++) {
        const float low = (float)(v[i] * (1.0 - margin)), high = (float)(v[i] * (1.0 + margin));
        uint32_t a, b, c;
        memcpy(&a, &low, sizeof a);
        memcpy(&b, &high, sizeof b);
        memcpy(&c, &got[i], sizeof c);
        const int nan = (v[i] != v[i]) & (got[i] != got[i]);
        doubtful += !(((a == c) & (b == c)) | nan);
    }
    return doubtful;
}

/* Compare count results with function `which` of count inputs.
 *
 * Inputs and results are given as float32. places and values, of room elements, get the index and v
 * of each input that is not beyond doubt; returned is how many there are, which may be more than
 * fit. */
int64_t reference_compare(int which, int digits, int least, int greatest, const float *x, const float *got,
                          int64_t count, int64_t *places, double *values, int64_t room) {
    const format f = {digits, least, greatest};
    const double margin = functions[which].margin;
    double v[BLOCK];
    int64_t found = 0;
    for (int64_t k = 0; k < count; k += BLOCK) {
        const int64_t n = count - k < BLOCK ? count - k : BLOCK;
        functions[which].evaluate(x + k, v, n);
        if (digits == 24 && count_doubtful(v, margin, got + k, n) == 0) continue;
        for (int64_t i = 0; i < n; i++) {
            if (is_beyond_doubt(v[i], margin, got[k + i], f)) continue;
            if (found < room) {
                places[found] = k + i;
                values[found] = v[i];
            }
            found++;
        }
    }
    return found;
}

/* v rounded to a format, as the exact functions are. */
float reference_round(double v, int digits, int least, int greatest) {
    return round_to(v, (format){digits, least, greatest});
}
