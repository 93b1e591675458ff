/* Factorizations of small matrices: cholesky, lu, triangular_solve, householder, jacobi, eigh, schur.
 *
 * (b, m, n) with any strides. Threads share the matrices of a batch; the columns of triangular_solve and the
 * pairs of jacobi and the columns of eigh are shared too.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "factor/lists_factor.h"
#include "runtime/kernel.h"
#include "runtime/parallel.h"

#include "fused.h" /* after the dialect */

#include "francis.h"

#define FACTOR_LANES 16
#define FACTOR_SWEEPS 60
#define FACTOR_SWEEPS_A_ROW 30
/* Pairs of columns whose rotations are found side by side. */
#define ROTATIONS 8
/* A loop over lanes: unrolled it would be one of numbers, rolled it is one of vectors. */
#define BY_LANES(COUNT) _Pragma("GCC unroll 1") for (int64_t l = 0; l < (COUNT); l++)
/* Steps that are worth a thread's while. */
#define WORK 100000

typedef struct factor_type factor_type;
typedef struct factor_job factor_job;

/* Factor one matrix in scratch memory of job->room bytes. */
typedef void (*factor_fn)(const factor_job *job, const char *in, char *out, void *room);

struct factor_type {
    factor_fn cholesky, lu, householder, jacobi, eigh, schur;
    void (*solve)(const factor_job *job, const char *lower, const char *in, char *out, int64_t begin, int64_t end,
                  void *room);
    int64_t itemsize;
};

struct factor_job {
    const factor_type *type;
    factor_fn factor;
    const char *lower, *in;
    char *out;
    int64_t m, n, columns;
    int64_t lb, xb, yb, l[2], x[2], y[2]; /* strides in elements: of matrices, rows, columns */
    size_t room;
    int unit;
    atomic_bool no_memory;
};

#define T f32
#define F f32
#define C c64
#define REAL(g) phx_##g##f
#define TINY 0x1p-23
#define FAR 0x1p60
#define NAME(f) f##_f32
#include "factor/factor_type.h"

#define T f64
#define F f64
#define C c128
#define REAL(g) phx_##g
#define TINY 0x1p-52
#define FAR 0x1p500
#define NAME(f) f##_f64
#include "factor/factor_type.h"

#define COMPLEX
#define T c64
#define F f32
#define C c64
#define REAL(g) phx_##g##f
#define TINY 0x1p-23
#define FAR 0x1p60
#define NAME(f) f##_c64
#include "factor/factor_type.h"

#define T c128
#define F f64
#define C c128
#define REAL(g) phx_##g
#define TINY 0x1p-52
#define FAR 0x1p500
#define NAME(f) f##_c128
#include "factor/factor_type.h"
#undef COMPLEX

static void run_matrices(void *ctx, int64_t begin, int64_t end) {
    factor_job *job = ctx;
    void *room = malloc(job->room);
    if (room == NULL) {
        atomic_store(&job->no_memory, true);
        return;
    }
    const int64_t size = job->type->itemsize;
    for (int64_t b = begin; b < end; b++)
        job->factor(job, job->in + b * job->xb * size, job->out + b * job->yb * size, room);
    free(room);
}

static void run_columns(void *ctx, int64_t begin, int64_t end) {
    factor_job *job = ctx;
    void *room = malloc(job->room);
    if (room == NULL) {
        atomic_store(&job->no_memory, true);
        return;
    }
    const int64_t size = job->type->itemsize;
    while (begin < end) {
        const int64_t b = begin / job->columns, first = begin - b * job->columns;
        const int64_t last = end - b * job->columns < job->columns ? end - b * job->columns : job->columns;
        job->type->solve(job, job->lower + b * job->lb * size, job->in + b * job->xb * size,
                         job->out + b * job->yb * size, first, last, room);
        begin += last - first;
    }
    free(room);
}

static phx_error *no_memory(const factor_job *job, const char *op) {
    if (!atomic_load(&job->no_memory)) return NULL;
    return cpu_fail(PHX_OUT_OF_MEMORY, "%s: no host memory to work on a matrix (%lld, %lld)", op,
                    (long long)job->m, (long long)job->n);
}

