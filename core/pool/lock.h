/* A lock for critical sections of tens of nanoseconds: spins shortly, then sleeps in the kernel.
 *
 * On Linux a three-state futex word (Drepper, "Futexes are tricky", 2011, mutex 2): half the cost
 * of pthread_mutex_t, and a forked child resets it by one store. Elsewhere a pthread mutex.
 *
 * Where every call of the pool is made under a lock of the caller's, such as Python's GIL, PHX_SERIAL says so: the
 * pool's own lock is none then, which saves two atomic exchanges at each allocation and at each release.
 */
#ifndef PHALANX_POOL_LOCK_H_
#define PHALANX_POOL_LOCK_H_

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define PHX_LOCK_SPINS 128 /* about as long as one alloc or free holds the lock */

static inline void phx_cpu_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#if defined(PHX_SERIAL)

typedef struct {
    char unused;
} phx_lock;

static inline void phx_lock_init(phx_lock *lock) {
    (void)lock;
}

static inline void phx_lock_fini(phx_lock *lock) {
    (void)lock;
}

static inline bool phx_lock_try(phx_lock *lock) {
    (void)lock;
    return true;
}

static inline void phx_lock_acquire(phx_lock *lock) {
    (void)lock;
}

static inline void phx_lock_release(phx_lock *lock) {
    (void)lock;
}

static inline void phx_lock_reset_in_child(phx_lock *lock) {
    (void)lock;
}

#elif defined(__linux__)

#include <linux/futex.h>
#include <sys/syscall.h>

long syscall(long number, ...); /* unistd.h does not declare it under -std=c11 */

typedef struct {
    _Atomic uint32_t word; /* 0 free, 1 held, 2 held and somebody may sleep */
} phx_lock;

static inline void phx_lock_init(phx_lock *lock) {
    atomic_store_explicit(&lock->word, 0, memory_order_relaxed);
}

static inline void phx_lock_fini(phx_lock *lock) {
    (void)lock;
}

static inline bool phx_lock_try(phx_lock *lock) {
    uint32_t expected = 0;
    return atomic_compare_exchange_strong_explicit(&lock->word, &expected, 1, memory_order_acquire,
                                                   memory_order_relaxed);
}

static inline void phx_lock_acquire(phx_lock *lock) {
    if (phx_lock_try(lock))
        return;
    for (int i = 0; i < PHX_LOCK_SPINS; i++) {
        phx_cpu_relax();
        if (!atomic_load_explicit(&lock->word, memory_order_relaxed) && phx_lock_try(lock))
            return;
    }
    while (atomic_exchange_explicit(&lock->word, 2, memory_order_acquire) != 0)
        syscall(SYS_futex, &lock->word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

static inline void phx_lock_release(phx_lock *lock) {
    if (atomic_exchange_explicit(&lock->word, 0, memory_order_release) == 2)
        syscall(SYS_futex, &lock->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* The forking thread holds the lock, and no other thread exists in the child. */
static inline void phx_lock_reset_in_child(phx_lock *lock) {
    phx_lock_init(lock);
}

#else

typedef struct {
    pthread_mutex_t mutex;
} phx_lock;

static inline void phx_lock_init(phx_lock *lock) {
    pthread_mutex_init(&lock->mutex, NULL);
}

static inline void phx_lock_fini(phx_lock *lock) {
    pthread_mutex_destroy(&lock->mutex);
}

static inline bool phx_lock_try(phx_lock *lock) {
    return pthread_mutex_trylock(&lock->mutex) == 0;
}

static inline void phx_lock_acquire(phx_lock *lock) {
    for (int i = 0; i < PHX_LOCK_SPINS; i++) {
        if (phx_lock_try(lock))
            return;
        phx_cpu_relax();
    }
    pthread_mutex_lock(&lock->mutex);
}

static inline void phx_lock_release(phx_lock *lock) {
    pthread_mutex_unlock(&lock->mutex);
}

static inline void phx_lock_reset_in_child(phx_lock *lock) {
    pthread_mutex_unlock(&lock->mutex);
}

#endif
#endif
