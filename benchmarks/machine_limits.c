/* What the machine can do at most, measured by as many threads as the first argument says:
 *
 *   copy BYTES RATE      the best rate in bytes per second of copies that read and write BYTES in all,
 *                        each thread its own part again and again, as in STREAM's copy
 *   fma TYPE RATE        multiplications and additions per second of a chain in registers
 *
 * `limits.py` compiles it for the processor on which it runs. */

#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#if defined(__AVX512F__)
#define WIDTH 64
#elif defined(__AVX__)
#define WIDTH 32
#else
#define WIDTH 16
#endif

/* Hides a value in a vector register from the compiler, which would compute the sums itself. */
#if defined(__x86_64__)
#define KEEP(value) __asm__ volatile("" : "+v"(value))
#else
#define KEEP(value) __asm__ volatile("" : "+w"(value))
#endif

enum { MOST_THREADS = 1024,
       ATTEMPTS = 5 };
static const size_t SMALLEST = (size_t)1 << 18, LARGEST = (size_t)1 << 28;
static const double SECONDS = 0.01; /* of one attempt, about */

typedef float floats __attribute__((vector_size(WIDTH)));
typedef double doubles __attribute__((vector_size(WIDTH)));

struct job {
    void (*work)(struct job *job);
    char *from, *to;
    size_t bytes;    /* of the part that this thread copies */
    uint64_t rounds; /* how often it does */
    volatile double sink;
};

static pthread_barrier_t gate;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void copy_plain(struct job *job) {
    for (uint64_t round = 0; round < job->rounds; ++round) {
        memcpy(job->to, job->from, job->bytes);
        __asm__ volatile("" : : "r"(job->to) : "memory");
    }
}

/* Stores that pass the caches by need not read what they overwrite. */
static void copy_past_caches(struct job *job) {
#if defined(__SSE2__)
    for (uint64_t round = 0; round < job->rounds; ++round) {
        const __m128i *from = (const __m128i *)job->from;
        __m128i *to = (__m128i *)job->to;
        for (size_t i = 0; i < job->bytes / sizeof *to; i += 4)
            for (size_t k = i; k < i + 4; ++k)
                _mm_stream_si128(to + k, _mm_load_si128(from + k));
        _mm_sfence();
    }
#else
    copy_plain(job);
#endif
}

/* Twelve chains hide the latency of 4 or 5 cycles of two units, and fit into 16 registers. */
#define EACH(x) x(0) x(1) x(2) x(3) x(4) x(5) x(6) x(7) x(8) x(9) x(10) x(11)
#define BEGIN(i) v##i = one * i,
#define STEP(i) v##i = v##i * factor + one;
#define SUM(i) +v##i
#define FMA(type, vector)                                             \
    static void fma_##type(struct job *job) {                         \
        vector one = (vector){0} + (type)1, factor = one * (type)0.5; \
        vector EACH(BEGIN) end;                                       \
        KEEP(factor);                                                 \
        KEEP(one);                                                    \
        for (uint64_t round = 0; round < job->rounds; ++round) {      \
            EACH(STEP)                                                \
        }                                                             \
        end = one EACH(SUM);                                          \
        job->sink = (double)end[0];                                   \
    }
FMA(float, floats)
FMA(double, doubles)

static void *run(void *argument) {
    struct job *job = argument;
    pthread_barrier_wait(&gate);
    job->work(job);
    pthread_barrier_wait(&gate);
    return NULL;
}

/* Seconds that all jobs take side by side; a negative number if a thread does not start. */
static double timed(struct job *jobs, int threads) {
    static pthread_t ids[MOST_THREADS];
    pthread_barrier_init(&gate, NULL, (unsigned)threads + 1);
    for (int i = 0; i < threads; ++i)
        if (pthread_create(&ids[i], NULL, run, &jobs[i])) return -1.0;
    pthread_barrier_wait(&gate);
    double begin = now();
    pthread_barrier_wait(&gate);
    double taken = now() - begin;
    for (int i = 0; i < threads; ++i)
        pthread_join(ids[i], NULL);
    pthread_barrier_destroy(&gate);
    return taken;
}

/* The least seconds of a round, of all threads together. */
static double best(struct job *jobs, int threads, void (*work)(struct job *)) {
    uint64_t rounds = 1;
    double taken = 0.0, least = 1e300;
    for (int i = 0; i < threads; ++i)
        jobs[i].work = work;
    for (int attempt = 0; attempt < ATTEMPTS;) {
        for (int i = 0; i < threads; ++i)
            jobs[i].rounds = rounds;
        taken = timed(jobs, threads);
        if (taken < 0.0) return taken;
        if (taken < SECONDS && rounds < (uint64_t)1 << 40) {
            rounds *= taken < SECONDS / 10 ? 8 : 2;
            continue;
        }
        if (taken / (double)rounds < least) least = taken / (double)rounds;
        ++attempt;
    }
    return least;
}

int main(int count, char **arguments) {
    static struct job jobs[MOST_THREADS];
    int threads = count > 1 ? atoi(arguments[1]) : 1;
    if (threads < 1 || threads > MOST_THREADS) {
        fprintf(stderr, "the number of threads must lie between 1 and %d\n", MOST_THREADS);
        return 2;
    }
    char *memory = aligned_alloc(4096, LARGEST);
    if (!memory) {
        fprintf(stderr, "no %zu bytes of memory\n", LARGEST);
        return 1;
    }
    memset(memory, 1, LARGEST); /* so that each page is there */
    for (size_t bytes = SMALLEST; bytes <= LARGEST; bytes *= 4) {
        size_t part = bytes / 2 / (size_t)threads / 64 * 64;
        if (!part) continue;
        for (int i = 0; i < threads; ++i) {
            jobs[i].from = memory + 2 * part * (size_t)i;
            jobs[i].to = jobs[i].from + part;
            jobs[i].bytes = part;
        }
        double plain = best(jobs, threads, copy_plain), past = best(jobs, threads, copy_past_caches);
        if (plain < 0.0 || past < 0.0) {
            fprintf(stderr, "%d threads cannot be started\n", threads);
            return 1;
        }
        double moved = 2.0 * (double)part * (double)threads;
        printf("copy %zu %.6g\n", bytes, moved / (plain < past ? plain : past));
    }
    double one = 2.0 * 12.0 * (double)threads;
    printf("fma float32 %.6g\n", one * (WIDTH / sizeof(float)) / best(jobs, threads, fma_float));
    printf("fma float64 %.6g\n", one * (WIDTH / sizeof(double)) / best(jobs, threads, fma_double));
    return 0;
}
