/* What every kernel of the CPU library is made of. */
#ifndef PHX_CPU_KERNEL_H_
#define PHX_CPU_KERNEL_H_

#include <stddef.h>
#include <stdint.h>

#include "elementwise/dialect.h"
#include "phalanx.h"

typedef struct cpu_kernel cpu_kernel;

/* Do the whole of one call on this thread (and the workers); streams are the runtime's business. */
typedef phx_error *(*cpu_fn)(const cpu_kernel *self, const phx_call *call);

/* Inner loop of an elementwise kernel: n elements, pointers and byte strides, inputs then output. */
typedef void (*cpu_loop)(char *const *pointers, const int64_t *strides, int64_t n);

struct cpu_kernel {
    phx_kernel base; /* base.run is the runtime's trampoline */
    cpu_fn fn;
    cpu_loop loop;   /* for elementwise kernels */
    int32_t cost;    /* rough nanoseconds per 16 elements on one core, for the thread threshold */
};

/* The rows that a source file offers; the runtime joins them into one table. */
typedef struct {
    const cpu_kernel *rows;
    size_t count;
} cpu_kernel_list;

#define CPU_KERNEL(OP, DTYPES, N_IN, N_OUT, LAYOUT, BOUND, FN, LOOP, COST)                                                                            \
    {{sizeof(phx_kernel), NULL, {OP, sizeof(OP) - 1}, (const uint8_t *)(DTYPES), N_IN, N_OUT, LAYOUT, PHX_DETERMINISM_BITWISE, BOUND, cpu_run, NULL}, \
     FN,                                                                                                                                              \
     LOOP,                                                                                                                                            \
     COST}

/* The rows of every real dtype, and of every dtype: ROW(code) is one or more of CPU_KERNEL. */
#define CPU_REAL_ROWS(ROW)                                                        \
    ROW(PHX_BOOL), ROW(PHX_INT8), ROW(PHX_INT16), ROW(PHX_INT32), ROW(PHX_INT64), \
        ROW(PHX_UINT8), ROW(PHX_UINT16), ROW(PHX_UINT32), ROW(PHX_UINT64),        \
        ROW(PHX_FLOAT16), ROW(PHX_BFLOAT16), ROW(PHX_FLOAT32), ROW(PHX_FLOAT64)
#define CPU_ALL_ROWS(ROW) CPU_REAL_ROWS(ROW), ROW(PHX_COMPLEX64), ROW(PHX_COMPLEX128)

/* The trampoline: runs self->fn inline on the default stream, else copies the call into the stream's queue. */
phx_error *cpu_run(const phx_kernel *self, phx_stream *stream, const phx_call *call);

/* Make an error object; printf-style message. Never fails: out of memory gives a static error. */
phx_error *cpu_fail(int32_t code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Make another one with the same code and message. */
phx_error *cpu_copy_error(const phx_error *error);

static inline char *cpu_data(const DLTensor *t) { return (char *)t->data + t->byte_offset; }

static inline int64_t cpu_count(const DLTensor *t) {
    int64_t n = 1;
    for (int32_t i = 0; i < t->ndim; i++) n *= t->shape[i];
    return n;
}

static inline int64_t cpu_itemsize(const DLTensor *t) { return (t->dtype.bits * (int64_t)t->dtype.lanes + 7) / 8; }

static inline const DLTensor *cpu_input(const phx_call *call, uint32_t i) { return call->tensors[i]; }

static inline const DLTensor *cpu_output(const phx_call *call, uint32_t i) {
    return call->tensors[call->n_inputs + i];
}

#endif
