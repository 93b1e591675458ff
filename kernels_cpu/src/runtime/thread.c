/* Threads of the library: they take no signals but those of their own faults. */
#define _GNU_SOURCE
#include <signal.h>

#include "runtime/thread.h"

/* What the kernel sends to the thread that has caused it. Blocked, it would kill the process without the
 * handlers that tell where: Python's faulthandler, a core dump's. */
static const int own_faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};

int cpu_thread_create(pthread_t *out, void *(*run)(void *), void *argument) {
    sigset_t others, old;
    sigfillset(&others);
    for (size_t i = 0; i < sizeof own_faults / sizeof *own_faults; i++) sigdelset(&others, own_faults[i]);
    pthread_sigmask(SIG_SETMASK, &others, &old);
    const int failure = pthread_create(out, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return failure;
}
