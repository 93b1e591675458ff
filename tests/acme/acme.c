/* A stranger's plugin: written against phalanx.h alone, tier "sync", memory of the host.
 *
 * The tests build it as it is; with -DRICH, with the optional calls; and with -DFAULT_..., in variants of which each
 * breaks one rule of the ABI.
 */
#define _DEFAULT_SOURCE /* usleep */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "phalanx.h"

#define STR(TEXT) {TEXT, sizeof(TEXT) - 1}
#define MEMORY_LIMIT (64u << 20)

#ifdef FAULT_RACE
#define _Atomic
#endif

struct phx_device {
    uint32_t index;
    _Atomic uint64_t used;
};

static const phx_host *host;
static _Atomic int32_t live_errors;
static struct phx_device device = {0, 0};

/* For the tests: how many error objects were not destroyed, below zero if one was destroyed twice. */
PHX_EXPORT int32_t acme_live_errors(void);
int32_t acme_live_errors(void) { return live_errors; }

typedef struct {
    phx_error base;
    char text[160];
} acme_error;

static void destroy_error(phx_error *self) {
    live_errors--;
    free(self);
}

static phx_error *fail(int32_t code, int32_t vendor_code, const char *what, unsigned long long value) {
    acme_error *error = calloc(1, sizeof *error);
    if (error == NULL) abort();
    error->base.struct_size = sizeof(phx_error);
    error->base.code = code;
    error->base.vendor_code = vendor_code;
#ifdef FAULT_NO_DESTROY
    (void)destroy_error;
#else
    error->base.destroy = destroy_error;
#endif
#ifdef FAULT_ERROR_CODE
    error->base.code = 4711;
#endif
#ifndef FAULT_NO_MESSAGE
    int length = snprintf(error->text, sizeof error->text, "%s %llu", what, value);
    error->base.message = (phx_str){error->text, (uint64_t)length};
    if (vendor_code != 0) error->base.vendor_name = (phx_str)STR("ACME_E_RANGE");
#else
    (void)what;
    (void)value;
#endif
    live_errors++;
    return &error->base;
}

/* --- The plugin and its one device --- */

static phx_error *plugin_info(phx_plugin_info *out) {
#ifdef FAULT_NAME
    out->name = (phx_str)STR("Acme GPU");
#elif defined(FAULT_OUR_NAME)
    out->name = (phx_str)STR("cpu");
#else
    out->name = (phx_str)STR("acme");
#endif
    out->vendor = (phx_str)STR("Acme Corporation");
    out->version = (phx_str)STR("1.2.3");
    out->license = (phx_str)STR("Apache-2.0");
    return NULL;
}

static phx_error *plugin_score(int32_t *out) {
#ifdef FAULT_SCORE
    *out = 0;
#else
    *out = 10;
#endif
    return NULL;
}

static phx_error *device_count(uint32_t *out) {
#ifdef FAULT_COUNT
    (void)out;
    phx_error *error = fail(PHX_UNAVAILABLE, 0, "no Acme service listens on port", 4711);
    error->remedy = (phx_str)STR("start acmed, port 4711");
    return error;
#elif defined(FAULT_CRASH)
    abort();
    return NULL;
#elif defined(FAULT_HANG)
    while (live_errors == 0) *out = 1;
    return NULL;
#else
    *out = 1;
    return NULL;
#endif
}

static phx_error *device_info(uint32_t index, phx_device_info *out) {
    if (index != 0) return fail(PHX_INVALID_ARGUMENT, -7, "there is no device", index);
    out->name = (phx_str)STR("Acme Model T");
    out->pci_address = (phx_str)STR("0000:3b:00.0");
    memcpy(out->uuid, "acme-model-t-001", 16);
    out->kind = PHX_KIND_ACCELERATOR;
    out->numa_node = -1;
    out->dlpack_type = 12; /* kDLExtDevice */
    out->features = PHX_FEATURE_FP64 | PHX_FEATURE_SUBNORMALS;
#ifndef RICH
    out->features |= PHX_FEATURE_HOST_ADDRESSABLE;
#endif
    out->total_memory = MEMORY_LIMIT;
    out->max_allocation = MEMORY_LIMIT;
#ifdef FAULT_ALIGNMENT
    out->alignment = (uint64_t)1 << 40;
#else
    out->alignment = 64;
#endif
    out->compute_units = 1;
    out->score = 5;
    return NULL;
}

