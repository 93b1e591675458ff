/* The plugin's table. Everything here runs on any processor of the family, whatever the library is built for.
 */
#include "runtime/runtime.h"
#include "runtime/stream.h"

CPU_BASELINE_CODE

#ifndef PHX_CPU_VERSION
#error "the build step defines PHX_CPU_VERSION, a string"
#endif
#ifndef PHX_CPU_LEVEL
#error "the build step defines PHX_CPU_LEVEL: 1 baseline, 3 AVX2, 4 AVX-512 (the levels of the x86-64 psABI)"
#endif

#define OLDEST_HOST_MINOR 0
#define TEXT(s) {s, sizeof(s) - 1}

static phx_error *plugin_info(phx_plugin_info *out) {
    if (out == NULL) return cpu_fail(PHX_INVALID_ARGUMENT, "plugin_info: out is a null pointer");
    const phx_plugin_info made = {
        .struct_size = sizeof(phx_plugin_info),
        .name = TEXT("cpu"),
        .vendor = TEXT("Phalanx"),
        .version = TEXT(PHX_CPU_VERSION),
        .license = TEXT("Apache-2.0"),
    };
    cpu_fill(out, &made, sizeof made);
    return NULL;
}

/* The builtins also ask whether the system saves the wide registers. */
static int32_t score(void) {
#if PHX_CPU_LEVEL == 4
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512cd") || !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512vl"))
        return 0;
#endif
#if PHX_CPU_LEVEL >= 3
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi") ||
        !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("f16c"))
        return 0;
#endif
    return PHX_CPU_LEVEL == 4 ? 30 : PHX_CPU_LEVEL == 3 ? 20
                                                        : 10;
}

static phx_error *plugin_score(int32_t *out) {
    if (out == NULL) return cpu_fail(PHX_INVALID_ARGUMENT, "plugin_score: out is a null pointer");
    *out = score();
    return NULL;
}

static const phx_api api = {
    .struct_size = sizeof(phx_api),
    .built_abi_major = PHX_ABI_MAJOR,
    .built_abi_minor = PHX_ABI_MINOR,
    .min_host_abi_minor = OLDEST_HOST_MINOR,
    .capabilities = PHX_CAP_STREAMS | PHX_CAP_EVENT_TIMING | PHX_CAP_TRIM | PHX_CAP_THREADS | PHX_CAP_FAULT_INJECTION,
    .plugin_info = plugin_info,
    .plugin_score = plugin_score,
    .device_count = cpu_device_count,
    .device_info = cpu_device_info,
    .device_open = cpu_device_open,
    .device_close = cpu_device_close,
    .device_synchronize = cpu_device_synchronize,
    .memory_info = cpu_memory_info,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .copy = cpu_copy,
    .kernel_table = cpu_kernel_table,
    .stream_create = cpu_stream_create,
    .stream_destroy = cpu_stream_destroy,
    .stream_query = cpu_stream_query,
    .stream_synchronize = cpu_stream_synchronize,
    .stream_wait_event = cpu_stream_wait_event,
    .event_create = cpu_event_create,
    .event_destroy = cpu_event_destroy,
    .event_record = cpu_event_record,
    .event_query = cpu_event_query,
    .event_synchronize = cpu_event_synchronize,
    .event_elapsed = cpu_event_elapsed,
    .device_trim = cpu_trim,
    .device_threads = cpu_device_threads,
    .stream_inject_failure = cpu_stream_inject_failure,
};

PHX_EXPORT phx_error *phalanx_plugin_get_api(uint32_t host_abi_major, uint32_t host_abi_minor,
                                             const phx_host *host, const phx_api **out) {
    (void)host; /* needs no service of the host */
    if (host_abi_major != PHX_ABI_MAJOR || host_abi_minor + 1 < OLDEST_HOST_MINOR + 1)
        return cpu_fail(
            PHX_ABI_MISMATCH,
            "the cpu plugin %s speaks ABI %d.%d and needs a host of %d.%d or a later minor version, but "
            "the host speaks %u.%u; install matching versions of phalanx and its cpu plugin",
            PHX_CPU_VERSION, PHX_ABI_MAJOR, PHX_ABI_MINOR, PHX_ABI_MAJOR, OLDEST_HOST_MINOR, host_abi_major,
            host_abi_minor);
    if (out == NULL) return cpu_fail(PHX_INVALID_ARGUMENT, "phalanx_plugin_get_api: out is a null pointer");
    *out = &api;
    return NULL;
}
