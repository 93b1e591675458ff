/* A host of ABI 1.0 in C, as one was written then: it negotiates, describes, copies and adds, and prints what it sees.
 *
 *     host LIBRARY
 *
 * With -DLATER and the header of a later version it calls what came then, where the plugin has it. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "phalanx.h"

#define FOREVER UINT64_MAX

static const phx_api *api;

static void host_log(void *context, int32_t level, phx_str message) {
    (void)context;
    printf("log %d: %.*s\n", level, (int)message.size, message.data);
}

static uint64_t host_now(void *context) {
    (void)context;
    return 1;
}

static int stop(const char *why) {
    printf("refused: %s\n", why);
    exit(3);
}

static void check(phx_error *error, const char *call) {
    if (error == NULL) return;
    printf("%s failed: %d: %.*s\n", call, error->code, (int)error->message.size, error->message.data);
    error->destroy(error);
    exit(4);
}

/* Whether a function lies inside the plugin's table, and is there. */
#define HAS(NAME) \
    (api->struct_size >= offsetof(phx_api, NAME) + sizeof(void *) && api->NAME != NULL)

static void negotiate(void) {
    if (api == NULL || api->struct_size < offsetof(phx_api, flags)) stop("the table is too small for the versions");
    printf("built for %u.%u\n", api->built_abi_major, api->built_abi_minor);
    if (api->built_abi_major != PHX_ABI_MAJOR) stop("another major version");
    if (api->min_host_abi_minor > PHX_ABI_MINOR) stop("it needs a newer host");
    if (!HAS(kernel_table)) stop("the table ends before tier sync does");
}

static const phx_kernel *find(phx_device *device, const char *name) {
    const uint8_t floats[] = {PHX_FLOAT32, PHX_FLOAT32, PHX_FLOAT32};
    const phx_kernel *const *rows;
    uint64_t count;
    check(api->kernel_table(device, &rows, &count), "kernel_table");
    for (uint64_t i = 0; i < count; i++)
        if (rows[i]->op.size == strlen(name) && memcmp(rows[i]->op.data, name, rows[i]->op.size) == 0 &&
            rows[i]->n_inputs == 2 && memcmp(rows[i]->dtypes, floats, 3) == 0 &&
            rows[i]->layout != PHX_LAYOUT_STRIDED && (uint32_t)rows[i]->layout <= PHX_LAYOUT_ANY)
            return rows[i];
    const phx_kernel *found = NULL;
    phx_str reason = {NULL, 0}, op = {name, strlen(name)};
    if (!(api->capabilities & PHX_CAP_FIND_KERNEL) || !HAS(kernel_find)) return NULL;
    check(api->kernel_find(device, op, floats, 2, 1, PHX_LAYOUT_CONTIGUOUS, &found, &reason), "kernel_find");
    if (found == NULL) printf("no %s: %.*s\n", name, (int)reason.size, reason.data);
    return found;
}

static void compute(phx_device *device, uint64_t alignment, const char *name, float sign) {
    enum { N = 1000 };
    static float host[3][N];
    void *blocks[3];
    const phx_kernel *kernel = find(device, name);
    if (kernel == NULL) return;
    for (int i = 0; i < N; i++) host[0][i] = (float)i, host[1][i] = (float)(3 * i);
    for (int k = 0; k < 3; k++) {
        check(api->alloc(device, sizeof host[k], alignment, &blocks[k]), "alloc");
        check(api->copy(device, NULL, (phx_place){device, blocks[k], 0}, (phx_place){NULL, host[k], 0}, sizeof host[k]),
              "copy");
    }
    int64_t shape[] = {N}, strides[] = {1};
    DLTensor tensors[3];
    const DLTensor *pointers[3];
    for (int k = 0; k < 3; k++) {
        tensors[k] = (DLTensor){blocks[k], {12, 0}, 1, {2, 32, 1}, shape, strides, 0};
        pointers[k] = &tensors[k];
    }
    const phx_call call = {
        .struct_size = sizeof call, .tensors = pointers, .n_inputs = 2, .n_outputs = 1, .device = device};
    check(kernel->run(kernel, NULL, &call), name);
    check(api->device_synchronize(device, FOREVER), "device_synchronize");
    check(api->copy(device, NULL, (phx_place){NULL, host[2], 0}, (phx_place){device, blocks[2], 0}, sizeof host[2]), "copy");
    check(api->device_synchronize(device, FOREVER), "device_synchronize");
    for (int k = 0; k < 3; k++) check(api->free(device, blocks[k]), "free");
    for (int i = 0; i < N; i++)
        if (host[2][i] != (float)i + sign * (float)(3 * i)) stop("a wrong sum");
    printf("%s is right\n", name);
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    static const phx_host services = {
        .struct_size = sizeof services,
        .abi_major = PHX_ABI_MAJOR,
        .abi_minor = PHX_ABI_MINOR,
        .log = host_log,
        .now_ns = host_now,
    };
    void *library = dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL) stop(dlerror());
    phx_get_api_fn get_api;
    *(void **)&get_api = dlsym(library, "phalanx_plugin_get_api");
    if (get_api == NULL) stop("no symbol");
    check(get_api(PHX_ABI_MAJOR, PHX_ABI_MINOR, &services, &api), "get_api");
    negotiate();
    phx_plugin_info about = {.struct_size = sizeof about};
    struct {
        phx_device_info info;
        unsigned char beyond[64];
    } box;
    memset(&box, 0, sizeof box);
    memset(box.beyond, 0xa5, sizeof box.beyond);
    box.info.struct_size = sizeof box.info;
    check(api->plugin_info(&about), "plugin_info");
    check(api->device_info(0, &box.info), "device_info");
    printf("%.*s: %.*s\n", (int)about.name.size, about.name.data, (int)box.info.name.size, box.info.name.data);
    for (size_t i = 0; i < sizeof box.beyond; i++)
        if (box.beyond[i] != 0xa5) stop("the plugin wrote behind the struct of the host");
    phx_device *device;
    check(api->device_open(0, &device), "device_open");
    compute(device, box.info.alignment, "add", 1.0f);
    compute(device, box.info.alignment, "subtract", -1.0f);
#ifdef LATER
    printf("later field: %u\n", (unsigned)box.info.later_field);
    if (api->capabilities & PHX_CAP_LATER && HAS(later_call)) {
        check(api->later_call(device), "later_call");
        printf("later call\n");
    }
#endif
    for (const phx_extension *e = api->extensions; e != NULL; e = e->next)
        printf("extension %.*s is not known\n", (int)e->id.size, e->id.data);
    phx_error *error = api->device_info(77, &box.info);
    if (error == NULL) stop("there is a device 77");
    printf("error %d\n", error->code);
    error->destroy(error);
    check(api->device_close(device), "device_close");
    printf("done\n");
    return 0;
}
