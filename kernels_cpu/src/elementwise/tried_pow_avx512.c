/* Powers of float32 in vectors of 512 bits: doubles with tables of 16 numbers, which a permutation of two registers
 * looks up, and so short polynomials. A result counts where it is not near a tie; eight elements with another one, of
 * random operands fewer than one of 10,000, take the complete function. */
#include "elementwise/elementwise.h"

#include "real_common.h"

#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#include <immintrin.h>
#include <string.h>

typedef __m512d wide;

#define SET _mm512_set1_pd
#define FMA _mm512_fmadd_pd
#define BITS _mm512_castpd_si512
#define LOOK_UP(TABLE, PLACES) \
    _mm512_permutex2var_pd(_mm512_load_pd(TABLE), PLACES, _mm512_load_pd((TABLE) + 8))

/* Of each 16th of [0.734375, 1.46875), a number near the inverse of its middle, of 9 bits, and the logarithm of what it
 * is the inverse of; 2^(j/16). */
_Alignas(64) static const f64 inverses[16] = {
    1.33203125, 1.28125, 1.23046875, 1.18359375, 1.14453125, 1.1015625, 1.06640625, 1.03125,
    1.0, 0.94140625, 0.890625, 0.84375, 0.80078125, 0.76171875, 0.7265625, 0.6953125};
_Alignas(64) static const f64 logarithms[16] = {
    -0.2867050328039543, -0.24783616390458127, -0.2073951943460706, -0.16855536102980667,
    -0.13499516453750482, -0.09672962645855111, -0.06429435070539725, -0.030771658666753687,
    0.0, 0.06038051098890748, 0.1158318155251217, 0.16989903679539747,
    0.2221674653411543, 0.27217788591581565, 0.3194307707663612, 0.3633938941874773};
_Alignas(64) static const f64 powers[16] = {
    1.0, 1.0442737824274138, 1.0905077326652577, 1.1387886347566916,
    1.189207115002721, 1.241857812073484, 1.2968395546510096, 1.3542555469368927,
    1.4142135623730951, 1.4768261459394993, 1.5422108254079407, 1.6104903319492543,
    1.681792830507429, 1.7562521603732995, 1.8340080864093424, 1.9152065613971474};

/* ln(a) for normal positive a = 2^k m: r = m c - 1 is exact, the polynomial within 2^-49.5 of ln(1 + r). */
static inline wide log_of(wide a) {
    const __m512i place = _mm512_sub_epi64(BITS(a), _mm512_set1_epi64(0x3fe7800000000000));
    const __m512i whole = _mm512_srai_epi64(place, 52), number = _mm512_srli_epi64(place, 48);
    const wide m = _mm512_castsi512_pd(_mm512_sub_epi64(BITS(a), _mm512_slli_epi64(whole, 52)));
    const wide r = FMA(m, LOOK_UP(inverses, number), SET(-1.0));
    const wide square = r * r;
    const wide q4 = FMA(SET(0.14308277122932436), r, SET(-0.16666652524783068));
    const wide q2 = FMA(SET(0.1999998616625882), r, SET(-0.25000000002794764));
    const wide q0 = FMA(FMA(SET(0.33333333335753335), r, SET(-0.5)), square, r);
    const wide q = FMA(FMA(SET(-0.12521387078783733), square, q4), square, q2);
    const wide first = FMA(_mm512_cvtepi64_pd(whole), SET(PHX_LN2), LOOK_UP(logarithms, number));
    return first + FMA(q, square * square, q0);
}

/* a^b for normal positive a where |b ln a| < 87, and so the result is normal: its error is below 2^-42.7, 87 times that
 * of the logarithm and 2^-47.4 of the exponential. It is sure if it is not within 2^-41 of a tie. */
static inline __m256 pow_of(wide a, wide b, __mmask8 *sure) {
    const wide e = b * log_of(a), moved = FMA(e, SET(PHX_LOG2E), SET(0x1.8p48));
    const wide n = moved - SET(0x1.8p48), r = FMA(n, SET(-PHX_LN2), e);
    const wide q2 = FMA(SET(0.008333478231906612), r, SET(0.04166757359688448));
    const wide q0 = FMA(SET(0.16666666664166577), r, SET(0.499999999868087)), square = r * r;
    const wide t = LOOK_UP(powers, BITS(moved)), y = FMA(t, FMA(FMA(q2, square, q0), square, r), t);
    const __m512i beyond = _mm512_and_si512(_mm512_add_epi64(BITS(y), _mm512_set1_epi64(4096 - 0x10000000)),
                                            _mm512_set1_epi64(0x1fffffff));
    *sure = _mm512_mask_cmpge_epu64_mask(_mm512_cmp_pd_mask(_mm512_abs_pd(e), SET(87.0), _CMP_LT_OQ), beyond,
                                         _mm512_set1_epi64(8192));
    return _mm512_cvtpd_ps(_mm512_scalef_pd(y, n));
}

/* Whether eight powers are sure; bases and exponents are copied. */
static inline bool eight(const f32 *x, const f32 *y, f32 *out, f32 *bases, f32 *exponents) {
    const __m256 a = _mm256_loadu_ps(x), b = _mm256_loadu_ps(y);
    const __m256i above = _mm256_sub_epi32(_mm256_castps_si256(a), _mm256_set1_epi32(0x00800000));
    const __mmask8 normal = _mm256_cmplt_epu32_mask(above, _mm256_set1_epi32(0x7f000000));
    __mmask8 sure;
    const __m256 power = pow_of(_mm512_cvtps_pd(a), _mm512_cvtps_pd(b), &sure);
    _mm256_store_ps(bases, a);
    _mm256_store_ps(exponents, b);
    _mm256_storeu_ps(out, power);
    return (sure & normal) == 0xff;
}

#define GROUP 32 /* of eight elements */

/* No jump depends on what is sure, as in tried_vectors.c. */
static void pow_group(const f32 *x, const f32 *y, f32 *out, int64_t groups, cpu_loop loop) {
    static const int64_t sizes[] = {sizeof(f32), sizeof(f32), sizeof(f32)};
    _Alignas(64) f32 bases[8 * (GROUP + 1)], exponents[8 * (GROUP + 1)];
    int64_t places[GROUP + 1], others = 0;
    for (int64_t i = 0; i < 8 * groups; i += 8) {
        places[others] = i;
        others += !eight(x + i, y + i, out + i, bases + 8 * others, exponents + 8 * others);
    }
    if (!others) return;
    loop((char *const[]){(char *)bases, (char *)exponents, (char *)bases}, sizes, 8 * others);
    for (int64_t i = 0; i < others; i++) memcpy(out + places[i], bases + 8 * i, 8 * sizeof(f32));
}

void cpu_tried_pow_f32(const f32 *x, const f32 *y, f32 *out, int64_t n, cpu_loop loop) {
    const int64_t whole = n / 8 * 8, rest = n - whole;
    for (int64_t i = 0; i < whole; i += 8 * GROUP)
        pow_group(x + i, y + i, out + i, whole - i < 8 * GROUP ? (whole - i) / 8 : GROUP, loop);
    if (rest) {
        f32 bases[8] = {1, 1, 1, 1, 1, 1, 1, 1}, exponents[8] = {0};
        memcpy(bases, x + whole, (size_t)rest * sizeof(f32));
        memcpy(exponents, y + whole, (size_t)rest * sizeof(f32));
        pow_group(bases, exponents, bases, 1, loop);
        memcpy(out + whole, bases, (size_t)rest * sizeof(f32));
    }
}
#endif
