/* A simulated chip and its runtime, as a vendor's library would be: it knows nothing of Phalanx.
 *
 * Memory lies behind tokens, which are no addresses. Commands go into queues; a thread of each queue does one after
 * the other, behind the calls. What follows a command that failed is passed over until a wait has told the failure,
 * and a queue that waits for such work fails too. Calls return a code; `chip_text` then says what it is about.
 * The dials are environment variables, read by chip_open: see README.md. */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CHIP_OK,
       CHIP_NO_MEMORY,
       CHIP_BAD_ARGUMENT,
       CHIP_BAD_ACCESS,
       CHIP_BAD_INDEX,
       CHIP_FAULT,
       CHIP_LOST,
       CHIP_LATE };
enum { AXES = 64,
       OPERANDS = 4,
       ALIGNMENT = 256,
       BLOCKS = 4096,
       SECOND = 1000000000,
       WATCHDOG = 2 };
static const uint64_t MEMORY = 1 << 28, LARGEST = 1 << 26; /* bytes of the chip, and of one block */

typedef struct chip_queue chip_queue; /* NULL stands for the default queue */
typedef struct {
    chip_queue *queue;
    uint64_t number; /* of a command in it; 0 is always done */
} chip_event;
typedef struct {
    uint64_t token, offset; /* without a token, `offset` is an address of the host */
} chip_place;
typedef struct {
    chip_place place; /* without a token, the only element is `number` */
    int32_t ndim, itemsize;
    int64_t shape[AXES], strides[AXES]; /* elements */
    unsigned char number[16];
} chip_operand;
typedef struct chip_call {
    int (*run)(struct chip_call *call);
    const void *kernel; /* for `run` */
    const char *name;
    int64_t params[8];
    int32_t count;
    chip_operand operands[OPERANDS];
} chip_call;
typedef struct chip_command {
    enum { CHIP_COPY,
           CHIP_RUN,
           CHIP_WAIT } kind;
    chip_place to, from; /* of a copy; memory of the host must stay until it is done */
    uint64_t size;
    chip_call *call;           /* of a run, which frees it */
    chip_event event;          /* of a wait */
    struct chip_command *next; /* this and the rest are the chip's own */
    uint64_t number;
    bool fails, hangs, loses;
} chip_command;
struct chip_queue {
    chip_queue *next;
    chip_command *first, *last;
    uint64_t put, done;        /* commands, counted over all lives of the queue */
    uint64_t bad_from, bad_to; /* commands without a result */
    uint64_t failed;           /* the command whose failure is kept until it is told */
    int failure;
    char text[120];
    bool is_told, is_used;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for all that follows */
static pthread_cond_t moved;                             /* a queue went on, or shall */
static struct {
    char *memory;
    uint64_t token, size;
} blocks[BLOCKS];
static uint64_t used, serial;
static chip_queue *queues, *base; /* `base` is the default one; none is ever freed, for events refer to them */
static atomic_bool is_open, is_lost;
static pid_t owner;
static void (*warn_host)(const char *text);

static _Thread_local char chip_text[120];
__attribute__((format(printf, 2, 3))) static int chip_fail(int code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(chip_text, sizeof chip_text, format, args);
    va_end(args);
    return code;
}

enum { ALLOC,
       COPY,
       LAUNCH,
       HANG,
       LOSE,
       LATENCY,
       DIALS };
static const char *const dial_names[] = {"FAIL_ALLOC", "FAIL_COPY", "FAIL_LAUNCH", "HANG", "LOSE", "LATENCY"};
static struct {
    uint64_t at, count; /* it acts on the at-th one, or on those behind it as well */
    bool goes_on;
} dials[DIALS];

static bool due(int dial) {
    const uint64_t count = ++dials[dial].count, at = dials[dial].at;
    return at != 0 && (dials[dial].goes_on ? count >= at : count == at);
}

/* Calls on the open chip stand between these two. In a forked child the lock may be held for ever. */
static int enter(void) {
    if (!is_open) return chip_fail(CHIP_BAD_ARGUMENT, "the chip is closed");
    if (getpid() != owner) return chip_fail(CHIP_LOST, "the chip was opened before the fork, and is the parent's");
    if (is_lost) return chip_fail(CHIP_LOST, "the chip does not answer any more");
    pthread_mutex_lock(&lock);
    return CHIP_OK;
}
static int leave(int code) {
    pthread_mutex_unlock(&lock);
    return code;
}
#define ENTER                  \
    const int state = enter(); \
    if (state != CHIP_OK) return state

/* --- Memory --- */

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
    const bool fits = !due(ALLOC) && slot < BLOCKS && size <= LARGEST && room <= MEMORY - used;
    char *memory = fits ? aligned_alloc(ALIGNMENT, room) : NULL;
    if (memory == NULL) return leave(chip_fail(CHIP_NO_MEMORY, "no block of %lld bytes", (long long)size));
    memset(memory, 0xDB, room); /* nobody shall count on zeros */
    blocks[slot].memory = memory;
    blocks[slot].size = room;
    blocks[slot].token = *out_token = ++serial * BLOCKS + slot;
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

/* Where bytes of a block lie, NULL if they do not. */
static char *bytes(chip_place place, int64_t from, int64_t to) {
    const uint64_t slot = place.token % BLOCKS;
    if (place.token == 0) return (char *)(uintptr_t)place.offset;
    pthread_mutex_lock(&lock);
    const bool is_inside = blocks[slot].token == place.token && from >= 0 && (uint64_t)to <= blocks[slot].size;
    char *found = is_inside ? blocks[slot].memory + from : NULL;
    pthread_mutex_unlock(&lock);
    return found;
}

/* For kernels: an operand's first element; NULL if any is outside of its block. */
static char *chip_reach(const chip_operand *x) {
    int64_t low = (int64_t)x->place.offset, high = low + x->itemsize;
    if (x->place.token == 0) return (char *)x->number;
    for (int32_t axis = 0; axis < x->ndim; axis++) {
        const int64_t span = (x->shape[axis] - 1) * x->strides[axis] * x->itemsize;
        *(span < 0 ? &low : &high) += span;
    }
    char *lowest = bytes(x->place, low, high);
    return lowest == NULL ? NULL : lowest + ((int64_t)x->place.offset - low);
}

/* --- The thread of a queue --- */

static int copy_now(const chip_command *c) {
    char *to = bytes(c->to, (int64_t)c->to.offset, (int64_t)(c->to.offset + c->size));
    char *from = bytes(c->from, (int64_t)c->from.offset, (int64_t)(c->from.offset + c->size));
    if (to == NULL || from == NULL)
        return chip_fail(CHIP_BAD_ACCESS, "copy %lld leaves its block", (long long)c->number);
    memcpy(to, from, c->size);
    return CHIP_OK;
}

static struct timespec after(uint64_t ns) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const uint64_t end = (uint64_t)now.tv_nsec + ns % SECOND;
    return (struct timespec){now.tv_sec + (time_t)(ns / SECOND + end / SECOND), (long)(end % SECOND)};
}

