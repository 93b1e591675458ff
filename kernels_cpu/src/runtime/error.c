/* Error objects: one allocation each, and one static object for when there is no memory left for it. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"

CPU_BASELINE_CODE

typedef struct {
    phx_error base;
    char text[];
} cpu_error;

static void destroy_error(phx_error *self) { free(self); }

static void keep_error(phx_error *self) { (void)self; }

#define NO_MEMORY_TEXT "out of host memory while an error message was made"
static phx_error no_memory = {
    sizeof(phx_error),
    PHX_OUT_OF_MEMORY,
    0,
    {NO_MEMORY_TEXT, sizeof(NO_MEMORY_TEXT) - 1},
    {"", 0},
    keep_error,
    {"", 0},
};

phx_error *cpu_fail(int32_t code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    const size_t size = length > 0 ? (size_t)length : 0;
    cpu_error *error = malloc(sizeof(cpu_error) + size + 1);
    if (error == NULL) return &no_memory;
    va_start(args, format);
    vsnprintf(error->text, size + 1, format, args);
    va_end(args);
    error->base = (phx_error){
        .struct_size = sizeof(phx_error),
        .code = code,
        .message = {error->text, size},
        .vendor_name = {"", 0},
        .destroy = destroy_error,
        .remedy = {"", 0},
    };
    return &error->base;
}

phx_error *cpu_copy_error(const phx_error *error) {
    phx_error *copy = cpu_fail(error->code, "%.*s", (int)error->message.size, error->message.data);
    copy->vendor_code = error->vendor_code;
    return copy;
}
