/* The ops nonzero and compress: places, and rows, of the true elements of a mask. */
#include "sort/lists_sort.h"
#include "runtime/parallel.h"

#include <stdlib.h>
#include <string.h>

#ifdef __AVX512F__
#include <immintrin.h>
#endif

typedef struct {
    const uint8_t *mask;
    const char *x;
    char *out;
    int64_t n, chunk, row; /* elements, elements per chunk, bytes per row */
    int64_t *starts;       /* per chunk: true elements before it */
} select_job;

/* A byte is true if it is not zero; eight at a time: bit 7 of each byte of the sum says so. */
static int64_t count_true(const uint8_t *mask, int64_t n) {
    int64_t count = 0, i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t m;
        memcpy(&m, mask + i, 8);
        uint64_t high = ((m & 0x7F7F7F7F7F7F7F7Full) + 0x7F7F7F7F7F7F7F7Full) | m;
        count += (int64_t)(((high >> 7 & 0x0101010101010101ull) * 0x0101010101010101ull) >> 56);
    }
    for (; i < n; i++) count += mask[i] != 0;
    return count;
}

static void count_chunks(void *ctx, int64_t begin, int64_t end) {
    const select_job *job = ctx;
    for (int64_t c = begin; c < end; c++) {
        int64_t first = c * job->chunk,
                n = job->n - first < job->chunk ? job->n - first : job->chunk;
        job->starts[c] = count_true(job->mask + first, n);
    }
}

#ifdef __AVX512F__
#define MASK64(p) _mm512_test_epi8_mask(_mm512_loadu_si512(p), _mm512_loadu_si512(p))
#endif

/* Places [first, first + n) that are true, as int64; writes only its own part of the output. */
static void nonzero_part(const select_job *job, int64_t first, int64_t n, int64_t at,
                         int64_t stop) {
    int64_t *out = (int64_t *)job->out + at, *end = (int64_t *)job->out + stop, i = 0;
    const uint8_t *mask = job->mask + first;
#ifdef __AVX512F__
    const __m512i iota = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), eight = _mm512_set1_epi64(8);
    for (; i + 64 <= n && end - out >= 64; i += 64) {
        uint64_t m = MASK64(mask + i);
        __m512i places = _mm512_add_epi64(iota, _mm512_set1_epi64(first + i));
        for (int b = 0; b < 8; b++, m >>= 8) {
            _mm512_storeu_si512(out, _mm512_maskz_compress_epi64((__mmask8)m, places));
            out += __builtin_popcount((unsigned)(m & 255));
            places = _mm512_add_epi64(places, eight);
        }
    }
#endif
    for (; i < n && out < end;
         i++) { /* the place is written in any case and kept if the mask is true */
        *out = first + i;
        out += mask[i] != 0;
    }
}

/* Elements of one word: written in any case and kept if the mask is true, while the part has room.
 */
typedef struct {
    uint64_t low, high;
} uint128_t;

#define COMPRESS_PLAIN(W)                                                                \
    static void compress_plain_##W(const uint8_t *mask, const uint##W##_t *x, int64_t n, \
                                   uint##W##_t *out, uint##W##_t *end) {                 \
        for (int64_t i = 0; i < n && out < end; i++) {                                   \
            *out = x[i];                                                                 \
            out += mask[i] != 0;                                                         \
        }                                                                                \
    }
COMPRESS_PLAIN(8)
COMPRESS_PLAIN(16)
COMPRESS_PLAIN(32)
COMPRESS_PLAIN(64)
COMPRESS_PLAIN(128)

#ifdef __AVX512F__
#define COMPRESS_VECTOR(W, LANES, COMPRESS)                                           \
    static void compress_##W(const uint8_t *mask, const uint##W##_t *x, int64_t n,    \
                             uint##W##_t *out, uint##W##_t *end) {                    \
        int64_t i = 0;                                                                \
        for (; i + 64 <= n && end - out >= 64; i += 64) {                             \
            uint64_t m = MASK64(mask + i);                                            \
            for (int b = 0; b < 64; b += LANES) {                                     \
                __mmask##LANES k = (__mmask##LANES)(m >> b);                          \
                _mm512_storeu_si512(out, COMPRESS(k, _mm512_loadu_si512(x + i + b))); \
                out += __builtin_popcountll((uint64_t)k);                             \
            }                                                                         \
        }                                                                             \
        compress_plain_##W(mask + i, x + i, n - i, out, end);                         \
    }
COMPRESS_VECTOR(32, 16, _mm512_maskz_compress_epi32)
COMPRESS_VECTOR(64, 8, _mm512_maskz_compress_epi64)

/* Narrow elements go through 32-bit lanes: the byte and word compressions are not in x86-64-v4. */
#define COMPRESS_NARROW(W, WIDEN, LOAD, NARROW)                                             \
    static void compress_##W(const uint8_t *mask, const uint##W##_t *x, int64_t n,          \
                             uint##W##_t *out, uint##W##_t *end) {                          \
        int64_t i = 0;                                                                      \
        for (; i + 64 <= n && end - out >= 64; i += 64) {                                   \
            uint64_t m = MASK64(mask + i);                                                  \
            for (int b = 0; b < 64; b += 16) {                                              \
                __mmask16 k = (__mmask16)(m >> b);                                          \
                __m512i v =                                                                 \
                    _mm512_maskz_compress_epi32(k, WIDEN(LOAD((const void *)(x + i + b)))); \
                NARROW(out, v);                                                             \
                out += __builtin_popcount(k);                                               \
            }                                                                               \
        }                                                                                   \
        compress_plain_##W(mask + i, x + i, n - i, out, end);                               \
    }
