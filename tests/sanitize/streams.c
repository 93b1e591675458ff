/* Threads that use the table of the CPU library in random order, for the sanitizers.
 *
 *     streams SEED SECONDS
 *
 * The rules of phalanx.h hold: who uses a stream or an event keeps its slot from being emptied. Plain
 * memory that host calls and kernels share is ordered by streams and events alone, so a missing wait is a
 * data race to a sanitizer and a wrong value to the checks.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/kernel.h"

#define THREADS 4
#define STREAMS 4
#define EVENTS 6
#define LENGTH 40000 /* elements: enough that kernels use the worker threads */
#define FOREVER UINT64_MAX

static const phx_api *api;
static phx_device *device;
static const phx_kernel *wrap_index, *gather, *scatter;
static atomic_uint failures;
static atomic_ullong steps, told;
static atomic_bool stop;

#define CHECK(CONDITION)                                                            \
    do {                                                                            \
        if (!(CONDITION)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #CONDITION); \
            atomic_fetch_add(&failures, 1);                                         \
        }                                                                           \
    } while (0)

/* Destroy an error; all but those of `allowed` are failures. */
static void expect(phx_error *error, int32_t allowed, int line) {
    if (error == NULL) return;
    if (error->code == allowed || error->code == PHX_INDEX_OUT_OF_RANGE) {
        atomic_fetch_add(&told, error->code == PHX_INDEX_OUT_OF_RANGE);
    } else {
        fprintf(stderr, "%s:%d: error %d: %.*s\n", __FILE__, line, error->code, (int)error->message.size,
                error->message.data);
        atomic_fetch_add(&failures, 1);
    }
    error->destroy(error);
}
#define OK(CALL) expect(CALL, PHX_OK, __LINE__)
#define MAY(CODE, CALL) expect(CALL, CODE, __LINE__)

