/* The kernel table: the rows of all source files as one array of pointers, made once. */
#include <pthread.h>
#include <stdlib.h>

#include "runtime.h"

/* kernel_lists.h is generated: one X(file) per source file that offers rows. */
#define X(FILE_NAME) cpu_kernel_list phx_##FILE_NAME##_kernels(void);
#include "kernel_lists.h"
#undef X

typedef cpu_kernel_list (*list_fn)(void);

static const list_fn lists[] = {
#define X(FILE_NAME) phx_##FILE_NAME##_kernels,
#include "kernel_lists.h"
#undef X
};

#define LIST_COUNT (sizeof lists / sizeof lists[0])

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static const phx_kernel **table; /* lives as long as the process */
static uint64_t table_size;

static bool make_table(void) {
    size_t count = 0;
    for (size_t i = 0; i < LIST_COUNT; i++) count += lists[i]().count;
    table = malloc(count * sizeof *table);
    if (table == NULL) return false;
    for (size_t i = 0; i < LIST_COUNT; i++) {
        const cpu_kernel_list list = lists[i]();
        for (size_t k = 0; k < list.count; k++) table[table_size++] = &list.rows[k].base;
    }
    return true;
}

phx_error *cpu_kernel_table(phx_device *device, const phx_kernel *const **out, uint64_t *out_count) {
    phx_error *error = cpu_check_device(device, "kernel_table");
    if (error != NULL) return error;
    if (out == NULL || out_count == NULL)
        return cpu_fail(PHX_INVALID_ARGUMENT, "kernel_table: an out parameter is a null pointer");
    pthread_mutex_lock(&mutex);
    const bool made = table != NULL || make_table();
    pthread_mutex_unlock(&mutex);
    if (!made) return cpu_fail(PHX_OUT_OF_MEMORY, "kernel_table: no host memory for the table");
    *out = table;
    *out_count = table_size;
    return NULL;
}
