/* Runs any plugin of Phalanx's C ABI without Python: for sanitizers, Valgrind and a debugger.
 *
 *     cc -std=gnu11 -g -O1 -pthread -I. harness.c -o harness -ldl
 *     ./harness LIBRARY [SEED [SECONDS]]
 *
 * With -fsanitize=address,undefined or -fsanitize=thread for this file and for the plugin, the sanitizer sees both
 * (LSAN_OPTIONS=use_tls=0 where the search for leaks itself crashes); or run it as it is:
 *
 *     valgrind --error-exitcode=66 --leak-check=full --errors-for-leak-kinds=definite ./harness LIBRARY
 *
 * It loads the library, negotiates, describes and opens every device, and from several threads allocates, copies,
 * fills, launches the kernels that it knows, orders streams by events and hands blocks from thread to thread. Every
 * result is checked. Exit status: 0, or 1 with the reason, 2 for wrong usage. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "phalanx.h"

#define SECOND ((uint64_t)1000000000)
#define LIMIT (120 * SECOND) /* longer than any wait here may take */
#define ANY_STREAM ((phx_stream *)0)
enum { THREADS = 4,
       MOST_KERNELS = 256,
       MOST = 20000,
       ROWS = 7,
       MOST_DEVICES = 64 };

static const phx_api *api;
static atomic_uint rounds, launches, handed, logged;

