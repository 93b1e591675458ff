/* The pool of worker threads behind phx_parallel_for.
 *
 * One job at a time is public, in the static slot `pool`. The word `pool.gate` holds the first and the end of
 * its chunks not yet taken (16 bits each) and the threads at work on it (low half). A thread takes a chunk and
 * enters the job in one compare-and-swap, so whoever has entered has work, the caller waits for nobody else,
 * and a worker that is late finds no chunk left and never looks at the job. While the slot is taken, other
 * calls run inline.
 *
 * The caller and every second worker take chunks from the front, the others from the back: of arrays that are
 * used again and again each core meets the part that is in its own cache. A worker without work spins as long
 * as experience says that it pays: longer after work that came soon, not at all where threads outnumber cores,
 * which shows by a spin that is interrupted.
 *
 * No variable is thread-local: a thread that first meets one of a loaded library needs memory for it, and where
 * there is none left, glibc ends the process.
 */
#define _GNU_SOURCE
#include "runtime/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "runtime/runtime.h"
#include "runtime/thread.h"

#define MAX_THREADS 256
#define CALLER (-1) /* instead of the number of a worker */
#define CHUNKS_PER_THREAD 8
#define FEW_WORKERS 7 /* that are kept off the caller's core */
#define ALIGN_ITEMS 64 /* chunks begin at multiples: two threads seldom share a cache line */
#define SPIN_LEAST_NS 10000u /* of a worker whose work never comes soon */
#define SPIN_MOST_NS 200000u /* a wake-up takes 5 to 50 microseconds, a millisecond where cores are virtual */
#define LONG_JOB 12 /* grains */
#define WAKE_NS 30000u /* work that is left for a sleeping worker to be woken */
#define BURST_NS 120000u /* work of short jobs, one soon after the other, for sleeping workers to be roused */
#define LOST_NS 1000000u /* between two looks at the clock: somebody else had the core */
#define CALM_NS 50000000u /* for so long nobody spins then */
#define SPINS_PER_LOOK 16 /* pauses between two looks at the clock */
#define FRONT(gate) ((gate) >> 48)
#define BACK(gate) ((gate) >> 32 & 0xffff)
#define WORKING(gate) ((uint32_t)(gate))
#define ONE_FRONT ((uint64_t)1 << 48)
#define ONE_BACK ((uint64_t)1 << 32)

static struct {
    atomic_uint_fast64_t gate;
    atomic_bool taken; /* a caller owns the slot */
    phx_task_fn fn;
    void *ctx;
    int64_t count, chunk, chunks;
    atomic_int sleepers; /* workers asleep on work */
    atomic_uint roused; /* how often sleepers were told to look for work that is to come */
    uint64_t missed, missed_at; /* work of short jobs without the sleepers, and when the last was; the owner's */
    atomic_uint_fast64_t calm_until; /* a time on the clock */
    atomic_bool waiting; /* the caller is asleep on done */
    pthread_mutex_t mutex;
    pthread_cond_t work, done;
    int workers; /* started; the owner of the slot writes it */
    atomic_int helpers; /* workers with numbers below it take chunks */
    int apart_from; /* the core that workers were last kept off, plus 1 */
    bool may_spin;
} pool = {
    .mutex = PTHREAD_MUTEX_INITIALIZER,
    .work = PTHREAD_COND_INITIALIZER,
    .done = PTHREAD_COND_INITIALIZER,
};

static pthread_once_t size_once = PTHREAD_ONCE_INIT;
static atomic_int thread_count = 1;
static int core_count = 1;
static const char *refused; /* what PHALANX_NUM_THREADS holds if it is not a number */

#ifdef __linux__
/* Where few cores share a cache, Linux wakes a worker on the core of whoever wakes it, even if another one is
 * idle: both then take turns. So workers are kept off the caller's core, unless somebody else has placed them.
 */
static struct {
    _Atomic pid_t id; /* 0: not running yet */
    cpu_set_t whole, now;
} places[FEW_WORKERS];

