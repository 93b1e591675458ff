/* Stores past the caches, where the processor has them. */
#ifndef PHX_CPU_STREAMING_H_
#define PHX_CPU_STREAMING_H_

#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

/* Copy size bytes, a multiple of 64, to a place aligned to 64. */
static inline void cpu_stream_out(char *dst, const char *src, int64_t size) {
#if defined(__AVX512F__)
    for (int64_t i = 0; i < size; i += 64)
        _mm512_stream_si512((__m512i *)(dst + i), _mm512_loadu_si512((const __m512i *)(src + i)));
#elif defined(__AVX2__)
    for (int64_t i = 0; i < size; i += 32)
        _mm256_stream_si256((__m256i *)(dst + i), _mm256_loadu_si256((const __m256i *)(src + i)));
#elif defined(__SSE2__)
    for (int64_t i = 0; i < size; i += 16)
        _mm_stream_si128((__m128i *)(dst + i), _mm_loadu_si128((const __m128i *)(src + i)));
#else
    memcpy(dst, src, (size_t)size);
#endif
}

/* Bytes of a result from which on it is worth it. AMD's third cache is near enough to read the result from it
 * soon after: below half of it add gains 1.9 by plain stores, add and sum 2.9 (EPYC, Zen 4). Elsewhere twice a
 * second cache, from where add gains 1.8 by streaming (Sapphire Rapids). */
static inline int64_t cpu_stream_from(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_is("amd")) return (int64_t)16 << 20;
#endif
    return (int64_t)4 << 20;
}

/* Make the streamed bytes visible to other threads before what is stored next. */
static inline void cpu_stream_fence(void) {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

#endif
