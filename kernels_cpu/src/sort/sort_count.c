/* Counting sort of elements of 1 and 2 bytes: count the keys, then write runs of equal elements. */
#include "runtime/parallel.h"
#include "sort/sort_internal.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    const sort_row *row;
    uint32_t *counts; /* (chunks, bins) */
    size_t *starts;   /* (bins + 1,) places in the output */
    size_t bins, chunk, chunks;
} count_job;

static void count_chunks(void *ctx, int64_t begin, int64_t end) {
    const count_job *job = ctx;
    uint32_t codes[SORT_BLOCK];
    for (int64_t c = begin; c < end; c++) {
        uint32_t *counts = job->counts + (size_t)c * job->bins;
        size_t first = (size_t)c * job->chunk, last = first + job->chunk;
        if (last > job->row->n) last = job->row->n;
        for (size_t i = first; i < last; i += SORT_BLOCK) {
            size_t n = last - i < SORT_BLOCK ? last - i : SORT_BLOCK;
            phx_sort_load_32(job->row, codes, i, n);
            for (size_t k = 0; k < n; k++) counts[codes[k]]++;
        }
    }
}

/* Write keys [begin, end); short runs are overwritten in blocks as long as that stays in this part.
 */
static void write_runs(void *ctx, int64_t begin, int64_t end) {
    const count_job *job = ctx;
    const sort_row *row = job->row;
    uint32_t codes[16];
    const int64_t width = row->order.width;
    char value[16 * 2];
    sort_row run = *row;
    run.out = value;
    run.out_stride = width;
    for (int64_t v = begin; v < end; v++) {
        size_t at = job->starts[v], stop = job->starts[v + 1];
        if (at == stop) continue;
        for (int i = 0; i < 16; i++) codes[i] = (uint32_t)v;
        phx_sort_store_32(&run, codes, 0, 16);
        if (row->out_stride != width) {
            for (; at < stop; at++)
                memcpy(row->out + (int64_t)at * row->out_stride, value, (size_t)width);
            continue;
        }
        char *out = row->out + (int64_t)at * width;
        size_t left = stop - at, room = job->starts[end] - at;
        if (width == 1 && left > 64) {
            memset(out, value[0], left);
            continue;
        }
        for (; left && room >= 16; out += 16 * width) {
            memcpy(out, value, width == 2 ? 32 : 16);
            left = left > 16 ? left - 16 : 0;
            room -= 16;
        }
        for (; left; left--, out += width) memcpy(out, value, (size_t)width);
    }
}

int phx_sort_count(const sort_row *row) {
    count_job job = {.row = row, .bins = row->order.width == 1 ? 256 : 65536};
    size_t per_thread = row->n / (size_t)phx_num_threads() + 1, least = 4 * job.bins;
    job.chunk = per_thread > least ? per_thread : least;
    if (job.chunk > (size_t)1 << 31) job.chunk = (size_t)1 << 31;
    job.chunks = (row->n + job.chunk - 1) / job.chunk;
    uint32_t few_counts[256] = {0};
    size_t few_starts[257];
    int heap = job.chunks > 1 || job.bins > 256;
    job.counts = heap ? calloc(job.chunks * job.bins, sizeof *job.counts) : few_counts;
    job.starts = heap ? malloc((job.bins + 1) * sizeof *job.starts) : few_starts;
    if (job.counts && job.starts) {
        phx_parallel_for((int64_t)job.chunks, 1, count_chunks, &job);
        size_t sum = 0;
        for (size_t v = 0; v < job.bins; v++) {
            job.starts[v] = sum;
            for (size_t c = 0; c < job.chunks; c++) sum += job.counts[c * job.bins + v];
        }
        job.starts[job.bins] = sum;
        int64_t parts = row->n < 65536 ? 1 : 16;
        phx_parallel_for((int64_t)job.bins, (int64_t)job.bins / parts, write_runs, &job);
    }
    int failed = !job.counts || !job.starts;
    if (heap) {
        free(job.counts);
        free(job.starts);
    }
    if (!failed) phx_sort_restore_nans(row);
    return failed ? -1 : 0;
}