static _Noreturn void stop(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("harness: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(1);
}

/* --- Services of the host, and errors --- */

static void host_log(void *context, int32_t level, phx_str message) {
    (void)context;
    unsigned sum = 0; /* every byte is read: a wrong length shows */
    for (uint64_t i = 0; i < message.size; i++) sum += (unsigned char)message.data[i];
    atomic_fetch_add(&logged, 1 + 0 * sum + 0 * (unsigned)level);
}

static uint64_t now_ns(void *context) {
    struct timespec now;
    (void)context;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

static int take(phx_error *error, const char *call, bool expected) {
    if (error == NULL) return PHX_OK;
    if (error->struct_size < offsetof(phx_error, remedy)) stop("%s: an error of %d bytes", call, (int)error->struct_size);
    const int code = error->code;
    char text[400];
    snprintf(text, sizeof text, "%.*s", (int)(error->message.size < 300 ? error->message.size : 300),
             error->message.data == NULL ? "" : error->message.data);
    if (error->destroy == NULL) stop("%s: an error without destroy: %s", call, text);
    error->destroy(error);
    if (!expected) stop("%s: error %d: %s", call, code, text);
    if (code == PHX_OK || text[0] == '\0') stop("%s: an error with code %d and the text '%s'", call, code, text);
    return code;
}

#define CALL(NAME, ...) take(api->NAME(__VA_ARGS__), #NAME, false)
#define CAN(BIT) ((api->capabilities & PHX_CAP_##BIT) != 0)
#define HAS(NAME) (api->struct_size >= offsetof(phx_api, NAME) + sizeof(void *) && api->NAME != NULL)

static void negotiate(void) {
    if (api == NULL || api->struct_size < offsetof(phx_api, flags)) stop("phx_api is too small for the versions");
    if (api->built_abi_major != PHX_ABI_MAJOR) stop("built for ABI %u", api->built_abi_major);
    if (api->min_host_abi_minor > PHX_ABI_MINOR) stop("it needs a host of 1.%u", api->min_host_abi_minor);
    const void *const *required = (const void *const *)&api->plugin_info;
    if (!HAS(kernel_table)) stop("phx_api ends before tier sync does");
    for (int i = 0; i < 12; i++)
        if (required[i] == NULL) stop("function %d of tier sync is null", i);
    if (CAN(STREAMS) != HAS(stream_create) || CAN(EVENT_TIMING) != HAS(event_elapsed) || CAN(TRIM) != HAS(device_trim) ||
        CAN(FIND_KERNEL) != HAS(kernel_find) || CAN(COMPILE) != HAS(kernel_compile) ||
        CAN(HOST_MEMORY) != HAS(host_adopt) || CAN(DEFAULT_STREAM) != HAS(stream_default) ||
        CAN(FAULT_INJECTION) != HAS(stream_inject_failure))
        stop("phx_api.capabilities is %llx, and the functions are others", (unsigned long long)api->capabilities);
}

/* --- Kernels whose results are exact on small integers --- */

enum { ADD,
       SUBTRACT,
       MULTIPLY,
       MAXIMUM,
       MINIMUM,
       NEGATIVE,
       COPY,
       N_OPS };
static const char *const op_names[N_OPS] = {"add", "subtract", "multiply", "maximum", "minimum", "negative", "copy"};
static const uint8_t types[] = {PHX_INT32, PHX_INT64, PHX_FLOAT32, PHX_FLOAT64};
enum { N_TYPES = sizeof types };
#define IS_FLOAT(T) ((T) >= PHX_FLOAT32)
#define SIZE_OF(T) ((T) == PHX_INT64 || (T) == PHX_FLOAT64 ? 8u : 4u)

typedef struct {
    const phx_kernel *row;
    int op;
    uint8_t type;
} known;

typedef struct {
    phx_device *handle;
    phx_device_info info;
    phx_stream *stream; /* what stands for the default one */
    known kernels[MOST_KERNELS];
    int n_kernels;
} device;

static int64_t result(int op, int64_t a, int64_t b) {
    switch (op) {
    case ADD: return a + b;
    case SUBTRACT: return a - b;
    case MULTIPLY: return a * b;
    case MAXIMUM: return a > b ? a : b;
    case MINIMUM: return a < b ? a : b;
    case NEGATIVE: return -a;
    default: return a;
    }
}

static void put(uint8_t type, void *array, int64_t i, int64_t value) {
    switch (type) {
    case PHX_INT32: ((int32_t *)array)[i] = (int32_t)value; break;
    case PHX_INT64: ((int64_t *)array)[i] = value; break;
    case PHX_FLOAT32: ((float *)array)[i] = (float)value; break;
    default: ((double *)array)[i] = (double)value;
    }
}

static int64_t get(uint8_t type, const void *array, int64_t i) {
    switch (type) {
    case PHX_INT32: return ((const int32_t *)array)[i];
    case PHX_INT64: return ((const int64_t *)array)[i];
    case PHX_FLOAT32: return (int64_t)((const float *)array)[i];
    default: return (int64_t)((const double *)array)[i];
    }
}

static void add_known(device *d, const phx_kernel *row) {
    if (row->struct_size < sizeof *row || row->run == NULL || row->dtypes == NULL || row->n_outputs != 1) return;
    for (int op = 0; op < N_OPS; op++) {
        const uint32_t n_inputs = op < NEGATIVE ? 2 : 1;
        if (row->op.size != strlen(op_names[op]) || memcmp(row->op.data, op_names[op], row->op.size) != 0) continue;
        if (row->n_inputs != n_inputs || memchr(types, row->dtypes[0], N_TYPES) == NULL) return;
        for (uint32_t i = 1; i <= n_inputs; i++)
            if (row->dtypes[i] != row->dtypes[0]) return;
        if (d->n_kernels < MOST_KERNELS) d->kernels[d->n_kernels++] = (known){row, op, row->dtypes[0]};
    }
}

static void find_kernels(device *d) {
    const phx_kernel *const *rows = NULL;
    uint64_t count = 0;
    CALL(kernel_table, d->handle, &rows, &count);
    for (uint64_t i = 0; i < count; i++) add_known(d, rows[i]);
    for (int op = 0; CAN(FIND_KERNEL) && op < N_OPS; op++)
        for (int t = 0; t < N_TYPES; t++) {
            const uint8_t dtypes[] = {types[t], types[t], types[t]};
            const phx_str name = {op_names[op], strlen(op_names[op])};
            const phx_kernel *row = NULL;
            phx_str reason = {NULL, 0};
            CALL(kernel_find, d->handle, name, dtypes, op < NEGATIVE ? 2 : 1, 1, PHX_LAYOUT_ANY, &row, &reason);
            if (row != NULL) add_known(d, row);
            else host_log(NULL, 20, reason);
        }
    for (int i = 0; CAN(COMPILE) && i < d->n_kernels; i++) {
        uint32_t counts[2];
        CALL(kernel_compile, d->handle, d->kernels[i].row, &counts[0], &counts[1]);
    }
}

/* --- One device, one stream --- */

static uint64_t random64(uint64_t *state) { /* SplitMix64: Steele, Lea, Flood, OOPSLA 2014, figure 17 */
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static phx_place on(const device *d, void *block, uint64_t offset) { return (phx_place){d->handle, block, offset}; }

static phx_place host_at(const void *address) { return (phx_place){NULL, (void *)(uintptr_t)address, 0}; }

static void *get_block(const device *d, uint64_t size) {
    void *block = NULL;
    CALL(alloc, d->handle, size, d->info.alignment, &block);
    if (block == NULL) stop("alloc of %llu bytes gives no handle and no error", (unsigned long long)size);
    return block;
}

static void wait_for(const device *d, phx_stream *stream) {
    if (CAN(STREAMS) && stream != d->stream) CALL(stream_synchronize, stream, LIMIT);
    else CALL(device_synchronize, d->handle, LIMIT);
}

/* Launch on `n` elements that begin one element into their blocks. Inputs with strides are columns of 7. */
static void launch(const device *d, phx_stream *stream, const known *k, void *const *blocks, int64_t n, const void *scalar) {
    const uint32_t n_inputs = k->row->n_inputs;
    const bool strided = k->row->layout == PHX_LAYOUT_STRIDED || (k->row->layout == PHX_LAYOUT_ANY && n % ROWS == 0);
    int64_t shape[] = {strided && n % ROWS == 0 ? n / ROWS : n, ROWS};
    int64_t columns[] = {1, n / ROWS}, lines[] = {ROWS, 1}, flat[] = {1};
    const int32_t ndim = strided && n % ROWS == 0 ? 2 : 1;
    DLTensor tensors[3];
    const DLTensor *pointers[3];
    for (uint32_t i = 0; i <= n_inputs; i++) {
        int64_t *strides = ndim == 1 ? flat : i < n_inputs ? columns
                                                           : lines;
        const DLDataType type = {IS_FLOAT(k->type) ? 2 : 0, (uint8_t)(8 * SIZE_OF(k->type)), 1};
        tensors[i] = (DLTensor){blocks[i], {d->info.dlpack_type, d->info.dlpack_id}, ndim, type, shape, strides, SIZE_OF(k->type)};
        pointers[i] = &tensors[i];
    }
    if (scalar != NULL) {
        tensors[0].data = (void *)(uintptr_t)scalar;
        tensors[0].ndim = 0;
        tensors[0].byte_offset = 0;
    }
    const phx_call call = {.struct_size = sizeof call,
                           .tensors = pointers,
                           .n_inputs = n_inputs,
                           .n_outputs = 1,
                           .scalars = scalar != NULL,
                           .device = d->handle};
    take(k->row->run(k->row, stream, &call), op_names[k->op], false);
    atomic_fetch_add(&launches, 1);
    /* The host may change all that it passed. */
    memset(tensors, 0xee, sizeof tensors);
    memset(shape, 0xee, sizeof shape);
    memset(columns, 0xee, sizeof columns);
}

static int64_t place_of(const known *k, int64_t n, int64_t i) {
    const bool strided = k->row->layout == PHX_LAYOUT_STRIDED || k->row->layout == PHX_LAYOUT_ANY;
    return strided && n % ROWS == 0 ? i % ROWS * (n / ROWS) + i / ROWS : i;
}

/* Write operands, launch, read back, and look at the results and at the elements beside. */
static void compute(const device *d, phx_stream *stream, uint64_t *seed, const known *k) {
    static const int64_t counts[] = {1, 2, 17, 140, 1000, 4099, MOST};
    const int64_t n = counts[random64(seed) % 7];
    const unsigned size = SIZE_OF(k->type), n_inputs = k->row->n_inputs;
    const uint64_t bytes = (uint64_t)(n + 2) * size;
    void *host[3] = {NULL, NULL, NULL}, *blocks[3];
    int64_t one_value = 0;
    double room;
    const bool scalar = n_inputs == 2 && k->row->layout != PHX_LAYOUT_STRIDED && random64(seed) % 3 == 0;
    for (unsigned i = 0; i <= n_inputs; i++) {
        if ((host[i] = malloc(bytes)) == NULL) stop("no memory");
        for (int64_t e = 0; e < n + 2; e++) put(k->type, host[i], e, (int64_t)(random64(seed) % 101) - 50);
        blocks[i] = get_block(d, bytes);
        CALL(copy, d->handle, stream, on(d, blocks[i], 0), host_at(host[i]), bytes);
    }
    if (scalar) put(k->type, &room, 0, one_value = (int64_t)(random64(seed) % 101) - 50);
    launch(d, stream, k, blocks, n, scalar ? &room : NULL);
    void *got = malloc(bytes);
    if (got == NULL) stop("no memory");
    CALL(copy, d->handle, stream, host_at(got), on(d, blocks[n_inputs], 0), bytes);
    wait_for(d, stream);
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = 1 + place_of(k, n, i);
        const int64_t a = scalar ? one_value : get(k->type, host[0], at);
        const int64_t want = result(k->op, a, n_inputs == 2 ? get(k->type, host[1], at) : 0);
        if (get(k->type, got, 1 + i) != want)
            stop("%s of type %d, layout %d: element %lld of %lld is %lld, not %lld", op_names[k->op], k->type,
                 k->row->layout, (long long)i, (long long)n, (long long)get(k->type, got, 1 + i), (long long)want);
    }
    if (memcmp(got, host[n_inputs], size) != 0 ||
        memcmp((char *)got + bytes - size, (char *)host[n_inputs] + bytes - size, size) != 0)
        stop("%s of type %d writes beside its %lld elements", op_names[k->op], k->type, (long long)n);
    for (unsigned i = 0; i <= n_inputs; i++) {
        CALL(free, d->handle, blocks[i]);
        free(host[i]);
    }
    free(got);
}

static void check_copies(const device *d, phx_stream *stream, uint64_t *seed) {
    const uint64_t size = 1 + random64(seed) % 70000, from = random64(seed) % 64, to = random64(seed) % 64;
    unsigned char *data = malloc(size), *got = malloc(size);
    void *first = get_block(d, size + 64), *second = get_block(d, size + 64);
    if (data == NULL || got == NULL) stop("no memory");
    for (uint64_t i = 0; i < size; i++) data[i] = (unsigned char)random64(seed);
    CALL(copy, d->handle, stream, on(d, first, from), host_at(data), size);
    CALL(copy, d->handle, stream, on(d, second, to), on(d, first, from), size);
    CALL(copy, d->handle, stream, host_at(got), on(d, second, to), size);
    wait_for(d, stream);
    if (memcmp(data, got, size) != 0) stop("%llu bytes come back changed", (unsigned long long)size);
    CALL(free, d->handle, first);
    CALL(free, d->handle, second);
    free(data);
    free(got);
}

/* --- Threads --- */

typedef struct {
    void *block;
    phx_event *event;
    uint64_t seed; /* of its bytes */
} parcel;

enum { PARCEL = 4096 };
static pthread_mutex_t mailbox_lock = PTHREAD_MUTEX_INITIALIZER;
static parcel mailbox;

static void fill(unsigned char *bytes, uint64_t seed) {
    for (int i = 0; i < PARCEL; i++) bytes[i] = (unsigned char)random64(&seed);
}

/* Leave a block in the mailbox that is still being written, and take what another thread left there. */
static void exchange(const device *d, phx_stream *stream, uint64_t *seed) {
    unsigned char *bytes = malloc(PARCEL), want[PARCEL];
    if (bytes == NULL) stop("no memory");
    parcel mine = {get_block(d, PARCEL), NULL, random64(seed)};
    fill(bytes, mine.seed);
    CALL(copy, d->handle, stream, on(d, mine.block, 0), host_at(bytes), PARCEL);
    CALL(event_create, d->handle, 0, &mine.event);
    CALL(event_record, mine.event, stream);
    pthread_mutex_lock(&mailbox_lock);
    const parcel other = mailbox;
    mailbox = mine;
    pthread_mutex_unlock(&mailbox_lock);
    CALL(stream_synchronize, stream, LIMIT); /* before its bytes go */
    if (other.block != NULL) {
        CALL(stream_wait_event, d->handle, stream, other.event);
        CALL(copy, d->handle, stream, host_at(bytes), on(d, other.block, 0), PARCEL);
        CALL(event_destroy, other.event); /* the wait keeps what it saw */
        CALL(stream_synchronize, stream, LIMIT);
        fill(want, other.seed);
        if (memcmp(bytes, want, PARCEL) != 0) stop("a stream did not wait for the event of another thread");
        CALL(free, d->handle, other.block);
        atomic_fetch_add(&handed, 1);
    }
    free(bytes);
}

static void time_work(const device *d, phx_stream *stream, uint64_t *seed) {
    phx_event *events[2];
    int32_t done = 0;
    uint64_t ns = 0;
    for (int i = 0; i < 2; i++) {
        CALL(event_create, d->handle, CAN(EVENT_TIMING), &events[i]);
        CALL(event_record, events[i], stream);
        if (i == 0) check_copies(d, stream, seed);
    }
    CALL(event_synchronize, events[1], LIMIT);
    CALL(event_query, events[1], &done);
    if (!done) stop("an event that was waited for is not done");
    if (CAN(EVENT_TIMING)) CALL(event_elapsed, events[0], events[1], &ns);
    if (ns > LIMIT) stop("two events are %llu ns apart", (unsigned long long)ns);
    CALL(stream_synchronize, stream, LIMIT);
    CALL(stream_query, stream, &done);
    if (!done) stop("a stream that was waited for is not idle");
    for (int i = 0; i < 2; i++) CALL(event_destroy, events[i]);
}

/* What is behind a failure is passed over, a wait tells it once, and what comes then is done. */
static void fail_on_purpose(const device *d, phx_stream *stream) {
    unsigned char bytes[2][PARCEL], got[PARCEL];
    void *block = get_block(d, PARCEL);
    for (int i = 0; i < 2; i++) fill(bytes[i], (uint64_t)i);
    CALL(copy, d->handle, stream, on(d, block, 0), host_at(bytes[0]), PARCEL);
    CALL(stream_inject_failure, d->handle, stream);
    CALL(copy, d->handle, stream, on(d, block, 0), host_at(bytes[1]), PARCEL);
    if (take(api->stream_synchronize(stream, LIMIT), "a failure", true) == PHX_OK) stop("no wait told a failure");
    CALL(copy, d->handle, stream, host_at(got), on(d, block, 0), PARCEL);
    CALL(stream_synchronize, stream, LIMIT);
    if (memcmp(got, bytes[0], PARCEL) != 0) stop("a copy behind a failure was done, or one behind its telling was not");
    CALL(free, d->handle, block);
}

static void use_host_memory(const device *d, phx_stream *stream) {
    unsigned char *bytes = malloc(PARCEL), got[PARCEL];
    void *handle = NULL;
    uint64_t offset = 0;
    if (bytes == NULL) stop("no memory");
    fill(bytes, 7);
    CALL(host_adopt, d->handle, bytes, PARCEL, &handle, &offset);
    if (handle != NULL) {
        CALL(copy, d->handle, stream, host_at(got), on(d, handle, offset), PARCEL);
        wait_for(d, stream);
        if (memcmp(bytes, got, PARCEL) != 0) stop("adopted memory has other bytes");
        CALL(host_release, d->handle, handle);
    }
    free(bytes);
}

typedef struct {
    const device *d;
    uint64_t seed, end;
} worker;

static void *work(void *argument) {
    worker *w = argument;
    const device *d = w->d;
    phx_stream *stream = d->stream;
    uint64_t sizes[2];
    if (CAN(STREAMS)) CALL(stream_create, d->handle, 0, &stream);
    do {
        if (d->n_kernels > 0) compute(d, stream, &w->seed, &d->kernels[random64(&w->seed) % (uint64_t)d->n_kernels]);
        check_copies(d, stream, &w->seed);
        if (CAN(STREAMS)) exchange(d, stream, &w->seed);
        if (CAN(STREAMS)) time_work(d, stream, &w->seed);
        if (CAN(FAULT_INJECTION)) fail_on_purpose(d, stream);
        if (CAN(HOST_MEMORY)) use_host_memory(d, stream);
        if (CAN(TRIM) && random64(&w->seed) % 16 == 0) CALL(device_trim, d->handle);
        CALL(memory_info, d->handle, &sizes[0], &sizes[1]);
        if (sizes[0] > sizes[1]) stop("more bytes are free than there are");
        if (take(api->device_info(UINT32_MAX, &(phx_device_info){.struct_size = sizeof(phx_device_info)}),
                 "device_info", true) == PHX_OK)
            stop("there is a device %u", UINT32_MAX);
        atomic_fetch_add(&rounds, 1);
    } while (now_ns(NULL) < w->end);
    if (CAN(STREAMS)) CALL(stream_destroy, stream);
    return NULL;
}

static void open_device(device *d, uint32_t index) {
    void *block = NULL;
    memset(d, 0, sizeof *d);
    d->info.struct_size = sizeof d->info;
    CALL(device_info, index, &d->info);
    CALL(device_open, index, &d->handle);
    if (d->handle == NULL) stop("device_open gives no device and no error");
    if (CAN(DEFAULT_STREAM)) CALL(stream_default, d->handle, &d->stream);
    if (take(api->alloc(d->handle, (uint64_t)1 << 62, d->info.alignment, &block), "alloc", true) != PHX_OUT_OF_MEMORY)
        stop("alloc of 2^62 bytes does not return PHX_OUT_OF_MEMORY");
    find_kernels(d);
}

static void run_device(uint32_t index, uint64_t seed, double seconds) {
    static device d; /* a later one is another's */
    pthread_t threads[THREADS];
    worker workers[THREADS];
    open_device(&d, index);
    printf("device %u: %.*s, %d kernels to launch\n", index, (int)d.info.name.size, d.info.name.data, d.n_kernels);
    for (int i = 0; i < d.n_kernels; i++) compute(&d, d.stream, &seed, &d.kernels[i]);
    const uint64_t end = now_ns(NULL) + (uint64_t)(seconds * (double)SECOND);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){&d, random64(&seed), end};
        if (pthread_create(&threads[i], NULL, work, &workers[i]) != 0) stop("no thread");
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    CALL(device_synchronize, d.handle, LIMIT);
    if (mailbox.block != NULL) {
        CALL(event_destroy, mailbox.event);
        CALL(free, d.handle, mailbox.block);
        mailbox.block = NULL;
    }
    CALL(device_close, d.handle);
}

int main(int argc, char **argv) {
    if (argc < 2 || argc > 4) {
        fprintf(stderr, "usage: %s LIBRARY [SEED [SECONDS]]\n", argv[0]);
        return 2;
    }
    static const phx_host host = {sizeof host, NULL, PHX_ABI_MAJOR, PHX_ABI_MINOR, NULL, host_log, now_ns};
    const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    const double seconds = argc > 3 ? atof(argv[3]) : 1;
    void *library = dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL); /* never closed: a leak keeps its names */
    if (library == NULL) stop("%s", dlerror());
    phx_get_api_fn get_api;
    *(void **)&get_api = dlsym(library, "phalanx_plugin_get_api");
    if (get_api == NULL) stop("%s exports no phalanx_plugin_get_api", argv[1]);
    take(get_api(PHX_ABI_MAJOR, PHX_ABI_MINOR, &host, &api), "phalanx_plugin_get_api", false);
    negotiate();
    phx_plugin_info info = {.struct_size = sizeof info};
    int32_t score = 0;
    uint32_t count = 0;
    CALL(plugin_info, &info);
    CALL(plugin_score, &score);
    printf("%.*s %.*s, score %d\n", (int)info.name.size, info.name.data, (int)info.version.size, info.version.data, score);
    if (score <= 0) stop("it cannot run on this machine");
    CALL(device_count, &count);
    for (uint32_t i = 0; i < count && i < MOST_DEVICES; i++)
        for (int again = 0; again < 2; again++) run_device(i, seed + again, seconds / 2); /* opened twice */
    printf("%u rounds, %u launches, %u blocks handed over, %u messages: all right\n", rounds, launches, handed, logged);
    return 0;
}
