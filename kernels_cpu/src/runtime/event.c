/* Events: places in streams that can be waited for and timed. */
#include <stdlib.h>

#include "runtime/stream.h"

/* Where one record of an event stands. Shared by the event, the queue and those who wait for it, so an event
 * may be recorded anew or destroyed while older waits are pending. */
typedef struct {
    atomic_uint references;
    phx_stream *stream; /* NULL: reached when it was recorded */
    uint64_t number;
    uint64_t time;      /* this and the next are written before the place counts as reached */
    phx_error *failure; /* what stopped the stream before it, or NULL */
} cpu_place;

struct phx_event {
    cpu_place *place; /* NULL: never recorded; guarded by the registry's lock */
};

static void place_release(cpu_place *place) {
    if (place == NULL || atomic_fetch_sub(&place->references, 1) != 1) return;
    if (place->stream != NULL) cpu_stream_release(place->stream);
    if (place->failure != NULL) place->failure->destroy(place->failure);
    free(place);
}

/* The event's newest place with a reference for the caller, or NULL. */
static cpu_place *place_of(phx_event *event) {
    cpu_registry_lock();
    cpu_place *place = event->place;
    if (place != NULL) atomic_fetch_add(&place->references, 1);
    cpu_registry_unlock();
    return place;
}

static bool is_reached(const cpu_place *place) {
    return place == NULL || place->stream == NULL || cpu_stream_reached(place->stream, place->number);
}

static phx_error *no_memory(const char *call) {
    return cpu_fail(PHX_OUT_OF_MEMORY, "%s: no host memory", call);
}

static phx_error *null_pointer(const char *call) {
    return cpu_fail(PHX_INVALID_ARGUMENT, "%s: the event or an out parameter is a null pointer", call);
}

phx_error *cpu_event_create(phx_device *device, int32_t timed, phx_event **out) {
    (void)timed; /* all are */
    phx_error *error = cpu_check_device(device, "event_create");
    if (error != NULL) return error;
    if (out == NULL) return null_pointer("event_create");
    *out = calloc(1, sizeof **out);
    return *out != NULL ? NULL : no_memory("event_create");
}

phx_error *cpu_event_destroy(phx_event *event) {
    if (event == NULL) return NULL;
    place_release(event->place);
    free(event);
    return NULL;
}

typedef struct {
    cpu_task base;
    cpu_place *place;
} place_task;

static void drop_place(cpu_task *self) { place_release(((place_task *)self)->place); }

static phx_error *run_record(cpu_task *self) {
    cpu_place *place = ((place_task *)self)->place;
    place->time = cpu_now_ns();
    place->failure = cpu_stream_failure(place->stream);
    return NULL;
}

/* Wait until a place is reached; what stopped its stream before it is the error. */
static phx_error *pass(const cpu_place *place) {
    phx_error *error =
        cpu_stream_wait_until(place->stream, place->number, UINT64_MAX, "stream_wait_event");
    if (error != NULL || place->failure == NULL) return error;
    return cpu_copy_error(place->failure);
}

static phx_error *run_wait(cpu_task *self) { return pass(((place_task *)self)->place); }

/* Push a task that owns a reference to place; gives that reference back on failure. */
static phx_error *push(phx_stream *stream, cpu_place *place, phx_error *(*run)(cpu_task *),
                       uint64_t *out_number) {
    place_task *task = malloc(sizeof *task);
    if (task == NULL) {
        place_release(place);
        return no_memory("enqueue of an event");
    }
    *task = (place_task){{NULL, run, drop_place, .is_mark = true}, place};
    return cpu_stream_push_numbered(stream, &task->base, out_number);
}

phx_error *cpu_event_record(phx_event *event, phx_stream *stream) {
    if (event == NULL) return null_pointer("event_record");
    cpu_place *place = malloc(sizeof *place);
    if (place == NULL) return no_memory("event_record");
    *place = (cpu_place){.stream = stream, .time = cpu_now_ns()};
    atomic_init(&place->references, 1);
    if (stream != NULL) {
        cpu_stream_retain(stream);
        atomic_fetch_add(&place->references, 1);
        phx_error *error = push(stream, place, run_record, &place->number);
        if (error != NULL) {
            place_release(place);
            return error;
        }
    }
    cpu_registry_lock();
    cpu_place *old = event->place;
    event->place = place;
    cpu_registry_unlock();
    place_release(old);
    return NULL;
}

phx_error *cpu_stream_wait_event(phx_device *device, phx_stream *stream, phx_event *event) {
    phx_error *error = cpu_check_device(device, "stream_wait_event");
    if (error != NULL) return error;
    if (event == NULL) return null_pointer("stream_wait_event");
    cpu_place *place = place_of(event);
    if (place == NULL || place->stream == stream || (is_reached(place) && place->failure == NULL)) {
        place_release(place);
        return NULL;
    }
    uint64_t number;
    if (stream != NULL) return push(stream, place, run_wait, &number);
    error = pass(place);
    place_release(place);
    return error;
}

phx_error *cpu_event_query(phx_event *event, int32_t *out_done) {
    if (event == NULL || out_done == NULL) return null_pointer("event_query");
    cpu_place *place = place_of(event);
    phx_error *error = NULL;
    *out_done = is_reached(place);
    /* a place in a stream of the parent process is never reached here: say so instead of "not yet" */
    if (!*out_done) error = cpu_stream_usable(place->stream, "event_query");
    place_release(place);
    return error;
}

phx_error *cpu_event_synchronize(phx_event *event, uint64_t timeout_ns) {
    if (event == NULL) return null_pointer("event_synchronize");
    cpu_place *place = place_of(event);
    phx_error *error = NULL;
    if (place != NULL && place->stream != NULL) {
        error = cpu_stream_wait_until(place->stream, place->number, timeout_ns, "event_synchronize");
        if (error == NULL) error = cpu_stream_take_error(place->stream, place->number);
    }
    place_release(place);
    return error;
}

static phx_error *elapsed(const cpu_place *begin, const cpu_place *end, uint64_t *out_ns) {
    if (begin == NULL || end == NULL)
        return cpu_fail(PHX_INVALID_ARGUMENT, "event_elapsed: the %s event was never recorded",
                        begin == NULL ? "first" : "second");
    if (!is_reached(begin) || !is_reached(end))
        return cpu_fail(PHX_INVALID_ARGUMENT,
                        "event_elapsed: the %s event is not reached yet; synchronize it first",
                        is_reached(begin) ? "second" : "first");
    if (end->time < begin->time)
        return cpu_fail(PHX_INVALID_ARGUMENT,
                        "event_elapsed: the second event was reached %llu ns before the first",
                        (unsigned long long)(begin->time - end->time));
    *out_ns = end->time - begin->time;
    return NULL;
}

phx_error *cpu_event_elapsed(phx_event *begin, phx_event *end, uint64_t *out_ns) {
    if (begin == NULL || end == NULL || out_ns == NULL) return null_pointer("event_elapsed");
    cpu_place *first = place_of(begin);
    cpu_place *second = place_of(end);
    phx_error *error = elapsed(first, second, out_ns);
    place_release(first);
    place_release(second);
    return error;
}
