/* What is before and behind a transform of pairs of real numbers: rows of complex numbers to such rows. */
#include <string.h>

#include "reduce/axes.h"
#include "reduce/lists_reduce.h"
#include "runtime/parallel.h"

#include "fft/fft_vector.h"

#define PAIRS_GRAIN 8192 /* numbers that a thread takes at least */

typedef struct {
    const char *x, *w;
    char *y;
    int64_t n, given, sn, yn; /* of the rows of y; what x has of one */
    kept_axes axes;
    int64_t blocks, block; /* of a row */
    double scale;
} pairs_job;

/* Numbers begin to end of a row. */
typedef void (*pairs_row)(const pairs_job *job, const char *x, char *y, int64_t begin, int64_t end);

#define FFT_PAIRS(FN, F) FN##_##F##_v

/* Where all numbers are there and next to each other, a cell from k on meets one from m - k down; the two ends
 * and what is left go one by one. */
#define PAIRS(C, F, T)                                                                                     \
    static inline C at_##C(const pairs_job *job, const char *x, int64_t i) {                               \
        return i < job->given ? ((const C *)x)[i * job->sn] : (C){0, 0};                                   \
    }                                                                                                      \
    static inline int dense_##C(const pairs_job *job, int64_t given) {                                     \
        return job->sn == 1 && job->yn == 1 && job->given >= given;                                        \
    }                                                                                                      \
    static void from_pairs_##C(const pairs_job *job, const char *x, char *y, int64_t begin, int64_t end) { \
        const int64_t m = job->n - 1, whole = dense_##C(job, m) ? (end < m ? end : m) - F##_LEN : -1;      \
        const F scale = (F)job->scale;                                                                     \
        const F##_v scales = F##_set1(scale);                                                              \
        for (int64_t k = begin; k < end;) {                                                                \
            if (k > 0 && k <= whole) {                                                                     \
                F##_cell a = F##_take_next((const T *)x + 2 * k);                                          \
                const F##_cell b = F##_reversed(F##_take_next((const T *)x + 2 * (m - k - F##_LEN + 1)));  \
                const F##_cell t = F##_take_next((const T *)job->w + 2 * k);                               \
                FFT_PAIRS(phx_fft_from_pairs, F)(&a.re, &a.im, b.re, b.im, t.re, t.im);                    \
                F##_give_next((T *)y + 2 * k, (F##_cell){a.re * scales, a.im * scales});                   \
                k += F##_LEN;                                                                              \
                continue;                                                                                  \
            }                                                                                              \
            const C a = at_##C(job, x, k < m ? k : 0), b = at_##C(job, x, k ? m - k : 0);                  \
            const C t = ((const C *)job->w)[k];                                                            \
            F re = a.re, im = a.im;                                                                        \
            phx_fft_from_pairs_##F(&re, &im, b.re, b.im, t.re, t.im);                                      \
            ((C *)y)[k++ * job->yn] = (C){re * scale, im * scale};                                         \
        }                                                                                                  \
    }                                                                                                      \
    static void to_pairs_##C(const pairs_job *job, const char *x, char *y, int64_t begin, int64_t end) {   \
        const int64_t m = job->n, whole = dense_##C(job, m + 1) ? end - F##_LEN : -1;                      \
        for (int64_t k = begin; k < end;) {                                                                \
            if (k > 0 && k <= whole) {                                                                     \
                F##_cell a = F##_take_next((const T *)x + 2 * k);                                          \
                const F##_cell b = F##_reversed(F##_take_next((const T *)x + 2 * (m - k - F##_LEN + 1)));  \
                const F##_cell t = F##_take_next((const T *)job->w + 2 * k);                               \
                FFT_PAIRS(phx_fft_to_pairs, F)(&a.re, &a.im, b.re, b.im, t.re, t.im);                      \
                F##_give_next((T *)y + 2 * k, a);                                                          \
                k += F##_LEN;                                                                              \
                continue;                                                                                  \
            }                                                                                              \
            const C a = at_##C(job, x, k), b = at_##C(job, x, m - k), t = ((const C *)job->w)[k];          \
            F re = a.re, im = k ? a.im : 0;                                                                \
            phx_fft_to_pairs_##F(&re, &im, b.re, k ? b.im : 0, t.re, t.im);                                \
            ((C *)y)[k++ * job->yn] = (C){re, im};                                                         \
        }                                                                                                  \
    }
