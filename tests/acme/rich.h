/* The optional calls of acme, with -DRICH: streams whose work is done at once, a default stream with a handle of its
 * own, kernels that are found on demand and compiled ahead, and the host's memory in place. */

struct phx_stream {
    phx_device *device;
    bool fails; /* and nobody was told yet */
};

struct phx_event {
    phx_device *device;
};

static struct phx_stream default_stream = {&device, false};
static _Atomic uint32_t compiled;
static _Atomic int32_t adopted;
/* For the tests: how often memory of the host was adopted and not released. */
PHX_EXPORT int32_t acme_adopted(void);
int32_t acme_adopted(void) { return adopted; }

/* A launch or a call that does not tell its device is a fault of the host. */
static bool is_ours(const phx_stream *stream) { return stream != NULL && stream->device == &device; }

#define NEED_STREAM(S) \
    if (!is_ours(S)) return fail(PHX_INTERNAL, 0, "no stream of acme in call of line", __LINE__)

static phx_error *stream_default(phx_device *self, phx_stream **out) {
    default_stream.device = self;
    *out = &default_stream;
    return NULL;
}

static phx_error *stream_create(phx_device *self, int32_t priority, phx_stream **out) {
    (void)priority;
    *out = malloc(sizeof **out);
    if (*out == NULL) return fail(PHX_OUT_OF_MEMORY, 0, "no host memory for stream", 0);
    **out = (phx_stream){self, false};
    return NULL;
}

static phx_error *stream_destroy(phx_stream *stream) {
    NEED_STREAM(stream);
    if (stream == &default_stream) return fail(PHX_INTERNAL, 0, "the default stream was destroyed", 0);
    free(stream);
    return NULL;
}

static phx_error *stream_query(phx_stream *stream, int32_t *out_idle) {
    NEED_STREAM(stream);
    *out_idle = 1;
    return NULL;
}

static phx_error *stream_synchronize(phx_stream *stream, uint64_t timeout_ns) {
    (void)timeout_ns;
    NEED_STREAM(stream);
    if (!stream->fails) return NULL;
    stream->fails = false;
    return fail(PHX_INTERNAL, 0, "a failure on demand of stream", 1);
}

static phx_error *stream_inject_failure(phx_device *self, phx_stream *stream) {
    (void)self;
    NEED_STREAM(stream);
#ifndef FAULT_FAILURE_UNTOLD
    stream->fails = true;
#endif
    return NULL;
}

static bool is_stopped(const phx_stream *stream) {
#ifdef FAULT_FAILURE_GOES_ON
    return stream == NULL;
#else
    return stream != NULL && stream->fails;
#endif
}

static phx_error *stream_wait_event(phx_device *self, phx_stream *stream, phx_event *event) {
    (void)self;
    (void)event;
    NEED_STREAM(stream);
    return NULL;
}

static phx_error *event_create(phx_device *self, int32_t timed, phx_event **out) {
    (void)timed;
    *out = malloc(sizeof **out);
    if (*out == NULL) return fail(PHX_OUT_OF_MEMORY, 0, "no host memory for event", 0);
    (*out)->device = self;
    return NULL;
}

static phx_error *event_destroy(phx_event *event) {
    free(event);
    return NULL;
}

static phx_error *event_record(phx_event *event, phx_stream *stream) {
    (void)event;
    NEED_STREAM(stream);
    return NULL;
}

static phx_error *event_query(phx_event *event, int32_t *out_done) {
    (void)event;
    *out_done = 1;
    return NULL;
}

static phx_error *event_synchronize(phx_event *event, uint64_t timeout_ns) {
    (void)event;
    (void)timeout_ns;
    return NULL;
}

static phx_error *run_subtract(const phx_kernel *self, phx_stream *stream, const phx_call *call) {
    (void)self;
    NEED_STREAM(stream);
    if (call->struct_size < sizeof(phx_call) || call->device != &device)
        return fail(PHX_INTERNAL, 0, "a launch without its device, of line", __LINE__);
    cursor a, b, out;
    start(&a, call->tensors[0]);
    start(&b, call->tensors[1]);
    start(&out, call->tensors[2]);
    const int64_t count = count_of(call->tensors[2]);
    for (int64_t i = 0; i < count; i++, step(&a), step(&b), step(&out))
        *(float *)at(&out, 4) = *(float *)at(&a, 4) - *(float *)at(&b, 4);
    return NULL;
}

static phx_error *kernel_find(phx_device *self, phx_str op, const uint8_t *dtypes, uint32_t n_inputs,
                              uint32_t n_outputs, int32_t layout, const phx_kernel **out, phx_str *out_reason) {
    static const uint8_t floats[] = {PHX_FLOAT32, PHX_FLOAT32, PHX_FLOAT32};
    static const phx_kernel subtract = {
#ifdef FAULT_FOUND
        sizeof(phx_kernel),
        NULL,
        STR("subtractt"),
        floats,
        2,
        1,
        PHX_LAYOUT_ANY,
        2,
        0.5,
        run_subtract,
        NULL,
#else
        sizeof(phx_kernel),
        NULL,
        STR("subtract"),
        floats,
        2,
        1,
        PHX_LAYOUT_ANY,
        2,
        0.5,
        run_subtract,
        NULL,
#endif
    };
    (void)self;
    (void)layout;
    *out = NULL;
    if (op.size != 8 || memcmp(op.data, "subtract", 8) != 0) {
        *out_reason = (phx_str)STR("the Acme compiler knows no loops yet");
    } else if (n_inputs != 2 || n_outputs != 1 || memcmp(dtypes, floats, 3) != 0) {
        *out_reason = (phx_str)STR("acme subtracts float32 only");
    } else {
        *out = &subtract;
    }
    return NULL;
}

static phx_error *kernel_compile(phx_device *self, const phx_kernel *kernel, uint32_t *out_compiled,
                                 uint32_t *out_cached) {
    (void)self;
#ifdef CRASH_COMPILE
    abort();
#endif
    if (kernel->run != run_subtract) return NULL; /* comes compiled */
    *out_compiled = compiled == 0;
    *out_cached = compiled != 0;
    compiled = 1;
    return NULL;
}

static phx_error *host_adopt(phx_device *self, void *address, uint64_t size, void **out_handle, uint64_t *out_offset) {
    (void)self;
    *out_handle = NULL;
    if ((uintptr_t)address < 64 || size > MEMORY_LIMIT) return NULL;
    *out_offset = (uintptr_t)address % 64;
    *out_handle = (char *)address - *out_offset;
    adopted++;
    return NULL;
}

static phx_error *host_release(phx_device *self, void *handle) {
    (void)self;
    (void)handle;
    adopted--;
    return NULL;
}

static phx_error *host_address(phx_device *self, void *handle, void **out_address) {
    (void)self;
    *out_address = handle;
    return NULL;
}
