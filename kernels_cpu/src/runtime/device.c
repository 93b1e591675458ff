/* The device: what this machine is. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <time.h>

#include "runtime/available.h"
#include "runtime/runtime.h"

#define DLPACK_CPU 1
#define ALIGNMENT 64

phx_device cpu_device;
atomic_uint cpu_generation;

static pthread_once_t describe_once = PTHREAD_ONCE_INIT;
static pthread_once_t start_once = PTHREAD_ONCE_INIT;
static char device_name[128];

uint64_t cpu_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint32_t cpu_usable_cores(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return (uint32_t)CPU_COUNT(&set);
    /* more processors than a cpu_set_t holds */
    const int n = get_nprocs();
    return n > 0 ? (uint32_t)n : 1;
}

/* The first "model name" of /proc/cpuinfo, which machines other than x86 may lack. */
static void read_name(void) {
    strcpy(device_name, "CPU");
    FILE *file = fopen("/proc/cpuinfo", "re");
    if (file == NULL) return;
    char line[256];
    while (fgets(line, sizeof line, file) != NULL) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || colon == NULL) continue;
        colon += 1 + strspn(colon + 1, " \t");
        colon[strcspn(colon, "\n")] = '\0';
        snprintf(device_name, sizeof device_name, "%.*s", (int)sizeof device_name - 1, colon);
        break;
    }
    fclose(file);
}

static void describe(void) {
    struct sysinfo info;
    if (sysinfo(&info) == 0) cpu_device.total_memory = cpu_total_memory((uint64_t)info.totalram * info.mem_unit);
    cpu_device.cores = cpu_usable_cores();
    read_name();
}

static void before_fork(void) { cpu_streams_before_fork(); }

static void after_fork_in_parent(void) { cpu_streams_after_fork(false); }

static void after_fork_in_child(void) {
    atomic_fetch_add(&cpu_generation, 1);
    cpu_streams_after_fork(true);
    cpu_pool_after_fork();
}

static void start(void) { pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child); }

phx_error *cpu_check_device(const phx_device *device, const char *call) {
    if (device == &cpu_device) return NULL;
    return cpu_fail(PHX_INVALID_ARGUMENT, "%s: not a device of the cpu plugin; open one with device_open",
                    call);
}

phx_error *cpu_device_count(uint32_t *out) {
    if (out == NULL) return cpu_fail(PHX_INVALID_ARGUMENT, "device_count: out is a null pointer");
    *out = 1;
    return NULL;
}

static phx_error *check_index(uint32_t index, const void *out, const char *call) {
    if (out == NULL) return cpu_fail(PHX_INVALID_ARGUMENT, "%s: out is a null pointer", call);
    if (index == 0) return NULL;
    return cpu_fail(PHX_INVALID_ARGUMENT, "%s: there is no cpu:%u, only cpu:0", call, index);
}

phx_error *cpu_device_info(uint32_t index, phx_device_info *out) {
    phx_error *error = check_index(index, out, "device_info");
    if (error != NULL) return error;
    pthread_once(&describe_once, describe);
    const phx_device_info made = {
        .struct_size = sizeof(phx_device_info),
        .name = {device_name, strlen(device_name)},
        .pci_address = {"", 0},
        .kind = PHX_KIND_CPU,
        .numa_node = -1,
        .dlpack_type = DLPACK_CPU,
        .features = PHX_FEATURE_HOST_ADDRESSABLE | PHX_FEATURE_FP64 | PHX_FEATURE_FP16 |
                    PHX_FEATURE_SUBNORMALS | PHX_FEATURE_SYNCHRONOUS | PHX_FEATURE_UNIFIED_MEMORY,
        .total_memory = cpu_device.total_memory,
        .max_allocation = cpu_device.total_memory,
        .alignment = ALIGNMENT,
        .compute_units = cpu_device.cores,
        .score = PHX_CPU_LEVEL * 10,
    };
    cpu_fill(out, &made, sizeof made);
    return NULL;
}

phx_error *cpu_device_open(uint32_t index, phx_device **out) {
    phx_error *error = check_index(index, out, "device_open");
    if (error != NULL) return error;
    if ((error = cpu_pool_check()) != NULL) return error;
    pthread_once(&describe_once, describe);
    pthread_once(&start_once, start);
    *out = &cpu_device;
    return NULL;
}

/* The device holds nothing of its own: streams, events and memory are the caller's to give back. */
phx_error *cpu_device_close(phx_device *device) { return cpu_check_device(device, "device_close"); }