static void note_place(int number) {
    if (number >= FEW_WORKERS || sched_getaffinity(0, sizeof(cpu_set_t), &places[number].whole) != 0) return;
    places[number].now = places[number].whole;
    atomic_store(&places[number].id, (pid_t)syscall(SYS_gettid));
}

static void keep_off(int core, int worker) {
    const pid_t id = places[worker].id;
    cpu_set_t set;
    if (sched_getaffinity(id, sizeof set, &set) != 0 || !CPU_EQUAL(&set, &places[worker].now)) return;
    set = places[worker].whole;
    CPU_CLR(core, &set);
    if (CPU_COUNT(&set) > 0 && sched_setaffinity(id, sizeof set, &set) == 0) places[worker].now = set;
}

static void keep_workers_apart(void) {
    const int core = sched_getcpu();
    int running = 0;
    if (core < 0 || core + 1 == pool.apart_from || pool.workers > FEW_WORKERS) return;
    while (running < pool.workers && atomic_load(&places[running].id) != 0) keep_off(core, running++);
    if (running == pool.workers) pool.apart_from = core + 1;
}

static void forget_places(void) {
    for (int i = 0; i < FEW_WORKERS; i++) atomic_store(&places[i].id, 0);
}
#else
static void note_place(int number) { (void)number; }
static void keep_workers_apart(void) {}
static void forget_places(void) {}
#endif

static inline void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

static void read_size(void) {
    const uint32_t cores = cpu_usable_cores();
    long n = (long)cores;
    const char *text = getenv("PHALANX_NUM_THREADS");
    if (text != NULL && *text != '\0') {
        char *end;
        const long asked = strtol(text, &end, 10);
        if (*end == '\0' && asked > 0)
            n = asked;
        else
            refused = text;
    }
    core_count = (int)(cores > MAX_THREADS ? MAX_THREADS : cores);
    thread_count = (int)(n > MAX_THREADS ? MAX_THREADS : n);
    pool.may_spin = cores > 1;
}

int phx_num_threads(void) {
    pthread_once(&size_once, read_size);
    return atomic_load_explicit(&thread_count, memory_order_relaxed);
}

phx_error *cpu_device_threads(phx_device *device, uint32_t count, uint32_t *out_count) {
    phx_error *error = cpu_check_device(device, "device_threads");
    if (error != NULL) return error;
    pthread_once(&size_once, read_size);
    if (count == PHX_THREADS_PER_CORE)
        thread_count = core_count;
    else if (count != 0)
        thread_count = (int)(count > MAX_THREADS ? MAX_THREADS : count);
    if (out_count != NULL) *out_count = (uint32_t)thread_count;
    return NULL;
}

phx_error *cpu_pool_check(void) {
    pthread_once(&size_once, read_size);
    if (refused == NULL) return NULL;
    return cpu_fail(PHX_INVALID_ARGUMENT,
                    "the environment variable PHALANX_NUM_THREADS is '%s'; it must be a positive "
                    "whole number, or unset for one thread per usable core",
                    refused);
}

/* Take a chunk from one end; `enter` adds this thread to those at work. Returns the chunk's number or -1. */
static int64_t take_chunk(bool from_back, bool enter) {
    uint64_t gate = atomic_load(&pool.gate);
    while (FRONT(gate) < BACK(gate)) {
        const uint64_t taken = from_back ? gate - ONE_BACK : gate + ONE_FRONT;
        if (atomic_compare_exchange_weak(&pool.gate, &gate, taken + enter))
            return (int64_t)(from_back ? BACK(taken) : FRONT(gate));
    }
    return -1;
}

static void run_chunk(int64_t k) {
    const int64_t begin = k * pool.chunk;
    const int64_t end = pool.count - begin < pool.chunk ? pool.count : begin + pool.chunk;
    pool.fn(pool.ctx, begin, end);
}

static void run_chunks(int64_t k, bool from_back) {
    for (; k >= 0; k = take_chunk(from_back, false)) run_chunk(k);
}

