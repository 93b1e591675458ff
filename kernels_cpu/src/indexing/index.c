/* The ops wrap_index, gather and scatter: element offsets, and slices at element offsets. */
#include "sort/lists_sort.h"
#include "runtime/parallel.h"

#include <string.h>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

#define MAX_AXES 64
#define GRAIN_BYTES 65536 /* results of about this size are worth a thread */
#define SHARED_PLACES 131072 /* so many single elements are worth threads that read all offsets */
#define PAGE_BITS 12

/* ---- wrap_index ---- */

typedef struct {
    const DLTensor *in, *out;
    int64_t n, stride, line; /* params; elements of the innermost loop */
    int bad;                 /* some index is out of range */
} wrap_job;

/* Offset in elements of the first element of a line: all axes but the last, in row-major order. */
static int64_t line_offset(const DLTensor *t, int64_t line) {
    int64_t offset = 0;
    for (int32_t a = t->ndim - 2; a >= 0; a--) {
        offset += line % t->shape[a] * t->strides[a];
        line /= t->shape[a];
    }
    return offset;
}

static inline __attribute__((always_inline)) uint64_t wrap_any(const int64_t *in, int64_t in_step,
                                                               int64_t *out, int64_t out_step,
                                                               int64_t count, uint64_t n,
                                                               uint64_t stride) {
    uint64_t bad = 0;
    for (int64_t i = 0; i < count; i++) {
        uint64_t x = (uint64_t)in[i * in_step], wrapped = x + (n & (uint64_t)((int64_t)x >> 63));
        uint64_t outside = wrapped | (n - 1 - wrapped); /* the sign bit is set outside of [0, n) */
        bad |= outside;
        out[i * out_step] = (int64_t)outside < 0 ? PHX_NO_PLACE : (int64_t)(wrapped * stride);
    }
    return bad >> 63;
}

static void wrap_lines(void *ctx, int64_t begin, int64_t end) {
    wrap_job *job = ctx;
    const DLTensor *in = job->in, *out = job->out;
    const int64_t is = in->ndim ? in->strides[in->ndim - 1] : 1,
                  os = out->ndim ? out->strides[out->ndim - 1] : 1;
    for (int64_t at = begin;
         at < end;) { /* elements in row-major order, a line or a part of it at a time */
        int64_t line = at / job->line, first = at % job->line, count = job->line - first;
        if (count > end - at) count = end - at;
        const int64_t *x = (const int64_t *)cpu_data(in) + line_offset(in, line) + first * is;
        int64_t *y = (int64_t *)cpu_data(out) + line_offset(out, line) + first * os;
        uint64_t bad = is == 1 && os == 1
                           ? wrap_any(x, 1, y, 1, count, (uint64_t)job->n, (uint64_t)job->stride)
                           : wrap_any(x, is, y, os, count, (uint64_t)job->n, (uint64_t)job->stride);
        if (bad) __atomic_store_n(&job->bad, 1, __ATOMIC_RELAXED);
        at += count;
    }
}

/* One bad index refuses all: what waits behind the call then reads and writes nothing. */
static void refuse_lines(void *ctx, int64_t begin, int64_t end) {
    const wrap_job *job = ctx;
    const DLTensor *out = job->out;
    const int64_t step = out->ndim ? out->strides[out->ndim - 1] : 1;
    for (int64_t i = begin; i < end; i++)
        ((int64_t *)cpu_data(out))[line_offset(out, i / job->line) + i % job->line * step] = PHX_NO_PLACE;
}

/* The error for the first index out of range; the inputs are still there, outputs never overlap
 * them. */
static phx_error *out_of_range(const wrap_job *job, int64_t total) {
    const DLTensor *in = job->in;
    const int64_t is = in->ndim ? in->strides[in->ndim - 1] : 1;
    for (int64_t i = 0; i < total; i++) {
        int64_t x =
            ((const int64_t *)cpu_data(in))[line_offset(in, i / job->line) + i % job->line * is];
        if (x < -job->n || x >= job->n)
            return cpu_fail(
                PHX_INDEX_OUT_OF_RANGE,
                "index %lld at place %lld is out of range for an axis of extent %lld; valid indices "
                "are in [%lld, %lld)",
                (long long)x, (long long)i, (long long)job->n, (long long)-job->n,
                (long long)job->n);
    }
    return cpu_fail(PHX_INTERNAL, "cpu: wrap_index: the indices changed while they were checked");
}

