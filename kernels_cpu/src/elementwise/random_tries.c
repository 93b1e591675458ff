/* Random numbers that may need more than one try: gamma, Poisson, binomial.
 *
 * An element has PHX_TRIES blocks of its own. A try of many elements is one loop, which vectorises; those
 * that failed wait in a list for the next. Counts with parameters of their own are made one by one.
 */
#include "runtime/kernel.h"
#include "reduce/lists_reduce.h"
#include "runtime/parallel.h"

#include "convert.h" /* after the dialect */
#include "random_counts.h"
#include "random_gamma_double.h"

/* Elements whose try is one loop, and those that a thread takes at least. */
#define MANY 512
#define GRAIN 2048

typedef struct {
    const char *first, *second; /* the parameters */
    char *y;
    int64_t first_stride, second_stride, stride; /* elements; 0 for one parameter for all */
    u64 key, stream, position;
} trial;

static inline u64 place(const trial *d, int64_t i) { return d->position + (u64)i * PHX_TRIES; }

static inline int64_t at_most(int64_t n) { return n < MANY ? n : MANY; }

#define SAME(x) (x)

/* The first block of an element is for shapes below 1. Elements wait until a try is accepted. */
#define GAMMA(D, T, U, FLAG, F, LOAD, STORE)                                                            \
    static void gamma_##D(void *ctx, int64_t begin, int64_t end) {                                      \
        const trial *d = ctx;                                                                           \
        const u64 key = d->key, stream = d->stream;                                                     \
        T *y = (T *)d->y;                                                                               \
        for (int64_t i = begin; i < end; i += MANY) {                                                   \
            const int64_t n = at_most(end - i);                                                         \
            const u64 position = place(d, i);                                                           \
            int few = 0; /* shapes below 1 */                                                           \
            int64_t count = n;                                                                          \
            FLAG at[MANY];                                                                              \
            U a[MANY], v[MANY], made[MANY];                                                             \
            FLAG good[MANY];                                                                            \
            for (int64_t k = 0; k < n; k++) {                                                           \
                const U shape = LOAD(((const T *)d->first)[(i + k) * d->first_stride]);                 \
                few |= !(shape >= 1);                                                                   \
                a[k] = shape < 1 ? shape + 1 : shape;                                                   \
                at[k] = (FLAG)k;                                                                        \
            }                                                                                           \
            for (u32 r = 1; r < PHX_TRIES && count > 0; r++) {                                          \
                int64_t left = 0;                                                                       \
                for (int64_t k = 0; k < count; k++) {                                                   \
                    const phx_words w = phx_philox(key, stream, position + (u64)at[k] * PHX_TRIES + r); \
                    const phx_try_##F t = phx_gamma_try_##F(a[k], w);                                   \
                    v[k] = t.value;                                                                     \
                    good[k] = t.accepted;                                                               \
                }                                                                                       \
                for (int64_t k = 0; k < count; k++) {                                                   \
                    made[at[k]] = v[k];                                                                 \
                    at[left] = at[k];                                                                   \
                    a[left] = a[k];                                                                     \
                    left += !good[k];                                                                   \
                }                                                                                       \
                count = left;                                                                           \
            }                                                                                           \
            for (int64_t k = 0; k < count; k++) made[at[k]] = a[k] - (U)0.3333333333333333;             \
            if (few)                                                                                    \
                for (int64_t k = 0; k < n; k++) {                                                       \
                    const U shape = LOAD(((const T *)d->first)[(i + k) * d->first_stride]);             \
                    const phx_words w = phx_philox(key, stream, position + (u64)k * PHX_TRIES);         \
                    const U low = shape < 1 ? made[k] * phx_gamma_factor_##F(shape, w) : made[k];       \
                    made[k] = shape > 0 ? low : shape == 0 ? (U)0                                       \
                                                           : (U)PHX_NAN;                                \
                }                                                                                       \
            for (int64_t k = 0; k < n; k++) y[(i + k) * d->stride] = STORE(made[k]);                    \
        }                                                                                               \
    }

GAMMA(f16, u16, f32, u32, f32, phx_f16_to_f32, phx_f32_to_f16)
GAMMA(bf16, u16, f32, u32, f32, phx_bf16_to_f32, phx_f32_to_bf16)
GAMMA(f32, f32, f32, u32, f32, SAME, SAME)
GAMMA(f64, f64, f64, u64, f64, SAME, SAME)

