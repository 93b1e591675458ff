/* float16 and bfloat16: a block of each operand to float32, the float32 loop on it, one rounding back. */
#include "elementwise/elementwise.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

#define BLOCK 512 /* elements: four blocks of float32 and the operands stay in the first cache */

typedef void (*widen_fn)(f32 *out, const u16 *in, int64_t n);
typedef void (*narrow_fn)(u16 *out, const f32 *in, int64_t n);

/* The processor's conversions give the bits of convert.h, NaN payloads included, but compilers do not
 * vectorise them. */
static void widen_f16(f32 *restrict out, const u16 *restrict in, int64_t n) {
    int64_t i = 0;
#if defined(__AVX512F__)
    for (; i + 16 <= n; i += 16)
        _mm512_storeu_ps(out + i, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(in + i))));
#elif defined(__F16C__)
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(in + i))));
#endif
    for (; i < n; i++) out[i] = phx_f16_to_f32(in[i]);
}

static void narrow_f16(u16 *restrict out, const f32 *restrict in, int64_t n) {
    int64_t i = 0;
#if defined(__AVX512F__)
    for (; i + 16 <= n; i += 16)
        _mm256_storeu_si256(
            (__m256i *)(out + i),
            _mm512_cvtps_ph(_mm512_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#elif defined(__F16C__)
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(out + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
#endif
    for (; i < n; i++) out[i] = phx_f32_to_f16(in[i]);
}

static void widen_bf16(f32 *restrict out, const u16 *restrict in, int64_t n) {
    for (int64_t i = 0; i < n; i++) out[i] = phx_bf16_to_f32(in[i]);
}

static void narrow_bf16(u16 *restrict out, const f32 *restrict in, int64_t n) {
    for (int64_t i = 0; i < n; i++) out[i] = phx_f32_to_bf16(in[i]);
}

static inline void run_blocks(char *const *p, int64_t n, int inputs, bool predicate, cpu_loop loop,
                              widen_fn widen, narrow_fn narrow) {
    _Alignas(64) f32 block[MAX_OPERANDS - 1][BLOCK];
    const int64_t strides[MAX_OPERANDS] = {sizeof(f32), predicate && inputs == 1 ? 1 : sizeof(f32),
                                           predicate && inputs == 2 ? 1 : sizeof(f32), sizeof(f32)};
    for (int64_t k = 0; k < n; k += BLOCK) {
        const int64_t m = n - k < BLOCK ? n - k : BLOCK;
        char *q[MAX_OPERANDS];
        for (int i = 0; i < inputs; i++) {
            widen(block[i], (const u16 *)p[i] + k, m);
            q[i] = (char *)block[i];
        }
        q[inputs] = predicate ? p[inputs] + k : (char *)block[0];
        loop(q, strides, m);
        if (!predicate) narrow((u16 *)p[inputs] + k, block[0], m);
    }
}

void cpu_cast_f16_f32(CPU_LOOP_ARGS) {
    if (s_[0] == sizeof(u16) && s_[1] == sizeof(f32))
        widen_f16((f32 *)p_[1], (const u16 *)p_[0], n_);
    else
        CPU_PASS_STRIDED_1_(u16, f32, phx_f16_to_f32(a))
}

void cpu_cast_f32_f16(CPU_LOOP_ARGS) {
    if (s_[0] == sizeof(f32) && s_[1] == sizeof(u16))
        narrow_f16((u16 *)p_[1], (const f32 *)p_[0], n_);
    else
        CPU_PASS_STRIDED_1_(f32, u16, phx_f32_to_f16(a))
}

void cpu_half_f16(char *const *p, int64_t n, int inputs, bool predicate, cpu_loop loop) {
    run_blocks(p, n, inputs, predicate, loop, widen_f16, narrow_f16);
}

void cpu_half_bf16(char *const *p, int64_t n, int inputs, bool predicate, cpu_loop loop) {
    run_blocks(p, n, inputs, predicate, loop, widen_bf16, narrow_bf16);
}