PAIRS(c64, f32, float)
PAIRS(c128, f64, double)

#define TASK(NAME)                                                                              \
    static void run_##NAME(void *ctx, int64_t begin, int64_t end) {                             \
        const pairs_job *job = ctx;                                                             \
        for (int64_t i = begin; i < end; i++) {                                                 \
            const int64_t row = i / job->blocks, first = i % job->blocks * job->block;          \
            const int64_t last = first + job->block < job->n ? first + job->block : job->n;     \
            axes_walk w;                                                                        \
            walk_to(&w, &job->axes, row / job->axes.cols);                                      \
            const int64_t column = row % job->axes.cols, size = (int64_t)sizeof(NAME##_number); \
            NAME(job, job->x + w.x + column * job->axes.xc * size,                              \
                 job->y + w.y + column * job->axes.yc * size, first, last);                     \
        }                                                                                       \
    }
typedef c64 from_pairs_c64_number, to_pairs_c64_number;
typedef c128 from_pairs_c128_number, to_pairs_c128_number;
TASK(from_pairs_c64)
TASK(from_pairs_c128)
TASK(to_pairs_c64)
TASK(to_pairs_c128)

static phx_error *pairs(const phx_call *call, phx_task_fn run) {
    const DLTensor *x = cpu_input(call, 0), *y = cpu_output(call, 0);
    const int last = y->ndim - 1;
    pairs_job job = {.x = cpu_data(x), .y = cpu_data(y), .w = cpu_data(cpu_input(call, 1)), .n = y->shape[last]};
    job.given = x->shape[last];
    job.sn = x->strides[last];
    job.yn = y->strides[last];
    if (job.n == 0 || !split_axes(&job.axes, x, y, last)) return NULL;
    if (call->n_params > 0) {
        f32 narrow;
        memcpy(&narrow, &call->params[0], sizeof narrow); /* the low half: all processors here begin with it */
        memcpy(&job.scale, &call->params[0], sizeof job.scale);
        if (cpu_itemsize(x) == 8) job.scale = (double)narrow;
    }
    job.block = job.n < PAIRS_GRAIN ? job.n : PAIRS_GRAIN;
    job.blocks = (job.n + job.block - 1) / job.block;
    phx_parallel_for(job.blocks * job.axes.cols * job.axes.outer, 1 + PAIRS_GRAIN / 2 / job.block, run, &job);
    return NULL;
}

#define KERNEL(NAME)                                                                \
    static phx_error *kernel_##NAME(const cpu_kernel *self, const phx_call *call) { \
        (void)self;                                                                 \
        return pairs(call, run_##NAME);                                             \
    }
KERNEL(from_pairs_c64)
KERNEL(from_pairs_c128)
KERNEL(to_pairs_c64)
KERNEL(to_pairs_c128)

#define ROW(OP, T, FN) CPU_KERNEL(OP, ((const uint8_t[]){T, T, T}), 2, 1, PHX_LAYOUT_ANY, -1.0, FN, NULL, 20)

static const cpu_kernel rows[] = {
    ROW("fft_from_pairs", PHX_COMPLEX64, kernel_from_pairs_c64),
    ROW("fft_from_pairs", PHX_COMPLEX128, kernel_from_pairs_c128),
    ROW("fft_to_pairs", PHX_COMPLEX64, kernel_to_pairs_c64),
    ROW("fft_to_pairs", PHX_COMPLEX128, kernel_to_pairs_c128),
};

cpu_kernel_list phx_fft_pairs_kernels(void) { return (cpu_kernel_list){rows, sizeof rows / sizeof rows[0]}; }
