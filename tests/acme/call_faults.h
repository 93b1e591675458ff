/* Calls of acme that do wrong, one for each -DFAULT_...: what `phalanx abi-check --run` and the probe of a binary
 * must tell. */
#include <unistd.h>

static inline void hang(void) {
    for (;;) pause();
}

#if defined(FAULT_NULL_DEVICE)
static phx_error *faulty_open(uint32_t index, phx_device **out) {
    (void)index;
    *out = NULL;
    return NULL;
}
#define BREAK api->device_open = faulty_open
#elif defined(FAULT_OPEN_CRASH) || defined(FAULT_OPEN_HANG)
static phx_error *faulty_open(uint32_t index, phx_device **out) {
#ifdef FAULT_OPEN_HANG
    hang();
#else
    abort();
#endif
    return device_open(index, out);
}
#define BREAK api->device_open = faulty_open
#elif defined(FAULT_CLOSE_HANG)
static phx_error *faulty_close(phx_device *self) {
    hang();
    return device_close(self);
}
#define BREAK api->device_close = faulty_close
#elif defined(FAULT_MEMORY_INFO)
static phx_error *faulty_info(phx_device *self, uint64_t *out_free, uint64_t *out_total) {
    return memory_info(self, out_total, out_free);
}
#define BREAK api->memory_info = faulty_info
#elif defined(FAULT_ALLOC_NULL) || defined(FAULT_ALLOC_SAME) || defined(FAULT_ALLOC_UNALIGNED) || defined(FAULT_ALLOC_HUGE)
static phx_error *faulty_alloc(phx_device *self, uint64_t size, uint64_t alignment, void **out) {
    static void *first;
#ifdef FAULT_ALLOC_NULL
    *out = first = NULL;
    return NULL;
#elif defined(FAULT_ALLOC_SAME)
    phx_error *error = first == NULL ? device_alloc(self, 1 << 21, alignment, &first) : NULL;
    *out = first;
    return size > 1 << 21 ? device_alloc(self, size, alignment, out) : error;
#elif defined(FAULT_ALLOC_UNALIGNED)
    phx_error *error = device_alloc(self, size + 8, alignment, &first);
    *out = (char *)first + 8;
    return error;
#else
    (void)first;
    return device_alloc(self, size > 1u << 30 ? 64 : size, alignment, out);
#endif
}
#if defined(FAULT_ALLOC_SAME) || defined(FAULT_ALLOC_UNALIGNED)
static phx_error *faulty_free(phx_device *self, void *handle) {
    (void)self;
    (void)handle;
    return NULL;
}
#define BREAK_FREE
#endif
#define BREAK api->alloc = faulty_alloc
#elif defined(FAULT_ALLOC_CODE)
static phx_error *faulty_alloc(phx_device *self, uint64_t size, uint64_t alignment, void **out) {
    if (size > MEMORY_LIMIT) return fail(PHX_INTERNAL, 0, "the Acme heap is sad about bytes:", size);
    return device_alloc(self, size, alignment, out);
}
#define BREAK api->alloc = faulty_alloc
#elif defined(FAULT_LEAK)
static phx_error *faulty_alloc(phx_device *self, uint64_t size, uint64_t alignment, void **out) {
    char *volatile lost = malloc(24);
    lost = NULL;
    (void)lost;
    return device_alloc(self, size, alignment, out);
}
#define BREAK api->alloc = faulty_alloc
#elif defined(FAULT_COPY_READ)
static phx_error *faulty_copy(phx_device *self, phx_stream *stream, phx_place dst, phx_place src, uint64_t size) {
    if (src.device != NULL) { /* look at the byte behind the block */
        uint64_t held;
        memcpy(&held, (char *)src.handle - 64, sizeof held);
        (void)*((volatile char *)src.handle + (held + 127) / 64 * 64 - 64);
    }
    return device_copy(self, stream, dst, src, size);
}
#define BREAK api->copy = faulty_copy
#elif defined(FAULT_FREE_CRASH)
static phx_error *faulty_free(phx_device *self, void *handle) {
    (void)self;
    (void)handle;
    abort();
}
#define BREAK api->free = faulty_free
#elif defined(FAULT_COPY_HANG) || defined(FAULT_COPY_CRASH) || defined(FAULT_COPY_OFFSET) || defined(FAULT_COPY_LONG) || \
    defined(FAULT_COPY_LARGE)
static phx_error *faulty_copy(phx_device *self, phx_stream *stream, phx_place dst, phx_place src, uint64_t size) {
#if defined(FAULT_COPY_HANG)
    hang();
#elif defined(FAULT_COPY_CRASH)
    *(volatile int *)(uintptr_t)8 = 1;
#elif defined(FAULT_COPY_OFFSET)
    if (dst.device == NULL) src.offset = 0;
#elif defined(FAULT_COPY_LONG)
    if (dst.device != NULL && src.device == NULL && dst.offset != 0) size += 8;
#elif defined(FAULT_COPY_LARGE)
    if (size > 1 << 20) size = 1 << 20;
#endif
    return device_copy(self, stream, dst, src, size);
}
#define BREAK api->copy = faulty_copy
#elif defined(FAULT_COPY_THREADS)
static phx_error *faulty_copy(phx_device *self, phx_stream *stream, phx_place dst, phx_place src, uint64_t size) {
    static char bounce[2 << 20]; /* one for all threads */
    memcpy(bounce, (const char *)src.handle + src.offset, size);
    usleep(200);
    src.handle = bounce;
    src.device = NULL;
    src.offset = 0;
    return device_copy(self, stream, dst, src, size);
}
#define BREAK api->copy = faulty_copy
#elif defined(FAULT_STREAM_NULL)
static phx_error *faulty_stream(phx_device *self, int32_t priority, phx_stream **out) {
    (void)self;
    (void)priority;
    *out = NULL;
    return NULL;
}
#define BREAK api->stream_create = faulty_stream
#elif defined(FAULT_STREAM_BUSY)
static phx_error *faulty_query(phx_stream *stream, int32_t *out_idle) {
    (void)stream;
    *out_idle = 0;
    return NULL;
}
#define BREAK api->stream_query = faulty_query
#elif defined(FAULT_WAIT_HANG)
static phx_error *faulty_wait(phx_event *event, uint64_t timeout_ns) {
    hang();
    return event_synchronize(event, timeout_ns);
}
#define BREAK api->event_synchronize = faulty_wait
#endif

/* Put the faulty call of this build, if there is one, into the place of the sound one. */
static void break_calls(phx_api *api) {
    (void)api;
#ifdef BREAK
    BREAK;
#endif
#ifdef BREAK_FREE
    api->free = faulty_free;
#endif
}