static phx_error *device_open(uint32_t index, phx_device **out) {
    if (index != 0) return fail(PHX_INVALID_ARGUMENT, -7, "there is no device", index);
    host->log(host->context, 20, (phx_str)STR("acme device 0 is open"));
    if (host->now_ns(host->context) == 0) return fail(PHX_INTERNAL, 0, "the host's clock stands at", 0);
    *out = &device;
    return NULL;
}

static phx_error *device_close(phx_device *self) {
    (void)self;
    return NULL;
}

static phx_error *device_synchronize(phx_device *self, uint64_t timeout_ns) {
    (void)self;
#ifdef FAULT_LOST
    return fail(PHX_DEVICE_LOST, 0, "the device does not answer after ns", timeout_ns);
#else
    return timeout_ns == 0 ? fail(PHX_TIMEOUT, 0, "not done after ns", 0) : NULL;
#endif
}

static phx_error *memory_info(phx_device *self, uint64_t *out_free, uint64_t *out_total) {
    *out_total = MEMORY_LIMIT;
    *out_free = MEMORY_LIMIT - self->used;
    return NULL;
}

/* Each block carries its size in the 64 bytes in front of it. */
static phx_error *device_alloc(phx_device *self, uint64_t size, uint64_t alignment, void **out) {
    if (alignment > 64) return fail(PHX_INVALID_ARGUMENT, 0, "alignment above 64:", alignment);
    if (size > MEMORY_LIMIT - self->used) return fail(PHX_OUT_OF_MEMORY, 0, "no block of bytes:", size);
    char *block = aligned_alloc(64, (size + 127) / 64 * 64);
    if (block == NULL) return fail(PHX_OUT_OF_MEMORY, 0, "no host memory for bytes:", size);
    memcpy(block, &size, sizeof size);
    self->used += size;
    *out = block + 64;
    return NULL;
}

static phx_error *device_free(phx_device *self, void *handle) {
    uint64_t size;
    memcpy(&size, (char *)handle - 64, sizeof size);
    self->used -= size;
    free((char *)handle - 64);
    return NULL;
}

#ifdef RICH
static bool is_stopped(const phx_stream *stream); /* in rich.h */
#else
#define is_stopped(S) ((void)(S), false)
#endif

static phx_error *device_copy(phx_device *self, phx_stream *stream, phx_place dst, phx_place src, uint64_t size) {
    if (is_stopped(stream)) return NULL;
    if ((dst.device != NULL && dst.device != self) || (src.device != NULL && src.device != self))
        return fail(PHX_INVALID_ARGUMENT, 0, "a place of another device", 0);
    memcpy((char *)dst.handle + dst.offset, (const char *)src.handle + src.offset, size);
    return NULL;
}

/* --- Kernels: every operand is walked in C order, whatever its strides --- */

typedef struct {
    const DLTensor *tensor;
    int64_t place[64];
    int64_t element;
    bool single;
} cursor;

static int64_t count_of(const DLTensor *t) {
    int64_t count = 1;
    for (int32_t i = 0; i < t->ndim; i++) count *= t->shape[i];
    return count;
}

static void start(cursor *c, const DLTensor *t) {
    memset(c, 0, sizeof *c);
    c->tensor = t;
    c->single = count_of(t) == 1;
}

static void step(cursor *c) {
    const DLTensor *t = c->tensor;
    if (c->single) return;
    for (int32_t axis = t->ndim - 1; axis >= 0; axis--) {
        c->element += t->strides[axis];
        if (++c->place[axis] < t->shape[axis]) return;
        c->element -= t->strides[axis] * t->shape[axis];
        c->place[axis] = 0;
    }
}

static void *at(const cursor *c, size_t itemsize) {
    char *data = (char *)c->tensor->data + c->tensor->byte_offset;
    return data + c->element * (int64_t)itemsize;
}

static phx_error *run_binary(const phx_kernel *self, phx_stream *stream, const phx_call *call) {
    (void)stream;
    cursor a, b, out;
    start(&a, call->tensors[0]);
    start(&b, call->tensors[1]);
    start(&out, call->tensors[2]);
    const int64_t count = count_of(call->tensors[2]);
    const bool add = *(const char *)self->data == '+';
#ifdef FAULT_LAUNCH_CRASH
    if (!add) abort();
#elif defined(FAULT_LAUNCH_ERROR)
    if (!add) return fail(PHX_INTERNAL, 0, "the Acme multiplier is out of", (unsigned long long)count);
#endif
    for (int64_t i = 0; i < count; i++, step(&a), step(&b), step(&out)) {
        const float x = *(float *)at(&a, 4), y = *(float *)at(&b, 4);
#ifdef FAULT_SUM
        *(float *)at(&out, 4) = add ? x + y + (i == 4098) : x * y;
#else
        *(float *)at(&out, 4) = add ? x + y : x * y;
#endif
    }
    return NULL;
}

