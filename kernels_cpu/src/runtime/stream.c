/* Streams: one thread and one queue each. */
#define _GNU_SOURCE
#include "runtime/stream.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/thread.h"

#define SPIN_NS 20000u /* an idle worker looks this long for work before it sleeps */
#define WAIT_SPIN_NS 10000u

struct phx_stream {
    atomic_uint references; /* the creator's, the worker's, those of places */
    uint32_t generation;
    atomic_uint_fast64_t submitted, completed;
    pthread_mutex_t mutex;
    pthread_cond_t work, progress;
    cpu_task *head, *tail;
    phx_error *error; /* the first that no one has been told of */
    uint64_t error_number;
    phx_error *cause;     /* a copy of what stopped the stream last */
    uint64_t passed_over; /* tasks up to here were enqueued before that was told, and are not done */
    int waiters; /* on progress */
    bool asleep; /* the worker, on work */
    bool closing;
    bool ended; /* the worker takes no more tasks */
    pthread_t thread;
    phx_stream *previous, *next; /* in the list of live streams */
};

static struct {
    pthread_mutex_t mutex;
    phx_stream *first;
} registry = {.mutex = PTHREAD_MUTEX_INITIALIZER};

void cpu_registry_lock(void) { pthread_mutex_lock(&registry.mutex); }

void cpu_registry_unlock(void) { pthread_mutex_unlock(&registry.mutex); }

/* Nobody is inside the registry while the process is copied. */
void cpu_streams_before_fork(void) { cpu_registry_lock(); }

void cpu_streams_after_fork(bool in_child) {
    if (in_child) {
        /* the threads of these streams stayed in the parent */
        registry.first = NULL;
        pthread_mutex_init(&registry.mutex, NULL);
    } else {
        cpu_registry_unlock();
    }
}

static bool is_stale(const phx_stream *stream) { return stream->generation != atomic_load(&cpu_generation); }

static phx_error *stale_error(const char *call) {
    return cpu_fail(
        PHX_UNAVAILABLE,
        "%s: the stream was created before fork and its thread lives in the parent process only; create "
        "streams in the child, or start processes with the 'spawn' method",
        call);
}

phx_error *cpu_stream_usable(const phx_stream *stream, const char *call) {
    return is_stale(stream) ? stale_error(call) : NULL;
}

void cpu_stream_retain(phx_stream *stream) { atomic_fetch_add(&stream->references, 1); }

void cpu_stream_release(phx_stream *stream) {
    if (atomic_fetch_sub(&stream->references, 1) != 1) return;
    if (stream->error != NULL) stream->error->destroy(stream->error);
    if (stream->cause != NULL) stream->cause->destroy(stream->cause);
    pthread_cond_destroy(&stream->progress);
    pthread_cond_destroy(&stream->work);
    pthread_mutex_destroy(&stream->mutex);
    free(stream);
}

static void finish_task(cpu_task *task) {
    if (task->drop != NULL) task->drop(task);
    free(task);
}

static bool spin_until_submitted(phx_stream *stream, uint64_t number) {
    if (cpu_device.cores < 2) return false;
    const uint64_t end = cpu_now_ns() + SPIN_NS;
    do {
        if (atomic_load(&stream->submitted) >= number) return true;
        sched_yield();
    } while (cpu_now_ns() < end);
    return false;
}

/* Wait for the next task; NULL when the stream is closing and empty. Called and left with the mutex held. */
static cpu_task *next_task(phx_stream *stream) {
    while (stream->head == NULL) {
        if (stream->closing) return NULL;
        const uint64_t next = atomic_load(&stream->submitted) + 1;
        pthread_mutex_unlock(&stream->mutex);
        const bool found = spin_until_submitted(stream, next);
        pthread_mutex_lock(&stream->mutex);
        if (found || stream->head != NULL || stream->closing) continue;
        stream->asleep = true;
        pthread_cond_wait(&stream->work, &stream->mutex);
        stream->asleep = false;
    }
    cpu_task *task = stream->head;
    stream->head = task->next;
    if (stream->head == NULL) stream->tail = NULL;
    return task;
}

/* A wrong index is a mistake in data, which stops nothing. */
static bool stops(const phx_error *error) { return error != NULL && error->code != PHX_INDEX_OUT_OF_RANGE; }

