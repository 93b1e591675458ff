/* The log and the clock of plugins: see host.h. */
#include <Python.h>

#include "host.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if PY_VERSION_HEX < 0x030D0000
#define Py_IsFinalizing _Py_IsFinalizing
#endif

static _Atomic(phx_log_entry *) newest; /* each points to the one before */
static phx_log_entry *taken;            /* older than all of those, the oldest first */
static _Atomic int64_t held;            /* bytes of both */
static _Atomic uint64_t waiting;        /* messages in both; counted before they are there */
static _Atomic uint64_t lost;
static atomic_bool asked;           /* a fetch is due */
static atomic_bool may_ask;         /* the interpreter is there */
static _Atomic int32_t asking;      /* threads that are just at it */
static int (*fetch_messages)(void *);
static bool delivering;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void ask(void) {
    atomic_fetch_add(&asking, 1); /* before may_ask is read: phx_log_close waits for us */
    if (atomic_load(&may_ask) && Py_IsInitialized() && !Py_IsFinalizing() && !atomic_exchange(&asked, true)) {
        if (Py_AddPendingCall(fetch_messages, NULL) != 0)
            atomic_store(&asked, false); /* too many calls are due; the next message tries again */
    }
    atomic_fetch_sub(&asking, 1);
}

static int64_t footprint(const phx_log_entry *entry) {
    return (int64_t)(sizeof *entry + entry->size);
}

void phx_host_log(void *context, int32_t level, phx_str message) {
    static const char wrong[] = "a message with a wrong length, which was not read";
    if (message.size > PHX_LOG_ABSURD_TEXT)
        message = (phx_str){wrong, sizeof wrong - 1};
    uint64_t size = message.data ? message.size : 0;
    if (size > PHX_LOG_MOST_TEXT)
        size = PHX_LOG_MOST_TEXT;
    phx_log_entry *entry = NULL;
    if (atomic_load(&held) < PHX_LOG_MOST_HELD)
        entry = malloc(sizeof *entry + size);
    if (!entry) {
        atomic_fetch_add(&lost, 1);
        ask();
        return;
    }
    entry->context = context;
    entry->level = level;
    entry->size = (uint32_t)size;
    if (size)
        memcpy(entry->text, message.data, size);
    atomic_fetch_add(&held, footprint(entry));
    atomic_fetch_add(&waiting, 1);
    entry->next = atomic_load(&newest);
    while (!atomic_compare_exchange_weak(&newest, &entry->next, entry));
    ask();
}

uint64_t phx_host_now_ns(void *context) {
    struct timespec now;
    (void)context;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void drop_all(phx_log_entry *entry) {
    while (entry) {
        phx_log_entry *next = entry->next;
        free(entry);
        entry = next;
    }
}

static void after_fork_in_child(void) {
    drop_all(atomic_exchange(&newest, NULL));
    drop_all(taken);
    taken = NULL;
    delivering = false;
    atomic_store(&held, 0);
    atomic_store(&waiting, 0);
    atomic_store(&lost, 0);
    atomic_store(&asked, false);
    atomic_store(&asking, 0);
}

static void register_fork(void) {
    pthread_atfork(NULL, NULL, after_fork_in_child);
}

void phx_log_open(int (*fetch)(void *)) {
    pthread_once(&once, register_fork);
    fetch_messages = fetch;
    atomic_store(&may_ask, true);
    if (phx_log_waits())
        ask();
}

void phx_log_close(void) {
    atomic_store(&may_ask, false);
    while (atomic_load(&asking)) /* a few instructions, none of which waits for us */
        sched_yield();
}

bool phx_log_begin(uint64_t *count) {
    if (delivering)
        return false;
    delivering = true;
    atomic_store(&asked, false);
    *count = atomic_load(&waiting);
    return true;
}

phx_log_entry *phx_log_next(void) {
    if (!taken) {
        for (phx_log_entry *entry = atomic_exchange(&newest, NULL); entry;) {
            phx_log_entry *before = entry->next;
            entry->next = taken;
            taken = entry;
            entry = before;
        }
    }
    phx_log_entry *oldest = taken;
    if (oldest) {
        taken = oldest->next;
        atomic_fetch_sub(&held, footprint(oldest));
        atomic_fetch_sub(&waiting, 1);
    }
    return oldest;
}

uint64_t phx_log_lost(void) {
    return atomic_exchange(&lost, 0);
}

void phx_log_end(void) {
    delivering = false;
    if (phx_log_waits())
        ask();
}

bool phx_log_waits(void) {
    return taken || atomic_load(&newest) || atomic_load(&lost);
}
