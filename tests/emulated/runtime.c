/* Groups of work-items on one thread: each work-item is a fibre, which runs from barrier to barrier.
 *
 * A group's work-items take turns in their order, or backwards. All must come to the same barrier, or
 * to the end, before any goes on; where they do not, or where a program fails, the launch ends with a
 * message. At a meeting, only the WARP work-items that are neighbours wait for each other. One launch
 * at a time.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#define MOST_ITEMS 1024
#define WARP 32
#define STACK ((size_t)1 << 17)

/* The program's view: the same struct as in dialect.hpp. */
static struct {
    uint64_t item[3], group[3], size[3], groups[3];
    uint64_t me, phase, number;
    void (*barrier)(int line);
    void (*fail)(const char *what, const char *array, uint64_t index);
    void (*meet)(int line);
} now;

static struct {
    ucontext_t context;
    jmp_buf place;
    int started, done, line, meets;
    char *stack;
} fibres[MOST_ITEMS];

static jmp_buf scheduler;
static void (*entry)(void **);
static void **arguments;
static char *message;
static size_t room;
static int failed;

void *phx_scheduler_view(void) { return &now; }

static void leave(void) {
    if (!_setjmp(fibres[now.me].place)) _longjmp(scheduler, 1);
}

static void wait_at(int line) {
    fibres[now.me].line = line;
    leave();
}

static void meet_at(int line) {
    fibres[now.me].meets = 1;
    wait_at(line);
    fibres[now.me].meets = 0;
}

static void fail(const char *what, const char *array, uint64_t index) {
    snprintf(message, room, "work-item %llu of group (%llu, %llu, %llu) %s: %s[%llu]",
             (unsigned long long)now.me, (unsigned long long)now.group[0],
             (unsigned long long)now.group[1], (unsigned long long)now.group[2], what, array,
             (unsigned long long)index);
    failed = 1;
    _longjmp(scheduler, 1);
}

static void live(void) {
    for (;;) {
        entry(arguments);
        fibres[now.me].done = 1;
        leave();
    }
}

static int start(uint64_t i) {
    if (!fibres[i].stack) fibres[i].stack = malloc(STACK);
    if (!fibres[i].stack || getcontext(&fibres[i].context)) return 0;
    fibres[i].context.uc_stack.ss_sp = fibres[i].stack;
    fibres[i].context.uc_stack.ss_size = STACK;
    makecontext(&fibres[i].context, live, 0);
    return 1;
}

/* Let a work-item run up to its next barrier or its end. */
static __attribute__((noinline)) void step(uint64_t i) {
    now.me = i;
    now.item[0] = i % now.size[0];
    now.item[1] = i / now.size[0] % now.size[1];
    now.item[2] = i / now.size[0] / now.size[1];
    if (_setjmp(scheduler)) return;
    if (fibres[i].started) _longjmp(fibres[i].place, 1);
    fibres[i].started = 1;
    setcontext(&fibres[i].context);
}

/* Whether some are at the same barrier or meeting, or at the end; says so if not. */
static int together(uint64_t first, uint64_t end) {
    for (uint64_t i = first + 1; i < end; i++) {
        if (fibres[i].done == fibres[first].done && fibres[i].line == fibres[first].line) continue;
        snprintf(message, room,
                 "group (%llu, %llu, %llu) diverges: work-item %llu is at line %d and work-item %llu at line %d "
                 "of the program (0: the end)",
                 (unsigned long long)now.group[0], (unsigned long long)now.group[1],
                 (unsigned long long)now.group[2], (unsigned long long)first,
                 fibres[first].done ? 0 : fibres[first].line, (unsigned long long)i,
                 fibres[i].done ? 0 : fibres[i].line);
        return 0;
    }
    return 1;
}

/* Let neighbours run up to the barrier behind their meetings, or their end. */
static int run_warp(uint64_t first, uint64_t end, int backwards) {
    do {
        for (uint64_t k = first; k < end; k++) {
            step(backwards ? first + end - 1 - k : k);
            if (failed) return 0;
        }
        if (!together(first, end)) return 0;
    } while (fibres[first].meets);
    return 1;
}

static int run_group(uint64_t items, int backwards) {
    now.number++;
    const uint64_t warps = (items + WARP - 1) / WARP;
    for (uint64_t i = 0; i < items; i++) fibres[i].done = fibres[i].line = fibres[i].meets = 0;
    do {
        now.phase++;
        for (uint64_t k = 0; k < warps; k++) {
            const uint64_t first = (backwards ? warps - 1 - k : k) * WARP;
            if (!run_warp(first, first + WARP < items ? first + WARP : items, backwards)) return 0;
        }
        if (!together(0, items)) return 0;
    } while (!fibres[0].done);
    return 1;
}

/* Run a kernel; returns 0, or 1 with what went wrong in `text`. */
int phx_launch(void (*kernel)(void **), void **args, const uint64_t *groups, const uint64_t *size,
               int backwards, char *text, size_t text_size) {
    const uint64_t items = size[0] * size[1] * size[2];
    entry = kernel, arguments = args, message = text, room = text_size, failed = 0;
    now.barrier = wait_at, now.fail = fail, now.meet = meet_at;
    for (int d = 0; d < 3; d++) now.groups[d] = groups[d], now.size[d] = size[d];
    if (items > MOST_ITEMS) return snprintf(text, text_size, "a group of %llu", (unsigned long long)items), 1;
    for (uint64_t i = 0; i < items; i++)
        if (!fibres[i].started && !start(i)) return snprintf(text, text_size, "no memory for fibres"), 1;
    for (uint64_t g = 0; g < groups[0] * groups[1] * groups[2]; g++) {
        now.group[0] = g % groups[0];
        now.group[1] = g / groups[0] % groups[1];
        now.group[2] = g / groups[0] / groups[1];
        if (run_group(items, backwards)) continue;
        for (uint64_t i = 0; i < items; i++) fibres[i].started = 0; /* they stand where they failed */
        return 1;
    }
    return 0;
}