/* What all elements have in common: the count n of a binomial, else 0; the probability, or the mean. */
typedef struct {
    f64 n, p, mode;
    phx_hat hat;
} counting;

typedef struct {
    u64 at[MANY];
    f64 k[MANY], us[MANY], v[MANY];
    u64 good[MANY];
} waiting;

/* Put what was accepted into made; what was not moves to the front. */
static int64_t settle(waiting *s, int64_t count, f64 *made) {
    int64_t left = 0;
    for (int64_t k = 0; k < count; k++) {
        made[s->at[k]] = s->k[k];
        s->at[left] = s->at[k];
        s->k[left] = s->k[k];
        s->us[left] = s->us[k];
        s->v[left] = s->v[k];
        left += !s->good[k];
    }
    return left;
}

static void try_all(const trial *d, const counting *c, int64_t i, int64_t n, f64 *made) {
    const u64 key = d->key, stream = d->stream, position = place(d, i);
    const phx_hat hat = c->hat;
    const f64 trials = c->n, p = c->p, mode = c->mode;
    int64_t count = n;
    waiting s;
    for (int64_t k = 0; k < n; k++) s.at[k] = (u64)k;
    for (u32 r = 0; r < PHX_TRIES && count > 0; r++) {
        for (int64_t k = 0; k < count; k++) {
            const phx_words w = phx_philox(key, stream, position + s.at[k] * PHX_TRIES + r);
            const phx_try_count t = phx_try_hat(hat, w);
            s.k[k] = t.k;
            s.us[k] = t.us;
            s.v[k] = t.v;
            s.good[k] = t.accepted;
        }
        count = settle(&s, count, made);
        if (trials > 0.0)
            for (int64_t k = 0; k < count; k++) {
                const phx_try_count t = {.k = s.k[k], .us = s.us[k], .v = s.v[k]};
                s.good[k] = phx_binomial_accepts(hat, t, trials, p, mode);
            }
        else
            for (int64_t k = 0; k < count; k++) {
                const phx_try_count t = {.k = s.k[k], .us = s.us[k], .v = s.v[k]};
                s.good[k] = phx_poisson_accepts(hat, t, p);
            }
        count = settle(&s, count, made);
    }
    for (int64_t k = 0; k < count; k++) made[s.at[k]] = phx_floor(trials > 0.0 ? trials * p : p);
}

/* The sums of phx_poisson_sum and phx_binomial_sum, as far as they go; a mean below 10 has no 100 of them. */
#define SUMS 128

static int64_t sums_of(const counting *c, f64 *sums) {
    const f64 mean = c->n > 0.0 ? c->n * c->p : c->p, odds = c->p / (1.0 - c->p);
    f64 chance = phx_exp_f64(c->n > 0.0 ? c->n * phx_log1p_f64(-c->p) : -mean), sum = chance, k = 0.0;
    int64_t count = 0;
    while (count < SUMS && (c->n == 0.0 || k < c->n) && (k < mean || chance > 1e-19)) {
        sums[count++] = sum;
        chance = chance * (c->n > 0.0 ? (c->n - k) / (k + 1.0) * odds : mean / (k + 1.0));
        k = k + 1.0;
        sum = sum + chance;
    }
    return count;
}

static void look_up_all(const trial *d, const f64 *sums, int64_t count, int64_t i, int64_t n, f64 *made) {
    const u64 key = d->key, stream = d->stream, position = place(d, i);
    f64 u[MANY];
    for (int64_t k = 0; k < n; k++) {
        const phx_words w = phx_philox(key, stream, position + (u64)k * PHX_TRIES);
        u[k] = phx_uniform_f64(phx_join(w.a, w.b));
        made[k] = 0.0;
    }
    for (int64_t j = 0; j < count; j++)
        for (int64_t k = 0; k < n; k++) made[k] += u[k] >= sums[j] ? 1.0 : 0.0;
}

/* All elements under parameters that they share; made becomes n - made where the other outcome is rarer. */
static void count_all(const trial *d, const counting *c, int64_t begin, int64_t end, f64 from) {
    const f64 mean = c->n > 0.0 ? c->n * c->p : c->p;
    f64 made[MANY], sums[SUMS];
    const int64_t count = mean < 10.0 ? sums_of(c, sums) : 0;
    i64 *y = (i64 *)d->y;
    for (int64_t i = begin; i < end; i += MANY) {
        const int64_t n = at_most(end - i);
        if (mean < 10.0)
            look_up_all(d, sums, count, i, n, made);
        else
            try_all(d, c, i, n, made);
        for (int64_t k = 0; k < n; k++) y[(i + k) * d->stride] = (i64)(from > 0.0 ? from - made[k] : made[k]);
    }
}