/* Ask again and again for so long; whoever lost the core meanwhile gives up. */
static bool spin_until(bool (*ready)(int), int number, uint64_t patience) {
    uint64_t now = cpu_now_ns();
    const uint64_t end = now + patience;
    if (!pool.may_spin || now < atomic_load_explicit(&pool.calm_until, memory_order_relaxed)) return ready(number);
    while (now < end) {
        for (int i = 0; i < SPINS_PER_LOOK; i++) {
            if (ready(number)) return true;
            relax();
        }
        const uint64_t before = now;
        now = cpu_now_ns();
        if (now - before > LOST_NS) {
            atomic_store_explicit(&pool.calm_until, now + CALM_NS, memory_order_relaxed);
            break;
        }
    }
    return ready(number);
}

/* Whether there are chunks that the worker of this number may take, or the caller, who is CALLER. */
static bool has_chunks(int number) {
    const uint64_t gate = atomic_load_explicit(&pool.gate, memory_order_relaxed);
    return FRONT(gate) < BACK(gate) && number < atomic_load_explicit(&pool.helpers, memory_order_relaxed);
}

static bool is_finished(int number) {
    (void)number;
    return WORKING(atomic_load(&pool.gate)) == 0;
}

/* What a worker without work looks for: chunks, or that no job runs any more. */
static bool is_idle_or_has_chunks(int number) { return has_chunks(number) || is_finished(number); }

static void sleep_until_work(int number) {
    pthread_mutex_lock(&pool.mutex);
    const unsigned roused = atomic_load(&pool.roused);
    atomic_fetch_add(&pool.sleepers, 1);
    while (!has_chunks(number) && atomic_load(&pool.roused) == roused) pthread_cond_wait(&pool.work, &pool.mutex);
    atomic_fetch_sub(&pool.sleepers, 1);
    pthread_mutex_unlock(&pool.mutex);
}

/* Leave the job; the last to leave wakes the caller if it sleeps. */
static void leave(void) {
    if (WORKING(atomic_fetch_sub(&pool.gate, 1)) != 1 || !atomic_load(&pool.waiting)) return;
    pthread_mutex_lock(&pool.mutex);
    pthread_cond_signal(&pool.done);
    pthread_mutex_unlock(&pool.mutex);
}

static void *worker(void *argument) {
    const int number = (int)(uintptr_t)argument;
    const bool from_back = number % 2 == 0;
    note_place(number);
    uint64_t patience = SPIN_MOST_NS;
    for (;;) {
        const int64_t k = has_chunks(number) ? take_chunk(from_back, true) : -1;
        if (k >= 0) {
            run_chunks(k, from_back);
            leave();
        }
        /* the next job comes when this one has ended */
        spin_until(is_idle_or_has_chunks, number, SPIN_MOST_NS);
        if (spin_until(has_chunks, number, patience)) {
            patience = SPIN_MOST_NS;
        } else {
            patience -= (patience - SPIN_LEAST_NS) / 8;
            sleep_until_work(number);
        }
    }
    return NULL;
}

/* Start missing workers. A failure leaves fewer. */
static void start_workers(int wanted) {
    while (pool.workers < wanted) {
        pthread_t thread;
        if (cpu_thread_create(&thread, worker, (void *)(uintptr_t)pool.workers) != 0) break;
        pthread_detach(thread);
        pool.workers++;
        pool.apart_from = 0;
    }
}

static void wake_workers(int64_t wanted) {
    if (atomic_load(&pool.sleepers) == 0) return;
    pthread_mutex_lock(&pool.mutex);
    const int64_t asleep = atomic_load(&pool.sleepers);
    if (wanted < asleep && pool.workers <= atomic_load(&pool.helpers)) /* else a signal may meet another one */
        for (int64_t i = 0; i < wanted; i++) pthread_cond_signal(&pool.work);
    else
        pthread_cond_broadcast(&pool.work);
    pthread_mutex_unlock(&pool.mutex);
}