static void lose(const char *why) {
    is_lost = true;
    warn_host(why);
}

/* Do one command. The lock is held, but not while it works. */
static int execute(chip_command *c) {
    const struct timespec pause = {(time_t)(dials[LATENCY].at / 1000000), (long)(dials[LATENCY].at % 1000000 * 1000)};
    const struct timespec end = after((uint64_t)WATCHDOG * SECOND);
    const chip_queue *other = c->event.queue;
    while (c->kind == CHIP_WAIT && other->done < c->event.number && !is_lost) pthread_cond_wait(&moved, &lock);
    if (c->kind == CHIP_WAIT) {
        const bool is_bad = other->bad_from <= c->event.number && c->event.number <= other->bad_to;
        return is_bad ? chip_fail(other->failure, "%s", other->text) : CHIP_OK;
    }
    while (c->hangs && !is_lost)
        if (pthread_cond_timedwait(&moved, &lock, &end) == ETIMEDOUT) lose("a command hung: the watchdog stopped it");
    if (c->loses) lose("the chip fell off the bus");
    if (is_lost) return CHIP_OK; /* every call says so from now on */
    pthread_mutex_unlock(&lock);
    nanosleep(&pause, NULL);
    const char *name = c->kind == CHIP_COPY ? "copy" : c->call->name;
    int code = CHIP_OK;
    if (c->fails) code = chip_fail(CHIP_FAULT, "the chip stopped in %s, number %lld", name, (long long)c->number);
    else code = c->kind == CHIP_COPY ? copy_now(c) : c->call->run(c->call);
    pthread_mutex_lock(&lock);
    return code;
}

static void *work(void *self) {
    chip_queue *q = self;
    pthread_mutex_lock(&lock);
    for (;;) {
        chip_command *c = q->first;
        const uint64_t number = q->done + 1;
        if (c == NULL) {
            pthread_cond_wait(&moved, &lock);
            continue;
        }
        const int code = q->bad_from <= number && number <= q->bad_to ? CHIP_OK : execute(c);
        if (code != CHIP_OK && (q->is_told || q->failure == CHIP_OK)) { /* the first is kept */
            q->failure = code;
            memcpy(q->text, chip_text, sizeof chip_text);
            q->failed = number;
            q->is_told = false;
        }
        if (code != CHIP_OK && code != CHIP_BAD_INDEX) { /* an index that is wrong stops nothing */
            q->bad_from = number;
            q->bad_to = UINT64_MAX;
        }
        q->first = c->next;
        q->done = number;
        free(c->call);
        free(c);
        pthread_cond_broadcast(&moved);
    }
    return NULL;
}

