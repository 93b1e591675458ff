/* Memory: allocation, copies, fills. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/available.h"
#include "runtime/parallel.h"
#include "runtime/runtime.h"
#include "runtime/stream.h"
#include "elementwise/streaming.h"

#define ALIGNMENT 64u
#define HUGE_PAGE ((uint64_t)2 << 20)
#define HUGE_FROM ((uint64_t)4 << 20) /* smaller blocks would waste too much of a huge page */
#define LINE 64
#define COPY_GRAIN ((int64_t)512 << 10) /* bytes: some 50 microseconds of one core, against 5 to wake another */

phx_error *cpu_memory_info(phx_device *device, uint64_t *out_free, uint64_t *out_total) {
    phx_error *error = cpu_check_device(device, "memory_info");
    if (error != NULL) return error;
    if (out_free == NULL || out_total == NULL)
        return cpu_fail(PHX_INVALID_ARGUMENT, "memory_info: an out parameter is a null pointer");
    *out_total = device->total_memory;
    *out_free = cpu_available_memory(device->total_memory);
    return NULL;
}

/* Large blocks are mappings of their own: in the heap of malloc they would lie on small pages that other blocks
 * had touched. They begin at multiples of HUGE_PAGE, as nothing else does, behind a page with their length. */
static bool is_mapped(const void *block) { return (uintptr_t)block % HUGE_PAGE == 0; }

static void *map_block(uint64_t size, uint64_t alignment) {
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), length = (size + page - 1) / page * page;
    const uint64_t room = page + alignment + length;
    char *const base = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) return NULL;
    char *const block = (char *)(((uintptr_t)base + page + alignment - 1) / alignment * alignment);
    const uint64_t before = (uint64_t)(block - page - base);
    if (before) munmap(base, before);
    if (room - before > page + length) munmap(block + length, room - before - page - length);
    *(uint64_t *)(block - page) = length;
    /* advice only: without huge pages everything works, with more address translation */
    madvise(block, (size_t)(size & ~(HUGE_PAGE - 1)), MADV_HUGEPAGE);
    return block;
}

static void unmap_block(char *block) {
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), length = *(const uint64_t *)(block - page);
    munmap(block - page, page + length);
}

/* A block of the heap, which does not look like a mapping. */
static void *heap_block(uint64_t size, uint64_t alignment) {
    void *block = NULL, *other = NULL;
    errno = posix_memalign(&block, (size_t)alignment, (size_t)size);
    if (errno || !is_mapped(block)) return block;
    errno = posix_memalign(&other, (size_t)alignment, (size_t)size);
    if (!errno && is_mapped(other)) { /* two of them by chance */
        free(other);
        other = map_block(size, HUGE_PAGE);
    }
    free(block);
    return other;
}

phx_error *cpu_alloc(phx_device *device, uint64_t size, uint64_t alignment, void **out) {
    phx_error *error = cpu_check_device(device, "alloc");
    if (error != NULL) return error;
    if (out == NULL) return cpu_fail(PHX_INVALID_ARGUMENT, "alloc: out is a null pointer");
    if (size == 0) return cpu_fail(PHX_INVALID_ARGUMENT, "alloc: the size is 0 bytes; allocate at least one");
    if ((alignment & (alignment - 1)) != 0)
        return cpu_fail(PHX_INVALID_ARGUMENT, "alloc: the alignment of %llu bytes is not a power of two",
                        (unsigned long long)alignment);
    /* the system would promise more than there is and kill the process when it is touched */
    if (size > device->total_memory)
        return cpu_fail(PHX_OUT_OF_MEMORY, "alloc: %llu bytes asked for, the machine has %llu",
                        (unsigned long long)size, (unsigned long long)device->total_memory);
    if (alignment < ALIGNMENT) alignment = ALIGNMENT;
    const bool maps = size >= HUGE_FROM || alignment >= HUGE_PAGE;
    if (maps && alignment < HUGE_PAGE) alignment = HUGE_PAGE;
    void *block = maps ? map_block(size, alignment) : heap_block(size, alignment);
    if (block == NULL) {
        const int failure = errno;
        error = cpu_fail(PHX_OUT_OF_MEMORY, "alloc: the system refused %llu bytes aligned to %llu: %s",
                         (unsigned long long)size, (unsigned long long)alignment,
                         failure == ENOMEM ? "not enough memory" : "invalid alignment");
        error->vendor_code = failure;
        return error;
    }
    *out = block;
    return NULL;
}

phx_error *cpu_free(phx_device *device, void *handle) {
    phx_error *error = cpu_check_device(device, "free");
    if (error != NULL) return error;
    if (handle != NULL && is_mapped(handle))
        unmap_block(handle);
    else
        free(handle);
    return NULL;
}

phx_error *cpu_trim(phx_device *device) {
    phx_error *error = cpu_check_device(device, "device_trim");
    if (error != NULL) return error;
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
    return NULL;
}

typedef struct {
    char *dst;
    const char *src;
} copy_job;

static void copy_part(void *ctx, int64_t begin, int64_t end) {
    const copy_job *job = ctx;
    memcpy(job->dst + begin, job->src + begin, (size_t)(end - begin));
}

/* Large copies go past the caches; the C library does so for far larger ones only. */
static void stream_part(void *ctx, int64_t begin, int64_t end) {
    const copy_job *job = ctx;
    const int64_t head = (int64_t)(-(uintptr_t)(job->dst + begin) % LINE);
    const int64_t first = end - begin < head ? end : begin + head;
    const int64_t last = first + (end - first) / LINE * LINE;
    copy_part(ctx, begin, first);
    cpu_stream_out(job->dst + first, job->src + first, last - first);
    cpu_stream_fence();
    copy_part(ctx, last, end);
}

void cpu_copy_bytes(char *dst, const char *src, uint64_t size) {
    if (size == 0) return;
    copy_job job = {dst, src};
    phx_parallel_for((int64_t)size, COPY_GRAIN, (int64_t)size >= cpu_stream_from() ? stream_part : copy_part, &job);
}

typedef struct {
    cpu_task base;
    char *dst;
    const char *src;
    uint64_t size;
} copy_task;

static phx_error *run_copy(cpu_task *self) {
    const copy_task *task = (const copy_task *)self;
    cpu_copy_bytes(task->dst, task->src, task->size);
    return NULL;
}

phx_error *cpu_copy(phx_device *device, phx_stream *stream, phx_place dst, phx_place src, uint64_t size) {
    phx_error *error = cpu_check_device(device, "copy");
    if (error == NULL && dst.device != NULL) error = cpu_check_device(dst.device, "copy");
    if (error == NULL && src.device != NULL) error = cpu_check_device(src.device, "copy");
    if (error != NULL) return error;
    if (size != 0 && (dst.handle == NULL || src.handle == NULL))
        return cpu_fail(PHX_INVALID_ARGUMENT, "copy: %llu bytes from or to a null pointer",
                        (unsigned long long)size);
    char *to = (char *)dst.handle + dst.offset;
    const char *from = (const char *)src.handle + src.offset;
    if (stream == NULL) {
        cpu_copy_bytes(to, from, size);
        return NULL;
    }
    copy_task *task = malloc(sizeof *task);
    if (task == NULL) return cpu_fail(PHX_OUT_OF_MEMORY, "no host memory to enqueue a copy");
    *task = (copy_task){.base = {.run = run_copy}, .dst = to, .src = from, .size = size};
    return cpu_stream_push(stream, &task->base);
}
