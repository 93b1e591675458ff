/* A plugin of ABI 1.0, as a vendor wrote it then: 12 calls and kernels on demand, memory of the host.
 *
 * With -DLATER and the header of a later version it is what became of it: a field, a call, a capability, an extension
 * and kernels that no host of 1.0 knows. */
#include <stdlib.h>
#include <string.h>

#include "phalanx.h"

#define STR(TEXT) {TEXT, sizeof(TEXT) - 1}

struct phx_device {
    int is_open;
};

static struct phx_device device;

static void keep(phx_error *self) { (void)self; }

static phx_error no_device = {
    .struct_size = sizeof(phx_error),
    .code = PHX_INVALID_ARGUMENT,
    .vendor_code = 17,
    .message = STR("frozen has one device, number 0"),
    .vendor_name = STR("FROZEN_E_INDEX"),
    .destroy = keep,
    .remedy = STR("ask for number 0"),
};

static phx_error wrong_host = {
    .struct_size = sizeof(phx_error),
    .code = PHX_ABI_MISMATCH,
    .message = STR("frozen speaks ABI 1"),
    .destroy = keep,
};

static phx_error *plugin_info(phx_plugin_info *out) {
    out->name = (phx_str)STR("frozen");
    out->vendor = (phx_str)STR("Frozen");
    out->version = (phx_str)STR("1.0");
    out->license = (phx_str)STR("Apache-2.0");
    return NULL;
}

static phx_error *plugin_score(int32_t *out) {
    *out = 1;
    return NULL;
}

static phx_error *device_count(uint32_t *out) {
    *out = 1;
    return NULL;
}

static phx_error *device_info(uint32_t index, phx_device_info *out) {
    if (index != 0) return &no_device;
    out->name = (phx_str)STR("Frozen device");
    out->kind = PHX_KIND_ACCELERATOR;
    out->numa_node = -1;
    out->dlpack_type = 12; /* kDLExtDevice */
    out->features = PHX_FEATURE_HOST_ADDRESSABLE | PHX_FEATURE_FP64 | PHX_FEATURE_SYNCHRONOUS;
    out->total_memory = out->max_allocation = (uint64_t)1 << 30;
    out->alignment = 64;
    out->score = 3;
#ifdef LATER
    out->features |= (uint64_t)1 << 40; /* a feature to come */
    if (out->struct_size >= sizeof *out) out->later_field = 4711;
#endif
    return NULL;
}

static phx_error *device_open(uint32_t index, phx_device **out) {
    if (index != 0) return &no_device;
    device.is_open++;
    *out = &device;
    return NULL;
}

static phx_error *device_close(phx_device *self) {
    self->is_open--;
    return NULL;
}

static phx_error *device_synchronize(phx_device *self, uint64_t timeout_ns) {
    (void)self;
    (void)timeout_ns;
    return NULL;
}

static phx_error *memory_info(phx_device *self, uint64_t *out_free, uint64_t *out_total) {
    (void)self;
    *out_free = *out_total = (uint64_t)1 << 30;
    return NULL;
}

static phx_error *device_alloc(phx_device *self, uint64_t size, uint64_t alignment, void **out) {
    static phx_error no_memory = {
        .struct_size = sizeof(phx_error),
        .code = PHX_OUT_OF_MEMORY,
        .message = STR("the host gave no memory"),
        .destroy = keep,
    };
    (void)self;
    *out = size > (uint64_t)1 << 30 ? NULL : aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    return *out == NULL ? &no_memory : NULL;
}

static phx_error *device_free(phx_device *self, void *handle) {
    (void)self;
    free(handle);
    return NULL;
}

static phx_error *copy(phx_device *self, phx_stream *stream, phx_place dst, phx_place src, uint64_t size) {
    (void)self;
    (void)stream;
    memcpy((char *)dst.handle + dst.offset, (const char *)src.handle + src.offset, size);
    return NULL;
}

static float *elements(const DLTensor *t) { return (float *)((char *)t->data + t->byte_offset); }

/* Contiguous operands, of which an input may have one element; `data` is the operation. */
static phx_error *run(const phx_kernel *self, phx_stream *stream, const phx_call *call) {
    const DLTensor *a = call->tensors[0], *b = call->tensors[1], *out = call->tensors[2];
    int64_t n = 1, n_a = 1, n_b = 1;
    (void)stream;
    for (int32_t i = 0; i < out->ndim; i++) n *= out->shape[i];
    for (int32_t i = 0; i < a->ndim; i++) n_a *= a->shape[i];
    for (int32_t i = 0; i < b->ndim; i++) n_b *= b->shape[i];
    for (int64_t i = 0; i < n; i++) {
        const float x = elements(a)[n_a == 1 ? 0 : i], y = elements(b)[n_b == 1 ? 0 : i];
        elements(out)[i] = *(const char *)self->data == '+' ? x + y : x - y;
    }
    return NULL;
}

