/* Error objects of phalanx.h, for plugins that would write the same: header only, C11 and C++.
 *
 * A call that fails returns phx_fail(...), which the host destroys. */
#ifndef PHALANX_ERRORS_H_
#define PHALANX_ERRORS_H_

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "phalanx.h"

/* A literal as a phx_str: an initializer, or behind (phx_str) a value. */
#define PHX_STR(LITERAL) {LITERAL, sizeof(LITERAL) - 1}

typedef struct {
    phx_error base;
    char text[240]; /* what is longer is cut */
} phx_made_error;

static inline phx_str phx_text(const char *text) {
    const phx_str view = {text, text == NULL ? 0 : strlen(text)};
    return view;
}

static inline void phx_forget(phx_error *self) { free(self); }
static inline void phx_keep(phx_error *self) { (void)self; }

/* Returns an error object with a message as of printf. `native` is the runtime's own code and `name` the code's name,
 * 0 and NULL if there is none; `remedy` is what the user can do, NULL if unknown. Both texts must stay: literals.
 * Never NULL: without memory it is an object that says so. Any thread may call it. */
#if defined(__GNUC__)
__attribute__((format(printf, 5, 6), unused))
#endif
static phx_error *phx_fail(int32_t code, int32_t native, const char *name, const char *remedy,
                           const char *format, ...) {
    static const char text[] = "the host has no memory";
    static phx_error no_memory = {sizeof(phx_error), PHX_OUT_OF_MEMORY, 0, {text, sizeof text - 1}, {NULL, 0}, phx_keep, {NULL, 0}};
    phx_made_error *error = (phx_made_error *)calloc(1, sizeof *error);
    va_list args;
    if (error == NULL) return &no_memory;
    va_start(args, format);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    error->base.struct_size = sizeof(phx_error);
    error->base.code = code;
    error->base.vendor_code = native;
    error->base.message = phx_text(error->text);
    error->base.vendor_name = phx_text(name);
    error->base.remedy = phx_text(remedy);
    error->base.destroy = phx_forget;
    return &error->base;
}

#endif /* PHALANX_ERRORS_H_ */
