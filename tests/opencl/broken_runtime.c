/* An OpenCL runtime for the loader that cannot compute. Its fault is chosen by a macro: NO_DEVICE,
 * LIST_FAILS, or CONTEXT_FAILS. Numbers and the order of the table are those of cl.h and cl_icd.h
 * of the OpenCL headers.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef int (*call)(void);
struct object {
    call *table;
};

enum { SUCCESS = 0,
       DEVICE_NOT_FOUND = -1,
       OUT_OF_HOST_MEMORY = -6,
       INVALID_VALUE = -30,
       INVALID_OPERATION = -59 };

static call table[200];
static struct object platform = {table}, device = {table};

static int answer(const void *value, size_t length, size_t size, void *to, size_t *written) {
    if (to && size < length)
        return INVALID_VALUE;
    if (to)
        memcpy(to, value, length);
    if (written)
        *written = length;
    return SUCCESS;
}

static int text(const char *value, size_t size, void *to, size_t *written) {
    return answer(value, strlen(value) + 1, size, to, written);
}

static int number(uint64_t value, size_t length, size_t size, void *to, size_t *written) {
    return answer(&value, length, size, to, written);
}

static int unsupported(void) {
    return INVALID_OPERATION;
}

int clGetPlatformInfo(void *of, uint32_t what, size_t size, void *to, size_t *written) {
    (void)of;
    switch (what) {
    case 0x0900:
        return text("FULL_PROFILE", size, to, written);
    case 0x0901:
        return text("OpenCL 1.2 broken", size, to, written);
    case 0x0904:
        return text("cl_khr_icd", size, to, written);
    case 0x0920:
        return text("BROKEN", size, to, written);
    default:
        return text("Broken Runtime", size, to, written);
    }
}

static int get_devices(void *of, uint64_t type, uint32_t count, struct object **to, uint32_t *found) {
    (void)of, (void)type;
#if defined(NO_DEVICE)
    (void)count, (void)to, (void)found;
    return DEVICE_NOT_FOUND;
#elif defined(LIST_FAILS)
    (void)count, (void)to, (void)found;
    return OUT_OF_HOST_MEMORY;
#else
    if (to && count)
        *to = &device;
    if (found)
        *found = 1;
    return SUCCESS;
#endif
}

static int get_device_info(void *of, uint32_t what, size_t size, void *to, size_t *written) {
    (void)of;
    switch (what) {
    case 0x1000: /* type: GPU */
    case 0x101B: /* single-precision bits */
        return number(4, 8, size, to, written);
    case 0x1010: /* largest allocation */
    case 0x101F: /* memory */
    case 0x1023: /* local memory */
        return number(1 << 20, 8, size, to, written);
    case 0x1004: /* work-group */
        return number(64, sizeof(size_t), size, to, written);
    case 0x1019: /* alignment in bits */
        return number(1024, 4, size, to, written);
    case 0x1031:
        return number((uintptr_t)&platform, sizeof(void *), size, to, written);
    case 0x102B:
        return text("Broken Device", size, to, written);
    case 0x102F:
        return text("OpenCL 1.2 broken", size, to, written);
    case 0x102C: /* vendor */
    case 0x102D: /* driver version */
    case 0x1030: /* extensions */
        return text("", size, to, written);
    default: /* counts and truths */
        return number(1, 4, size, to, written);
    }
}

static void *create_context(const void *options, uint32_t count, void **devices, void *notify, void *data,
                            int *error) {
    (void)options, (void)count, (void)devices, (void)notify, (void)data;
    *error = OUT_OF_HOST_MEMORY;
    return NULL;
}

int clIcdGetPlatformIDsKHR(uint32_t count, struct object **to, uint32_t *found) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        table[i] = unsupported;
    table[1] = (call)clGetPlatformInfo;
    table[2] = (call)get_devices;
    table[3] = (call)get_device_info;
    table[4] = (call)create_context;
    if (to && count)
        *to = &platform;
    if (found)
        *found = 1;
    return SUCCESS;
}

void *clGetExtensionFunctionAddress(const char *name) {
    return strcmp(name, "clIcdGetPlatformIDsKHR") ? NULL : (void *)clIcdGetPlatformIDsKHR;
}
