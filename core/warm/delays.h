/* Delays for stress tests: with PHALANX_DELAYS defined, phx_delay() lets a thread wait for a random time.
 * The core calls it where the GIL is released or a driver is called, so that rare orders come often. */
#ifndef PHALANX_DELAYS_H_
#define PHALANX_DELAYS_H_

#ifdef PHALANX_DELAYS

#include <sched.h>
#include <stdint.h>
#include <time.h>

#define PHX_DELAYS 1

static inline void phx_delay(void) {
    static _Thread_local uint32_t state;
    struct timespec now;
    if (state == 0) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        state = (uint32_t)now.tv_nsec | 1u;
    }
    state ^= state << 13; /* Marsaglia, "Xorshift RNGs", 2003 */
    state ^= state >> 17;
    state ^= state << 5;
    switch (state >> 28) {
    case 0: now = (struct timespec){0, (long)(state & 0x3ffff)}; break; /* up to 0.26 ms */
    case 1:
    case 2: now = (struct timespec){0, 1000}; break;
    case 3:
    case 4: sched_yield(); return;
    default: return;
    }
    nanosleep(&now, NULL);
}

#else

#define PHX_DELAYS 0

static inline void phx_delay(void) {}

#endif
#endif