static factor_job job_of(const factor_type *type, const DLTensor *x, const DLTensor *y) {
    return (factor_job){
        .type = type,
        .in = cpu_data(x),
        .out = cpu_data(y),
        .m = x->shape[1],
        .n = x->shape[2],
        .xb = x->strides[0],
        .yb = y->strides[0],
        .x = {x->strides[1], x->strides[2]},
        .y = {y->strides[1], y->strides[2]},
    };
}

static phx_error *run_factor(const phx_call *call, const factor_type *type, factor_fn factor, const char *op) {
    const DLTensor *y = cpu_output(call, 0);
    if (cpu_count(y) == 0) return NULL;
    factor_job job = job_of(type, cpu_input(call, 0), y);
    job.factor = factor;
    job.room = (size_t)((job.m + 2 * job.n + FACTOR_LANES + 1) * (job.n + 1) * type->itemsize);
    const double steps = (double)job.m * (double)job.n * (double)job.n;
    const double least = WORK / (steps > 1 ? steps : 1);
    phx_parallel_for(y->shape[0], least > 1 ? (int64_t)least : 1, run_matrices, &job);
    return no_memory(&job, op);
}

static phx_error *run_solve(const phx_call *call, const factor_type *type) {
    const DLTensor *lower = cpu_input(call, 0), *y = cpu_output(call, 0);
    if (cpu_count(y) == 0) return NULL;
    factor_job job = job_of(type, cpu_input(call, 1), y);
    job.n = job.m;
    job.columns = y->shape[2];
    job.lower = cpu_data(lower);
    job.lb = lower->strides[0];
    job.l[0] = lower->strides[1];
    job.l[1] = lower->strides[2];
    job.unit = call->params[0] != 0;
    job.room = (size_t)((job.n + 64) * job.n * type->itemsize);
    const double steps = (double)job.n * (double)job.n;
    const double least = WORK / (steps > 1 ? steps : 1);
    phx_parallel_for(y->shape[0] * job.columns, least > 32 ? (int64_t)least : 32, run_columns, &job);
    return no_memory(&job, "triangular_solve");
}

#define DEFINE(OP, S)                                                                \
    static phx_error *run_##OP##_##S(const cpu_kernel *self, const phx_call *call) { \
        (void)self;                                                                  \
        return run_factor(call, &type_##S, type_##S.OP, #OP);                        \
    }
#define DEFINE_ALL(S)                                                               \
    DEFINE(cholesky, S)                                                             \
    DEFINE(lu, S)                                                                   \
    DEFINE(householder, S)                                                          \
    DEFINE(jacobi, S)                                                               \
    DEFINE(eigh, S)                                                                 \
    DEFINE(schur, S)                                                                \
    static phx_error *run_solve_##S(const cpu_kernel *self, const phx_call *call) { \
        (void)self;                                                                 \
        return run_solve(call, &type_##S);                                          \
    }
DEFINE_ALL(f32)
DEFINE_ALL(f64)
DEFINE_ALL(c64)
DEFINE_ALL(c128)

#define ROW(OP, D, S) CPU_KERNEL(#OP, D D, 1, 1, PHX_LAYOUT_ANY, -1.0, run_##OP##_##S, NULL, 0)
#define ROWS(D, S)                                                                                  \
    ROW(cholesky, D, S), ROW(lu, D, S), ROW(householder, D, S), ROW(jacobi, D, S), ROW(eigh, D, S), \
        ROW(schur, D, S),                                                                           \
        CPU_KERNEL("triangular_solve", D D D, 2, 1, PHX_LAYOUT_ANY, -1.0, run_solve_##S, NULL, 0)

static const cpu_kernel rows[] = {
    ROWS("\x0b", f32),
    ROWS("\x0c", f64),
    ROWS("\x0d", c64),
    ROWS("\x0e", c128),
};

cpu_kernel_list phx_factor_kernels(void) { return (cpu_kernel_list){rows, sizeof rows / sizeof rows[0]}; }
