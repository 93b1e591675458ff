/* log, log2, log10, exp, exp2, tanh and cbrt of float32 in vectors: pairs of float32 with tables of 32 numbers, which permutations
 * of registers look up, and so short polynomials. A result counts where all that is as near as its error rounds to the
 * same number; a vector with another element, or a special one, takes the complete function. */
#include "elementwise/float_vectors.h"

#if LANES

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

/* More than what is off, relative to the logarithm, for all operands where k is 0; elsewhere less is. */
#define MOST 9e-12f, 9e-12f, 9e-12f, 9e-12f, 9e-12f, 9e-12f, 9e-12f, 9e-12f, 9e-12f, 9e-12f, 9e-12f
_Alignas(64) static const f32 parts[32] = {
    MOST, 2.5e-11f, 2.5e-11f, 2.5e-11f, 5e-11f, 2.5e-11f, 9e-11f, 2.5e-11f, 2.5e-11f, 2.5e-11f, MOST, 9e-12f};

/* ln(x) for normal positive x = 2^k m, m in [0.75, 1.5), with r = m c - 1 and k ln 2 - ln c in two parts: all exact but
 * the second part. What is off is within 2^-33.7 of ln(x) around 1, else 2^-36: all operands around 1 and many others
 * were tried. Returns the greater part, and the other one and what is off relative to it. */
static inline narrow log_parts(narrow x, narrow *low, narrow *part) {
    const words place = V(sub_epi32)(BITS(x), V(set1_epi32)(0x3f400000));
    const words whole = V(srai_epi32)(place, 23), number = V(srli_epi32)(place, 18);
    const narrow m = FLOATS(V(sub_epi32)(BITS(x), V(slli_epi32)(whole, 23)));
    const narrow k = V(cvtepi32_ps)(whole);
    const narrow r = FMA(m, look_up(inverses, number), SET(-1.0f));
    const narrow first = FMA(k, SET(0.693145752f), look_up(logarithms, number));
    const narrow rest = FMA(k, SET(1.42860677e-06f), look_up(rests, number));

    const narrow square = r * r, half = r * SET(-0.5f);
    const narrow q1 = FMA(SET(-0.16678882f), r, SET(0.2001396f)), q0 = FMA(SET(-0.24999999f), r, SET(0.3333333f));
    const narrow cubic = FMA(FMA(q1, square, q0), square * r, rest);

    const narrow s = first + r, t = FMA(half, r, s);
    *low = cubic + ((r - (s - first)) + FMA(half, r, s - t));
    *part = look_up(parts, number);
    return t;
}

/* The sum of two parts, which is sure where both ends of what is off round to it. */
static inline narrow log_sum(narrow x, narrow t, narrow low, narrow part, unsigned *sure) {
    const narrow y = t + FMA(t, part, low);
    *sure = is_equal(y, t + V(fnmadd_ps)(t, part, low)) & is_normal(x);
    return y;
}

static inline narrow log_of(narrow x, unsigned *sure) {
    narrow low, part;
    const narrow t = log_parts(x, &low, &part);
    return log_sum(x, t, low, part, sure);
}

/* The logarithm times a number in two parts. The lesser part of the logarithm, of which three products are rounded, is
 * made as small as it can be: they are off by 2^-46 of the result. */
static inline narrow scaled_log(narrow x, narrow factor, narrow rest, unsigned *sure) {
    narrow low, part;
    const narrow t = log_parts(x, &low, &part), log = t + low, whole = log * factor;
    low = low - (log - t);
    const narrow more = FMA(low, factor, FMA(log, rest, V(fmsub_ps)(log, factor, whole)));
    return log_sum(x, whole, more, part * SET(1.01f), sure);
}

static inline narrow log2_of(narrow x, unsigned *sure) {
    return scaled_log(x, SET(1.4426950f), SET(1.92596303e-08f), sure);
}

static inline narrow log10_of(narrow x, unsigned *sure) {
    return scaled_log(x, SET(0.43429449f), SET(-1.010305e-08f), sure);
}

