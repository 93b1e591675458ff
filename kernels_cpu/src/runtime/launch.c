/* The trampoline from the kernel table into a kernel: inline, or as a task of a stream. */
#include <stdlib.h>
#include <string.h>

#include "runtime/stream.h"

#define SCALAR_BYTES 16 /* the largest element */

typedef struct {
    cpu_task base;
    const cpu_kernel *kernel;
    phx_call call;
} launch_task;

static phx_error *named(const phx_str op, phx_error *error) {
    phx_error *with_name = cpu_fail(error->code, "in '%.*s', launched on a stream: %.*s", (int)op.size,
                                    op.data, (int)error->message.size, error->message.data);
    with_name->vendor_code = error->vendor_code;
    error->destroy(error);
    return with_name;
}

static phx_error *run_launch(cpu_task *self) {
    const launch_task *task = (const launch_task *)self;
    phx_error *error = task->kernel->fn(task->kernel, &task->call);
    return error == NULL ? NULL : named(task->kernel->base.op, error);
}

static bool is_scalar(const phx_call *call, uint32_t i) {
    return i < call->n_inputs && (call->scalars >> i & 1);
}

/* The layout of one allocation: task, scalars, tensors, pointers to them, params, shapes and strides. */
static size_t copy_size(const phx_call *call, uint32_t n) {
    size_t size = sizeof(launch_task) + SCALAR_BYTES;
    size +=
        (size_t)n * (SCALAR_BYTES + sizeof(DLTensor) + sizeof(DLTensor *)) + call->n_params * sizeof(int64_t);
    for (uint32_t i = 0; i < n; i++) size += 2 * (size_t)call->tensors[i]->ndim * sizeof(int64_t);
    return size;
}

static void *take(char **place, const void *src, size_t size) {
    void *copy = *place;
    if (size != 0) memcpy(copy, src, size);
    *place += size;
    return copy;
}

static void copy_tensor(DLTensor *to, const DLTensor *from, char **place) {
    const size_t size = (size_t)from->ndim * sizeof(int64_t);
    *to = *from;
    to->shape = take(place, from->shape, size);
    if (from->strides != NULL) to->strides = take(place, from->strides, size);
}

static launch_task *copy_call(const cpu_kernel *kernel, const phx_call *call) {
    const uint32_t n = call->n_inputs + call->n_outputs;
    launch_task *task = malloc(copy_size(call, n));
    if (task == NULL) return NULL;
    char *scalars = (char *)(task + 1);
    scalars += -(uintptr_t)scalars & (SCALAR_BYTES - 1);
    DLTensor *tensors = (DLTensor *)(scalars + (size_t)n * SCALAR_BYTES);
    const DLTensor **pointers = (const DLTensor **)(tensors + n);
    char *rest = (char *)(pointers + n);
    *task = (launch_task){{.run = run_launch}, kernel, {.struct_size = sizeof(phx_call)}};
    cpu_fill(&task->call, call, call->struct_size);
    task->call.tensors = pointers;
    task->call.params = take(&rest, call->params, call->n_params * sizeof(int64_t));
    for (uint32_t i = 0; i < n; i++) {
        copy_tensor(&tensors[i], call->tensors[i], &rest);
        pointers[i] = &tensors[i];
        if (!is_scalar(call, i)) continue;
        char *value = scalars + (size_t)i * SCALAR_BYTES;
        memcpy(value, cpu_data(call->tensors[i]), (size_t)cpu_itemsize(call->tensors[i]));
        tensors[i].data = value;
        tensors[i].byte_offset = 0;
    }
    return task;
}

phx_error *cpu_run(const phx_kernel *self, phx_stream *stream, const phx_call *call) {
    const cpu_kernel *kernel = (const cpu_kernel *)self;
    if (stream == NULL) return kernel->fn(kernel, call);
    launch_task *task = copy_call(kernel, call);
    if (task == NULL)
        return cpu_fail(PHX_OUT_OF_MEMORY, "no host memory to enqueue '%.*s'", (int)self->op.size,
                        self->op.data);
    return cpu_stream_push(stream, &task->base);
}
