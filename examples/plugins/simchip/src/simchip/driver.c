/* The driver of simchip: the C ABI of phalanx.h over the chip's runtime (chip.c) and its kernels (kernels.c).
 * docs/a-vendors-day.md walks through it. */
#include "kernels.c"
#include "phalanx_errors.h"

static const phx_host *host;

static phx_error *told(int code) {
    static const int32_t codes[] = {PHX_OK, PHX_OUT_OF_MEMORY, PHX_INVALID_ARGUMENT, PHX_INTERNAL,
                                    PHX_INDEX_OUT_OF_RANGE, PHX_INTERNAL, PHX_DEVICE_LOST, PHX_TIMEOUT};
    static const char *const names[] = {"CHIP_OK", "CHIP_NO_MEMORY", "CHIP_BAD_ARGUMENT", "CHIP_BAD_ACCESS",
                                        "CHIP_BAD_INDEX", "CHIP_FAULT", "CHIP_LOST", "CHIP_LATE"};
    const char *remedy = code == CHIP_LOST ? "start a new process" : NULL;
    return code == CHIP_OK ? NULL : phx_fail(codes[code], code, names[code], remedy, "%s", chip_text);
}

static void warn(const char *text) { host->log(host->context, 30, phx_text(text)); }

static phx_error *plugin_info(phx_plugin_info *out) {
    out->name = (phx_str)PHX_STR("simchip");
    out->vendor = (phx_str)PHX_STR("Phalanx");
    out->version = (phx_str)PHX_STR(SIMCHIP_VERSION);
    out->license = (phx_str)PHX_STR("Apache-2.0");
    return NULL;
}

static phx_error *plugin_score(int32_t *out) { return *out = 1, NULL; }
static phx_error *device_count(uint32_t *out) { return *out = 1, NULL; }
static int only(uint32_t index) { return index == 0 ? CHIP_OK : chip_fail(CHIP_BAD_ARGUMENT, "no chip %u", index); }

static phx_error *device_info(uint32_t index, phx_device_info *out) {
    out->name = (phx_str)PHX_STR("Simulated accelerator");
    out->kind = PHX_KIND_ACCELERATOR;
    out->numa_node = -1;
    out->dlpack_type = 12;                  /* kDLExtDevice */
    out->features = PHX_FEATURE_SUBNORMALS; /* no fp64, no addresses, and work goes on behind the calls */
    out->total_memory = MEMORY;
    out->max_allocation = LARGEST;
    out->alignment = ALIGNMENT;
    out->compute_units = 1;
    return told(only(index));
}

static phx_error *device_open(uint32_t index, phx_device **out) {
    *out = (phx_device *)&host; /* there is one: only its address counts */
    return told(only(index) == CHIP_OK ? chip_open(warn) : CHIP_BAD_ARGUMENT);
}

static phx_error *device_close(phx_device *self) { return (void)self, told(chip_close()); }
static phx_error *device_synchronize(phx_device *self, uint64_t ns) { return (void)self, told(chip_finish_all(ns)); }

/* Handles of memory are the chip's tokens. */
static phx_error *memory_info(phx_device *self, uint64_t *out_free, uint64_t *out_total) {
    return (void)self, *out_total = MEMORY, told(chip_free_memory(out_free));
}

static phx_error *device_alloc(phx_device *self, uint64_t size, uint64_t alignment, void **out) {
    uint64_t token = 0;
    const int code = chip_alloc(size, &token);
    *out = (void *)(uintptr_t)token;
    return (void)self, (void)alignment, told(code); /* the alignment is what device_info said */
}

static phx_error *device_free(phx_device *self, void *handle) { return (void)self, told(chip_free((uintptr_t)handle)); }

static void place(chip_operand *x, phx_place at, uint64_t size) {
    x->token = at.device == NULL ? 0 : (uintptr_t)at.handle;
    x->offset = at.offset + (at.device == NULL ? (uintptr_t)at.handle : 0);
    x->ndim = x->itemsize = 1, x->shape[0] = (int64_t)size, x->strides[0] = 1;
}

static phx_error *copy(phx_device *self, phx_stream *stream, phx_place dst, phx_place src, uint64_t size) {
    chip_command *own = chip_command_make("copy", copy_bytes);
    if (own != NULL) place(&own->operands[0], dst, size), place(&own->operands[1], src, size);
    return (void)self, told(chip_put((chip_queue *)stream, own));
}