#define NARROW_8(p, v) _mm_storeu_si128((void *)(p), _mm512_cvtepi32_epi8(v))
#define NARROW_16(p, v) _mm256_storeu_si256((void *)(p), _mm512_cvtepi32_epi16(v))
COMPRESS_NARROW(8, _mm512_cvtepu8_epi32, _mm_loadu_si128, NARROW_8)
COMPRESS_NARROW(16, _mm512_cvtepu16_epi32, _mm256_loadu_si256, NARROW_16)
#else
#define compress_8 compress_plain_8
#define compress_16 compress_plain_16
#define compress_32 compress_plain_32
#define compress_64 compress_plain_64
#endif

/* Rows of several words; neighbouring true rows go in one copy. */
static void compress_rows(const uint8_t *mask, const char *x, int64_t n, char *out, int64_t row) {
    for (int64_t i = 0; i < n;) {
        if (!mask[i]) {
            i++;
            continue;
        }
        int64_t first = i;
        while (i < n && mask[i]) i++;
        memcpy(out, x + first * row, (size_t)((i - first) * row));
        out += (i - first) * row;
    }
}

static void compress_part(const select_job *job, int64_t first, int64_t n, int64_t at,
                          int64_t stop) {
    const uint8_t *mask = job->mask + first;
    const char *x = job->x + first * job->row;
    char *out = job->out + at * job->row, *end = job->out + stop * job->row;
    switch (job->row) {
    case 1: compress_8(mask, (const uint8_t *)x, n, (uint8_t *)out, (uint8_t *)end); break;
    case 2: compress_16(mask, (const uint16_t *)x, n, (uint16_t *)out, (uint16_t *)end); break;
    case 4: compress_32(mask, (const uint32_t *)x, n, (uint32_t *)out, (uint32_t *)end); break;
    case 8: compress_64(mask, (const uint64_t *)x, n, (uint64_t *)out, (uint64_t *)end); break;
    case 16:
        compress_plain_128(mask, (const uint128_t *)x, n, (uint128_t *)out, (uint128_t *)end);
        break;
    default: compress_rows(mask, x, n, out, job->row);
    }
}

static void select_chunks(void *ctx, int64_t begin, int64_t end) {
    const select_job *job = ctx;
    for (int64_t c = begin; c < end; c++) {
        int64_t first = c * job->chunk,
                n = job->n - first < job->chunk ? job->n - first : job->chunk;
        if (job->x)
            compress_part(job, first, n, job->starts[c], job->starts[c + 1]);
        else
            nonzero_part(job, first, n, job->starts[c], job->starts[c + 1]);
    }
}

/* Count per chunk, add up, write per chunk. */
static phx_error *run(select_job *job, int64_t total, const char *op) {
    int64_t few[65], chunks, threads = phx_num_threads(), bytes = job->row > 8 ? job->row : 8;
    int64_t least = 65536 * 4 / bytes + 1; /* a chunk of about 256 KiB is worth a thread */
    chunks = job->n / least < 8 * threads ? job->n / least : 8 * threads;
    if (chunks < 1) chunks = 1;
    job->chunk = (job->n + chunks - 1) / chunks;
    chunks = job->chunk ? (job->n + job->chunk - 1) / job->chunk : 0;
    job->starts = chunks < 65 ? few : malloc((size_t)(chunks + 1) * sizeof *job->starts);
    if (!job->starts)
        return cpu_fail(PHX_OUT_OF_MEMORY, "cpu: %s of %lld elements: no memory for %lld counts",
                        op, (long long)job->n, (long long)chunks);
    if (chunks == 1)
        job->starts[0] = total;
    else
        phx_parallel_for(chunks, 1, count_chunks, job);
    for (int64_t c = 0, sum = 0, count; c <= chunks; c++, sum += count) {
        count = c < chunks ? job->starts[c] : 0;
        job->starts[c] = sum;
    }
    phx_parallel_for(chunks, 1, select_chunks, job);
    if (job->starts != few) free(job->starts);
    return NULL;
}

static phx_error *cpu_nonzero(const cpu_kernel *self, const phx_call *call) {
    (void)self;
    const DLTensor *mask = cpu_input(call, 0), *out = cpu_output(call, 0);
    select_job job = {
        (const uint8_t *)cpu_data(mask), NULL, cpu_data(out), cpu_count(mask), 0, 8, NULL};
    return run(&job, cpu_count(out), "nonzero");
}

static phx_error *cpu_compress(const cpu_kernel *self, const phx_call *call) {
    (void)self;
    const DLTensor *x = cpu_input(call, 0), *mask = cpu_input(call, 1), *out = cpu_output(call, 0);
    const int64_t n = cpu_count(mask);
    if (cpu_count(out) == 0 || n == 0) return NULL;
    select_job job = {(const uint8_t *)cpu_data(mask), cpu_data(x), cpu_data(out), n, 0, 0, NULL};
    job.row = cpu_count(x) / n * cpu_itemsize(x);
    return run(&job, out->shape[0], "compress");
}

#define COMPRESS(T)                                                                        \
    CPU_KERNEL("compress", ((const uint8_t[]){T, PHX_BOOL, T}), 2, 1, PHX_LAYOUT_ANY, 0.0, \
               cpu_compress, NULL, 8)

static const cpu_kernel rows[] = {
    CPU_KERNEL("nonzero", ((const uint8_t[]){PHX_BOOL, PHX_INT64}), 1, 1, PHX_LAYOUT_ANY, 0.0,
               cpu_nonzero, NULL, 8),
    CPU_ALL_ROWS(COMPRESS),
};

cpu_kernel_list phx_select_kernels(void) {
    return (cpu_kernel_list){rows, sizeof rows / sizeof *rows};
}
