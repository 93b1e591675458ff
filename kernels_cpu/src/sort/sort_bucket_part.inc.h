/* Chunks by the partitions of a quicksort, with the splitters for pivots; included by sort_bucket.inc.h. Aside lie
 * the codes of each chunk, bucket by bucket. */
#define SORT_ASIDE sizeof(SORT_KEY)
#define SORT_CHUNK_MOST ((size_t)1 << 15) /* codes, which stay in the cache */

static void SORT_NAME(count_chunks)(void *ctx, int64_t begin, int64_t end) {
    SORT_NAME(bucket_job) *job = ctx;
    for (int64_t c = begin; c < end; c++) {
        const size_t first = (size_t)c * job->chunk, rest = job->row->n - first;
        const size_t n = rest < job->chunk ? rest : job->chunk;
        SORT_KEY *codes = job->codes + first; /* the places are free until the chunks move */
        SORT_LOAD(job->row, codes, first, n);
        SORT_PART(codes, (SORT_KEY *)job->aside + first, n, job->tree, job->levels, job->offsets[c]);
    }
}

/* Codes of a chunk in a bucket: up to where those of the next chunk begin. */
static size_t SORT_NAME(part_count)(const SORT_NAME(bucket_job) * job, size_t chunk, size_t bucket) {
    const size_t end = chunk + 1 < job->chunks ? job->offsets[chunk + 1][bucket] : job->bounds[bucket + 1];
    return end - job->offsets[chunk][bucket];
}

static void SORT_NAME(move_chunks)(void *ctx, int64_t begin, int64_t end) {
    const SORT_NAME(bucket_job) *job = ctx;
    for (int64_t c = begin; c < end; c++) {
        const SORT_KEY *part = (const SORT_KEY *)job->aside + (size_t)c * job->chunk;
        for (size_t b = 0; b < job->buckets; b++) {
            const size_t count = SORT_NAME(part_count)(job, (size_t)c, b);
            memcpy(job->codes + job->offsets[c][b], part, count * sizeof *part);
            part += count;
        }
    }
}