/* 2^(j/32), and the logarithm of what it is to be multiplied with, a PART above. */
#define PART 2e-11f
_Alignas(64) static const f32 powers[32] = {
    1.0f, 1.0218972f, 1.0442737f, 1.0671405f, 1.0905077f, 1.1143868f, 1.1387886f, 1.1637249f,
    1.1892071f, 1.2152474f, 1.2418578f, 1.269051f, 1.2968396f, 1.3252367f, 1.3542556f, 1.38391f,
    1.4142135f, 1.4451808f, 1.4768262f, 1.5091645f, 1.5422108f, 1.5759809f, 1.6104903f, 1.6457555f,
    1.6817929f, 1.7186193f, 1.7562522f, 1.7947091f, 1.8340081f, 1.8741677f, 1.9152066f, 1.9571441f};
_Alignas(64) static const f32 corrections[32] = {
    2e-11f, -4.706458e-08f, 4.630547e-08f, -5.558423e-08f, -1.19721575e-08f, -4.8756068e-08f, 4.731782e-08f,
    -3.479443e-08f, 3.195418e-08f, -2.6866665e-08f, 3.623057e-08f, 1.138421e-09f, -3.0970725e-08f, -2.6363011e-08f,
    -7.455213e-09f, -4.243636e-08f, 1.7134271e-08f, 2.3021967e-08f, -3.0456835e-08f, -1.6518538e-08f, 5.253334e-09f,
    -3.5900648e-08f, 6.1275918e-09f, -3.1120546e-08f, -1.4699606e-08f, -2.8198102e-08f, -5.238795e-09f,
    -6.3403873e-09f, -6.1082597e-09f, -2.4860409e-08f, 5.1606093e-09f, -8.677267e-09f};

#define NEAREST 393216.0f /* a number to which 1/32 is the last digit: 3/4 of 2^19 */

/* 2^k t e^(r + rest), with n = k + j / 32 the number that was rounded by adding NEAREST, and t near 2^(j/32). The sum
 * of first and low is within 2^-35.9, of which PART, what the rest is above, is a little more. Results beyond the
 * largest number are infinite, as they have to be: of whatever r, y is above 0 or NaN. */
static inline narrow power(narrow rounded, narrow r, narrow rest, unsigned *sure) {
    const words j = BITS(rounded);
    const narrow more = rest + look_up(corrections, j), whole = r + more;
    const narrow q = FMA(FMA(SET(0.041666667f), whole, SET(0.16666667f)), whole, SET(0.5f));
    const narrow c = FMA(q, whole * whole, more);

    const narrow t = look_up(powers, j), first = FMA(t, r, t);
    const narrow low = FMA(t, c, FMA(t, r, t - first)), y = first + low;
    *sure = is_equal(y, first + FMA(t, SET(-2 * PART), low));
#if LANES == 16
    return _mm512_scalef_ps(y, rounded - SET(NEAREST));
#else
    return scaled(y, V(srai_epi32)(V(sub_epi32)(j, BITS(SET(NEAREST))), 5));
#endif
}

/* Those whose results are normal numbers, or infinite where that is a scaled number, too. */
static inline unsigned is_moderate(narrow x, f32 least, f32 most) {
    return LANES == 16 ? is_above(x, SET(least)) : is_above(x, SET(least)) & is_above(SET(most), x);
}

/* n is the nearest to x / ln 2. ln 2 is in two parts, and x less n times the first is exact. */
static inline narrow exp_of(narrow x, unsigned *sure) {
    const narrow rounded = FMA(x, SET(1.44269504f), SET(NEAREST)), n = rounded - SET(NEAREST);
    const narrow y = power(rounded, FMA(n, SET(-0.6931472f), x), n * SET(1.9046542e-09f), sure);
    *sure &= is_moderate(x, -87.0f, 89.0f);
    return y;
}

/* n is the nearest to x, and what is left of x exact. */
static inline narrow exp2_of(narrow x, unsigned *sure) {
    const narrow rounded = x + SET(NEAREST), left = x - (rounded - SET(NEAREST)), r = left * SET(0.6931472f);
    const narrow y = power(rounded, r, FMA(left, SET(-1.9046542e-09f), V(fmsub_ps)(left, SET(0.6931472f), r)), sure);
    *sure &= is_moderate(x, -126.0f, 129.0f);
    return y;
}

