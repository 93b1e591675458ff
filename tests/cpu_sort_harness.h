/* Stand-ins for the runtime around the sort, search, selection and index kernels, for their tests.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/kernel.h"
#include "sort/lists_sort.h"
#include "runtime/parallel.h"

static int harness_threads = 1;

static void free_error(phx_error *e) { free(e); }

phx_error *cpu_fail(int32_t code, const char *format, ...) {
    phx_error *e = calloc(1, sizeof *e + 512);
    va_list args;
    va_start(args, format);
    vsnprintf((char *)(e + 1), 512, format, args);
    va_end(args);
    e->struct_size = sizeof *e;
    e->code = code;
    e->message.data = (char *)(e + 1);
    e->message.size = strlen(e->message.data);
    e->destroy = free_error;
    return e;
}

phx_error *cpu_run(const phx_kernel *self, phx_stream *stream, const phx_call *call) {
    const cpu_kernel *kernel = (const cpu_kernel *)self;
    (void)stream;
    return kernel->fn(kernel, call);
}

int phx_num_threads(void) { return harness_threads; }

typedef struct {
    phx_task_fn fn;
    void *ctx;
    int64_t count, grain, next;
} harness_job;

static _Thread_local int harness_nested;

static void *harness_worker(void *p) {
    harness_job *job = p;
    harness_nested = 1;
    for (;;) {
        int64_t begin = __atomic_fetch_add(&job->next, job->grain, __ATOMIC_SEQ_CST);
        if (begin >= job->count) break;
        job->fn(job->ctx, begin, begin + job->grain < job->count ? begin + job->grain : job->count);
    }
    harness_nested = 0;
    return NULL;
}

void phx_parallel_for(int64_t count, int64_t grain, phx_task_fn fn, void *ctx) {
    harness_job job = {fn, ctx, count, grain < 1 ? 1 : grain, 0};
    pthread_t other;
    if (count <= 0) return;
    if (harness_nested || harness_threads == 1 || count <= grain) {
        fn(ctx, 0, count);
        return;
    }
    int started = pthread_create(&other, NULL, harness_worker, &job) == 0;
    harness_worker(&job);
    if (started) pthread_join(other, NULL);
}

/* HARNESS_LISTS names the list functions of the sources under test. */
static const cpu_kernel_list *harness_lists(size_t *count) {
    static cpu_kernel_list lists[8];
    cpu_kernel_list (*const functions[])(void) = {HARNESS_LISTS};
    *count = sizeof functions / sizeof *functions;
    for (size_t l = 0; l < *count; l++) lists[l] = functions[l]();
    return lists;
}

/* The kernel of an op for these dtypes, or NULL. */
static const phx_kernel *harness_find(const char *op, const uint8_t *dtypes, uint32_t count) {
    size_t n;
    const cpu_kernel_list *lists = harness_lists(&n);
    for (size_t l = 0; l < n; l++)
        for (size_t i = 0; i < lists[l].count; i++) {
            const phx_kernel *k = &lists[l].rows[i].base;
            if (k->op.size == strlen(op) && !memcmp(k->op.data, op, k->op.size) &&
                k->n_inputs + k->n_outputs == count && !memcmp(k->dtypes, dtypes, count))
                return k;
        }
    return NULL;
}