static phx_error *run_negative(const phx_kernel *self, phx_stream *stream, const phx_call *call) {
    (void)self;
    (void)stream;
    cursor a, out;
    start(&a, call->tensors[0]);
    start(&out, call->tensors[1]);
    const int64_t count = count_of(call->tensors[1]);
    for (int64_t i = 0; i < count; i++, step(&a), step(&out)) *(float *)at(&out, 4) = -*(float *)at(&a, 4);
    return NULL;
}

static phx_error *run_wrap_index(const phx_kernel *self, phx_stream *stream, const phx_call *call) {
    (void)self;
    (void)stream;
    const int64_t n = call->params[0], stride = call->params[1];
    cursor a, out;
    start(&a, call->tensors[0]);
    start(&out, call->tensors[1]);
    const int64_t count = count_of(call->tensors[1]);
    bool bad = false;
    for (int64_t i = 0; i < count; i++, step(&a), step(&out)) {
        const int64_t index = *(int64_t *)at(&a, 8);
        const bool outside = index < -n || index >= n;
        *(int64_t *)at(&out, 8) = outside ? PHX_NO_PLACE : (index < 0 ? index + n : index) * stride;
        bad = bad || outside;
    }
    if (!bad) return NULL;
    start(&out, call->tensors[1]); /* one bad index refuses all */
    for (int64_t i = 0; i < count; i++, step(&out)) *(int64_t *)at(&out, 8) = PHX_NO_PLACE;
    return fail(PHX_INDEX_OUT_OF_RANGE, -7, "an index is out of range for extent", (uint64_t)n);
}

static const uint8_t float_3[] = {PHX_FLOAT32, PHX_FLOAT32, PHX_FLOAT32};
static const uint8_t int_2[] = {PHX_INT64, PHX_INT64};
#ifdef NEWER_ROWS
static const uint8_t later_2[] = {PHX_COMPLEX128 + 1, PHX_COMPLEX128 + 1};
#endif

#define ROW(OP, DTYPES, INPUTS, RUN, DATA)                                                                    \
    {sizeof(phx_kernel), NULL, STR(OP), DTYPES, INPUTS, 1, PHX_LAYOUT_ANY, PHX_DETERMINISM_BITWISE, 0.5, RUN, \
     DATA}

static const phx_kernel kernels[] = {
#ifdef FAULT_UNKNOWN_OP
    ROW("ad", float_3, 2, run_binary, "+"),
#else
    ROW("add", float_3, 2, run_binary, "+"),
#endif
    ROW("multiply", float_3, 2, run_binary, "*"),
#ifdef FAULT_SIGNATURE
    ROW("negative", float_3, 2, run_negative, NULL),
#else
    ROW("negative", float_3, 1, run_negative, NULL),
#endif
#ifdef FAULT_DUPLICATE
    ROW("negative", float_3, 1, run_negative, NULL),
#endif
    ROW("wrap_index", int_2, 1, run_wrap_index, NULL),
#ifdef FAULT_SCALAR
    ROW("copy", float_3, 1, run_negative, NULL),
#elif defined(NEWER_ROWS)
    ROW("shuffle_bits", float_3, 1, run_negative, NULL), /* of an op, types, dtypes and a layout to come */
    ROW("sign", later_2, 1, run_negative, NULL),
    ROW("exp", int_2, 1, run_negative, NULL),
    {sizeof(phx_kernel), NULL, STR("abs"), float_3, 1, 1, 3, PHX_DETERMINISM_BITWISE, 0.5, run_negative, NULL},
    {sizeof(phx_kernel), NULL, STR("abs"), float_3, 1, 1, PHX_LAYOUT_ANY, 3, 0.5, run_negative, NULL},
#endif
};
#define N_KERNELS (sizeof kernels / sizeof *kernels)

