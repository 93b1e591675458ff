/* Random numbers: blocks of Philox (core/scalar/random.h), from each of which several elements are made.
 *
 * A loop's turn is a block. Whole blocks of contiguous results have loops of their own, which vectorise;
 * what is left, and results with strides, goes through a block in an array.
 */
#include "runtime/kernel.h"
#include "reduce/lists_reduce.h"
#include "runtime/parallel.h"

#include "convert.h" /* after the dialect */
#include "random_double.h"

typedef struct {
    const char *first, *second; /* the operands */
    char *y;
    int64_t n, stride; /* elements */
    u64 key, stream, position;
} drawing;

#define SAME(x) (x)

/* Fill y with what BLOCK(w, p, q) makes of the words w and the operands p and q: an array v of PER values.
 * T is the type in memory, V that of the operands, W that of the result. */
#define DRAW(NAME, T, W, V, PER, LOAD, STORE, BLOCK)                                        \
    static void NAME(void *ctx, int64_t begin, int64_t end) {                               \
        const drawing *d = ctx;                                                             \
        const V p = LOAD(*(const T *)d->first), q = LOAD(*(const T *)d->second);            \
        const u64 key = d->key, stream = d->stream, position = d->position;                 \
        const int64_t s = d->stride, whole = s == 1 && end > d->n / PER ? d->n / PER : end; \
        int64_t i = begin;                                                                  \
        W *restrict y = (W *)d->y;                                                          \
        (void)p;                                                                            \
        (void)q;                                                                            \
        if (s == 1)                                                                         \
            for (; i < whole; i++) {                                                        \
                const phx_words w = phx_philox(key, stream, position + (u64)i);             \
                BLOCK(w, p, q)                                                              \
                for (int k = 0; k < PER; k++) y[i * PER + k] = STORE(v[k]);                 \
            }                                                                               \
        for (; i < end; i++) {                                                              \
            const phx_words w = phx_philox(key, stream, position + (u64)i);                 \
            const int64_t left = d->n - i * PER;                                            \
            BLOCK(w, p, q)                                                                  \
            for (int k = 0; k < PER && k < left; k++) y[(i * PER + k) * s] = STORE(v[k]);   \
        }                                                                                   \
    }

#define LOW(w) phx_join(w.a, w.b)
#define HIGH(w) phx_join(w.c, w.d)
#define FOUR(T, F, w) const T v[4] = {F(w.a), F(w.b), F(w.c), F(w.d)};
#define TWO(T, F, w) const T v[2] = {F(LOW(w)), F(HIGH(w))};

#define MASKED(r) ((r) & p)
#define IS_BELOW(r) ((r) < p)
#define WHOLE(r) (p + (r))
#define NARROW(r) (p + phx_below_narrow(r, q))
#define WIDE(r) (p + phx_below(r, q))
#define UNIFORM_F16(w) phx_fmaf(phx_uniform_f16(w), q, p)
#define UNIFORM_BF16(w) phx_fmaf(phx_uniform_bf16(w), q, p)
#define UNIFORM_F32(w) phx_fmaf(phx_uniform_f32(w), q, p)
#define UNIFORM_F64(r) phx_fma(phx_uniform_f64(r), q, p)
#define EXPONENTIAL_F32(w) (phx_minus_log_f32(phx_unit_f32(w)) * p)
#define EXPONENTIAL_F64(r) (phx_minus_log_f64(phx_unit_f64(r)) * p)

#define BLOCK_MASKED_32(w, p, q) FOUR(u32, MASKED, w)
#define BLOCK_MASKED_64(w, p, q) TWO(u64, MASKED, w)
#define BLOCK_IS_BELOW(w, p, q) TWO(u8, IS_BELOW, w)
#define BLOCK_WHOLE(w, p, q) TWO(u64, WHOLE, w)
#define BLOCK_NARROW(w, p, q) TWO(u64, NARROW, w)
#define BLOCK_WIDE(w, p, q) TWO(u64, WIDE, w)
#define BLOCK_UNIFORM_F16(w, p, q) FOUR(f32, UNIFORM_F16, w)
#define BLOCK_UNIFORM_BF16(w, p, q) FOUR(f32, UNIFORM_BF16, w)
#define BLOCK_UNIFORM_F32(w, p, q) FOUR(f32, UNIFORM_F32, w)
#define BLOCK_UNIFORM_F64(w, p, q) TWO(f64, UNIFORM_F64, w)
#define BLOCK_EXPONENTIAL_F32(w, p, q) FOUR(f32, EXPONENTIAL_F32, w)
#define BLOCK_EXPONENTIAL_F64(w, p, q) TWO(f64, EXPONENTIAL_F64, w)
#define BLOCK_NORMAL_F32(w, p, q)                                                  \
    const phx_pair_f32 g = phx_normal_f32(w.a, w.b), h = phx_normal_f32(w.c, w.d); \
    const f32 v[4] = {phx_fmaf(g.x, q, p), phx_fmaf(g.y, q, p), phx_fmaf(h.x, q, p), phx_fmaf(h.y, q, p)};
