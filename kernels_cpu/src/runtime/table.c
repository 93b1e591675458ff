/* The kernel table: the rows of all source files as one array of pointers, made once. */
#include <stdlib.h>

#include "runtime/runtime.h"

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

typedef const phx_kernel *row;

static _Atomic(row *) table; /* lives as long as the process */

static uint64_t row_count(void) {
    uint64_t count = 0;
    for (size_t i = 0; i < LIST_COUNT; i++) count += lists[i]().count;
    return count;
}

/* No lock, which a fork could leave held for ever: of several tables made at once the first stays. */
static row *made_table(void) {
    row *made = atomic_load(&table), *first = NULL;
    if (made != NULL || (made = malloc(row_count() * sizeof *made)) == NULL) return made;
    size_t size = 0;
    for (size_t i = 0; i < LIST_COUNT; i++) {
        const cpu_kernel_list list = lists[i]();
        for (size_t k = 0; k < list.count; k++) made[size++] = &list.rows[k].base;
    }
    if (atomic_compare_exchange_strong(&table, &first, made)) return made;
    free(made);
    return first;
}

phx_error *cpu_kernel_table(phx_device *device, const phx_kernel *const **out, uint64_t *out_count) {
    phx_error *error = cpu_check_device(device, "kernel_table");
    if (error != NULL) return error;
    if (out == NULL || out_count == NULL)
        return cpu_fail(PHX_INVALID_ARGUMENT, "kernel_table: an out parameter is a null pointer");
    *out = made_table();
    if (*out == NULL) return cpu_fail(PHX_OUT_OF_MEMORY, "kernel_table: no host memory for the table");
    *out_count = row_count();
    return NULL;
}
