/* A simulated chip and its runtime, as a vendor's library would be: it knows nothing of Phalanx.
 *
 * Memory lies behind tokens, which are no addresses. Commands go into queues; a thread of each queue does one after
 * the other, behind the calls. What follows a command that failed is passed over until a wait has told the failure,
 * and a queue that waits for such work fails too. Calls return a code; `chip_text` then says what it is about.
 * The dials are environment variables, read by chip_open: see README.md. */
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// clang-format off: it gives each name a line
enum { CHIP_OK, CHIP_NO_MEMORY, CHIP_BAD_ARGUMENT, CHIP_BAD_ACCESS, CHIP_BAD_INDEX, CHIP_FAULT, CHIP_LOST, CHIP_LATE };
enum { FAIL_COPY, FAIL_LAUNCH, FAIL_ALLOC, HANG, LOSE, LATENCY, DIALS }; /* what can be dialled */
enum { AXES = 64, OPERANDS = 4, ALIGNMENT = 256, BLOCKS = 4096, WATCHDOG = 2000 /* ms */ };
// clang-format on
static const uint64_t MEMORY = 1 << 28, LARGEST = 1 << 26; /* bytes of the chip, and of one block */
static const uint64_t SECOND = 1000000000, YEARS = UINT64_MAX / 16; /* ns */
static const uint64_t CHIP_ALL = UINT64_MAX;               /* the number of an event behind all so far */

