/* Powers of float32 by a shorter way where vectors have fewer than 512 bits (else tried_pow_avx512.c): a block keeps
 * its results where each of them is sure to round as the complete function's does, and has that function else. It is
 * sure where what the shorter way gives, and all that is as near to it as its error, is rounded to the same number:
 * for random operands one of 2^16 is not. */
#include "elementwise/elementwise.h"

#include "real_exp.h"
#include "real_log.h"

#if !defined(__AVX512F__) || !defined(__AVX512DQ__) || !defined(__AVX512VL__)
#include <string.h>

/* The bits of a double beyond those of a float, and how far from a tie, in units of the last of them, is sure: 2^-41
 * of the value or more. */
#define BEYOND_FLOAT 0x1fffffffu
#define TIE 0x10000000u
#define NEAR 4096u

/* Words whose first bit says that they are above a limit, or that a value rounds to float32 one knows not how. */
#define ABOVE(WORD, LIMIT) ((LIMIT) - (WORD))
#define NEAR_TIE(VALUE) (((phx_bits64(VALUE) + (NEAR - TIE)) & BEYOND_FLOAT) - (u64)(2 * NEAR))

/* Magnitudes as words; that of infinity is above those of numbers, that of NaN above it. */
#define MAGNITUDE(VALUE) (phx_bits64(VALUE) & ~PHX_BITS_SIGN)
#define EIGHTY_SEVEN 0x4055c00000000000u

/* e^(b ln a) for normal positive a where the result is normal. With |b ln a| < 87 its error is below 2^-42.9: 87 times
 * that of the logarithm (2^-51, and where its two terms cancel twice as much), and 2^-51 of the exponential. */
static bool try_pow(const f32 *x, const f32 *y, f32 *out, int64_t n) {
    f32 made[CPU_GUARD_BLOCK];
    u32 rare = 0;
    u64 unsure = 0;
    for (int64_t i = 0; i < n; i++) rare |= phx_bits32(x[i]) - 0x00800000u >= 0x7f000000u ? 1u : 0u;
    if (rare) return false;
    for (int64_t i = 0; i < n; i++) {
        const phx_split m = phx_split_normal((f64)x[i]);
        const f64 e = (f64)y[i] * phx_fma(m.k, PHX_LN2, phx_log1p_narrow(m.f));
        const f64 t = phx_fma(e, PHX_LOG2E, PHX_MAGIC);
        const f64 r = phx_fma(e, PHX_LOG2E, PHX_MAGIC - t);
        const f64 s = phx_from_bits64((phx_bits64(t) << 52) + PHX_BITS_ONE);
        const f64 power = phx_fma(phx_exp2m1_poly(r) * r, s, s);
        unsure |= ABOVE(MAGNITUDE(e), EIGHTY_SEVEN) | NEAR_TIE(power);
        made[i] = (f32)power;
    }
    if (unsure >> 63) return false;
    memcpy(out, made, (size_t)n * sizeof made[0]);
    return true;
}

/* A block that was not sure is tried again in pieces, so that a tie among many costs little. */
#define PIECE 32

static void pow_block(const f32 *x, const f32 *y, f32 *out, int64_t n, cpu_loop loop) {
    static const int64_t sizes[] = {sizeof(f32), sizeof(f32), sizeof(f32)};
    if (try_pow(x, y, out, n)) return;
    for (int64_t i = 0; i < n; i += PIECE) {
        const int64_t m = n - i < PIECE ? n - i : PIECE;
        char *const p[] = {(char *)(x + i), (char *)(y + i), (char *)(out + i)};
        if (!try_pow(x + i, y + i, out + i, m)) loop(p, sizes, m);
    }
}

void cpu_tried_pow_f32(const f32 *x, const f32 *y, f32 *out, int64_t n, cpu_loop loop) {
    for (int64_t i = 0; i < n; i += CPU_GUARD_BLOCK)
        pow_block(x + i, y + i, out + i, n - i < CPU_GUARD_BLOCK ? n - i : CPU_GUARD_BLOCK, loop);
}
#endif