/* Streams are the chip's queues; an event is a place in one. */
static phx_error *stream_create(phx_device *self, int32_t priority, phx_stream **out) {
    return (void)self, (void)priority, told(chip_queue_make((chip_queue **)out));
}

static chip_event all(phx_stream *s) { return (chip_event){(chip_queue *)s, CHIP_ALL}; }
static phx_error *stream_destroy(phx_stream *s) { return told(chip_queue_end((chip_queue *)s)); }
static phx_error *stream_query(phx_stream *s, int32_t *out_idle) { return told(chip_ask(all(s), out_idle)); }
static phx_error *stream_synchronize(phx_stream *s, uint64_t ns) { return told(chip_finish(all(s), ns)); }

static phx_error *event_create(phx_device *self, int32_t timed, phx_event **out) {
    *out = calloc(1, sizeof(chip_event));
    return (void)self, (void)timed, told(*out == NULL ? chip_fail(CHIP_NO_MEMORY, "no memory for an event") : CHIP_OK);
}

static chip_event *at(phx_event *e) { return (chip_event *)e; }
static phx_error *event_destroy(phx_event *e) { return free(e), NULL; }
static phx_error *event_record(phx_event *e, phx_stream *s) { return told(chip_record((chip_queue *)s, at(e))); }
static phx_error *event_query(phx_event *e, int32_t *out_done) { return told(chip_ask(*at(e), out_done)); }
static phx_error *event_synchronize(phx_event *e, uint64_t ns) { return told(chip_finish(*at(e), ns)); }

static phx_error *stream_wait_event(phx_device *self, phx_stream *stream, phx_event *event) {
    chip_command *wait = chip_command_make("wait", NULL);
    if (wait != NULL) wait->event = *at(event); /* the recording: the event may be recorded anew */
    return (void)self, told(chip_put((chip_queue *)stream, wait));
}

static int stop(chip_command *self) { return chip_fail(CHIP_FAULT, "the chip stopped in %s", self->name); }
static phx_error *stream_inject_failure(phx_device *self, phx_stream *stream) {
    return (void)self, told(chip_put((chip_queue *)stream, chip_command_make("what was to fail", stop)));
}

/* All that a call says is copied into a command. */
static phx_error *launch(const phx_kernel *self, phx_stream *stream, const phx_call *call) {
    const kernel *k = self->data;
    chip_command *own = chip_command_make(self->op.data, k->run);
    if (own == NULL) return told(chip_put(NULL, own));
    own->kernel = k, own->count = (int32_t)(call->n_inputs + call->n_outputs);
    for (uint32_t i = 0; i < call->n_params; i++) own->params[i] = call->params[i];
    for (int32_t i = 0; i < own->count; i++) {
        const DLTensor *t = call->tensors[i];
        const bool is_number = (call->scalars >> i & 1) != 0;
        chip_operand *x = &own->operands[i];
        x->ndim = t->ndim, x->itemsize = (t->dtype.bits + 7) / 8;
        for (int32_t axis = 0; axis < t->ndim; axis++) x->shape[axis] = t->shape[axis];
        for (int32_t axis = 0; axis < t->ndim; axis++) x->strides[axis] = t->strides[axis];
        if (is_number) memcpy(x->number, (char *)t->data + t->byte_offset, (size_t)x->itemsize);
        else x->token = (uintptr_t)t->data, x->offset = t->byte_offset;
    }
    return told(chip_put((chip_queue *)stream, own));
}