typedef struct chip_queue chip_queue; /* NULL stands for the default queue */
typedef struct {
    chip_queue *queue;
    uint64_t number; /* of a command in it; 0 is always done */
} chip_event;
typedef struct {
    uint64_t token, offset;             /* bytes of a block; without a token, an address of the host, or 0: */
    unsigned char number[16];           /* the only element */
    int64_t shape[AXES], strides[AXES]; /* elements */
    int32_t ndim, itemsize;
} chip_operand;
typedef struct chip_command {
    int (*run)(struct chip_command *self); /* NULL: wait for `event` */
    const void *kernel;                    /* for `run` */
    const char *name;
    chip_event event;
    chip_operand operands[OPERANDS]; /* memory of the host must stay until the command is done */
    int64_t params[8];
    int32_t count;             /* of operands */
    struct chip_command *next; /* this and the rest are the chip's own */
    uint64_t number;
    bool fails, hangs, loses;
} chip_command;
struct chip_queue {
    chip_queue *next;
    chip_command *first, *last;
    uint64_t put, done;        /* commands, counted over all lives of the queue */
    uint64_t bad_from, bad_to; /* commands without a result */
    uint64_t untold;           /* the command whose failure nobody was told yet, or 0 */
    int failure;               /* of the last that failed, with its text */
    char text[120];
    bool is_used;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for all that follows */
static pthread_cond_t moved;                             /* a queue went on, or shall */
static struct block {
    char *memory;
    uint64_t token, size;
} blocks[BLOCKS];
static uint64_t used, serial;
static chip_queue *queues, *base; /* `base` is the default one; none is ever freed, for events refer to them */
static _Atomic bool is_open, is_lost;
static pid_t owner;
static void (*warn_host)(const char *text);
static uint64_t dials[DIALS], counts[DIALS]; /* a dial acts when its count is there */
static _Thread_local char chip_text[120];

__attribute__((format(printf, 2, 3))) static int chip_fail(int code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(chip_text, sizeof chip_text, format, args);
    va_end(args);
    return code;
}

static bool due(int dial) { return ++counts[dial] == dials[dial]; }

/* Calls on the open chip stand between these two. In a forked child the lock may be held for ever. */
static int enter(void) {
    if (!is_open) return chip_fail(CHIP_BAD_ARGUMENT, "the chip is closed");
    if (getpid() != owner) return chip_fail(CHIP_LOST, "the chip was opened before the fork, and is the parent's");
    if (is_lost) return chip_fail(CHIP_LOST, "the chip does not answer any more");
    pthread_mutex_lock(&lock);
    return CHIP_OK;
}
static int leave(int code) { return pthread_mutex_unlock(&lock), code; }
#define ENTER                  \
    const int state = enter(); \
    if (state != CHIP_OK) return state

static int chip_free_memory(uint64_t *out) {
    ENTER;
    *out = MEMORY - used;
    return leave(CHIP_OK);
}

static int chip_alloc(uint64_t size, uint64_t *out_token) {
    ENTER;
    const uint64_t room = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    uint64_t slot = 0;
    while (slot < BLOCKS && blocks[slot].memory != NULL) slot++;
    const bool fits = !due(FAIL_ALLOC) && slot < BLOCKS && size <= LARGEST && room <= MEMORY - used;
    char *memory = fits ? aligned_alloc(ALIGNMENT, room) : NULL;
    if (memory == NULL) return leave(chip_fail(CHIP_NO_MEMORY, "no block of %lld bytes", (long long)size));
    memset(memory, 0xDB, room); /* nobody shall count on zeros */
    *out_token = ++serial * BLOCKS + slot;
    blocks[slot] = (struct block){memory, *out_token, room};
    used += room;
    return leave(CHIP_OK);
}

static int chip_free(uint64_t token) {
    const uint64_t slot = token % BLOCKS;
    if (!is_open || getpid() != owner) return CHIP_OK; /* it went with the chip */
    pthread_mutex_lock(&lock);
    if (blocks[slot].token != token) return leave(chip_fail(CHIP_BAD_ARGUMENT, "there is no such block to free"));
    free(blocks[slot].memory);
    used -= blocks[slot].size;
    memset(&blocks[slot], 0, sizeof blocks[slot]);
    return leave(CHIP_OK);
}

/* An operand's first element; NULL if any is outside of its block. */
static char *chip_reach(const chip_operand *x) {
    const uint64_t slot = x->token % BLOCKS;
    int64_t low = (int64_t)x->offset, high = low + x->itemsize;
    if (x->token == 0) return x->offset == 0 ? (char *)x->number : (char *)(uintptr_t)x->offset;
    for (int32_t axis = 0; axis < x->ndim; axis++) {
        if (x->shape[axis] == 0) return (char *)x->number; /* nobody looks there */
        const int64_t span = (x->shape[axis] - 1) * x->strides[axis] * x->itemsize;
        *(span < 0 ? &low : &high) += span;
    }
    pthread_mutex_lock(&lock);
    const bool is_inside = blocks[slot].token == x->token && low >= 0 && (uint64_t)high <= blocks[slot].size;
    char *first = is_inside ? blocks[slot].memory + x->offset : NULL;
    pthread_mutex_unlock(&lock);
    return first;
}

static int copy_bytes(chip_command *c) {
    char *to = chip_reach(&c->operands[0]), *from = chip_reach(&c->operands[1]);
    if (to == NULL || from == NULL) return chip_fail(CHIP_BAD_ACCESS, "a copy leaves its block");
    memcpy(to, from, (size_t)c->operands[0].shape[0]);
    return CHIP_OK;
}

/* Do one command. The lock is held, but not while it works. */
static int execute(chip_command *c) {
    const chip_queue *other = c->event.queue; /* of a wait */
    const uint64_t number = c->event.number;
    while (c->run == NULL && other->done < number && !is_lost) pthread_cond_wait(&moved, &lock);
    if (c->run == NULL && (number < other->bad_from || other->bad_to < number)) return CHIP_OK;
    if (c->run == NULL) return chip_fail(other->failure, "%s", other->text);
    pthread_mutex_unlock(&lock);
    for (int ms = 0; c->hangs && ms < WATCHDOG && !is_lost; ms++) usleep(1000);
    if (c->hangs || c->loses) {
        is_lost = true; /* every call says so from now on */
        warn_host(c->hangs ? "a command hung: the watchdog stopped it" : "the chip fell off the bus");
    }
    usleep((useconds_t)dials[LATENCY]);
    int code = CHIP_OK;
    if (c->fails) code = chip_fail(CHIP_FAULT, "the chip stopped in %s, number %lld", c->name, (long long)c->number);
    else if (!is_lost) code = c->run(c);
    pthread_mutex_lock(&lock);
    return code;
}

/* The thread of a queue. */
static void *work(void *self) {
    chip_queue *q = self;
    for (pthread_mutex_lock(&lock);; pthread_cond_broadcast(&moved)) {
        while (q->first == NULL) pthread_cond_wait(&moved, &lock);
        chip_command *c = q->first;
        const uint64_t number = q->done + 1;
        const int code = q->bad_from <= number && number <= q->bad_to ? CHIP_OK : execute(c);
        const bool stops = code != CHIP_OK && code != CHIP_BAD_INDEX; /* a mistake in data stops nothing */
        if (code != CHIP_OK && q->untold == 0) {                      /* the first is kept */
            q->failure = code, q->untold = number;
            memcpy(q->text, chip_text, sizeof chip_text);
        }
        if (stops) q->bad_from = number, q->bad_to = UINT64_MAX;
        q->first = c->next;
        q->done = number;
        free(c);
    }
    return NULL;
}

static int chip_queue_make(chip_queue **out) {
    ENTER;
    pthread_t thread;
    chip_queue *q = queues;
    while (q != NULL && q->is_used) q = q->next;
    if (q == NULL) {
        q = calloc(1, sizeof *q);
        if (q == NULL || pthread_create(&thread, NULL, work, q) != 0)
            return leave(chip_fail(CHIP_NO_MEMORY, "no memory or no thread for a queue"));
        q->bad_from = UINT64_MAX, q->next = queues;
        queues = q;
    }
    q->is_used = true;
    *out = q;
    return leave(CHIP_OK);
}

/* The queue and the number of an event. The lock is held. */
static chip_event found(chip_event e) {
    chip_queue *q = e.queue == NULL ? base : e.queue;
    return (chip_event){q, e.number == CHIP_ALL ? q->put : e.number};
}

/* A command to be filled and put; NULL without memory, which chip_put tells. */
static chip_command *chip_command_make(const char *name, int (*run)(chip_command *self)) {
    chip_command *c = calloc(1, sizeof *c);
    if (c != NULL) c->name = name, c->run = run;
    return c;
}

/* The command becomes the queue's. */
static int chip_put(chip_queue *queue, chip_command *c) {
    const int state = c == NULL ? chip_fail(CHIP_NO_MEMORY, "no memory for a command") : enter();
    if (state != CHIP_OK) return free(c), state;
    c->event = found(c->event);
    const int dial = c->run == copy_bytes ? FAIL_COPY : FAIL_LAUNCH;
    if (c->run != NULL) c->fails = due(dial), c->hangs = due(HANG), c->loses = due(LOSE);
    c->number = counts[dial];
    chip_queue *q = queue == NULL ? base : queue;
    *(q->first == NULL ? &q->first : &q->last->next) = c;
    q->last = c;
    q->put++;
    pthread_cond_broadcast(&moved);
    return leave(CHIP_OK);
}

static int chip_record(chip_queue *queue, chip_event *out) {
    ENTER;
    *out = found((chip_event){queue, CHIP_ALL});
    if (out->number == out->queue->bad_to) out->number = 0; /* what is ahead failed, and that was told */
    return leave(CHIP_OK);
}

/* Whether it has passed; tells no failure. */
static int chip_ask(chip_event event, int32_t *out_passed) {
    ENTER;
    const chip_event e = found(event);
    *out_passed = e.queue->done >= e.number;
    return leave(CHIP_OK);
}

static int chip_finish(chip_event event, uint64_t timeout_ns) {
    ENTER;
    const chip_event e = found(event);
    chip_queue *q = e.queue;
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    const uint64_t ns = (uint64_t)end.tv_nsec + (timeout_ns < YEARS ? timeout_ns : YEARS);
    end.tv_sec += (time_t)(ns / SECOND), end.tv_nsec = (long)(ns % SECOND);
    for (bool is_late = false; q->done < e.number && !is_lost && !is_late;)
        is_late = pthread_cond_timedwait(&moved, &lock, &end) != 0;
    if (is_lost) return leave(chip_fail(CHIP_LOST, "the chip does not answer any more"));
    if (q->done < e.number) return leave(chip_fail(CHIP_LATE, "command %lld is not done", (long long)e.number));
    if (q->untold == 0 || e.number < q->untold) return leave(CHIP_OK);
    q->untold = 0;
    if (q->bad_to == UINT64_MAX) q->bad_to = q->put; /* what was put before it is told is not done any more */
    return leave(chip_fail(q->failure, "%s", q->text));
}

static int chip_finish_all(uint64_t timeout_ns) {
    int code = CHIP_OK;
    for (chip_queue *q = queues; q != NULL && code == CHIP_OK; q = q->next)
        code = chip_finish((chip_event){q, CHIP_ALL}, timeout_ns);
    return code;
}

static int chip_queue_end(chip_queue *q) {
    const int code = chip_finish((chip_event){q, CHIP_ALL}, UINT64_MAX);
    q->is_used = false; /* the next one takes it over, with its thread */
    return is_open && getpid() == owner ? code : CHIP_OK;
}

static int chip_open(void (*warn)(const char *text)) {
    static const char *const names[] = {"FAIL_COPY", "FAIL_LAUNCH", "FAIL_ALLOC", "HANG", "LOSE", "LATENCY"};
    pthread_condattr_t clock;
    if (is_open) return chip_fail(CHIP_BAD_ARGUMENT, "the chip is open already");
    for (int i = 0; i < DIALS; i++) {
        char name[32] = "SIMCHIP_", *text = getenv(strcat(name, names[i]));
        dials[i] = text == NULL ? 0 : strtoull(text, NULL, 10);
        counts[i] = 0;
    }
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    if (base == NULL) pthread_cond_init(&moved, &clock);
    is_open = true;
    is_lost = false;
    owner = getpid(), warn_host = warn;
    return base != NULL ? CHIP_OK : chip_queue_make(&base);
}

static int chip_close(void) {
    if (!is_open || getpid() != owner) return CHIP_OK;
    const int code = is_lost ? CHIP_OK : chip_finish_all(UINT64_MAX);
    is_open = false;
    for (int slot = 0; slot < BLOCKS; slot++) free(blocks[slot].memory);
    memset(blocks, 0, sizeof blocks);
    used = 0;
    return code;
}