/* Keep the first failure; a wrong index gives way to what stops the stream. */
static void keep_error(phx_stream *stream, phx_error *error) {
    if (stream->error != NULL && (stops(stream->error) || !stops(error))) {
        error->destroy(error);
        return;
    }
    if (stream->error != NULL) stream->error->destroy(stream->error);
    stream->error = error;
    stream->error_number = atomic_load(&stream->completed) + 1;
    if (!stops(error)) return;
    if (stream->cause != NULL) stream->cause->destroy(stream->cause);
    stream->cause = cpu_copy_error(error);
}

/* Whether the next task stands behind a failure that stopped the stream, and was enqueued before that was told. */
static bool is_passed_over(const phx_stream *stream) {
    return stops(stream->error) || atomic_load(&stream->completed) < stream->passed_over;
}

phx_error *cpu_stream_failure(phx_stream *stream) {
    pthread_mutex_lock(&stream->mutex);
    phx_error *failure = is_passed_over(stream) ? cpu_copy_error(stream->cause) : NULL;
    pthread_mutex_unlock(&stream->mutex);
    return failure;
}

static void *worker(void *argument) {
    phx_stream *stream = argument;
    cpu_task *task;
    pthread_mutex_lock(&stream->mutex);
    while ((task = next_task(stream)) != NULL) {
        const bool runs = task->is_mark || !is_passed_over(stream);
        pthread_mutex_unlock(&stream->mutex);
        phx_error *error = runs ? task->run(task) : NULL;
        finish_task(task);
        pthread_mutex_lock(&stream->mutex);
        if (error != NULL) keep_error(stream, error);
        atomic_fetch_add(&stream->completed, 1);
        if (stream->waiters != 0) pthread_cond_broadcast(&stream->progress);
    }
    stream->ended = true;
    pthread_mutex_unlock(&stream->mutex);
    cpu_stream_release(stream);
    return NULL;
}

phx_error *cpu_stream_push_numbered(phx_stream *stream, cpu_task *task, uint64_t *out_number) {
    if (is_stale(stream)) {
        finish_task(task);
        return stale_error("enqueue");
    }
    task->next = NULL;
    pthread_mutex_lock(&stream->mutex);
    if (stream->ended) {
        pthread_mutex_unlock(&stream->mutex);
        finish_task(task);
        return cpu_fail(PHX_INVALID_ARGUMENT, "enqueue: the stream has been destroyed");
    }
    if (stream->tail != NULL)
        stream->tail->next = task;
    else
        stream->head = task;
    stream->tail = task;
    *out_number = atomic_fetch_add(&stream->submitted, 1) + 1;
    if (stream->asleep) pthread_cond_signal(&stream->work);
    pthread_mutex_unlock(&stream->mutex);
    return NULL;
}

phx_error *cpu_stream_push(phx_stream *stream, cpu_task *task) {
    uint64_t number;
    return cpu_stream_push_numbered(stream, task, &number);
}

bool cpu_stream_reached(const phx_stream *stream, uint64_t number) {
    return atomic_load(&stream->completed) >= number;
}

static bool spin_until_reached(const phx_stream *stream, uint64_t number) {
    if (cpu_stream_reached(stream, number)) return true;
    if (cpu_device.cores < 2) return false;
    const uint64_t end = cpu_now_ns() + WAIT_SPIN_NS;
    while (cpu_now_ns() < end)
        if (cpu_stream_reached(stream, number)) return true;
    return false;
}

static struct timespec deadline_after(uint64_t timeout_ns) {
    const uint64_t now = cpu_now_ns();
    const uint64_t limit = (uint64_t)INT64_MAX;
    const uint64_t end = timeout_ns > limit - now ? limit : now + timeout_ns;
    return (struct timespec){(time_t)(end / 1000000000u), (long)(end % 1000000000u)};
}