// clang-format off: these are lines of a table; what runs over many elements (ANY) states no bound of its error
#define ROW(OP, LAYOUT, RUN, BODY, INPUTS, ...) \
    {sizeof(phx_kernel), NULL, PHX_STR(OP), (const uint8_t[]){__VA_ARGS__}, INPUTS, 1, PHX_LAYOUT_##LAYOUT, \
     PHX_DETERMINISM_BITWISE, PHX_LAYOUT_##LAYOUT == PHX_LAYOUT_ANY ? -1.0 : 0.5, launch, &(const kernel){RUN, BODY}},
#define TWO(OP, T, D, R) ROW(#OP, STRIDED, by_rows, OP##_##T, 2, D, D, R)
#define MOVES(D) ROW("copy", STRIDED, by_rows, move, 1, D, D) ROW("gather", ANY, gather, NULL, 2, D, PHX_INT64, D)
#define NUMBER_ROWS(T, D, S) MOVES(D) TWO(add, T, D, D) TWO(subtract, T, D, D) TWO(multiply, T, D, D) \
    TWO(less, T, D, PHX_BOOL) TWO(maximum, T, D, D) TWO(minimum, T, D, D) ROW("sum", ANY, by_rows, sum_##T, 1, D, S)
#define INTEGER_ROWS(T, D, S) NUMBER_ROWS(T, D, S) TWO(bitwise_or, T, D, D) TWO(bitwise_xor, T, D, D)
#define LINE_ROWS(T, D) ROW("arange", ANY, by_rows, arange_##T, 2, D, D, D) \
    ROW("cumulative_sum", ANY, by_rows, cumulative_sum_##T, 1, D, D)

static const phx_kernel kernels[] = {
    MOVES(PHX_BOOL) MOVES(PHX_FLOAT16) MOVES(PHX_BFLOAT16) MOVES(PHX_FLOAT64)
    MOVES(PHX_COMPLEX64) MOVES(PHX_COMPLEX128) NUMBER_ROWS(float, PHX_FLOAT32, PHX_FLOAT32)
    INTEGER_ROWS(int8_t, PHX_INT8, PHX_INT64) INTEGER_ROWS(int16_t, PHX_INT16, PHX_INT64)
    INTEGER_ROWS(int32_t, PHX_INT32, PHX_INT64) INTEGER_ROWS(int64_t, PHX_INT64, PHX_INT64)
    INTEGER_ROWS(uint8_t, PHX_UINT8, PHX_UINT64) INTEGER_ROWS(uint16_t, PHX_UINT16, PHX_UINT64)
    INTEGER_ROWS(uint32_t, PHX_UINT32, PHX_UINT64) INTEGER_ROWS(uint64_t, PHX_UINT64, PHX_UINT64)
    LINE_ROWS(int32_t, PHX_INT32) LINE_ROWS(int64_t, PHX_INT64) LINE_ROWS(float, PHX_FLOAT32)
    ROW("wrap_index", ANY, wrap_index, wrap, 1, PHX_INT64, PHX_INT64)
};

static phx_error *kernel_table(phx_device *self, const phx_kernel *const **out, uint64_t *out_count) {
    static const phx_kernel *rows[sizeof kernels / sizeof *kernels];
    *out_count = sizeof kernels / sizeof *kernels;
    for (uint64_t i = 0; i < *out_count; i++) rows[i] = &kernels[i];
    return (void)self, *out = rows, NULL;
}

static const phx_api api = {
    .struct_size = sizeof(phx_api), .built_abi_major = PHX_ABI_MAJOR, .built_abi_minor = PHX_ABI_MINOR,
    .capabilities = PHX_CAP_STREAMS | PHX_CAP_FAULT_INJECTION, /* and no event_elapsed, device_trim, device_threads */
    .plugin_info = plugin_info, .plugin_score = plugin_score, .device_count = device_count,
    .device_info = device_info, .device_open = device_open, .device_close = device_close,
    .device_synchronize = device_synchronize, .memory_info = memory_info, .kernel_table = kernel_table,
    .alloc = device_alloc, .free = device_free, .copy = copy,
    .stream_create = stream_create, .stream_destroy = stream_destroy, .stream_query = stream_query,
    .stream_synchronize = stream_synchronize, .stream_wait_event = stream_wait_event,
    .event_create = event_create, .event_destroy = event_destroy, .event_record = event_record,
    .event_query = event_query, .event_synchronize = event_synchronize, .stream_inject_failure = stream_inject_failure,
};
// clang-format on

PHX_EXPORT phx_error *phalanx_plugin_get_api(uint32_t major, uint32_t minor, const phx_host *h, const phx_api **out) {
    if (major != PHX_ABI_MAJOR) return phx_fail(PHX_ABI_MISMATCH, 0, NULL, NULL, "simchip speaks ABI 1, not %u", major);
    host = h;
    return (void)minor, *out = &api, NULL;
}