static phx_error *cpu_wrap_index(const cpu_kernel *self, const phx_call *call) {
    (void)self;
    wrap_job job = {
        cpu_input(call, 0), cpu_output(call, 0), call->params[0], call->params[1], 1, 0};
    const int64_t total = cpu_count(job.in);
    if (total == 0) return NULL;
    if (job.in->ndim) job.line = job.in->shape[job.in->ndim - 1];
    phx_parallel_for(total, 16384, wrap_lines, &job);
    if (!job.bad) return NULL;
    phx_parallel_for(total, 16384, refuse_lines, &job);
    return out_of_range(&job, total);
}

/* ---- gather and scatter ---- */

/* Slices are copied between an array at element offsets and a packed operand (m, inner...). The
 * walk holds the inner axes with byte strides, merged where both sides allow it. */
typedef struct {
    char *array, *packed;
    const char *offsets;
    int64_t offset_step; /* bytes */
    int64_t m, item, packed_step;
    int32_t axes;
    int64_t shape[MAX_AXES], array_stride[MAX_AXES], packed_stride[MAX_AXES];
    int64_t inner; /* elements of a slice */
    int64_t shares; /* of a scatter, each of a thread: a power of two */
    int to_packed,
        across; /* across: for each place in the slice all m, when the packed rows lie closer */
} slice_job;

static inline int64_t offset_at(const slice_job *job, int64_t i) {
    int64_t offset;
    memcpy(&offset, job->offsets + i * job->offset_step, 8);
    return offset;
}

/* Offsets of several axes have been added up: one no-place among them is seen. */
static inline int is_place(int64_t offset) {
    return __builtin_expect(offset >= PHX_NO_PLACE / 2, 1);
}

static inline __attribute__((always_inline)) void move_line(char *to, int64_t t, const char *from,
                                                            int64_t f, int64_t n, size_t size) {
    for (int64_t i = 0; i < n; i++) memcpy(to + i * t, from + i * f, size);
}

static void move_any(char *to, int64_t t, const char *from, int64_t f, int64_t n, int64_t size) {
    switch (size) {
    case 1: move_line(to, t, from, f, n, 1); break;
    case 2: move_line(to, t, from, f, n, 2); break;
    case 4: move_line(to, t, from, f, n, 4); break;
    case 8: move_line(to, t, from, f, n, 8); break;
    default: move_line(to, t, from, f, n, 16); break;
    }
}

/* One element per slice: the loop that indexing a vector runs. */
static inline __attribute__((always_inline)) void gather_line(const slice_job *job, char *array,
                                                              char *packed, int64_t begin,
                                                              int64_t end, int64_t step,
                                                              int64_t offset_step, size_t size) {
    enum { AT_ONCE = 8 };
    for (int64_t i = begin, next; i < end; i = next) {
        int64_t offset[AT_ONCE], outside = 0;
        next = end - i < AT_ONCE ? end : i + AT_ONCE;
        if (next - i == AT_ONCE) {
            for (int64_t k = 0; k < AT_ONCE; k++) {
                memcpy(&offset[k], job->offsets + (i + k) * offset_step, 8);
                outside |= offset[k] - PHX_NO_PLACE / 2; /* negative unless it is_place */
            }
            if (__builtin_expect(outside >= 0, 1)) {
                for (int64_t k = 0; k < AT_ONCE; k++)
                    memcpy(packed + (i + k) * step, array + offset[k] * (int64_t)size, size);
                continue;
            }
        }
        for (int64_t k = i; k < next; k++) {
            const int64_t one = offset_at(job, k);
            if (is_place(one))
                memcpy(packed + k * step, array + one * (int64_t)size, size);
            else
                memset(packed + k * step, 0, size);
        }
    }
}

static inline __attribute__((always_inline)) void scatter_line(const slice_job *job, char *array,
                                                               char *packed, int64_t begin,
                                                               int64_t end, int64_t step,
                                                               int64_t offset_step, size_t size) {
    const char *offsets = job->offsets;
    for (int64_t i = begin; i < end; i++) {
        int64_t offset;
        memcpy(&offset, offsets + i * offset_step, 8);
        if (is_place(offset)) memcpy(array + offset * (int64_t)size, packed + i * step, size);
    }
}

/* The places among [begin, end) that are of one share, by their pages, and where their elements lie; how many. No
 * branch: it would be a matter of chance. */