/* Sleep until the place is reached; false on timeout. */
static bool sleep_until_reached(phx_stream *stream, uint64_t number, uint64_t timeout_ns) {
    const struct timespec deadline = deadline_after(timeout_ns);
    int failure = 0;
    pthread_mutex_lock(&stream->mutex);
    stream->waiters++;
    while (!cpu_stream_reached(stream, number) && failure != ETIMEDOUT) {
        failure = timeout_ns == UINT64_MAX
                      ? pthread_cond_wait(&stream->progress, &stream->mutex)
                      : pthread_cond_timedwait(&stream->progress, &stream->mutex, &deadline);
    }
    stream->waiters--;
    pthread_mutex_unlock(&stream->mutex);
    return cpu_stream_reached(stream, number);
}

phx_error *cpu_stream_wait_until(phx_stream *stream, uint64_t number, uint64_t timeout_ns, const char *call) {
    if (cpu_stream_reached(stream, number)) return NULL;
    if (is_stale(stream)) return stale_error(call);
    if (pthread_equal(pthread_self(), stream->thread))
        return cpu_fail(PHX_INVALID_ARGUMENT, "%s: a host call may not wait for the stream that runs it",
                        call);
    if (timeout_ns != 0 &&
        (spin_until_reached(stream, number) || sleep_until_reached(stream, number, timeout_ns)))
        return NULL;
    return cpu_fail(PHX_TIMEOUT, "%s: not finished after %.6g s; %llu tasks are still queued or running",
                    call, (double)timeout_ns * 1e-9,
                    (unsigned long long)(atomic_load(&stream->submitted) - atomic_load(&stream->completed)));
}

phx_error *cpu_stream_take_error(phx_stream *stream, uint64_t number) {
    if (is_stale(stream)) return NULL;
    phx_error *error = NULL;
    pthread_mutex_lock(&stream->mutex);
    if (stream->error != NULL && stream->error_number <= number) {
        error = stream->error;
        stream->error = NULL;
        if (stops(error)) stream->passed_over = atomic_load(&stream->submitted);
    }
    pthread_mutex_unlock(&stream->mutex);
    return error;
}

static phx_error *run_failure(cpu_task *self) {
    (void)self;
    return cpu_fail(PHX_INTERNAL, "an injected failure, as stream_inject_failure was asked for");
}

phx_error *cpu_stream_inject_failure(phx_device *device, phx_stream *stream) {
    phx_error *error = cpu_check_device(device, "stream_inject_failure");
    if (error != NULL) return error;
    if (stream == NULL) return run_failure(NULL);
    cpu_task *task = malloc(sizeof *task);
    if (task == NULL) return cpu_fail(PHX_OUT_OF_MEMORY, "stream_inject_failure: no host memory");
    *task = (cpu_task){.run = run_failure};
    return cpu_stream_push(stream, task);
}

static void list_add(phx_stream *stream) {
    cpu_registry_lock();
    stream->next = registry.first;
    if (registry.first != NULL) registry.first->previous = stream;
    registry.first = stream;
    cpu_registry_unlock();
}

static void list_remove(phx_stream *stream) {
    cpu_registry_lock();
    if (stream->previous != NULL)
        stream->previous->next = stream->next;
    else
        registry.first = stream->next;
    if (stream->next != NULL) stream->next->previous = stream->previous;
    cpu_registry_unlock();
}

static void init_locks(phx_stream *stream) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&stream->mutex, NULL);
    pthread_cond_init(&stream->work, NULL);
    pthread_cond_init(&stream->progress, &attributes);
    pthread_condattr_destroy(&attributes);
}

phx_error *cpu_stream_create(phx_device *device, int32_t priority, phx_stream **out) {
    (void)priority; /* threads of one process share the scheduler's priority */
    phx_error *error = cpu_check_device(device, "stream_create");
    if (error != NULL) return error;
    if (out == NULL) return cpu_fail(PHX_INVALID_ARGUMENT, "stream_create: out is a null pointer");
    phx_stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL) return cpu_fail(PHX_OUT_OF_MEMORY, "stream_create: no host memory for a stream");
    init_locks(stream);
    stream->generation = atomic_load(&cpu_generation);
    atomic_init(&stream->references, 2);
    pthread_mutex_lock(&stream->mutex); /* the worker reads stream->thread after this */
    const int failure = cpu_thread_create(&stream->thread, worker, stream);
    pthread_mutex_unlock(&stream->mutex);
    if (failure != 0) {
        atomic_store(&stream->references, 1);
        cpu_stream_release(stream);
        error = cpu_fail(PHX_UNAVAILABLE, "stream_create: the system refused another thread: %s",
                         strerror(failure));
        error->vendor_code = failure;
        return error;
    }
    list_add(stream);
    *out = stream;
    return NULL;
}