/* Whether short jobs follow each other so soon that sleepers, once awake, will find the next ones. */
static bool is_burst(uint64_t left, uint64_t now) {
    if (atomic_load(&pool.sleepers) == 0 || now < atomic_load_explicit(&pool.calm_until, memory_order_relaxed))
        return false;
    pool.missed = now - pool.missed_at < SPIN_MOST_NS ? pool.missed + left : left;
    pool.missed_at = now;
    if (pool.missed < BURST_NS) return false;
    pool.missed = 0;
    atomic_fetch_add(&pool.roused, 1);
    return true;
}

/* Workers that are awake join by themselves. Sleepers are woken for a long job at once, else when what is left,
 * at the pace of the first chunk, is worth it, or in a burst: so a job that is smaller than its kernel thought costs
 * no system call. */
static void run_first_chunk(int64_t helpers, bool is_long) {
    if (is_long || pool.count <= helpers + 1) { /* that many are shares of a long job */
        start_workers((int)helpers);
        wake_workers(helpers);
        run_chunk(0);
        return;
    }
    const uint64_t begin = cpu_now_ns();
    run_chunk(0);
    const uint64_t now = cpu_now_ns(), left = (now - begin) * (uint64_t)(pool.chunks - 1);
    if (!has_chunks(CALLER) || (left < WAKE_NS && !is_burst(left, now))) return;
    start_workers((int)helpers);
    wake_workers(helpers);
}

static void wait_for_workers(void) {
    if (WORKING(atomic_fetch_sub(&pool.gate, 1)) == 1 || spin_until(is_finished, CALLER, SPIN_MOST_NS)) return;
    pthread_mutex_lock(&pool.mutex);
    atomic_store(&pool.waiting, true);
    while (!is_finished(CALLER)) pthread_cond_wait(&pool.done, &pool.mutex);
    atomic_store(&pool.waiting, false);
    pthread_mutex_unlock(&pool.mutex);
}

/* Size of a chunk: a few per thread for balance, none below half a grain, and of small items as many for each. */
static int64_t chunk_size(int64_t count, int64_t grain, int threads) {
    const int64_t wanted = (int64_t)threads * CHUNKS_PER_THREAD;
    int64_t chunks = count / (grain > 1 ? grain / 2 : 1);
    if (chunks > wanted) chunks = wanted;
    if (chunks > threads && count / chunks > ALIGN_ITEMS) chunks -= chunks % threads;
    const int64_t chunk = (count + chunks - 1) / chunks;
    return chunk > ALIGN_ITEMS ? (chunk + ALIGN_ITEMS - 1) / ALIGN_ITEMS * ALIGN_ITEMS : chunk;
}

void phx_parallel_for(int64_t count, int64_t grain, phx_task_fn fn, void *ctx) {
    if (count <= 0) return;
    if (grain < 1) grain = 1;
    const int threads = count <= grain ? 1 : phx_num_threads();
    /* a call from inside a chunk finds the slot taken */
    if (threads == 1 || atomic_load(&pool.taken) || atomic_exchange(&pool.taken, true)) {
        fn(ctx, 0, count);
        return;
    }
    keep_workers_apart();
    pool.fn = fn;
    pool.ctx = ctx;
    pool.count = count;
    pool.chunk = chunk_size(count, grain, threads);
    pool.chunks = (count + pool.chunk - 1) / pool.chunk;
    atomic_store(&pool.helpers, threads - 1);
    atomic_store(&pool.gate, ONE_FRONT + (uint64_t)pool.chunks * ONE_BACK + 1);
    run_first_chunk(pool.chunks < threads ? pool.chunks - 1 : threads - 1, count / grain >= LONG_JOB);
    run_chunks(take_chunk(false, false), false);
    wait_for_workers();
    atomic_store(&pool.taken, false);
}

/* The child has this thread only: workers are started again when they are needed. */
void cpu_pool_after_fork(void) {
    atomic_store(&pool.gate, 0);
    atomic_store(&pool.sleepers, 0);
    atomic_store(&pool.waiting, false);
    atomic_store(&pool.taken, false);
    pthread_mutex_init(&pool.mutex, NULL);
    pthread_cond_init(&pool.work, NULL);
    pthread_cond_init(&pool.done, NULL);
    pool.workers = pool.apart_from = 0;
    forget_places();
}
