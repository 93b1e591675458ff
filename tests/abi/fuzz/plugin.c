/* A plugin that lies: each case, made from a seed, spoils a few of the values that it hands to the host.
 *
 * Only such faults as a host can see: sizes of structs, null pointers against bits, lengths of strings, texts without
 * end or not in UTF-8, counts, constants, versions, error objects. Every object ends where its stated size does, in
 * front of a page that nobody may read, so a host that reads further crashes. */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "phalanx.h"

#define SLOTS 512
#define SLOT_PAGES 17 /* holds the longest text that a host takes, 64 KiB */
#define N_ROWS 8

struct phx_device {
    int unused;
};

static uint64_t state;
static uint32_t rate;
static char *slots;
static size_t page;
static int next_slot;
static int32_t live;
static char story[4096]; /* what was spoilt in this case */

static uint64_t random64(void) { /* SplitMix64: Steele, Lea, Flood, OOPSLA 2014, figure 17 */
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static bool spoil(const char *site) {
    if (random64() % rate != 0) return false;
    const size_t length = strlen(story);
    snprintf(story + length, sizeof story - length, "%s ", site);
    return true;
}

/* Copy an object to where it ends, up to alignment, at a page that cannot be read. */
static void *guarded(const void *bytes, size_t size, size_t alignment) {
    const size_t room = (size + alignment - 1) / alignment * alignment;
    char *end = slots + (size_t)(next_slot % SLOTS) * (SLOT_PAGES + 1) * page + SLOT_PAGES * page;
    next_slot++;
    return memcpy(end - room, bytes, size);
}

static uint64_t odd_number(void) {
    static const uint64_t odd[] = {0, 1, 2, 3, 7, 8, 9, 12, 15, 16, 17, 31, 40, 63, 65, 128, 255, 256, 4096, 65535,
                                   65536, 1u << 20, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, (uint64_t)1 << 40,
                                   (uint64_t)1 << 62, INT64_MAX, (uint64_t)1 << 63, UINT64_MAX - 7, UINT64_MAX};
    const uint64_t pick = random64();
    return pick % 4 == 0 ? random64() : odd[pick / 4 % (sizeof odd / sizeof *odd)];
}

static uint64_t number(const char *site, uint64_t honest) { return spoil(site) ? odd_number() : honest; }

static phx_str string(const char *site, const char *honest) {
    static char longest[1 << 16];
    static const char bad[] = "caf\xe9 \xff\xfe\xc0\x80\xed\xa0\x80";
    const size_t length = strlen(honest);
    const uint64_t wrong = (strcmp(site, "log.text") == 0 ? 1u << 24 : 1u << 16) + 1; /* more than a host takes */
    if (!spoil(site)) return (phx_str){guarded(honest, length, 1), length};
    switch (random64() % 8) {
    case 0: return (phx_str){NULL, 5};
    case 1: return (phx_str){guarded(honest, length, 1), 0};
    case 2: return (phx_str){guarded(honest, length, 1), wrong + odd_number() % (UINT64_MAX / 2)};
    case 3: return (phx_str){guarded(bad, sizeof bad - 1, 1), sizeof bad - 1};
    case 4: memset(longest, 'x', sizeof longest); return (phx_str){guarded(longest, sizeof longest, 1), sizeof longest};
    case 5: return (phx_str){guarded("a\0b", 3, 1), 3};
    case 6: return (phx_str){guarded("%s %n {0}\n\x1b[31m", 15, 1), 15};
    default: return (phx_str){NULL, 0};
    }
}

/* --- Errors --- */

static void destroy_again(phx_error *self) {
    (void)self;
    abort();
}

static void destroy(phx_error *self) {
    self->destroy = destroy_again;
    live--;
}

static phx_error *fail(const char *site, int32_t code) {
    phx_error error = {0};
    error.struct_size = number("error.struct_size", sizeof error);
    error.code = (int32_t)number("error.code", (uint64_t)code);
    error.vendor_code = (int32_t)number("error.vendor_code", 3);
    error.message = string("error.message", site);
    error.vendor_name = string("error.vendor_name", "FUZZ_E_LIE");
    error.destroy = spoil("error.destroy") ? NULL : destroy;
    error.remedy = string("error.remedy", "believe it");
    if (error.struct_size >= offsetof(phx_error, destroy) + sizeof error.destroy && error.destroy != NULL) live++;
    const size_t held = error.struct_size < sizeof error ? error.struct_size : sizeof error;
    return guarded(&error, held < 8 ? 8 : held, 8);
}

static phx_error *perhaps(const char *site) {
    return spoil(site) ? fail(site, (int32_t)(1 + random64() % 9)) : NULL;
}

#define PERHAPS(SITE)                        \
    do {                                     \
        phx_error *failure = perhaps(SITE);  \
        if (failure != NULL) return failure; \
    } while (0)

/* --- The calls --- */

static phx_error *plugin_info(phx_plugin_info *out) {
    PERHAPS("plugin_info");
    out->struct_size = number("info.struct_size", sizeof *out);
    out->name = string("info.name", "fuzz");
    out->vendor = string("info.vendor", "Fuzz");
    out->version = string("info.version", "1.0");
    out->license = string("info.license", "Apache-2.0");
    return NULL;
}

static phx_error *plugin_score(int32_t *out) {
    PERHAPS("plugin_score");
    *out = (int32_t)number("score", 1);
    return NULL;
}

static phx_error *device_count(uint32_t *out) {
    PERHAPS("device_count");
    *out = (uint32_t)number("device_count", 2);
    return NULL;
}

static phx_error *device_info(uint32_t index, phx_device_info *out) {
    if (index >= 8) return fail("there is no such device", PHX_INVALID_ARGUMENT);
    PERHAPS("device_info");
    out->struct_size = number("device.struct_size", sizeof *out);
    out->name = string("device.name", "Fuzz device");
    out->pci_address = string("device.pci_address", "0000:01:00.0");
    for (int i = 0; i < 16; i++) out->uuid[i] = (uint8_t)random64();
    out->kind = (int32_t)number("device.kind", PHX_KIND_ACCELERATOR);
    out->numa_node = (int32_t)number("device.numa_node", 0);
    out->dlpack_type = (int32_t)number("device.dlpack_type", 12);
    out->dlpack_id = (int32_t)number("device.dlpack_id", index);
    out->features = number("device.features", PHX_FEATURE_FP64);
    out->total_memory = number("device.total_memory", 1 << 30);
    out->max_allocation = number("device.max_allocation", 1 << 28);
    out->alignment = number("device.alignment", 64);
    out->compute_units = (uint32_t)number("device.compute_units", 1);
    out->score = (int32_t)number("device.score", 1);
    return NULL;
}

static phx_error *device_open(uint32_t index, phx_device **out) {
    static phx_device device;
    (void)index;
    PERHAPS("device_open");
    *out = spoil("device") ? NULL : &device;
    return NULL;
}

static phx_error *on_device(phx_device *device) {
    (void)device;
    return perhaps("a call on the device");
}

static phx_error *synchronize(phx_device *device, uint64_t timeout_ns) {
    (void)timeout_ns;
    return on_device(device);
}

static phx_error *memory_info(phx_device *device, uint64_t *out_free, uint64_t *out_total) {
    (void)device;
    PERHAPS("memory_info");
    *out_free = number("free", 1);
    *out_total = number("total", 2);
    return NULL;
}

static phx_error *device_alloc(phx_device *device, uint64_t size, uint64_t alignment, void **out) {
    (void)device;
    (void)size;
    (void)alignment;
    PERHAPS("alloc");
    *out = (void *)(uintptr_t)number("alloc.out", 0x1000); /* a token: nobody looks behind it */
    return NULL;
}

static phx_error *on_handle(phx_device *device, void *handle) {
    (void)handle;
    return on_device(device);
}

static phx_error *copy(phx_device *device, phx_stream *stream, phx_place dst, phx_place src, uint64_t size) {
    (void)stream;
    (void)dst;
    (void)src;
    (void)size;
    return on_device(device);
}

static phx_error *run(const phx_kernel *self, phx_stream *stream, const phx_call *call) {
    (void)self;
    (void)stream;
    (void)call;
    return perhaps("run");
}

static const phx_kernel *row(const char *op, uint32_t n_inputs, uint8_t dtype) {
    uint8_t dtypes[40];
    phx_kernel made = {0};
    memset(dtypes, dtype, sizeof dtypes);
    made.struct_size = number("row.struct_size", sizeof made);
    made.op = string("row.op", op);
    made.n_inputs = (uint32_t)number("row.n_inputs", n_inputs);
    made.n_outputs = (uint32_t)number("row.n_outputs", 1);
    if (spoil("row.dtypes")) dtypes[random64() % 3] = (uint8_t)odd_number();
    const uint64_t n = (uint64_t)made.n_inputs + made.n_outputs;
    made.dtypes = spoil("row.no_dtypes") ? NULL : guarded(dtypes, n < sizeof dtypes ? n : sizeof dtypes, 1);
    made.layout = (int32_t)number("row.layout", PHX_LAYOUT_ANY);
    made.determinism = (int32_t)number("row.determinism", PHX_DETERMINISM_BITWISE);
    made.error_bound = spoil("row.error_bound") ? (double[]){-1, 1.0 / 0.0, 0.0 / 0.0, 1e308}[random64() % 4] : 0.5;
    made.run = spoil("row.run") ? NULL : run;
    const size_t held = made.struct_size < sizeof made ? made.struct_size : sizeof made;
    return spoil("row") ? NULL : guarded(&made, held < 8 ? 8 : held, 8);
}

static phx_error *kernel_table(phx_device *device, const phx_kernel *const **out, uint64_t *out_count) {
    static const char *ops[N_ROWS] = {"add", "multiply", "exp", "copy", "negative", "sum", "maximum", "later_op"};
    static const uint32_t inputs[N_ROWS] = {2, 2, 1, 1, 1, 1, 2, 1};
    const phx_kernel *rows[N_ROWS];
    (void)device;
    PERHAPS("kernel_table");
    const uint64_t count = 1 + random64() % (N_ROWS - 1);
    for (uint64_t i = 0; i < count; i++)
        rows[i] = row(ops[i], inputs[i], (uint8_t)(PHX_FLOAT32 + (spoil("a double row") ? 1 : 0)));
    if (count > 1 && spoil("twice")) rows[1] = rows[0];
    *out = guarded(rows, count * sizeof *rows, 8);
    *out_count = spoil("count") ? (random64() % 2 ? 0 : (1 << 20) + 1 + odd_number() % (UINT64_MAX / 2)) : count;
    if (spoil("rows")) *out = NULL;
    return NULL;
}

static phx_error *kernel_find(phx_device *device, phx_str op, const uint8_t *dtypes, uint32_t n_inputs,
                              uint32_t n_outputs, int32_t layout, const phx_kernel **out, phx_str *out_reason) {
    (void)device;
    (void)op;
    (void)dtypes;
    (void)n_outputs;
    (void)layout;
    PERHAPS("kernel_find");
    *out_reason = string("reason", "there is none");
    *out = random64() % 2 ? NULL : row("divide", n_inputs, PHX_FLOAT32);
    return NULL;
}

static phx_error *kernel_compile(phx_device *device, const phx_kernel *kernel, uint32_t *compiled, uint32_t *cached) {
    (void)device;
    (void)kernel;
    PERHAPS("kernel_compile");
    *compiled = (uint32_t)number("compiled", 1);
    *cached = (uint32_t)number("cached", 0);
    return NULL;
}

static phx_error *host_adopt(phx_device *device, void *address, uint64_t size, void **out, uint64_t *out_offset) {
    (void)device;
    (void)size;
    PERHAPS("host_adopt");
    *out = (void *)(uintptr_t)number("adopted", (uintptr_t)address);
    *out_offset = number("adopted.offset", 0);
    return NULL;
}

static phx_error *host_address(phx_device *device, void *handle, void **out) {
    (void)device;
    PERHAPS("host_address");
    *out = (void *)(uintptr_t)number("host_address.out", (uintptr_t)handle);
    return NULL;
}

static phx_error *stream_create(phx_device *device, int32_t priority, phx_stream **out) {
    (void)device;
    (void)priority;
    PERHAPS("stream_create");
    *out = (phx_stream *)(uintptr_t)number("stream", 0x2000);
    return NULL;
}

static phx_error *stream_default(phx_device *device, phx_stream **out) { return stream_create(device, 0, out); }

static phx_error *on_stream(phx_stream *stream) {
    (void)stream;
    return perhaps("a call on a stream");
}

static phx_error *stream_query(phx_stream *stream, int32_t *out) {
    *out = (int32_t)number("idle", 1);
    return on_stream(stream);
}

static phx_error *stream_synchronize(phx_stream *stream, uint64_t timeout_ns) {
    (void)timeout_ns;
    return on_stream(stream);
}

static phx_error *stream_wait_event(phx_device *device, phx_stream *stream, phx_event *event) {
    (void)device;
    (void)event;
    return on_stream(stream);
}

static phx_error *event_create(phx_device *device, int32_t timed, phx_event **out) {
    (void)device;
    (void)timed;
    PERHAPS("event_create");
    *out = (phx_event *)(uintptr_t)number("event", 0x3000);
    return NULL;
}

static phx_error *on_event(phx_event *event) {
    (void)event;
    return perhaps("a call on an event");
}

static phx_error *event_record(phx_event *event, phx_stream *stream) {
    (void)stream;
    return on_event(event);
}

static phx_error *event_query(phx_event *event, int32_t *out) {
    *out = (int32_t)number("done", 1);
    return on_event(event);
}

static phx_error *event_synchronize(phx_event *event, uint64_t timeout_ns) {
    (void)timeout_ns;
    return on_event(event);
}

static phx_error *event_elapsed(phx_event *begin, phx_event *end, uint64_t *out) {
    (void)begin;
    *out = number("elapsed", 1000);
    return on_event(end);
}

static phx_error *device_threads(phx_device *device, uint32_t count, uint32_t *out) {
    (void)count;
    *out = (uint32_t)number("threads", 1);
    return on_device(device);
}

static phx_error *stream_inject_failure(phx_device *device, phx_stream *stream) {
    (void)stream;
    return on_device(device);
}

/* --- The table of a case --- */

#define ALL_BITS 511
static const phx_api honest = {
    sizeof(phx_api),
    NULL,
    PHX_ABI_MAJOR,
    PHX_ABI_MINOR,
    0,
    0,
    ALL_BITS,
    plugin_info,
    plugin_score,
    device_count,
    device_info,
    device_open,
    on_device,
    synchronize,
    memory_info,
    device_alloc,
    on_handle,
    copy,
    kernel_table,
    stream_create,
    on_stream,
    stream_query,
    stream_synchronize,
    stream_wait_event,
    event_create,
    on_event,
    event_record,
    event_query,
    event_synchronize,
    event_elapsed,
    on_device,
    device_threads,
    kernel_find,
    kernel_compile,
    host_adopt,
    on_handle,
    host_address,
    stream_default,
    stream_inject_failure,
};

/* Begin a case: all that follows comes from its seed, and one value of `one_of` is spoilt. */
PHX_EXPORT void fuzz_begin(uint64_t seed, uint32_t one_of);
void fuzz_begin(uint64_t seed, uint32_t one_of) {
    state = seed;
    rate = one_of;
    next_slot = 0;
    live = 0;
    story[0] = 0;
}

PHX_EXPORT const char *fuzz_story(void);
const char *fuzz_story(void) { return story; }

/* How many errors the host has not destroyed. */
PHX_EXPORT int32_t fuzz_live(void);
int32_t fuzz_live(void) { return live; }

static const phx_api *lying_table(void) {
    phx_api api = honest;
    void **functions = (void **)&api.plugin_info;
    const size_t n = (sizeof api - offsetof(phx_api, plugin_info)) / sizeof(void *);
    api.built_abi_major = (uint32_t)number("major", PHX_ABI_MAJOR);
    api.built_abi_minor = (uint32_t)number("minor", PHX_ABI_MINOR);
    api.min_host_abi_minor = (uint32_t)number("min_host", 0);
    api.flags = (uint32_t)number("flags", 0);
    if (spoil("capabilities")) api.capabilities = odd_number();
    if (spoil("a bit")) api.capabilities ^= (uint64_t)1 << random64() % 10;
    if (spoil("a function")) functions[random64() % n] = NULL;
    if (spoil("functions and bits")) { /* a sound plugin of tier sync */
        api.capabilities = 0;
        memset(&api.stream_create, 0, sizeof api - offsetof(phx_api, stream_create));
    }
    if (spoil("api.struct_size")) api.struct_size = random64() % 2 ? odd_number() : random64() % (sizeof api + 16);
    const size_t held = api.struct_size < sizeof api ? api.struct_size : sizeof api;
    return guarded(&api, held < 8 ? 8 : held, 8);
}

PHX_EXPORT phx_error *phalanx_plugin_get_api(uint32_t host_abi_major, uint32_t host_abi_minor,
                                             const phx_host *host, const phx_api **out) {
    (void)host_abi_major;
    (void)host_abi_minor;
    if (slots == NULL) {
        page = (size_t)sysconf(_SC_PAGESIZE);
        const size_t stride = (SLOT_PAGES + 1) * page;
        slots = mmap(NULL, SLOTS * stride, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (slots == MAP_FAILED) abort();
        for (size_t i = 0; i < SLOTS; i++)
            if (mprotect(slots + i * stride + SLOT_PAGES * page, page, PROT_NONE) != 0) abort();
    }
    if (rate == 0) fuzz_begin(0, 1u << 30);
    PERHAPS("get_api");
    if (spoil("log")) host->log(host->context, (int32_t)odd_number(), string("log.text", "hello"));
    *out = spoil("api") ? NULL : lying_table();
    return NULL;
}