/* For 32 intervals of [0, 9.05], in the order of the low bits that choose them: a number near the middle where tanh and
 * its slope are within 2^-35 of a float32, and the polynomial of what is beyond, from the second power on. */
_Alignas(64) static const f32 middles[32] = {
    0.63311285f, 0.7996094f, 0.9818909f, 1.0887411f, 1.2695079f, 1.4104173f, 1.5674913f, 1.7402712f, 1.9290309f,
    2.283218f, 2.5646462f, 2.8923743f, 3.2210793f, 3.4816418f, 3.8258715f, 4.1007233f, 4.4464965f, 5.199077f,
    5.832855f, 6.4733253f, 6.9806914f, 7.565727f, 8.115033f, 8.664339f, 0.0f, 0.08431444f, 0.1540529f,
    0.21531676f, 0.31720233f, 0.38209286f, 0.46196535f, 0.5358569f};
_Alignas(64) static const f32 values[32] = {
    0.5601919f, 0.66381836f, 0.7538833f, 0.7964182f, 0.8536642f, 0.8875827f, 0.9166258f, 0.9402581f, 0.958655f,
    0.979424f, 0.9882282f, 0.9938707f, 0.99681914f, 0.9981098f, 0.99905f, 0.99945164f, 0.99972534f, 0.999939f,
    0.99998283f, 0.99999523f, 0.9999983f, 0.99999946f, 0.9999998f, 0.99999994f, 0.0f, 0.084115215f, 0.15284568f,
    0.21204987f, 0.30697507f, 0.36452362f, 0.43168467f, 0.4898454f};
_Alignas(64) static const f32 slopes[32] = {
    0.686185f, 0.5593452f, 0.43165997f, 0.36571807f, 0.2712574f, 0.21219692f, 0.15979715f, 0.11591473f,
    0.08098059f, 0.04072863f, 0.023405021f, 0.01222108f, 0.006351605f, 0.0037767922f, 0.0018990552f,
    0.0010964248f, 0.00054924097f, 0.000121947385f, 3.433198e-05f, 9.53672e-06f, 3.4570662e-06f, 1.0728835e-06f,
    3.5762812e-07f, 1.1920945e-07f, 1.0f, 0.99292463f, 0.9766382f, 0.95503485f, 0.9057663f, 0.86712253f,
    0.81364834f, 0.7600515f};
_Alignas(64) static const f32 seconds[32] = {
    -0.38439527f, -0.37130362f, -0.32542124f, -0.29126453f, -0.23156273f, -0.18834232f, -0.1464742f,
    -0.108989775f, -0.07763246f, -0.039890595f, -0.023129502f, -0.012146175f, -0.0063314023f, -0.0037696538f,
    -0.0018972532f, -0.0010958236f, -0.00054908585f, -0.00012194123f, -3.4331733e-05f, -9.5367195e-06f,
    -3.4570648e-06f, -1.0728893e-06f, -3.5764427e-07f, -1.1922405e-07f, 0.0f, -0.08352007f, -0.14927495f,
    -0.20251502f, -0.27804774f, -0.31608674f, -0.3512395f, -0.37230775f};
_Alignas(64) static const f32 thirds[32] = {
    -0.013393319f, 0.06002949f, 0.10144296f, 0.11006229f, 0.10725775f, 0.09643714f, 0.08099633f, 0.06384019f,
    0.047429428f, 0.025493594f, 0.015055528f, 0.0079980325f, 0.004194082f, 0.0025035879f, 0.0012624257f,
    0.0007297459f, 0.00036586312f, 8.128131e-05f, 2.2887494e-05f, 6.358402e-06f, 2.3045125e-06f, 7.151995e-07f,
    2.3842625e-07f, 7.950084e-08f, -0.3333333f, -0.32394946f, -0.30273005f, -0.27540213f, -0.21656875f,
    -0.17381999f, -0.11959088f, -0.070977174f};