#define BLOCK_NORMAL_F64(w, p, q)                           \
    const phx_pair_f64 g = phx_normal_f64(LOW(w), HIGH(w)); \
    const f64 v[2] = {phx_fma(g.x, q, p), phx_fma(g.y, q, p)};

DRAW(bits_u32, u32, u32, u32, 4, SAME, SAME, BLOCK_MASKED_32)
DRAW(bits_u64, u64, u64, u64, 2, SAME, SAME, BLOCK_MASKED_64)
DRAW(bernoulli_b, u64, u8, u64, 2, SAME, SAME, BLOCK_IS_BELOW)
#define INTEGERS(T)                                       \
    DRAW(whole_##T, T, T, u64, 2, SAME, (T), BLOCK_WHOLE) \
    DRAW(narrow_##T, T, T, u64, 2, SAME, (T), BLOCK_NARROW)
INTEGERS(u8)
INTEGERS(u16)
INTEGERS(u32)
INTEGERS(u64)
DRAW(wide_u64, u64, u64, u64, 2, SAME, SAME, BLOCK_WIDE)
DRAW(uniform_f16, u16, u16, f32, 4, phx_f16_to_f32, phx_f32_to_f16, BLOCK_UNIFORM_F16)
DRAW(uniform_bf16, u16, u16, f32, 4, phx_bf16_to_f32, phx_f32_to_bf16, BLOCK_UNIFORM_BF16)
DRAW(uniform_f32, f32, f32, f32, 4, SAME, SAME, BLOCK_UNIFORM_F32)
DRAW(uniform_f64, f64, f64, f64, 2, SAME, SAME, BLOCK_UNIFORM_F64)
#define REALS(OP, NAME)                                                             \
    DRAW(OP##_f16, u16, u16, f32, 4, phx_f16_to_f32, phx_f32_to_f16, NAME##_F32)    \
    DRAW(OP##_bf16, u16, u16, f32, 4, phx_bf16_to_f32, phx_f32_to_bf16, NAME##_F32) \
    DRAW(OP##_f32, f32, f32, f32, 4, SAME, SAME, NAME##_F32)                        \
    DRAW(OP##_f64, f64, f64, f64, 2, SAME, SAME, NAME##_F64)
REALS(normal, BLOCK_NORMAL)
REALS(exponential, BLOCK_EXPONENTIAL)

/* Elements that a thread takes at least: their blocks take some 10 us. */
#define GRAIN 8192

static phx_error *fill(const phx_call *call, phx_task_fn draw, int64_t per) {
    const DLTensor *y = cpu_output(call, 0);
    const char *first = cpu_data(cpu_input(call, 0));
    drawing d = {.first = first, .second = first, .y = cpu_data(y), .n = y->shape[0], .stride = y->strides[0]};
    if (call->n_inputs > 1) d.second = cpu_data(cpu_input(call, 1));
    d.key = (u64)call->params[0];
    d.stream = (u64)call->params[1];
    d.position = (u64)call->params[2];
    phx_parallel_for((d.n + per - 1) / per, GRAIN / per, draw, &d);
    return NULL;
}

#define KERNEL(NAME, DRAWING, PER)                                         \
    static phx_error *NAME(const cpu_kernel *self, const phx_call *call) { \
        (void)self;                                                        \
        return fill(call, DRAWING, PER);                                   \
    }
#define KERNEL_OF(NAME, PER) KERNEL(random_##NAME, NAME, PER)

/* A span of 0 stands for 2^64, at which nothing is multiplied. */
#define INTEGER_KERNEL(T, WIDE_SPAN)                                                      \
    static phx_error *random_integers_##T(const cpu_kernel *self, const phx_call *call) { \
        (void)self;                                                                       \
        const u64 span = *(const T *)cpu_data(cpu_input(call, 1));                        \
        return fill(call, span == 0 ? whole_##T : span >> 32 == 0 ? narrow_##T            \
                                                                  : WIDE_SPAN,            \
                    2);                                                                   \
    }

KERNEL_OF(bits_u32, 4)
KERNEL_OF(bits_u64, 2)
KERNEL_OF(bernoulli_b, 2)
INTEGER_KERNEL(u8, NULL)
INTEGER_KERNEL(u16, NULL)
INTEGER_KERNEL(u32, NULL)
INTEGER_KERNEL(u64, wide_u64)
#define REAL_KERNELS(OP)    \
    KERNEL_OF(OP##_f16, 4)  \
    KERNEL_OF(OP##_bf16, 4) \
    KERNEL_OF(OP##_f32, 4)  \
    KERNEL_OF(OP##_f64, 2)
REAL_KERNELS(uniform)
REAL_KERNELS(normal)
REAL_KERNELS(exponential)

#define ONE(OP, IN, OUT, BOUND, FN, COST) \
    CPU_KERNEL(OP, ((const uint8_t[]){IN, OUT}), 1, 1, PHX_LAYOUT_ANY, BOUND, FN, NULL, COST)
#define PAIR(OP, T, BOUND, FN, COST) \
    CPU_KERNEL(OP, ((const uint8_t[]){T, T, T}), 2, 1, PHX_LAYOUT_ANY, BOUND, FN, NULL, COST)

static const cpu_kernel rows[] = {
    ONE("random_bits", PHX_UINT32, PHX_UINT32, 0.0, random_bits_u32, 14),
    ONE("random_bits", PHX_UINT64, PHX_UINT64, 0.0, random_bits_u64, 28),
    ONE("random_bernoulli", PHX_UINT64, PHX_BOOL, 0.0, random_bernoulli_b, 28),
    PAIR("random_integers", PHX_INT8, 0.0, random_integers_u8, 32),
    PAIR("random_integers", PHX_INT16, 0.0, random_integers_u16, 32),
    PAIR("random_integers", PHX_INT32, 0.0, random_integers_u32, 32),
    PAIR("random_integers", PHX_INT64, 0.0, random_integers_u64, 32),
    PAIR("random_integers", PHX_UINT8, 0.0, random_integers_u8, 32),
    PAIR("random_integers", PHX_UINT16, 0.0, random_integers_u16, 32),
    PAIR("random_integers", PHX_UINT32, 0.0, random_integers_u32, 32),
    PAIR("random_integers", PHX_UINT64, 0.0, random_integers_u64, 32),
    PAIR("random_uniform", PHX_FLOAT16, 0.501, random_uniform_f16, 15),
    PAIR("random_uniform", PHX_BFLOAT16, 0.501, random_uniform_bf16, 15),
    PAIR("random_uniform", PHX_FLOAT32, 0.5, random_uniform_f32, 15),
    PAIR("random_uniform", PHX_FLOAT64, 0.5, random_uniform_f64, 32),
    PAIR("random_normal", PHX_FLOAT16, 0.501, random_normal_f16, 24),
    PAIR("random_normal", PHX_BFLOAT16, 0.501, random_normal_bf16, 24),
    PAIR("random_normal", PHX_FLOAT32, 4.0, random_normal_f32, 24),
    PAIR("random_normal", PHX_FLOAT64, 4.0, random_normal_f64, 48),
    ONE("random_exponential", PHX_FLOAT16, PHX_FLOAT16, 0.501, random_exponential_f16, 24),
    ONE("random_exponential", PHX_BFLOAT16, PHX_BFLOAT16, 0.501, random_exponential_bf16, 24),
    ONE("random_exponential", PHX_FLOAT32, PHX_FLOAT32, 1.0, random_exponential_f32, 24),
    ONE("random_exponential", PHX_FLOAT64, PHX_FLOAT64, 2.0, random_exponential_f64, 48),
};

cpu_kernel_list phx_random_kernels(void) { return (cpu_kernel_list){rows, sizeof rows / sizeof rows[0]}; }