static void poisson_i64(void *ctx, int64_t begin, int64_t end) {
    const trial *d = ctx;
    const f64 *m = (const f64 *)d->first;
    i64 *y = (i64 *)d->y;
    if (d->first_stride == 0 && *m >= 0.0 && *m <= 9007199254740992.0) {
        counting c = {.p = *m};
        if (*m >= 10.0) c.hat = phx_poisson_hat(*m);
        count_all(d, &c, begin, end, 0.0);
        return;
    }
    for (int64_t i = begin; i < end; i++)
        y[i * d->stride] = phx_poisson(m[i * d->first_stride], d->key, d->stream, place(d, i));
}

static void binomial_i64(void *ctx, int64_t begin, int64_t end) {
    const trial *d = ctx;
    const f64 *trials = (const f64 *)d->first, *chance = (const f64 *)d->second;
    const f64 n = phx_floor(*trials), p = *chance, q = p > 0.5 ? 1.0 - p : p;
    i64 *y = (i64 *)d->y;
    if (d->first_stride == 0 && d->second_stride == 0 && n > 0.0 && n <= 9007199254740992.0 && p >= 0.0 && p <= 1.0) {
        counting c = {.n = n, .p = q};
        if (n * q >= 10.0) {
            c.hat = phx_binomial_hat(n, q);
            c.mode = phx_binomial_mode(n, q);
        }
        count_all(d, &c, begin, end, p > 0.5 ? n : 0.0);
        return;
    }
    for (int64_t i = begin; i < end; i++)
        y[i * d->stride] = phx_binomial(trials[i * d->first_stride], chance[i * d->second_stride], d->key, d->stream,
                                        place(d, i));
}

static int64_t step_of(const DLTensor *x) { return x->ndim == 0 ? 0 : x->strides[0]; }

static phx_error *fill(const phx_call *call, phx_task_fn draw) {
    const DLTensor *y = cpu_output(call, 0), *first = cpu_input(call, 0);
    const DLTensor *second = call->n_inputs > 1 ? cpu_input(call, 1) : first;
    trial d = {.first = cpu_data(first), .second = cpu_data(second), .y = cpu_data(y)};
    d.first_stride = step_of(first);
    d.second_stride = step_of(second);
    d.stride = y->strides[0];
    d.key = (u64)call->params[0];
    d.stream = (u64)call->params[1];
    d.position = (u64)call->params[2];
    phx_parallel_for(y->shape[0], GRAIN, draw, &d);
    return NULL;
}

#define KERNEL(NAME)                                                                \
    static phx_error *random_##NAME(const cpu_kernel *self, const phx_call *call) { \
        (void)self;                                                                 \
        return fill(call, NAME);                                                    \
    }

KERNEL(gamma_f16)
KERNEL(gamma_bf16)
KERNEL(gamma_f32)
KERNEL(gamma_f64)
KERNEL(poisson_i64)
KERNEL(binomial_i64)

#define GAMMA_ROW(T, FN) \
    CPU_KERNEL("random_gamma", ((const uint8_t[]){T, T}), 1, 1, PHX_LAYOUT_ANY, -1.0, FN, NULL, 128)

static const cpu_kernel rows[] = {
    GAMMA_ROW(PHX_FLOAT16, random_gamma_f16),
    GAMMA_ROW(PHX_BFLOAT16, random_gamma_bf16),
    GAMMA_ROW(PHX_FLOAT32, random_gamma_f32),
    GAMMA_ROW(PHX_FLOAT64, random_gamma_f64),
    CPU_KERNEL("random_poisson", ((const uint8_t[]){PHX_FLOAT64, PHX_INT64}), 1, 1, PHX_LAYOUT_ANY, 0.0,
               random_poisson_i64, NULL, 320),
    CPU_KERNEL("random_binomial", ((const uint8_t[]){PHX_FLOAT64, PHX_FLOAT64, PHX_INT64}), 2, 1, PHX_LAYOUT_ANY, 0.0,
               random_binomial_i64, NULL, 320),
};

cpu_kernel_list phx_random_tries_kernels(void) { return (cpu_kernel_list){rows, sizeof rows / sizeof rows[0]}; }
