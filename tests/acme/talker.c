/* A plugin's threads that log: at once, in numbers, and while they hold a lock. */
#include "phalanx.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

static const phx_host *host;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t locked;
static pthread_t worker;

static void say(int32_t level, const char *text) {
    host->log(host->context, level, (phx_str){text, strlen(text)});
}

void talker_use(const phx_host *given) { host = given; }

void talker_say(int32_t level, const char *data, uint64_t size) {
    host->log(host->context, level, (phx_str){data, size});
}

uint64_t talker_clock(void) { return host->now_ns(host->context); }

typedef struct {
    int number, count;
} task;

static void *say_many(void *data) {
    const task *mine = data;
    char text[64];
    for (int i = 0; i < mine->count; i++) {
        snprintf(text, sizeof text, "%d %d", mine->number, i);
        say(20, text);
    }
    return NULL;
}

/* Each of up to 64 threads logs count messages "thread number"; returns when all are done. */
void talker_crowd(int threads, int count) {
    pthread_t all[64];
    task tasks[64];
    for (int i = 0; i < threads; i++) {
        tasks[i] = (task){i, count};
        pthread_create(&all[i], NULL, say_many, &tasks[i]);
    }
    for (int i = 0; i < threads; i++) pthread_join(all[i], NULL);
}

/* Logs count long messages. */
void talker_flood(int count) {
    static char text[60000];
    memset(text, 'x', sizeof text - 1);
    for (int i = 0; i < count; i++) say(10, text);
}

static void *hold_and_say(void *data) {
    (void)data;
    pthread_mutex_lock(&lock);
    sem_post(&locked);
    for (int i = 0; i < 100; i++) say(30, "the worker has the lock");
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* Starts a worker and returns when it has the lock, which it gives back after it has logged. */
void talker_start(void) {
    sem_init(&locked, 0, 0);
    pthread_create(&worker, NULL, hold_and_say, NULL);
    while (sem_wait(&locked) != 0) {}
}

/* As a kernel would: needs the worker's lock for a moment. */
void talker_run(void) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    pthread_join(worker, NULL);
}