phx_error *cpu_stream_destroy(phx_stream *stream) {
    if (stream == NULL || is_stale(stream)) return NULL;
    list_remove(stream);
    pthread_mutex_lock(&stream->mutex);
    stream->closing = true;
    if (stream->asleep) pthread_cond_signal(&stream->work);
    pthread_mutex_unlock(&stream->mutex);
    if (pthread_equal(pthread_self(), stream->thread))
        pthread_detach(stream->thread); /* called by its own host call: the rest of the queue follows that */
    else
        pthread_join(stream->thread, NULL);
    /* a host call may have put more into the queue meanwhile */
    phx_error *error = cpu_stream_take_error(stream, atomic_load(&stream->submitted));
    cpu_stream_release(stream);
    return error;
}

phx_error *cpu_stream_query(phx_stream *stream, int32_t *out_idle) {
    if (out_idle == NULL) return cpu_fail(PHX_INVALID_ARGUMENT, "stream_query: out is a null pointer");
    *out_idle = 1;
    if (stream == NULL) return NULL;
    if (is_stale(stream)) return stale_error("stream_query");
    *out_idle = cpu_stream_reached(stream, atomic_load(&stream->submitted));
    return NULL;
}

/* The stream stays while this waits, though another thread destroys it. */
phx_error *cpu_stream_synchronize(phx_stream *stream, uint64_t timeout_ns) {
    if (stream == NULL) return NULL;
    if (is_stale(stream)) return stale_error("stream_synchronize");
    cpu_stream_retain(stream);
    const uint64_t end = atomic_load(&stream->submitted);
    phx_error *error = cpu_stream_wait_until(stream, end, timeout_ns, "stream_synchronize");
    if (error == NULL) error = cpu_stream_take_error(stream, end);
    cpu_stream_release(stream);
    return error;
}

/* The live streams, each retained, in an array that the caller frees; false if there is no memory for it. */
static bool live_streams(phx_stream ***out, size_t *out_count) {
    size_t count = 0;
    bool done = true;
    *out = NULL;
    cpu_registry_lock();
    for (phx_stream *s = registry.first; s != NULL; s = s->next) count++;
    if (count != 0) {
        *out = malloc(count * sizeof **out);
        done = *out != NULL;
    }
    size_t i = 0;
    for (phx_stream *s = registry.first; s != NULL && done; s = s->next) {
        cpu_stream_retain(s);
        (*out)[i++] = s;
    }
    cpu_registry_unlock();
    *out_count = count;
    return done;
}

phx_error *cpu_device_synchronize(phx_device *device, uint64_t timeout_ns) {
    phx_error *error = cpu_check_device(device, "device_synchronize");
    if (error != NULL) return error;
    phx_stream **streams;
    size_t count;
    if (!live_streams(&streams, &count))
        return cpu_fail(PHX_OUT_OF_MEMORY, "device_synchronize: no host memory for the list of streams");
    const uint64_t begin = cpu_now_ns();
    bool waiting = true;
    for (size_t i = 0; i < count; i++) {
        const uint64_t spent = cpu_now_ns() - begin;
        const uint64_t left = timeout_ns == UINT64_MAX ? timeout_ns
                              : spent < timeout_ns     ? timeout_ns - spent
                                                       : 0;
        const uint64_t end = atomic_load(&streams[i]->submitted);
        phx_error *failure =
            waiting ? cpu_stream_wait_until(streams[i], end, left, "device_synchronize") : NULL;
        waiting = waiting && failure == NULL;
        /* work that failed holds up nothing: all others are waited for, their errors stay for the next call */
        if (waiting && error == NULL) error = cpu_stream_take_error(streams[i], end);
        if (failure != NULL && error == NULL)
            error = failure;
        else if (failure != NULL)
            failure->destroy(failure);
        cpu_stream_release(streams[i]);
    }
    free(streams);
    return error;
}