_Alignas(64) static const f32 fourths[32] = {
    0.1356148f, 0.083924115f, 0.032000087f, 0.009438809f, -0.01437686f, -0.022814391f, -0.025415778f,
    -0.023693688f, -0.019589113f, -0.011672583f, -0.007168343f, -0.0038998302f, -0.0020699718f, -0.0012422001f,
    -0.000628563f, -0.00036402885f, -0.00018297513f, -4.0566978e-05f, -1.1422383e-05f, -3.174348e-06f,
    -1.1519103e-06f, -3.5755076e-07f, -1.1900752e-07f, -3.939465e-08f, -3.5976593e-06f, 0.05508929f,
    0.096050546f, 0.12591437f, 0.15925081f, 0.16888453f, 0.16868421f, 0.15891233f};
_Alignas(64) static const f32 fifths[32] = {
    -0.05613294f, -0.06314416f, -0.048347346f, -0.036074903f, -0.01748504f, -0.0072156284f, -0.0001696708f,
    0.0036224166f, 0.0047411947f, 0.0038390504f, 0.0025887082f, 0.0014829944f, 0.0008049266f, 0.00049062306f,
    0.00025055127f, 0.00014528373f, 7.31343e-05f, 1.6362614e-05f, 4.5799097e-06f, 1.2562483e-06f,
    4.6685773e-07f, 1.4486398e-07f, 4.762144e-08f, 1.4544015e-08f, 0.13355738f, 0.12529914f, 0.107898444f,
    0.08665553f, 0.044989128f, 0.015861034f, -0.015217097f, -0.03729341f};
_Alignas(64) static const f32 sixths[32] = {
    -0.018978804f, 0.0052193436f, 0.017854419f, 0.018437373f, 0.014943097f, 0.009746962f, 0.005200252f,
    0.002538537f, 0.00017389155f, -0.00073089637f, -0.0006861653f, -0.00046726203f, -0.0002815106f,
    -0.00016328548f, -8.7599525e-05f, -5.033691e-05f, -2.0928783e-05f, -6.1583637e-06f, -1.8098092e-06f,
    -5.312177e-07f, -1.5935785e-07f, -4.8027303e-08f, -1.5030423e-08f, -3.4371188e-09f, -0.0058176555f,
    -0.02985132f, -0.059603475f, -0.07281111f, -0.07000003f, -0.13655382f, -0.0536404f, -0.060427163f};

/* tanh(x) = T + A d + d^2 q(d) with d = |x| - middle, exact; from 9.02 on it rounds to 1. The polynomial is within
 * 2^-34.8, the rest of the error that of d^2 q(d), of which no operand has more than 1.9e-7. */
static inline narrow tanh_of(narrow x, unsigned *sure) {
    const narrow size = V(min_ps)(SET(9.05f), size_of(x));
    const words j = V(srli_epi32)(BITS(FMA(size, SET(1.6415f), SET(1.0625f))), 20);
    const narrow d = size - look_up(middles, j), slope = look_up(slopes, j), value = look_up(values, j);
    narrow q = FMA(look_up(sixths, j), d, look_up(fifths, j));
    q = FMA(q, d, look_up(fourths, j));
    q = FMA(q, d, look_up(thirds, j));
    q = FMA(q, d, look_up(seconds, j));

    const narrow first = FMA(slope, d, value), low = FMA(q, d * d, FMA(slope, d, value - first));
    const narrow off = FMA(low, SET(-2e-7f), first * SET(3.2e-11f)); /* low is below 0 but for roundings of first */
    const narrow y = first + (low + off);
    *sure = is_equal(y, first + (low - off));
    return with_sign(y, x);
}

/* Of each 32nd of [1, 2) a number of 6 bits near the inverse of its middle, at the beginning 1; the cube root of what it
 * is the inverse of, and what that is to be multiplied with, less 1 and a ROOT_PART above. */
