/* How much memory this process may have: what the machine has, what its control groups leave, and what its address
 * space may grow by. Files: proc(5); of groups "Control Group v2", memory, and "cgroup-v1/memory" of Linux's
 * documentation. What a group keeps of files that were not used for long is given back when it is needed. */
#define _GNU_SOURCE
#include "runtime/available.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define LONGEST_PATH 4096
#define NO_LIMIT UINT64_MAX

/* What the files of a version of control groups are called. */
typedef struct {
    const char *folder, *limit, *usage, *unused;
} version;

static const version first = {"/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};
static const version second = {"", "memory.max", "memory.current", "inactive_file"};

static inline uint64_t lesser(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* The number behind a key at the beginning of a line, or at the beginning of the file; `otherwise` if there is none. */
static uint64_t number_in(const char *path, const char *key, uint64_t otherwise) {
    FILE *const file = fopen(path, "re");
    char line[256];
    uint64_t found = otherwise;
    const size_t length = strlen(key);
    if (file == NULL) return otherwise;
    while (fgets(line, sizeof line, file) != NULL) {
        unsigned long long number;
        if (strncmp(line, key, length) != 0 || sscanf(line + length, " %llu", &number) != 1) continue;
        found = number;
        break;
    }
    fclose(file);
    return found;
}

static uint64_t number_of(const char *folder, const char *name, const char *key, uint64_t otherwise) {
    char path[LONGEST_PATH + 64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return number_in(path, key, otherwise);
}

/* What a group and those that it is in leave: the least limit, or what is left of one. `path` is that of the group and
 * gets shorter, down to the first `root` characters. In a container the groups above its own cannot be seen. */
static uint64_t left_by_groups(char *path, size_t root, const version *names, bool of_limit) {
    uint64_t least = NO_LIMIT;
    for (;;) {
        const uint64_t limit = number_of(path, names->limit, "", NO_LIMIT);
        uint64_t used = 0;
        if (limit != NO_LIMIT && !of_limit) {
            used = number_of(path, names->usage, "", 0);
            used -= lesser(used, number_of(path, "memory.stat", names->unused, 0));
        }
        least = lesser(least, limit - lesser(limit, used));
        char *const end = strrchr(path, '/');
        if (strlen(path) <= root || end == NULL) return least;
        path[(size_t)(end - path) < root ? root : (size_t)(end - path)] = '\0';
    }
}

uint64_t cpu_group_memory(const char *groups, const char *mount, bool of_limit) {
    FILE *const file = fopen(groups, "re");
    char line[LONGEST_PATH], path[LONGEST_PATH];
    uint64_t least = NO_LIMIT;
    if (file == NULL) return NO_LIMIT;
    while (fgets(line, sizeof line, file) != NULL) { /* number:controllers:path */
        char *const controllers = strchr(line, ':'), *group;
        if (controllers == NULL || (group = strchr(controllers + 1, ':')) == NULL) continue;
        *group++ = '\0';
        group[strcspn(group, "\n")] = '\0';
        const bool is_second = controllers[1] == '\0';
        if (!is_second && strcmp(controllers + 1, "memory") != 0) continue;
        const version *const names = is_second ? &second : &first;
        const size_t root = (size_t)snprintf(path, sizeof path, "%s%s", mount, names->folder);
        if (root >= sizeof path || (size_t)snprintf(path + root, sizeof path - root, "%s", group) >= sizeof path - root)
            continue;
        least = lesser(least, left_by_groups(path, root, names, of_limit));
    }
    fclose(file);
    return least;
}

static uint64_t left_of_addresses(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return NO_LIMIT;
    const uint64_t used = number_in("/proc/self/statm", "", 0) * (uint64_t)sysconf(_SC_PAGESIZE);
    return limit.rlim_cur - lesser(limit.rlim_cur, used);
}

static const char groups[] = "/proc/self/cgroup", mount[] = "/sys/fs/cgroup";

uint64_t cpu_total_memory(uint64_t physical) { return lesser(physical, cpu_group_memory(groups, mount, true)); }

uint64_t cpu_available_memory(uint64_t total) {
    const uint64_t kib = number_in("/proc/meminfo", "MemAvailable:", NO_LIMIT);
    const uint64_t machine = kib == NO_LIMIT ? total : lesser(total, kib << 10);
    return lesser(lesser(machine, left_of_addresses()), cpu_group_memory(groups, mount, false));
}
