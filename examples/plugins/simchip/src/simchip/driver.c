/* The driver of simchip: the C ABI of phalanx.h over the chip's runtime (chip.c) and its kernels (kernels.c).
 * docs/a-vendors-day.md walks through it. */
#include "kernels.c"
#include "phalanx.h"

#define STR(TEXT) {TEXT, sizeof(TEXT) - 1}

struct phx_event {
    chip_event point;
};
static const phx_host *host;

/* --- Errors: objects that the host destroys --- */

typedef struct {
    phx_error base;
    char text[sizeof chip_text];
} own_error;

static void destroy(phx_error *self) { free(self); }
static void keep(phx_error *self) { (void)self; }
static phx_error no_room = {sizeof(phx_error), PHX_OUT_OF_MEMORY, 0, STR("the host has no memory"), {0}, keep, {0}};

static phx_error *told(int code) {
    static const int32_t codes[] = {PHX_OK, PHX_OUT_OF_MEMORY, PHX_INVALID_ARGUMENT, PHX_INTERNAL,
                                    PHX_INDEX_OUT_OF_RANGE, PHX_INTERNAL, PHX_DEVICE_LOST, PHX_TIMEOUT};
    static const phx_str names[] = {STR(""), STR("CHIP_NO_MEMORY"), STR("CHIP_BAD_ARGUMENT"), STR("CHIP_BAD_ACCESS"),
                                    STR("CHIP_BAD_INDEX"), STR("CHIP_FAULT"), STR("CHIP_LOST"), STR("CHIP_LATE")};
    own_error *error = code == CHIP_OK ? NULL : malloc(sizeof *error);
    if (error == NULL) return code == CHIP_OK ? NULL : &no_room;
    memcpy(error->text, chip_text, sizeof chip_text);
    const phx_str message = {error->text, strlen(error->text)};
    error->base = (phx_error){sizeof(phx_error), codes[code], code, message, names[code], destroy, {0}};
    if (code == CHIP_LOST) error->base.remedy = (phx_str)STR("start a new process");
    return &error->base;
}

static void warn(const char *text) { host->log(host->context, 30, (phx_str){text, strlen(text)}); }

/* --- What there is --- */

static phx_error *plugin_info(phx_plugin_info *out) {
    out->name = (phx_str)STR("simchip");
    out->vendor = (phx_str)STR("Phalanx");
    out->version = (phx_str)STR(SIMCHIP_VERSION);
    out->license = (phx_str)STR("Apache-2.0");
    return NULL;
}

static phx_error *plugin_score(int32_t *out) { return *out = 1, NULL; }
static phx_error *device_count(uint32_t *out) { return *out = 1, NULL; }

static phx_error *device_info(uint32_t index, phx_device_info *out) {
    if (index != 0) return told(chip_fail(CHIP_BAD_ARGUMENT, "there is no chip %u", index));
    out->name = (phx_str)STR("Simulated accelerator");
    out->kind = PHX_KIND_ACCELERATOR;
    out->numa_node = -1;
    out->dlpack_type = 12;                  /* kDLExtDevice */
    out->features = PHX_FEATURE_SUBNORMALS; /* no fp64, no addresses, and work goes on behind the calls */
    out->total_memory = MEMORY;
    out->max_allocation = LARGEST;
    out->alignment = ALIGNMENT;
    out->compute_units = 1;
    return NULL;
}

static phx_error *device_open(uint32_t index, phx_device **out) {
    *out = (phx_device *)&host; /* there is one: only its address counts */
    return told(index == 0 ? chip_open(warn) : chip_fail(CHIP_BAD_ARGUMENT, "there is no chip %u", index));
}

static phx_error *device_close(phx_device *self) { return (void)self, told(chip_close()); }
static phx_error *device_synchronize(phx_device *self, uint64_t ns) { return (void)self, told(chip_finish_all(ns)); }

/* --- Memory: handles are tokens --- */

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

static chip_place place(phx_place x) {
    const uint64_t handle = (uintptr_t)x.handle;
    return x.device == NULL ? (chip_place){0, handle + x.offset} : (chip_place){handle, x.offset};
}

static phx_error *copy(phx_device *self, phx_stream *stream, phx_place dst, phx_place src, uint64_t size) {
    const chip_command command = {.kind = CHIP_COPY, .to = place(dst), .from = place(src), .size = size};
    return (void)self, told(chip_put((chip_queue *)stream, command));
}