/* --- Queues and events --- */

static int chip_queue_make(chip_queue **out) {
    ENTER;
    pthread_t thread;
    chip_queue *q = queues;
    while (q != NULL && q->is_used) q = q->next;
    if (q == NULL && (q = calloc(1, sizeof *q)) != NULL) {
        q->bad_from = UINT64_MAX;
        q->next = queues;
        if (pthread_create(&thread, NULL, work, q) != 0)
            return leave(chip_fail(CHIP_NO_MEMORY, "no thread for a queue"));
        queues = q;
    }
    if (q == NULL) return leave(chip_fail(CHIP_NO_MEMORY, "no memory for a queue"));
    q->is_used = true;
    *out = q;
    return leave(CHIP_OK);
}

static int chip_put(chip_queue *queue, chip_command c) {
    const int state = enter();
    chip_command *own = state == CHIP_OK ? malloc(sizeof c) : NULL;
    if (own == NULL) {
        free(c.call);
        return state != CHIP_OK ? state : leave(chip_fail(CHIP_NO_MEMORY, "no memory for a command"));
    }
    if (c.kind != CHIP_WAIT) {
        const int dial = c.kind == CHIP_COPY ? COPY : LAUNCH;
        c.fails = due(dial), c.hangs = due(HANG), c.loses = due(LOSE);
        c.number = dials[dial].count;
    }
    *own = c;
    chip_queue *q = queue == NULL ? base : queue;
    *(q->first == NULL ? &q->first : &q->last->next) = own;
    q->last = own;
    q->put++;
    pthread_cond_broadcast(&moved);
    return leave(CHIP_OK);
}

/* Behind all commands so far. */
static int chip_record(chip_queue *queue, chip_event *out) {
    ENTER;
    out->queue = queue == NULL ? base : queue;
    out->number = out->queue->put;
    return leave(CHIP_OK);
}

/* Tells no failure. */
static int chip_ask(chip_event event, int32_t *out_passed) {
    ENTER;
    *out_passed = event.number == 0 || event.queue->done >= event.number;
    return leave(CHIP_OK);
}

static int chip_finish(chip_event event, uint64_t timeout_ns) {
    ENTER;
    chip_queue *q = event.queue == NULL ? base : event.queue;
    const bool is_endless = timeout_ns > UINT64_MAX / 4;
    const struct timespec end = after(is_endless ? 0 : timeout_ns);
    for (bool is_late = false; q->done < event.number && !is_lost && !is_late;) {
        if (is_endless) pthread_cond_wait(&moved, &lock);
        else is_late = pthread_cond_timedwait(&moved, &lock, &end) == ETIMEDOUT;
    }
    if (is_lost) return leave(chip_fail(CHIP_LOST, "the chip does not answer any more"));
    if (q->done < event.number) return leave(chip_fail(CHIP_LATE, "command %lld is not done", (long long)event.number));
    if (q->is_told || q->failure == CHIP_OK || event.number < q->failed) return leave(CHIP_OK);
    q->is_told = true;
    if (q->bad_to == UINT64_MAX) q->bad_to = q->put; /* what was put before it is told is not done any more */
    return leave(chip_fail(q->failure, "%s", q->text));
}

static int chip_finish_all(uint64_t timeout_ns) {
    int code = CHIP_OK;
    for (chip_queue *q = queues; q != NULL && code == CHIP_OK; q = q->next) {
        chip_event end = {NULL, 0};
        code = chip_record(q, &end);
        if (code == CHIP_OK) code = chip_finish(end, timeout_ns);
    }
    return code;
}

static int chip_queue_end(chip_queue *q) {
    chip_event end = {NULL, 0};
    int code = chip_record(q, &end);
    if (code == CHIP_OK) code = chip_finish(end, UINT64_MAX);
    q->is_used = false; /* the next one takes it over, with its thread */
    return is_open && getpid() == owner ? code : CHIP_OK;
}

/* --- The chip --- */

static int chip_open(void (*warn)(const char *text)) {
    pthread_condattr_t clock;
    if (is_open) return chip_fail(CHIP_BAD_ARGUMENT, "the chip is open already");
    for (int i = 0; i < DIALS; i++) {
        char name[32] = "SIMCHIP_", *end = "", *text = getenv(strcat(name, dial_names[i]));
        dials[i].at = text == NULL ? 0 : strtoull(text, &end, 10);
        dials[i].goes_on = *end == '+';
        dials[i].count = 0;
    }
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    if (base == NULL) pthread_cond_init(&moved, &clock);
    is_open = true;
    is_lost = false;
    owner = getpid();
    warn_host = warn;
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