#define ROOT_PART 3e-11f
_Alignas(64) static const f32 root_inverses[32] = {
    1.0f, 0.953125f, 0.921875f, 0.90625f, 0.875f, 0.859375f, 0.828125f, 0.8125f, 0.796875f, 0.765625f, 0.75f,
    0.734375f, 0.71875f, 0.703125f, 0.6875f, 0.671875f, 0.65625f, 0.640625f, 0.640625f, 0.625f, 0.609375f, 0.59375f,
    0.59375f, 0.578125f, 0.5625f, 0.5625f, 0.546875f, 0.53125f, 0.53125f, 0.515625f, 0.515625f, 0.5f};
_Alignas(64) static const f32 roots[32] = {
    1.0f, 1.0161318f, 1.0274862f, 1.0333576f, 1.0455159f, 1.0518143f, 1.0648817f, 1.0716646f, 1.0786237f, 1.0931035f,
    1.1006424f, 1.1083937f, 1.116368f, 1.1245769f, 1.1330327f, 1.1417487f, 1.1507392f, 1.1600198f, 1.1600198f,
    1.169607f, 1.1795195f, 1.1897767f, 1.1897767f, 1.2004002f, 1.2114137f, 1.2114137f, 1.2228428f, 1.2347158f,
    1.2347158f, 1.2470638f, 1.2470638f, 1.2599211f};
_Alignas(64) static const f32 root_corrections[32] = {
    3e-11f, 4.859416e-8f, -2.8424365e-8f, 3.1630282e-8f, 2.1320531e-8f, 3.8086593e-8f, 2.6651296e-8f, 7.41306e-9f, -1.5622646e-8f, 4.5950093e-9f, -2.3960569e-8f, 4.9771867e-9f, -4.59623e-8f, -3.4794105e-8f, -8.506727e-9f, -1.6116923e-8f, -2.3983322e-8f, -2.9877214e-8f, -2.9877214e-8f, 4.4505494e-8f, -3.530401e-8f, 3.323469e-8f, 3.323469e-8f, 2.8025253e-8f, -1.03355715e-8f, -1.03355715e-8f, 1.8342552e-8f, 1.5125288e-8f, 1.5125288e-8f, 4.777288e-8f, 4.777288e-8f, -1.9033655e-8f};

/* The cube roots of 1/2, 1 and 2 in two parts. */
_Alignas(64) static const f32 roots_of_two[16] = {0.7937005f, 1.0f, 1.2599211f};
_Alignas(64) static const f32 rests_of_two[16] = {9.760193e-09f, 0.0f, -2.4018702e-08f};

/* The cube root of 2^(3 k + e) m, with e of -1 to 1, m in [1, 2) and r = m c - 1, exact and below 1/32:
 * 2^k 2^(e/3) c^(-1/3) (1 + r)^(1/3), and of the last 1 + r/3 + r^2 q(r), off by 2^-40.5. The rest of the error is that
 * of r^2 q(r), which is below 1.1e-4. */
static inline narrow cbrt_of(narrow x, unsigned *sure) {
    const narrow size = size_of(x);
    const words exponent = V(srli_epi32)(BITS(size), 23), number = V(srli_epi32)(BITS(size), 18);
    const words third = V(cvttps_epi32)(V(cvtepi32_ps)(exponent) * SET(0.33333334f));
    const words left = V(sub_epi32)(exponent, V(add_epi32)(V(add_epi32)(third, third), third));
    const words even = V(slli_epi32)(V(sub_epi32)(exponent, V(set1_epi32)(127)), 23);
    const narrow r = FMA(FLOATS(V(sub_epi32)(BITS(size), even)), look_up(root_inverses, number), SET(-1.0f));

    const narrow part = r * SET(0.33333334f);
    const narrow rest = FMA(r, SET(-9.934108e-09f), V(fmsub_ps)(r, SET(0.33333334f), part));
    const narrow q = FMA(FMA(FMA(SET(0.02980437f), r, SET(-0.041173477f)), r, SET(0.06172859f)), r, SET(-0.1111111f));
    const narrow off = look_up(root_corrections, number), more = FMA(q, r * r, rest + FMA(off, part, off));
    const narrow t = look_up(roots, number), first = FMA(t, part, t);
    const narrow low = FMA(t, more, FMA(t, part, t - first)), root = first + low;

    const narrow factor = look_up_few(roots_of_two, left), whole = root * factor;
    const narrow behind = FMA(root, look_up_few(rests_of_two, left), V(fmsub_ps)(root, factor, whole));
    const narrow beyond = FMA(low - (root - first), factor, behind), y = whole + beyond;
    *sure = is_equal(y, whole + FMA(whole, SET(-2 * ROOT_PART), beyond)) & is_normal(size);
    const words k = V(sub_epi32)(third, V(set1_epi32)(42));
    return with_sign(FLOATS(V(add_epi32)(BITS(y), V(slli_epi32)(k, 23))), x);
}