static int64_t places_of_share(const slice_job *job, int64_t share, int64_t begin, int64_t end, int64_t *places,
                               int64_t *from) {
    const char *offsets = job->offsets;
    const int page = PAGE_BITS - __builtin_ctzll((uint64_t)job->item);
    int64_t i = begin, count = 0;
#ifdef __AVX512F__
    const __m512i others = _mm512_set1_epi64(job->shares - 1), mine = _mm512_set1_epi64(share);
    const __m512i least = _mm512_set1_epi64(PHX_NO_PLACE / 2), step = _mm512_set1_epi64(8);
    __m512i row = _mm512_add_epi64(_mm512_set1_epi64(begin), _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
    for (; i + 8 <= end; i += 8, row = _mm512_add_epi64(row, step)) {
        const __m512i offset = _mm512_loadu_si512(offsets + i * 8);
        const __m512i of = _mm512_and_si512(_mm512_srl_epi64(offset, _mm_cvtsi32_si128(page)), others);
        const __mmask8 is = _mm512_mask_cmpge_epi64_mask(_mm512_cmpeq_epi64_mask(of, mine), offset, least);
        _mm512_storeu_si512(places + count, _mm512_maskz_compress_epi64(is, offset));
        _mm512_storeu_si512(from + count, _mm512_maskz_compress_epi64(is, row));
        count += __builtin_popcount(is);
    }
#endif
    for (; i < end; i++) {
        int64_t offset;
        memcpy(&offset, offsets + i * 8, 8);
        places[count] = offset;
        from[count] = i;
        count += ((offset >> page & (job->shares - 1)) == share) & is_place(offset);
    }
    return count;
}

static inline __attribute__((always_inline)) void scatter_share(const slice_job *job, int64_t share, size_t size) {
    enum { MOST = 512 };
    int64_t places[MOST + 8], from[MOST + 8];
    for (int64_t i = 0; i < job->m; i += MOST) {
        const int64_t end = job->m - i < MOST ? job->m : i + MOST;
        const int64_t count = places_of_share(job, share, i, end, places, from);
        for (int64_t j = 0; j < count; j++)
            memcpy(job->array + places[j] * (int64_t)size, job->packed + from[j] * (int64_t)size, size);
    }
}

static void scatter_shares(void *ctx, int64_t begin, int64_t end) {
    const slice_job *job = ctx;
    for (int64_t share = begin; share < end; share++) switch (job->item) {
        case 1: scatter_share(job, share, 1); break;
        case 2: scatter_share(job, share, 2); break;
        case 4: scatter_share(job, share, 4); break;
        case 8: scatter_share(job, share, 8); break;
        default: scatter_share(job, share, 16); break;
        }
}

static inline __attribute__((always_inline)) void element_line(const slice_job *job, char *array,
                                                               char *packed, int64_t begin,
                                                               int64_t end, size_t size) {
    const int dense = job->packed_step == (int64_t)size && job->offset_step == 8;
    if (!job->to_packed && dense)
        scatter_line(job, array, packed, begin, end, (int64_t)size, 8, size);
    else if (!job->to_packed)
        scatter_line(job, array, packed, begin, end, job->packed_step, job->offset_step, size);
    else if (dense)
        gather_line(job, array, packed, begin, end, (int64_t)size, 8, size);
    else
        gather_line(job, array, packed, begin, end, job->packed_step, job->offset_step, size);
}

static void elements(const slice_job *job, char *array, char *packed, int64_t begin, int64_t end) {
    switch (job->item) {
    case 1: element_line(job, array, packed, begin, end, 1); break;
    case 2: element_line(job, array, packed, begin, end, 2); break;
    case 4: element_line(job, array, packed, begin, end, 4); break;
    case 8: element_line(job, array, packed, begin, end, 8); break;
    default: element_line(job, array, packed, begin, end, 16); break;
    }
}

/* Byte offsets of place p of a slice, over the axes before `axes`. */
static void inner_offsets(const slice_job *job, int64_t p, int32_t axes, int64_t *array,
                          int64_t *packed) {
    *array = *packed = 0;
    for (int32_t a = axes - 1; a >= 0; a--) {
        int64_t index = p % job->shape[a];
        *array += index * job->array_stride[a];
        *packed += index * job->packed_stride[a];
        p /= job->shape[a];
    }
}

static const char nothing[16]; /* an element of zeros */

static void whole_slices(const slice_job *job, int64_t begin, int64_t end) {
    const int32_t last = job->axes - 1;
    const int64_t n = job->shape[last], as = job->array_stride[last], ps = job->packed_stride[last];
    const int dense = as == job->item && ps == job->item;
    for (int64_t i = begin; i < end; i++) {
        const int64_t offset = offset_at(job, i);
        const int there = is_place(offset);
        if (!there && !job->to_packed) continue;
        char *slice = job->array + (there ? offset * job->item : 0),
             *row = job->packed + i * job->packed_step;
        for (int64_t p = 0; p < job->inner / n; p++) {
            int64_t a, b;
            inner_offsets(job, p, last, &a, &b);
            char *to = job->to_packed ? row + b : slice + a,
                 *from = job->to_packed ? slice + a : row + b;
            if (!there)
                move_any(to, ps, nothing, 0, n, job->item);
            else if (dense)
                memcpy(to, from, (size_t)(n * job->item));
            else
                move_any(to, job->to_packed ? ps : as, from, job->to_packed ? as : ps, n,
                         job->item);
        }
    }
}

static void slices(void *ctx, int64_t begin, int64_t end) {
    const slice_job *job = ctx;
    if (job->across) { /* begin and end count places in the slice */
        for (int64_t p = begin; p < end; p++) {
            int64_t a, b;
            inner_offsets(job, p, job->axes, &a, &b);
            elements(job, job->array + a, job->packed + b, 0, job->m);
        }
    } else if (job->axes == 0) {
        elements(job, job->array, job->packed, begin, end);
    } else {
        whole_slices(job, begin, end);
    }
}

/* Merge the axes of the slice where array and packed operand both step evenly. */
static void plan(slice_job *job, const DLTensor *array, const DLTensor *packed) {
    job->item = cpu_itemsize(array);
    job->packed_step = packed->strides[0] * job->item;
    job->m = packed->shape[0];
    job->inner = cpu_count(array);
    for (int32_t a = 0; a < array->ndim; a++) {
        int64_t as = array->strides[a] * job->item, ps = packed->strides[a + 1] * job->item;
        if (array->shape[a] == 1) continue;
        int32_t k = job->axes - 1;
        if (k >= 0 && job->array_stride[k] == as * array->shape[a] &&
            job->packed_stride[k] == ps * array->shape[a]) {
            job->shape[k] *= array->shape[a];
        } else {
            k = job->axes++;
            job->shape[k] = array->shape[a];
        }
        job->array_stride[k] = as;
        job->packed_stride[k] = ps;
    }
    if (job->axes) {
        int64_t step = job->packed_step < 0 ? -job->packed_step : job->packed_step;
        int64_t last = job->packed_stride[job->axes - 1];
        job->across = job->m > 1 && step < (last < 0 ? -last : last);
    }
}

static phx_error *cpu_gather(const cpu_kernel *self, const phx_call *call) {
    (void)self;
    const DLTensor *x = cpu_input(call, 0), *offsets = cpu_input(call, 1),
                   *out = cpu_output(call, 0);
    slice_job job = {.array = cpu_data(x),
                     .packed = cpu_data(out),
                     .offsets = cpu_data(offsets),
                     .to_packed = 1};
    job.offset_step = offsets->strides[0] * 8;
    if (cpu_count(out) == 0) return NULL;
    plan(&job, x, out);
    int64_t count = job.across ? job.inner : job.m,
            bytes = (job.across ? job.m : job.inner) * job.item;
    phx_parallel_for(count, GRAIN_BYTES / bytes + 1, slices, &job);
    return NULL;
}

static phx_error *cpu_scatter(const cpu_kernel *self, const phx_call *call) {
    (void)self;
    const DLTensor *values = cpu_input(call, 0), *offsets = cpu_input(call, 1),
                   *out = cpu_output(call, 0);
    slice_job job = {
        .array = cpu_data(out), .packed = cpu_data(values), .offsets = cpu_data(offsets)};
    job.offset_step = offsets->strides[0] * 8;
    if (cpu_count(values) == 0) return NULL;
    plan(&job, out, values);
    job.across = 0;
    const int64_t threads = job.m < SHARED_PLACES ? 1 : phx_num_threads();
    job.shares = threads < 4 ? (threads < 2 ? 1 : 2) : 4;
    /* Each place is written by one thread, in the order of the slices: of equal ones the last wins. */
    if (job.shares > 1 && job.axes == 0 && job.packed_step == job.item && job.offset_step == 8)
        phx_parallel_for(job.shares, 1, scatter_shares, &job);
    else
        slices(&job, 0, job.m);
    return NULL;
}

#define ROWS(T)                                                                                \
    CPU_KERNEL("gather", ((const uint8_t[]){T, PHX_INT64, T}), 2, 1, PHX_LAYOUT_ANY, 0.0,      \
               cpu_gather, NULL, 16),                                                          \
        CPU_KERNEL("scatter", ((const uint8_t[]){T, PHX_INT64, T}), 2, 1, PHX_LAYOUT_ANY, 0.0, \
                   cpu_scatter, NULL, 16)

static const cpu_kernel rows[] = {
    CPU_KERNEL("wrap_index", ((const uint8_t[]){PHX_INT64, PHX_INT64}), 1, 1, PHX_LAYOUT_ANY, 0.0,
               cpu_wrap_index, NULL, 8),
    CPU_ALL_ROWS(ROWS),
};

cpu_kernel_list phx_index_kernels(void) {
    return (cpu_kernel_list){rows, sizeof rows / sizeof *rows};
}
