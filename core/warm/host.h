/* Services that plugins call from any thread: the log and the clock.
 *
 * Neither waits for anything, the interpreter's lock least of all: a plugin may log while it holds a
 * lock that one of its kernels needs, and the core calls small kernels with the interpreter's lock
 * held. So a message is copied into a list, and the interpreter is asked to fetch it.
 *
 * Fork. The child has no messages: those that wait are the parent's to deliver.
 */
#ifndef PHALANX_HOST_H_
#define PHALANX_HOST_H_

#include <stdbool.h>
#include <stdint.h>

#include "phalanx.h"

#define PHX_LOG_MOST_TEXT (1u << 16) /* bytes of one message; the rest is cut off */
#define PHX_LOG_ABSURD_TEXT (1u << 24) /* bytes: a length above it is a fault */
#define PHX_LOG_MOST_HELD (INT64_C(64) << 20) /* bytes that wait; what comes then is counted */

typedef struct phx_log_entry {
    struct phx_log_entry *next;
    void *context;
    int32_t level;
    uint32_t size; /* bytes of text */
    char text[];
} phx_log_entry;

/* Members of phx_host. */
void phx_host_log(void *context, int32_t level, phx_str message);
uint64_t phx_host_now_ns(void *context);

/* The other functions are called with the interpreter's lock held. */

/* From now on, fetch is called soon after a message came, as a pending call of the main thread. */
void phx_log_open(int (*fetch)(void *));

/* The interpreter is asked for nothing any more, by no thread; messages still wait for
 * phx_log_next. */
void phx_log_close(void);

/* Begins a delivery of the count messages that wait now, so that a flood keeps nobody for ever;
 * false if one is under way. */
bool phx_log_begin(uint64_t *count);

/* The oldest message, which the caller frees, or null. */
phx_log_entry *phx_log_next(void);

/* How many messages were lost since the last call: no memory, or too many waited. */
uint64_t phx_log_lost(void);

/* Ends a delivery; asks for another one if messages are left. */
void phx_log_end(void);

/* Whether a message waits; cheap. */
bool phx_log_waits(void);

#endif