/* --- Streams are the chip's queues; an event is a place in one --- */

static phx_error *stream_create(phx_device *self, int32_t priority, phx_stream **out) {
    return (void)self, (void)priority, told(chip_queue_make((chip_queue **)out));
}

static phx_error *stream_destroy(phx_stream *stream) { return told(chip_queue_end((chip_queue *)stream)); }

static phx_error *stream_query(phx_stream *stream, int32_t *out_idle) {
    chip_event end = {NULL, 0};
    const int code = chip_record((chip_queue *)stream, &end);
    return told(code == CHIP_OK ? chip_ask(end, out_idle) : code);
}

static phx_error *stream_synchronize(phx_stream *stream, uint64_t timeout_ns) {
    chip_event end = {NULL, 0};
    const int code = chip_record((chip_queue *)stream, &end);
    return told(code == CHIP_OK ? chip_finish(end, timeout_ns) : code);
}

static phx_error *event_create(phx_device *self, int32_t timed, phx_event **out) {
    (void)self, (void)timed; /* the chip cannot time, and its capabilities say so */
    *out = calloc(1, sizeof **out);
    return *out == NULL ? &no_room : NULL;
}

static phx_error *event_destroy(phx_event *event) { return free(event), NULL; }
static phx_error *event_query(phx_event *event, int32_t *out_done) { return told(chip_ask(event->point, out_done)); }
static phx_error *event_synchronize(phx_event *event, uint64_t ns) { return told(chip_finish(event->point, ns)); }

static phx_error *event_record(phx_event *event, phx_stream *stream) {
    return told(chip_record((chip_queue *)stream, &event->point));
}

static phx_error *stream_wait_event(phx_device *self, phx_stream *stream, phx_event *event) {
    (void)self; /* the command holds the recording: the event may be recorded anew */
    if (event->point.number == 0) return NULL;
    return told(chip_put((chip_queue *)stream, (chip_command){.kind = CHIP_WAIT, .event = event->point}));
}

/* --- Launches: all that a call says is copied into a command --- */

static phx_error *launch(const phx_kernel *self, phx_stream *stream, const phx_call *call) {
    const kernel *k = self->data;
    chip_call *own = calloc(1, sizeof *own);
    if (own == NULL) return &no_room;
    own->run = k->run, own->kernel = k, own->name = self->op.data;
    own->count = (int32_t)(call->n_inputs + call->n_outputs);
    for (uint32_t i = 0; i < call->n_params; i++) own->params[i] = call->params[i];
    for (int32_t i = 0; i < own->count; i++) {
        const DLTensor *t = call->tensors[i];
        chip_operand *x = &own->operands[i];
        int64_t count = 1;
        x->itemsize = (t->dtype.bits + 7) / 8;
        for (int32_t axis = 0; axis < t->ndim; count *= t->shape[axis++])
            x->shape[axis] = t->shape[axis], x->strides[axis] = t->strides[axis];
        x->ndim = k->form == FLAT ? count != 1 : t->ndim;
        if (k->form == FLAT) x->shape[0] = count, x->strides[0] = 1;
        if ((call->scalars >> i & 1) != 0) memcpy(x->number, (char *)t->data + t->byte_offset, (size_t)x->itemsize);
        else x->place = (chip_place){(uintptr_t)t->data, t->byte_offset};
    }
    return told(chip_put((chip_queue *)stream, (chip_command){.kind = CHIP_RUN, .call = own}));
}

/* --- The kernel table --- */

#define ROW(OP, LAYOUT, RUN, BODY, FORM, INPUTS, ...)                                                   \
    {sizeof(phx_kernel), NULL, STR(OP), (const uint8_t[]){__VA_ARGS__}, INPUTS, 1, PHX_LAYOUT_##LAYOUT, \
     PHX_DETERMINISM_BITWISE, 0.5, launch, &(const kernel){RUN, BODY, FORM}},
#define TWO(OP, T, D, R) ROW(#OP, STRIDED, by_rows, OP##_##T, ROWS, 2, D, D, R)
#define MOVES(D)                                          \
    ROW("copy", CONTIGUOUS, by_rows, move, FLAT, 1, D, D) \
    ROW("copy", STRIDED, by_rows, move, ROWS, 1, D, D)    \
    ROW("gather", ANY, gather, NULL, ROWS, 2, D, PHX_INT64, D)