#define GROUP 64 /* vectors */

/* No jump depends on what is sure: the operands of other vectors are kept aside, so that the complete function sees
 * those of a group together. */
#define BY_VECTORS(NAME, SHORT)                                                                   \
    static inline int64_t NAME##_vector(narrow a, f32 *aside, int64_t there, narrow *y) {         \
        unsigned sure;                                                                            \
        *y = SHORT(a, &sure);                                                                     \
        V(store_ps)(aside, a);                                                                    \
        return (~sure & ((1u << there) - 1u)) != 0;                                               \
    }                                                                                             \
                                                                                                  \
    static void NAME##_group(const f32 *x, f32 *out, int64_t n, cpu_loop loop) {                  \
        static const int64_t sizes[] = {sizeof(f32), sizeof(f32)};                                \
        _Alignas(64) f32 aside[LANES * (GROUP + 1)];                                              \
        int64_t places[GROUP + 1], i = 0, others = 0;                                             \
        narrow y;                                                                                 \
        for (; i <= n - LANES; i += LANES) {                                                      \
            places[others] = i;                                                                   \
            others += NAME##_vector(V(loadu_ps)(x + i), aside + LANES * others, LANES, &y);       \
            V(storeu_ps)(out + i, y);                                                             \
        }                                                                                         \
        if (i < n) {                                                                              \
            places[others] = i;                                                                   \
            others += NAME##_vector(load_first(x + i, n - i), aside + LANES * others, n - i, &y); \
            store_first(out + i, n - i, y);                                                       \
        }                                                                                         \
        if (!others) return;                                                                      \
        loop((char *const[]){(char *)aside, (char *)aside}, sizes, LANES * others);               \
        for (i = 0; i < others; i++)                                                              \
            store_first(out + places[i], n - places[i], V(load_ps)(aside + LANES * i));           \
    }                                                                                             \
                                                                                                  \
    void NAME(const f32 *x, f32 *out, int64_t n, cpu_loop loop) {                                 \
        for (int64_t i = 0; i < n; i += LANES * GROUP)                                            \
            NAME##_group(x + i, out + i, n - i < LANES * GROUP ? n - i : LANES * GROUP, loop);    \
    }

BY_VECTORS(cpu_tried_log_f32, log_of)
BY_VECTORS(cpu_tried_log2_f32, log2_of)
BY_VECTORS(cpu_tried_log10_f32, log10_of)
BY_VECTORS(cpu_tried_exp_f32, exp_of)
BY_VECTORS(cpu_tried_exp2_f32, exp2_of)
BY_VECTORS(cpu_tried_tanh_f32, tanh_of)
BY_VECTORS(cpu_tried_cbrt_f32, cbrt_of)

#else
#define NOT_TRIED(NAME)                                            \
    void NAME(const f32 *x, f32 *out, int64_t n, cpu_loop loop) {  \
        static const int64_t sizes[] = {sizeof(f32), sizeof(f32)}; \
        loop((char *const[]){(char *)x, (char *)out}, sizes, n);   \
    }

NOT_TRIED(cpu_tried_log_f32)
NOT_TRIED(cpu_tried_log2_f32)
NOT_TRIED(cpu_tried_log10_f32)
NOT_TRIED(cpu_tried_exp_f32)
NOT_TRIED(cpu_tried_exp2_f32)
NOT_TRIED(cpu_tried_tanh_f32)
NOT_TRIED(cpu_tried_cbrt_f32)
#endif
