/* What the files of the runtime share: the device, its services and the rules after a fork. */
#ifndef PHX_CPU_RUNTIME_H_
#define PHX_CPU_RUNTIME_H_

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "runtime/kernel.h"

/* Code that runs before plugin_score has said that this processor has the library's instruction set. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define CPU_BASELINE_CODE _Pragma("GCC target(\"arch=x86-64\")")
#else
#define CPU_BASELINE_CODE
#endif

struct phx_device {
    uint64_t total_memory; /* bytes of physical memory that this process may use */
    uint32_t cores;        /* that it may use */
};

/* The one device; every entry point checks its handle with this. */
extern phx_device cpu_device;
phx_error *cpu_check_device(const phx_device *device, const char *call);

/* Number of forks between the loading process and this one; a stream of another generation has no thread. */
extern atomic_uint cpu_generation;
void cpu_streams_before_fork(void);
void cpu_streams_after_fork(bool in_child);
void cpu_pool_after_fork(void);
phx_error *cpu_pool_check(void); /* the error of a bad PHALANX_NUM_THREADS */

uint64_t cpu_now_ns(void);
uint32_t cpu_usable_cores(void);

/* Copy a struct into one of another's, up to the size that he states: it may be that of an older version. */
static inline void cpu_fill(void *out, const void *made, uint64_t size) {
    uint64_t room;
    memcpy(&room, out, sizeof room);
    if (room < size) size = room;
    if (size < sizeof size) return;
    memcpy(out, made, size);
    memcpy(out, &size, sizeof size);
}

/* memory.c */
phx_error *cpu_memory_info(phx_device *device, uint64_t *out_free, uint64_t *out_total);
phx_error *cpu_alloc(phx_device *device, uint64_t size, uint64_t alignment, void **out);
phx_error *cpu_free(phx_device *device, void *handle);
phx_error *cpu_copy(phx_device *device, phx_stream *stream, phx_place dst, phx_place src, uint64_t size);
phx_error *cpu_trim(phx_device *device);
phx_error *cpu_device_threads(phx_device *device, uint32_t count, uint32_t *out_count);
void cpu_copy_bytes(char *dst, const char *src, uint64_t size);

/* device.c */
phx_error *cpu_device_count(uint32_t *out);
phx_error *cpu_device_info(uint32_t index, phx_device_info *out);
phx_error *cpu_device_open(uint32_t index, phx_device **out);
phx_error *cpu_device_close(phx_device *device);

/* table.c */
phx_error *cpu_kernel_table(phx_device *device, const phx_kernel *const **out, uint64_t *out_count);

#endif