#define SUM_ROWS(T, D) MOVES(D) TWO(add, T, D, D) TWO(subtract, T, D, D)
#define NUMBER_ROWS(T, D) SUM_ROWS(T, D) TWO(multiply, T, D, D) TWO(less, T, D, PHX_BOOL)
#define ORDER_ROWS(T, D) TWO(maximum, T, D, D) TWO(minimum, T, D, D)
#define REAL_ROWS(T, D, S) \
    NUMBER_ROWS(T, D)      \
    ORDER_ROWS(T, D)       \
    ROW("sum", ANY, by_rows, sum_##T, FOLDS, 1, D, S)
#define INTEGER_ROWS(T, D, S) REAL_ROWS(T, D, S) TWO(bitwise_or, T, D, D) TWO(bitwise_xor, T, D, D)
#define LINE_ROWS(T, D)                                       \
    ROW("arange", ANY, by_rows, arange_##T, ROWS, 2, D, D, D) \
    ROW("cumulative_sum", ANY, by_rows, cumulative_sum_##T, ROWS, 1, D, D)

// clang-format off: it takes the rows for one expression
static const phx_kernel kernels[] = {
    MOVES(PHX_BOOL) MOVES(PHX_FLOAT64) MOVES(PHX_COMPLEX128)
    INTEGER_ROWS(int8_t, PHX_INT8, PHX_INT64) INTEGER_ROWS(int16_t, PHX_INT16, PHX_INT64)
    INTEGER_ROWS(int32_t, PHX_INT32, PHX_INT64) INTEGER_ROWS(int64_t, PHX_INT64, PHX_INT64)
    INTEGER_ROWS(uint8_t, PHX_UINT8, PHX_UINT64) INTEGER_ROWS(uint16_t, PHX_UINT16, PHX_UINT64)
    INTEGER_ROWS(uint32_t, PHX_UINT32, PHX_UINT64) INTEGER_ROWS(uint64_t, PHX_UINT64, PHX_UINT64)
    NUMBER_ROWS(half, PHX_FLOAT16) REAL_ROWS(float, PHX_FLOAT32, PHX_FLOAT32)
    SUM_ROWS(complex64, PHX_COMPLEX64) SUM_ROWS(bf16, PHX_BFLOAT16)
    LINE_ROWS(int32_t, PHX_INT32) LINE_ROWS(int64_t, PHX_INT64) LINE_ROWS(float, PHX_FLOAT32)
    ROW("wrap_index", ANY, wrap_index, wrap, ROWS, 1, PHX_INT64, PHX_INT64)
};
// clang-format on

static phx_error *kernel_table(phx_device *self, const phx_kernel *const **out, uint64_t *out_count) {
    static const phx_kernel *rows[sizeof kernels / sizeof *kernels];
    *out_count = sizeof kernels / sizeof *kernels;
    for (uint64_t i = 0; i < *out_count; i++) rows[i] = &kernels[i];
    return (void)self, *out = rows, NULL;
}

static const phx_api api = {
    .struct_size = sizeof(phx_api),
    .built_abi_major = PHX_ABI_MAJOR,
    .built_abi_minor = PHX_ABI_MINOR,
    .capabilities = PHX_CAP_STREAMS, /* and no event_elapsed, device_trim, device_threads */
    .plugin_info = plugin_info,
    .plugin_score = plugin_score,
    .device_count = device_count,
    .device_info = device_info,
    .device_open = device_open,
    .device_close = device_close,
    .device_synchronize = device_synchronize,
    .memory_info = memory_info,
    .kernel_table = kernel_table,
    .alloc = device_alloc,
    .free = device_free,
    .copy = copy,
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
};

PHX_EXPORT phx_error *phalanx_plugin_get_api(uint32_t host_abi_major, uint32_t host_abi_minor,
                                             const phx_host *given, const phx_api **out) {
    (void)host_abi_minor;
    static phx_error wrong = {sizeof(phx_error), PHX_ABI_MISMATCH, 0, STR("simchip speaks ABI 1"), {0}, keep, {0}};
    if (host_abi_major != PHX_ABI_MAJOR) return &wrong;
    host = given;
    *out = &api;
    return NULL;
}
