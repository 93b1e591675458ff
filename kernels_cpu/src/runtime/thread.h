/* Starting a thread of the library. */
#ifndef PHX_CPU_THREAD_H_
#define PHX_CPU_THREAD_H_

#include <pthread.h>

/* As pthread_create; the new thread leaves signals to the program's own threads, save those that tell of a
 * fault in itself. */
int cpu_thread_create(pthread_t *out, void *(*run)(void *), void *argument);

#endif
