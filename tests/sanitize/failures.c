/* Threads whose streams fail, and hand that on by events that all of them share, for the sanitizers.
 *
 *     failures SEED SECONDS
 *
 * A copy puts new bytes where old ones were, behind a failure or not: one that is done though it was to be
 * passed over, or left out though it was not, is a wrong value to the checks.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "runtime/kernel.h"

enum { THREADS = 4,
       SHARED = 3 };
#define FOREVER UINT64_MAX

static const phx_api *api;
static phx_device *device;
static phx_event *shared[SHARED]; /* recorded and waited for by all, without order */
static atomic_uint failures;
static atomic_ullong steps;
static atomic_bool stop;

/* Destroy an error, and tell whether there was one, which is a failure on purpose. */
static bool fails(phx_error *error, int line) {
    if (error == NULL) return false;
    if (error->code != PHX_INTERNAL) {
        fprintf(stderr, "%d: error %d: %.*s\n", line, error->code, (int)error->message.size, error->message.data);
        atomic_fetch_add(&failures, 1);
    }
    error->destroy(error);
    return true;
}

static void check(bool is_so, int line) {
    if (is_so) return;
    fprintf(stderr, "line %d: not so\n", line);
    atomic_fetch_add(&failures, 1);
}
#define FAILS(CALL) check(fails(CALL, __LINE__), __LINE__)
#define OK(CALL) check(!fails(CALL, __LINE__), __LINE__)

static uint64_t draw(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static void copy(phx_stream *stream, int64_t *to, int64_t *from) {
    OK(api->copy(device, stream, (phx_place){NULL, to, 0}, (phx_place){device, from, 0}, sizeof *to));
}

/* One stream fails, or does not, and another one waits for an event behind that. */
static void hand_on(phx_stream *const streams[2], phx_event *event, int64_t *value, uint64_t dice) {
    const bool failing = dice & 1, told_first = dice & 2;
    int64_t found[3] = {0, 0, 0};
    copy(streams[0], &found[0], value);
    if (failing) OK(api->stream_inject_failure(device, streams[0]));
    OK(api->event_record(event, streams[0]));
    if (told_first && failing) FAILS(api->event_synchronize(event, FOREVER));
    OK(api->stream_wait_event(device, streams[1], event));
    copy(streams[1], &found[1], value);
    if (dice & 4) OK(api->event_record(event, streams[1])); /* the wait keeps what it saw */
    const bool waited = fails(api->stream_synchronize(streams[1], FOREVER), __LINE__);
    const bool ran = fails(api->stream_synchronize(streams[0], FOREVER), __LINE__);
    check(waited == failing && ran == (failing && !told_first), __LINE__);
    copy(streams[0], &found[2], value);
    OK(api->stream_synchronize(streams[0], FOREVER));
    check(found[0] == *value && found[1] == (failing ? 0 : *value) && found[2] == *value, __LINE__);
}

/* Streams fail by events of other threads, or do not; they go with what is in their queues. */
static void mingle(uint64_t dice) {
    phx_stream *stream;
    phx_event *event = shared[(dice >> 8) % SHARED];
    int32_t flag;
    OK(api->stream_create(device, 0, &stream));
    OK(api->stream_wait_event(device, stream, event));
    if (dice & 1) OK(api->stream_inject_failure(device, stream));
    OK(api->event_record(shared[(dice >> 12) % SHARED], stream));
    if (dice & 2) (void)fails(api->event_synchronize(event, FOREVER), __LINE__);
    OK(api->stream_query(stream, &flag));
    OK(api->event_query(event, &flag));
    (void)fails(api->stream_destroy(stream), __LINE__);
}

static void *run(void *argument) {
    uint64_t state = *(uint64_t *)argument;
    phx_stream *streams[2];
    phx_event *event;
    int64_t *value = malloc(sizeof *value);
    for (int i = 0; i < 2; i++) OK(api->stream_create(device, 0, &streams[i]));
    OK(api->event_create(device, 0, &event));
    while (!atomic_load(&stop)) {
        const uint64_t dice = draw(&state) >> 20;
        *value = (int64_t)dice | 1;
        hand_on(streams, event, value, dice);
        mingle(dice >> 8);
        atomic_fetch_add(&steps, 1);
    }
    OK(api->event_destroy(event));
    for (int i = 0; i < 2; i++) OK(api->stream_destroy(streams[i]));
    free(value);
    return NULL;
}

int main(int argc, char **argv) {
    const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    const double seconds = argc > 2 ? strtod(argv[2], NULL) : 1.0;
    pthread_t threads[THREADS];
    uint64_t states[THREADS];
    OK(phalanx_plugin_get_api(PHX_ABI_MAJOR, PHX_ABI_MINOR, NULL, &api));
    OK(api->device_open(0, &device));
    for (int i = 0; i < SHARED; i++) OK(api->event_create(device, 0, &shared[i]));
    for (int i = 0; i < THREADS; i++) {
        states[i] = (seed + (uint64_t)i + 1) * UINT64_C(0x9e3779b97f4a7c15);
        pthread_create(&threads[i], NULL, run, &states[i]);
    }
    nanosleep(&(struct timespec){(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)}, NULL);
    atomic_store(&stop, true);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < SHARED; i++) OK(api->event_destroy(shared[i]));
    OK(api->device_close(device));
    printf("seed %llu: %llu steps, %u failures\n", (unsigned long long)seed, (unsigned long long)atomic_load(&steps),
           atomic_load(&failures));
    return atomic_load(&failures) != 0;
}