static const uint8_t floats[] = {PHX_FLOAT32, PHX_FLOAT32, PHX_FLOAT32};

#ifdef LATER
static const uint8_t later_types[] = {99, 99, 99};
static const phx_extension later_extension = {sizeof(phx_extension), NULL, STR("com.frozen.later")};
#define EXTENSIONS &later_extension
#define KERNEL_SIZE (sizeof(phx_kernel) + 16) /* two fields to come, which nobody reads here */
static phx_error *later_call(phx_device *self) {
    (void)self;
    return NULL;
}
#else
#define EXTENSIONS NULL
#define KERNEL_SIZE sizeof(phx_kernel)
#endif

typedef struct {
    phx_kernel row;
    uint64_t room[2];
} kernel;

#define ROW(OP, DTYPES, LAYOUT, DATA) \
    {{KERNEL_SIZE, EXTENSIONS, STR(OP), DTYPES, 2, 1, LAYOUT, PHX_DETERMINISM_BITWISE, 0.5, run, DATA}, {0, 0}}

static const kernel add = ROW("add", floats, PHX_LAYOUT_CONTIGUOUS, "+");
static const kernel subtract = ROW("subtract", floats, PHX_LAYOUT_CONTIGUOUS, "-");
#ifdef LATER
static const kernel later_rows[] = {
    ROW("later_op", floats, PHX_LAYOUT_CONTIGUOUS, "+"),
    ROW("add", later_types, PHX_LAYOUT_CONTIGUOUS, "+"),
    ROW("add", floats, 7, "+"),
};
#endif

static phx_error *kernel_table(phx_device *self, const phx_kernel *const **out, uint64_t *out_count) {
    static const phx_kernel *const rows[] = {
        &add.row,
#ifdef LATER
        &later_rows[0].row,
        &later_rows[1].row,
        &later_rows[2].row,
#endif
    };
    (void)self;
    *out = rows;
    *out_count = sizeof rows / sizeof *rows;
    return NULL;
}

static phx_error *kernel_find(phx_device *self, phx_str op, const uint8_t *dtypes, uint32_t n_inputs,
                              uint32_t n_outputs, int32_t layout, const phx_kernel **out, phx_str *out_reason) {
    (void)self;
    (void)n_outputs;
    *out = NULL;
    if (op.size == 8 && memcmp(op.data, "subtract", 8) == 0 && n_inputs == 2 && memcmp(dtypes, floats, 3) == 0 &&
        layout == PHX_LAYOUT_CONTIGUOUS)
        *out = &subtract.row;
    else
        *out_reason = (phx_str)STR("frozen adds and subtracts");
    return NULL;
}

static const phx_api api = {
    .struct_size = sizeof(phx_api),
    .extensions = EXTENSIONS,
    .built_abi_major = PHX_ABI_MAJOR,
    .built_abi_minor = PHX_ABI_MINOR,
#ifdef NEEDS_LATER
    .min_host_abi_minor = PHX_ABI_MINOR,
#endif
    .capabilities = PHX_CAP_FIND_KERNEL,
    .plugin_info = plugin_info,
    .plugin_score = plugin_score,
    .device_count = device_count,
    .device_info = device_info,
    .device_open = device_open,
    .device_close = device_close,
    .device_synchronize = device_synchronize,
    .memory_info = memory_info,
    .alloc = device_alloc,
    .free = device_free,
    .copy = copy,
    .kernel_table = kernel_table,
    .kernel_find = kernel_find,
};

PHX_EXPORT phx_error *phalanx_plugin_get_api(uint32_t host_abi_major, uint32_t host_abi_minor,
                                             const phx_host *host, const phx_api **out) {
    (void)host_abi_minor;
    if (host_abi_major != PHX_ABI_MAJOR) return &wrong_host;
    if (host != NULL && host->now_ns(host->context) != 0) host->log(host->context, 20, (phx_str)STR("frozen is here"));
#ifdef LATER
    static phx_api later;
    later = api;
    later.capabilities |= PHX_CAP_LATER;
    later.later_call = later_call;
    later.flags = 2;
    *out = &later;
#else
    *out = &api;
#endif
    return NULL;
}
