/* How much memory this process may have, in bytes. */
#ifndef PHX_CPU_AVAILABLE_H_
#define PHX_CPU_AVAILABLE_H_

#include <stdbool.h>
#include <stdint.h>

/* Of physical memory what the limits of the process's control groups allow. */
uint64_t cpu_total_memory(uint64_t physical);

/* What it may still take without swapping; at most `total`, which is all if the system does not tell. */
uint64_t cpu_available_memory(uint64_t total);

/* The least limit of the control groups that a file lists as /proc/self/cgroup does, or the least that is left of
 * one, by their files under `mount`; UINT64_MAX if there is no limit. */
uint64_t cpu_group_memory(const char *groups, const char *mount, bool of_limit);

#endif
