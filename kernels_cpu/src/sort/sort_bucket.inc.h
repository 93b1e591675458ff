/* A large row in buckets, for one code width; included by sort_bucket.c twice.
 *
 * The row is dealt into buckets by splitters from a sample (Frazer and McKellar 1970: samplesort):
 * all threads count chunks, then move them, then each takes buckets and sorts them in its cache.
 * How chunks are counted and moved is in sort_bucket_walk.inc.h and sort_bucket_part.inc.h. */

typedef struct {
    const sort_row *row;
    SORT_KEY *codes; /* n places: the output itself if it can hold them */
    void *aside; /* SORT_ASIDE bytes for each code */
    size_t (*offsets)[256]; /* per chunk: counts, then places */
    size_t chunk, chunks, buckets;
    size_t bounds[257];
    SORT_KEY tree[256 + 16];
    int levels;
    int failed;
} SORT_NAME(bucket_job);

#ifdef SORT_PART
#include "sort/sort_bucket_part.inc.h"
#else
#include "sort/sort_bucket_walk.inc.h"
#endif

/* Buckets [begin, end), each in the same spare memory, which stays in the cache. */
static void SORT_NAME(sort_buckets)(void *ctx, int64_t begin, int64_t end) {
    SORT_NAME(bucket_job) *job = ctx;
    const sort_row *row = job->row;
    size_t largest = 1;
    for (int64_t b = begin; b < end; b++) {
        size_t n = job->bounds[b + 1] - job->bounds[b];
        if (n > largest) largest = n;
    }
    SORT_KEY *spare = malloc(largest * sizeof *spare);
    if (!spare) {
        __atomic_store_n(&job->failed, 1, __ATOMIC_RELAXED);
        return;
    }
    for (int64_t b = begin; b < end; b++) {
        size_t first = job->bounds[b], n = job->bounds[b + 1] - first;
        SORT_NAME(phx_sort_codes)(job->codes + first, spare, n, row->index_bits);
        if (row->rest)
            phx_sort_refine(row, (void *)(job->codes + first), (void *)spare, n, row->rest);
        SORT_STORE(row, job->codes + first, first, n);
    }
    free(spare);
}

/* Splitters at even ranks of a sorted sample, laid out as a tree. */
static int SORT_NAME(choose_splitters)(SORT_NAME(bucket_job) * job) {
    const sort_row *row = job->row;
    size_t count = job->buckets * SORT_SAMPLE, step = row->n / count;
    SORT_KEY *sample = malloc(2 * count * sizeof *sample);
    if (!sample) return -1;
    uint32_t jitter = 12345;
    for (size_t i = 0; i < count; i++) {
        jitter = jitter * 1664525u + 1013904223u;
        SORT_LOAD(row, sample + i, i * step + (size_t)(((uint64_t)jitter * step) >> 32), 1);
    }
    SORT_NAME(phx_sort_codes)(sample, sample + count, count, 0);
    for (size_t l = 0, width = job->buckets; width > 1; l++, width /= 2)
        for (size_t i = 0; i < (size_t)1 << l; i++) {
            SORT_KEY s = sample[(2 * i + 1) * (width / 2) * SORT_SAMPLE];
            /* runs of equal codes that are refined later must not be cut by their index bits */
            job->tree[((size_t)1 << l) + i] =
                row->rest ? s >> row->index_bits << row->index_bits : s;
        }
    free(sample);
    return 0;
}

int SORT_NAME(phx_sort_buckets)(const sort_row *row, SORT_KEY *codes) {
    SORT_NAME(bucket_job)
    job = {.row = row, .codes = codes, .levels = SORT_LEVELS_MIN};
    while (job.levels < SORT_LEVELS_MAX && row->n >> job.levels > SORT_BUCKET) job.levels++;
    job.buckets = (size_t)1 << job.levels;
    size_t threads = (size_t)phx_num_threads();
    job.chunks =
        (row->n < (size_t)1 << 18 ? 2 : 4) * threads; /* neighbours in a bucket share cache lines */
    if (job.chunks > row->n / 4096) job.chunks = row->n / 4096;
    if (job.chunks < row->n / SORT_CHUNK_MOST) job.chunks = row->n / SORT_CHUNK_MOST;
    job.chunk = (row->n + job.chunks - 1) / job.chunks;
    job.chunk = (job.chunk + SORT_BLOCK - 1) / SORT_BLOCK * SORT_BLOCK;
    job.chunks = (row->n + job.chunk - 1) / job.chunk;
    job.aside = phx_sort_scratch(row->n * SORT_ASIDE);
    job.offsets = malloc(job.chunks * sizeof *job.offsets);
    if (!job.aside || !job.offsets || SORT_NAME(choose_splitters)(&job)) {
        free(job.aside);
        free(job.offsets);
        return -1;
    }
    phx_parallel_for((int64_t)job.chunks, 1, SORT_NAME(count_chunks), &job);
    size_t sum = 0;
    for (size_t b = 0; b < job.buckets; b++) {
        job.bounds[b] = sum;
        for (size_t c = 0; c < job.chunks; c++) {
            size_t count = job.offsets[c][b];
            job.offsets[c][b] = sum;
            sum += count;
        }
    }
    job.bounds[job.buckets] = sum;
    phx_parallel_for((int64_t)job.chunks, 1, SORT_NAME(move_chunks), &job);
    phx_parallel_for((int64_t)job.buckets, 1, SORT_NAME(sort_buckets), &job);
    free(job.aside);
    free(job.offsets);
    return job.failed ? -1 : 0;
}

#undef SORT_ASIDE
#undef SORT_CHUNK_MOST