static phx_error *kernel_table(phx_device *self, const phx_kernel *const **out, uint64_t *out_count) {
    static const phx_kernel *rows[N_KERNELS];
    (void)self;
    for (size_t i = 0; i < N_KERNELS; i++) rows[i] = &kernels[i];
    *out = rows;
    *out_count = N_KERNELS;
    return NULL;
}

#if defined(FAULT_HIDDEN_CAPABILITY)
static phx_error *device_trim(phx_device *self) {
    (void)self;
    return NULL;
}
#endif

#ifdef RICH
#include "rich.h"
#endif

#include "call_faults.h"

/* --- The table --- */

#if defined(FAULT_NEWER_MAJOR)
#define MAJOR (PHX_ABI_MAJOR + 1)
#else
#define MAJOR PHX_ABI_MAJOR
#endif

/* A plugin of a later minor version: its table has fields that this host does not know. */
typedef struct {
    phx_api base;
    void *later_field;
} later_api;

static later_api table = {
    .base =
        {
#if defined(FAULT_STRUCT_SIZE)
            .struct_size = 40,
#elif defined(FAULT_STRUCT_TOO_LARGE) || defined(NEWER_MINOR) || defined(FAULT_NEEDS_NEWER_HOST)
            .struct_size = sizeof(later_api),
#elif defined(FAULT_STRUCT_INSIDE_FIELD)
            .struct_size = offsetof(phx_api, stream_create) + 4,
#elif defined(OLDER_TABLE)
            .struct_size = offsetof(phx_api, stream_create),
#else
            .struct_size = sizeof(phx_api),
#endif
            .built_abi_major = MAJOR,
#if defined(NEWER_MINOR) || defined(FAULT_NEEDS_NEWER_HOST)
            .built_abi_minor = PHX_ABI_MINOR + 7,
#else
            .built_abi_minor = PHX_ABI_MINOR,
#endif
#if defined(FAULT_NEEDS_NEWER_HOST)
            .min_host_abi_minor = PHX_ABI_MINOR + 5,
#endif
#if defined(FAULT_LYING_CAPABILITY)
            .capabilities = PHX_CAP_STREAMS,
#elif defined(FAULT_UNKNOWN_CAPABILITY)
            .capabilities = 1u << 20,
#elif defined(RICH)
            .capabilities = PHX_CAP_STREAMS | PHX_CAP_FIND_KERNEL | PHX_CAP_COMPILE | PHX_CAP_HOST_MEMORY |
                            PHX_CAP_DEFAULT_STREAM | PHX_CAP_FAULT_INJECTION,
            .stream_create = stream_create,
            .stream_destroy = stream_destroy,
            .stream_query = stream_query,
            .stream_synchronize = stream_synchronize,
            .stream_wait_event = stream_wait_event,
            .event_create = event_create,
            .event_destroy = event_destroy,
            .event_record = event_record,
            .event_query = event_query,
            .event_synchronize = event_synchronize,
            .kernel_find = kernel_find,
            .kernel_compile = kernel_compile,
            .host_adopt = host_adopt,
            .host_release = host_release,
            .host_address = host_address,
            .stream_default = stream_default,
            .stream_inject_failure = stream_inject_failure,
#elif defined(FAULT_HIDDEN_CAPABILITY)
            .device_trim = device_trim,
#endif
            .plugin_info = plugin_info,
            .plugin_score = plugin_score,
            .device_count = device_count,
            .device_info = device_info,
            .device_open = device_open,
            .device_close = device_close,
            .device_synchronize = device_synchronize,
            .memory_info = memory_info,
#ifndef FAULT_NO_ALLOC
            .alloc = device_alloc,
#endif
            .free = device_free,
            .copy = device_copy,
            .kernel_table = kernel_table,
        },
};

PHX_EXPORT phx_error *phalanx_plugin_get_api(uint32_t host_abi_major, uint32_t host_abi_minor,
                                             const phx_host *given, const phx_api **out) {
    (void)host_abi_minor;
    if (host_abi_major != PHX_ABI_MAJOR)
        return fail(PHX_ABI_MISMATCH, 0, "acme is built for another major ABI than", host_abi_major);
    host = given;
#ifdef FAULT_INIT
    (void)out;
    return fail(PHX_UNAVAILABLE, 0, "the Acme firmware is too old:", 3);
#elif defined(FAULT_NULL_TABLE)
    *out = NULL;
    return NULL;
#else
    break_calls(&table.base);
    *out = &table.base;
    return NULL;
#endif
}