static uint64_t draw(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

/* ---- arrays that belong to a stream ---- */

typedef struct {
    pthread_rwlock_t life; /* held for writing by who fills or empties the slot */
    pthread_mutex_t order; /* several pieces of work in a row */
    phx_stream *handle;
    int64_t *source, *offsets, *result; /* (LENGTH,), of the handle's stream */
    uint64_t pushed;                    /* host calls, guarded by order */
    uint64_t seen;                      /* by the stream alone */
} stream_slot;

static stream_slot streams[STREAMS];

/* Work of the test's own in a stream: kernels whose params are what they need. */
static phx_error *run_host_call(const cpu_kernel *self, const phx_call *call) {
    (void)self;
    void (*fn)(void *) = (void (*)(void *))(intptr_t)call->params[0];
    fn((void *)(intptr_t)call->params[1]);
    return NULL;
}

static phx_error *run_fill(const cpu_kernel *self, const phx_call *call) {
    (void)self;
    int64_t *to = (int64_t *)(intptr_t)call->params[0];
    for (int i = 0; i < LENGTH; i++) to[i] = call->params[1];
    return NULL;
}

static void enqueue(phx_stream *stream, const cpu_kernel *kernel, int64_t first, int64_t second) {
    const int64_t params[] = {first, second};
    const phx_call call = {.struct_size = sizeof call, .params = params, .n_params = 2};
    OK(cpu_run(&kernel->base, stream, &call));
}

static void host_call(phx_stream *stream, void (*fn)(void *), void *argument) {
    static const cpu_kernel kernel = {.base = {.op = {"host call", 9}, .run = cpu_run}, .fn = run_host_call};
    enqueue(stream, &kernel, (intptr_t)fn, (intptr_t)argument);
}

static void fill(phx_stream *stream, int64_t *array, int64_t value) {
    static const cpu_kernel kernel = {.base = {.op = {"fill", 4}, .run = cpu_run}, .fn = run_fill};
    enqueue(stream, &kernel, (intptr_t)array, value);
}

static void launch(const phx_kernel *kernel, phx_stream *stream, int64_t *a, int64_t count_a, int64_t *b,
                   int64_t *out, int64_t count_out, const int64_t *params) {
    int64_t shape_a[] = {count_a}, shape[] = {LENGTH}, shape_out[] = {count_out}, dense[] = {1};
    const DLDataType type = {0, 64, 1};
    DLTensor tensors[] = {{a, {1, 0}, count_a != 0, type, shape_a, dense, 0},
                          {b, {1, 0}, 1, type, shape, dense, 0},
                          {out, {1, 0}, count_out != 0, type, shape_out, dense, 0}};
    const DLTensor *operands[3];
    uint32_t n = 0;
    operands[n++] = &tensors[0];
    if (b != NULL) operands[n++] = &tensors[1];
    operands[n++] = &tensors[2];
    const phx_call call = {sizeof call, operands, params, n - 1, 1, params != NULL ? 2 : 0, 0};
    OK(kernel->run(kernel, stream, &call));
}

typedef struct {
    stream_slot *slot; /* NULL: the default stream, whose arrays are the thread's own */
    int64_t *result;
    uint64_t number;
    int64_t first, last;
} look;

static void look_at_results(void *argument) {
    look *l = argument;
    CHECK(l->result[0] == l->first);
    CHECK(l->result[LENGTH - 1] == l->last);
    if (l->slot != NULL) CHECK(++l->slot->seen == l->number);
    free(l);
}

/* source = value; offsets = source as indices; result = source at the offsets, or nothing. */
static void work_on(stream_slot *slot, phx_stream *stream, int64_t *source, int64_t *offsets, int64_t *result,
                    uint64_t dice) {
    const bool bad = stream != NULL && dice % 8 == 0;
    int64_t value = (int64_t)(dice >> 8) % LENGTH, wide = bad ? 1 : LENGTH;
    const int64_t params[] = {wide, 1};
    fill(stream, source, value);
    launch(wrap_index, stream, source, LENGTH, NULL, offsets, LENGTH, params);
    const bool lost = value >= wide;
    look *l = malloc(sizeof *l);
    *l = (look){slot, result, 0, lost ? 0 : value, lost ? 0 : value};
    if (dice & 16) {
        launch(gather, stream, source, 0, offsets, result, LENGTH, NULL);
    } else { /* all values go to one place, or nowhere */
        const int64_t none = -1;
        fill(stream, result, none);
        launch(scatter, stream, source, LENGTH, offsets, result, 0, NULL);
        l->first = !lost && value == 0 ? value : none;
        l->last = !lost && value == LENGTH - 1 ? value : none;
    }
    if (slot != NULL) l->number = ++slot->pushed;
    host_call(stream, look_at_results, l);
}

static void fill_slot(stream_slot *slot) {
    OK(api->stream_create(device, 0, &slot->handle));
    int64_t **arrays[] = {&slot->source, &slot->offsets, &slot->result};
    for (int i = 0; i < 3; i++) {
        void *memory;
        OK(api->alloc(device, LENGTH * 8, 64, &memory));
        *arrays[i] = memory;
    }
    slot->pushed = slot->seen = 0;
}

static void empty_slot(stream_slot *slot) {
    OK(api->stream_destroy(slot->handle));
    CHECK(slot->seen == slot->pushed);
    OK(api->free(device, slot->source));
    OK(api->free(device, slot->offsets));
    OK(api->free(device, slot->result));
}

/* ---- events: what is written before one is there after it ---- */

typedef struct {
    atomic_uint references;
    uint64_t plain; /* written by one stream, read by those that wait */
} note;

typedef struct {
    pthread_rwlock_t life;
    pthread_mutex_t order; /* the note is that of the newest record */
    phx_event *handle;
    note *note;
    uint64_t number;
} event_slot;

static event_slot events[EVENTS];

typedef struct {
    note *note;
    uint64_t number;
} note_use;

static void note_release(note *n) {
    if (n != NULL && atomic_fetch_sub(&n->references, 1) == 1) free(n);
}

static void write_note(void *argument) {
    note_use *use = argument;
    use->note->plain = use->number;
    note_release(use->note);
    free(use);
}

static void read_note(void *argument) {
    note_use *use = argument;
    CHECK(use->note->plain == use->number);
    note_release(use->note);
    free(use);
}

static note_use *new_use(note *n, uint64_t number) {
    note_use *use = malloc(sizeof *use);
    atomic_fetch_add(&n->references, 1);
    *use = (note_use){n, number};
    return use;
}

static void record(event_slot *e, phx_stream *stream, uint64_t number) {
    note *n = calloc(1, sizeof *n);
    atomic_init(&n->references, 1);
    pthread_mutex_lock(&e->order);
    host_call(stream, write_note, new_use(n, number));
    OK(api->event_record(e->handle, stream));
    note *old = e->note;
    e->note = n;
    e->number = number;
    pthread_mutex_unlock(&e->order);
    note_release(old);
}

/* Another stream, or this thread, waits for the newest record and reads its note. */
static void wait_for(event_slot *e, phx_stream *stream, bool in_stream) {
    pthread_mutex_lock(&e->order);
    note_use *use = e->note != NULL ? new_use(e->note, e->number) : NULL;
    if (use != NULL && in_stream) {
        OK(api->stream_wait_event(device, stream, e->handle));
        host_call(stream, read_note, use);
    } else if (use != NULL) {
        OK(api->event_synchronize(e->handle, FOREVER));
        read_note(use);
    }
    pthread_mutex_unlock(&e->order);
}

/* ---- the threads ---- */

typedef struct {
    uint64_t state;
    int64_t *source, *offsets, *result;
} worker;

static void use_stream(stream_slot *s, uint64_t kind, uint64_t dice) {
    int32_t idle;
    const uint64_t timeouts[] = {0, 100000, FOREVER};
    pthread_rwlock_rdlock(&s->life);
    if (kind < 10) {
        pthread_mutex_lock(&s->order);
        work_on(s, s->handle, s->source, s->offsets, s->result, dice);
        pthread_mutex_unlock(&s->order);
    } else if (kind < 12) {
        OK(api->stream_query(s->handle, &idle));
    } else {
        MAY(PHX_TIMEOUT, api->stream_synchronize(s->handle, timeouts[dice % 3]));
    }
    pthread_rwlock_unlock(&s->life);
}

static void use_event(event_slot *e, event_slot *other, stream_slot *s, uint64_t kind, uint64_t dice) {
    int32_t done;
    uint64_t ns;
    pthread_rwlock_rdlock(&e->life);
    pthread_rwlock_rdlock(&s->life);
    phx_stream *stream = dice % 16 == 0 ? NULL : s->handle;
    switch (kind) {
    case 0:
    case 1: record(e, stream, dice); break;
    case 2:
    case 3: wait_for(e, stream, true); break;
    case 4: wait_for(e, stream, false); break;
    case 5: OK(api->stream_wait_event(device, stream, e->handle)); break;
    case 6: OK(api->event_query(e->handle, &done)); break;
    case 7: MAY(PHX_TIMEOUT, api->event_synchronize(e->handle, dice % 3 ? 100000 : 0)); break;
    default:
        if (e < other && pthread_rwlock_tryrdlock(&other->life) == 0) {
            MAY(PHX_INVALID_ARGUMENT, api->event_elapsed(e->handle, other->handle, &ns));
            pthread_rwlock_unlock(&other->life);
        }
    }
    pthread_rwlock_unlock(&s->life);
    pthread_rwlock_unlock(&e->life);
}

static void replace(event_slot *e, stream_slot *s, bool stream) {
    if (stream) {
        pthread_rwlock_wrlock(&s->life);
        empty_slot(s);
        fill_slot(s);
        pthread_rwlock_unlock(&s->life);
        return;
    }
    pthread_rwlock_wrlock(&e->life);
    OK(api->event_destroy(e->handle));
    note_release(e->note);
    e->note = NULL;
    OK(api->event_create(device, 1, &e->handle));
    pthread_rwlock_unlock(&e->life);
}

static void *run(void *argument) {
    worker *w = argument;
    while (!atomic_load(&stop)) {
        const uint64_t dice = draw(&w->state), kind = dice >> 40 & 31;
        stream_slot *s = &streams[dice >> 32 & (STREAMS - 1)];
        event_slot *e = &events[(dice >> 46) % EVENTS], *other = &events[(dice >> 52) % EVENTS];
        if (kind < 14)
            use_stream(s, kind, dice);
        else if (kind < 28)
            use_event(e, other, s, (dice >> 56) % 9, dice);
        else if (kind == 28)
            replace(e, s, dice >> 58 & 1);
        else if (kind == 29)
            MAY(PHX_TIMEOUT, api->device_synchronize(device, dice & 64 ? FOREVER : 1000));
        else
            work_on(NULL, NULL, w->source, w->offsets, w->result, dice);
        atomic_fetch_add(&steps, 1);
    }
    return NULL;
}

/* ---- a stream that goes while others are at it: the caller's mistake, but no use of freed memory ---- */

typedef struct {
    phx_stream *stream;
    phx_event *event;
    atomic_bool open;
} gate;

typedef struct {
    gate *gate;
    phx_error *(*wait)(gate *g);
    atomic_long thread;
} waiter;

static void pause_ms(int64_t n) {
    nanosleep(&(struct timespec){n / 1000, n % 1000 * 1000000}, NULL);
}

static void hold(void *argument) {
    gate *g = argument;
    while (!atomic_load(&g->open)) pause_ms(1);
}

static phx_error *wait_for_stream(gate *g) { return api->stream_synchronize(g->stream, FOREVER); }

static phx_error *wait_for_device(gate *g) {
    (void)g;
    return api->device_synchronize(device, FOREVER);
}

static phx_error *wait_for_event(gate *g) { return api->event_synchronize(g->event, FOREVER); }

static void *run_waiter(void *argument) {
    waiter *w = argument;
    atomic_store(&w->thread, syscall(SYS_gettid));
    OK(w->wait(w->gate));
    return NULL;
}

/* Whether a waiter sleeps, as it does nowhere but inside of its call. */
static bool is_asleep(const waiter *w) {
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/self/task/%ld/stat", atomic_load(&w->thread));
    FILE *file = fopen(path, "re");
    if (file == NULL) return false;
    const int found = fscanf(file, "%*d (%*[^)]) %c", &state);
    fclose(file);
    return found == 1 && state == 'S';
}

static void *destroy(void *argument) {
    gate *g = argument;
    OK(api->stream_destroy(g->stream));
    return NULL;
}

/* `alone`: nothing but the waiting threads keeps the stream. */
static void destroy_while_waited_for(bool alone) {
    phx_error *(*const waits[])(gate *) = {wait_for_stream, wait_for_event, wait_for_device};
    enum { COUNT = 9 };
    pthread_t threads[COUNT + 1];
    waiter waiters[COUNT];
    gate g = {.open = false};
    phx_stream *other;
    OK(api->stream_create(device, 0, &g.stream));
    OK(api->stream_create(device, 0, &other));
    OK(api->event_create(device, 1, &g.event));
    host_call(g.stream, hold, &g);
    if (!alone) {
        OK(api->event_record(g.event, g.stream));
        OK(api->stream_wait_event(device, other, g.event));
    }
    for (int i = 0; i < COUNT; i++) {
        waiters[i] = (waiter){&g, waits[alone ? 0 : i % 3], 0};
        pthread_create(&threads[i], NULL, run_waiter, &waiters[i]);
    }
    for (int i = 0; i < COUNT; i++)
        while (!is_asleep(&waiters[i])) pause_ms(1);
    pthread_create(&threads[COUNT], NULL, destroy, &g);
    pause_ms(10);
    atomic_store(&g.open, true);
    for (int i = 0; i <= COUNT; i++) pthread_join(threads[i], NULL);
    OK(api->stream_destroy(other));
    OK(api->event_destroy(g.event));
}

static void find_kernels(void) {
    const phx_kernel *const *rows;
    uint64_t count;
    OK(api->kernel_table(device, &rows, &count));
    for (uint64_t i = 0; i < count; i++) {
        const phx_kernel *row = rows[i];
        const char *op = row->op.data;
        if (strcmp(op, "wrap_index") == 0) wrap_index = row;
        if (strcmp(op, "gather") == 0 && row->dtypes[0] == PHX_INT64) gather = row;
        if (strcmp(op, "scatter") == 0 && row->dtypes[0] == PHX_INT64) scatter = row;
    }
}

int main(int argc, char **argv) {
    const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    const double seconds = argc > 2 ? strtod(argv[2], NULL) : 1.0;
    pthread_t threads[THREADS];
    worker workers[THREADS];
    OK(phalanx_plugin_get_api(PHX_ABI_MAJOR, PHX_ABI_MINOR, NULL, &api));
    OK(api->device_open(0, &device));
    find_kernels();
    for (int i = 0; i < 20; i++) destroy_while_waited_for(i % 4 != 0);
    for (int i = 0; i < STREAMS; i++) {
        pthread_rwlock_init(&streams[i].life, NULL);
        pthread_mutex_init(&streams[i].order, NULL);
        fill_slot(&streams[i]);
    }
    for (int i = 0; i < EVENTS; i++) {
        pthread_rwlock_init(&events[i].life, NULL);
        pthread_mutex_init(&events[i].order, NULL);
        OK(api->event_create(device, 1, &events[i].handle));
    }
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){(seed + (uint64_t)i + 1) * UINT64_C(0x9e3779b97f4a7c15), NULL, NULL, NULL};
        workers[i].source = calloc(LENGTH, 8);
        workers[i].offsets = calloc(LENGTH, 8);
        workers[i].result = calloc(LENGTH, 8);
        pthread_create(&threads[i], NULL, run, &workers[i]);
    }
    pause_ms((int64_t)(seconds * 1000));
    atomic_store(&stop, true);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        free(workers[i].source);
        free(workers[i].offsets);
        free(workers[i].result);
    }
    OK(api->device_synchronize(device, FOREVER));
    for (int i = 0; i < EVENTS; i++) {
        OK(api->event_destroy(events[i].handle));
        note_release(events[i].note);
    }
    for (int i = 0; i < STREAMS; i++) empty_slot(&streams[i]);
    OK(api->device_close(device));
    printf("seed %llu: %llu steps, %llu errors told, %u failures\n", (unsigned long long)seed,
           (unsigned long long)atomic_load(&steps), (unsigned long long)atomic_load(&told),
           atomic_load(&failures));
    return atomic_load(&failures) != 0;
}
