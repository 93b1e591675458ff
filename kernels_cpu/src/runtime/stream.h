/* Streams and events.
 *
 * The default stream (NULL) is the calling thread: work is done when the call returns. Another stream is a
 * queue with a thread of its own. Its tasks are numbered from 1; a place in a stream is (stream, number) and
 * is reached when `completed` is at least the number. An event names such a place.
 */
#ifndef PHX_CPU_STREAM_H_
#define PHX_CPU_STREAM_H_

#include "runtime/runtime.h"

typedef struct cpu_task cpu_task;

/* What a queue holds; allocated with malloc, freed by the queue after run. */
struct cpu_task {
    cpu_task *next;
    phx_error *(*run)(cpu_task *self);
    void (*drop)(cpu_task *self); /* releases what the task refers to, run or not; may be null */
    bool is_mark;                 /* of an event: runs behind a failure, too */
};

/* Append a task and own it, also on failure. */
phx_error *cpu_stream_push(phx_stream *stream, cpu_task *task);
/* As above; out_number gets the task's number. */
phx_error *cpu_stream_push_numbered(phx_stream *stream, cpu_task *task, uint64_t *out_number);

void cpu_stream_retain(phx_stream *stream);
void cpu_stream_release(phx_stream *stream);
/* The error of a stream made before a fork, else NULL. */
phx_error *cpu_stream_usable(const phx_stream *stream, const char *call);
bool cpu_stream_reached(const phx_stream *stream, uint64_t number);
/* Wait for a place; call names the caller in the error of a timeout. */
phx_error *cpu_stream_wait_until(phx_stream *stream, uint64_t number, uint64_t timeout_ns, const char *call);
/* Take the kept error if it comes from a task not after `number`. */
phx_error *cpu_stream_take_error(phx_stream *stream, uint64_t number);
/* For the task that runs: a copy of what stopped the stream before it, or NULL. The caller destroys it. */
phx_error *cpu_stream_failure(phx_stream *stream);
/* Guards the list of streams and the events' places; held for a few instructions only. */
void cpu_registry_lock(void);
void cpu_registry_unlock(void);

phx_error *cpu_device_synchronize(phx_device *device, uint64_t timeout_ns);
phx_error *cpu_stream_create(phx_device *device, int32_t priority, phx_stream **out);
phx_error *cpu_stream_destroy(phx_stream *stream);
phx_error *cpu_stream_query(phx_stream *stream, int32_t *out_idle);
phx_error *cpu_stream_synchronize(phx_stream *stream, uint64_t timeout_ns);
phx_error *cpu_stream_inject_failure(phx_device *device, phx_stream *stream);

phx_error *cpu_stream_wait_event(phx_device *device, phx_stream *stream, phx_event *event);
phx_error *cpu_event_create(phx_device *device, int32_t timed, phx_event **out);
phx_error *cpu_event_destroy(phx_event *event);
phx_error *cpu_event_record(phx_event *event, phx_stream *stream);
phx_error *cpu_event_query(phx_event *event, int32_t *out_done);
phx_error *cpu_event_synchronize(phx_event *event, uint64_t timeout_ns);
phx_error *cpu_event_elapsed(phx_event *begin, phx_event *end, uint64_t *out_ns);

#endif
