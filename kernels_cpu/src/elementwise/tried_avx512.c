/* log and exp of float32 in vectors of 512 bits: pairs of float32 with tables of 32 numbers, which a permutation of two
 * registers looks up, and so short polynomials. As in tried.c, a result counts where all that is as near as its error
 * rounds to the same number; a vector with another element, one of a hundred or fewer, or a special one takes the
 * complete function. */
#include "elementwise/elementwise.h"

#include "real_exp.h"
#include "real_log.h"

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#include <immintrin.h>

#define SET _mm512_set1_ps
#define FMA _mm512_fmadd_ps
#define BITS _mm512_castps_si512
#define LOOK_UP(TABLE, PLACES) \
    _mm512_permutex2var_ps(_mm512_load_ps(TABLE), PLACES, _mm512_load_ps((TABLE) + 16))

typedef __m512 narrow;

/* Of each 32nd of [0.75, 1) by 1/64 and of [1, 1.5) by 1/32 a number near the inverse of its middle, of 6 bits, and the
 * logarithm of what it is the inverse of: multiples of 2^-16 and the rest. Around 1 it is 1. */
_Alignas(64) static const f32 inverses[32] = {
    1.3125f, 1.28125f, 1.28125f, 1.25f, 1.21875f, 1.1875f, 1.1875f, 1.15625f,
    1.125f, 1.125f, 1.09375f, 1.0625f, 1.0625f, 1.03125f, 1.03125f, 1.0f,
    1.0f, 0.953125f, 0.921875f, 0.90625f, 0.875f, 0.859375f, 0.828125f, 0.8125f,
    0.796875f, 0.765625f, 0.75f, 0.734375f, 0.71875f, 0.703125f, 0.6875f, 0.671875f};
#define OF(WHOLE) ((WHOLE) / 65536.0f)
_Alignas(64) static const f32 logarithms[32] = {
    OF(-17821), OF(-16242), OF(-16242), OF(-14624), OF(-12965), OF(-11262), OF(-11262), OF(-9515),
    OF(-7719), OF(-7719), OF(-5873), OF(-3973), OF(-3973), OF(-2017), OF(-2017), OF(0),
    OF(0), OF(3146), OF(5331), OF(6451), OF(8751), OF(9932), OF(12360), OF(13608),
    OF(14880), OF(17502), OF(18854), OF(20233), OF(21643), OF(23083), OF(24556), OF(26063)};
_Alignas(64) static const f32 rests[32] = {
    -6.8356007e-06f, -2.9119515e-06f, -2.9119515e-06f, 9.7993575e-07f, 4.4568656e-06f, -5.7745046e-06f,
    -5.7745046e-06f, 5.3680851e-06f, -4.4288294e-07f, -4.4288294e-07f, 2.7094743e-06f, -1.4528712e-06f,
    -1.4528712e-06f, 5.3188724e-06f, 5.3188724e-06f, 0.0f, 0.0f, 5.0687959e-06f,
    1.0349618e-06f, 5.6245713e-06f, 1.7295386e-06f, -3.9484155e-07f, -7.463005e-06f, -2.2367842e-06f,
    6.6693851e-06f, 3.4590771e-06f, -7.1365325e-06f, 4.4025483e-06f, -4.2848092e-06f, 1.9656597e-06f,
    -1.3747773e-06f, -6.8516697e-06f};

static inline __mmask16 is_normal(narrow x) {
    const __m512i above = _mm512_sub_epi32(BITS(x), _mm512_set1_epi32(0x00800000));
    return _mm512_cmplt_epu32_mask(above, _mm512_set1_epi32(0x7f000000));
}

/* ln(x) for normal positive x = 2^k m, m in [0.75, 1.5), with r = m c - 1 and k ln 2 - ln c in two parts: all exact but
 * the second part. The cubic term is within 2^-40, the second part within 2^-37.5, or 2^-33.5 of ln(x) where the
 * first is r alone. `*sure` is where both ends of that round to the result. */
static inline narrow log_of(narrow x, __mmask16 *sure) {
    const __m512i place = _mm512_sub_epi32(BITS(x), _mm512_set1_epi32(0x3f400000));
    const __m512i whole = _mm512_srai_epi32(place, 23), number = _mm512_srli_epi32(place, 18);
    const narrow m = _mm512_castsi512_ps(_mm512_sub_epi32(BITS(x), _mm512_slli_epi32(whole, 23)));
    const narrow k = _mm512_cvtepi32_ps(whole);
    const narrow r = FMA(m, LOOK_UP(inverses, number), SET(-1.0f));
    const narrow first = FMA(k, SET(0.693145752f), LOOK_UP(logarithms, number));
    const narrow rest = FMA(k, SET(1.42860677e-06f), LOOK_UP(rests, number));

    const narrow square = r * r, below = _mm512_fmsub_ps(r, r, square), half = SET(-0.5f);
    const narrow q1 = FMA(SET(-0.16678882f), r, SET(0.2001396f)), q0 = FMA(SET(-0.24999999f), r, SET(0.3333333f));
    const narrow cubic = FMA(FMA(q1, square, q0), square * r, FMA(half, below, rest));

    const narrow s = first + r, t = FMA(half, square, s);
    const narrow low = cubic + ((r - (s - first)) + FMA(half, square, s - t));
    const __mmask16 others = _mm512_cmp_ps_mask(first, _mm512_setzero_ps(), _CMP_NEQ_OQ);
    const narrow part = _mm512_mask_mov_ps(SET(8.2e-11f), others, SET(1.4551915e-11f)); /* 2^-33.5, 2^-36 */
    const narrow off = FMA(_mm512_abs_ps(t), part, _mm512_maskz_mov_ps(others, SET(5.2e-12f)));
    const narrow y = t + (low + off);
    *sure = _mm512_cmp_ps_mask(y, t + (low - off), _CMP_EQ_OQ) & is_normal(x);
    return y;
}

/* 2^(j/32), and the logarithm of what it is to be multiplied with. */
_Alignas(64) static const f32 powers[32] = {
    1.0f, 1.0218972f, 1.0442737f, 1.0671405f, 1.0905077f, 1.1143868f, 1.1387886f, 1.1637249f,
    1.1892071f, 1.2152474f, 1.2418578f, 1.269051f, 1.2968396f, 1.3252367f, 1.3542556f, 1.38391f,
    1.4142135f, 1.4451808f, 1.4768262f, 1.5091645f, 1.5422108f, 1.5759809f, 1.6104903f, 1.6457555f,
    1.6817929f, 1.7186193f, 1.7562522f, 1.7947091f, 1.8340081f, 1.8741677f, 1.9152066f, 1.9571441f};
_Alignas(64) static const f32 corrections[32] = {
    0.0f, -4.708458e-08f, 4.628547e-08f, -5.560423e-08f, -1.19921575e-08f, -4.8776066e-08f,
    4.729782e-08f, -3.4814427e-08f, 3.193418e-08f, -2.6886665e-08f, 3.6210572e-08f, 1.118421e-09f,
    -3.0990723e-08f, -2.6383011e-08f, -7.475213e-09f, -4.2456357e-08f, 1.7114271e-08f, 2.3001967e-08f,
    -3.0476834e-08f, -1.6538538e-08f, 5.233334e-09f, -3.5920646e-08f, 6.1075918e-09f, -3.1140544e-08f,
    -1.4719606e-08f, -2.8218102e-08f, -5.258795e-09f, -6.3603873e-09f, -6.1282597e-09f, -2.4880409e-08f,
    5.1406093e-09f, -8.697267e-09f};

/* 2^k t e^(r + rest), with n = 32 k + j the nearest whole number to 32 x / ln 2 and t near 2^(j/32). ln 2 / 32 is in
 * two parts, and x less n times the first is exact. The sum of first and low is within 2^-35.9, of which `part` is
 * a little more. */
static inline narrow exp_of(narrow x, __mmask16 *sure) {
    const narrow moved = FMA(x, SET(46.166241f), SET(12582912.0f)), n = moved - SET(12582912.0f);
    const __m512i j = BITS(moved), k = _mm512_andnot_si512(_mm512_set1_epi32(31), j);
    const narrow r = FMA(n, SET(-0.02166085f), x), rest = FMA(n, SET(5.9520444e-11f), LOOK_UP(corrections, j));
    const narrow whole = r + rest;
    const narrow q = FMA(FMA(SET(0.041666667f), whole, SET(0.16666667f)), whole, SET(0.5f));
    const narrow c = FMA(q, whole * whole, rest);

    const narrow t = LOOK_UP(powers, j), above = t * r, first = t + above;
    const narrow low = ((t - first) + above) + FMA(t, c, _mm512_fmsub_ps(t, r, above)), part = SET(2e-11f);
    const narrow y = first + FMA(first, part, low);
    *sure = _mm512_cmp_ps_mask(y, first + _mm512_fnmadd_ps(first, part, low), _CMP_EQ_OQ) &
            _mm512_cmp_ps_mask(_mm512_abs_ps(x), SET(87.0f), _CMP_LT_OQ);
    return _mm512_castsi512_ps(_mm512_add_epi32(BITS(y), _mm512_slli_epi32(k, 18)));
}

#define BY_VECTORS(NAME, SHORT, COMPLETE)                                                               \
    bool NAME(const f32 *x, f32 *out, int64_t n) {                                                      \
        for (int64_t i = 0; i < n; i += 16) {                                                           \
            const __mmask16 there = n - i < 16 ? (__mmask16)((1u << (n - i)) - 1u) : (__mmask16)0xffff; \
            const narrow a = _mm512_maskz_loadu_ps(there, x + i);                                       \
            __mmask16 sure;                                                                             \
            narrow y = SHORT(a, &sure);                                                                 \
            if (__builtin_expect((there & ~(unsigned)sure) != 0, 0)) {                                  \
                _Alignas(64) f32 each[16];                                                              \
                _mm512_store_ps(each, a);                                                               \
                for (int lane = 0; lane < 16; lane++) each[lane] = COMPLETE(each[lane]);                \
                y = _mm512_load_ps(each);                                                               \
            }                                                                                           \
            _mm512_mask_storeu_ps(out + i, there, y);                                                   \
        }                                                                                               \
        return true;                                                                                    \
    }
#else
#define BY_VECTORS(NAME, SHORT, COMPLETE)          \
    bool NAME(const f32 *x, f32 *out, int64_t n) { \
        (void)x, (void)out, (void)n;               \
        return false;                              \
    }
#endif

BY_VECTORS(cpu_vector_log_f32, log_of, phx_log_f32)
BY_VECTORS(cpu_vector_exp_f32, exp_of, phx_exp_f32)
