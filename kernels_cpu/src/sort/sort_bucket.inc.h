/* A large row in buckets, for one code width; included by sort_bucket.c twice.
 *
 * The row is dealt into buckets by splitters from a sample (Frazer and McKellar 1970: samplesort):
 * all threads classify and count chunks, then move them, then each takes buckets and sorts them in
 * its cache. */

/* The walk down a tree of splitters, stored by levels from index 1: bucket = number of splitters <=
 * code. */
static void SORT_NAME(classify_plain)(const SORT_KEY *tree, int levels, const SORT_KEY *codes,
                                      uint8_t *ids, size_t n) {
    const uint32_t buckets = 1u << levels;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        uint32_t j[8] = {1, 1, 1, 1, 1, 1, 1, 1};
        for (int l = 0; l < levels; l++)
            for (int e = 0; e < 8; e++) j[e] = 2 * j[e] + (codes[i + e] >= tree[j[e]]);
        for (int e = 0; e < 8; e++) ids[i + e] = (uint8_t)(j[e] - buckets);
    }
    for (; i < n; i++) {
        uint32_t j = 1;
        for (int l = 0; l < levels; l++) j = 2 * j + (codes[i] >= tree[j]);
        ids[i] = (uint8_t)(j - buckets);
    }
}

#ifdef __AVX512F__
/* The same with the tree in registers: a level is a permutation by the place in the tree. */
static inline __attribute__((always_inline)) void SORT_NAME(classify_vector)(
    const SORT_KEY *tree, int levels, const SORT_KEY *codes, uint8_t *ids, size_t n) {
    const int lanes = 64 / (int)sizeof(SORT_KEY), wide = levels - V_LOG;
    __m512i top = _mm512_loadu_si512(tree), t1 = _mm512_loadu_si512(tree + lanes), t2[2], t4[4],
            t8[8];
    for (int i = 0; i < 2; i++) t2[i] = _mm512_loadu_si512(tree + (2 + i) * lanes);
    for (int i = 0; i < 4; i++) t4[i] = _mm512_loadu_si512(tree + (4 + i) * lanes);
    for (int i = 0; i < 8; i++) t8[i] = _mm512_loadu_si512(tree + (8 + i) * lanes);
    const __m512i one = V_SET1(1), bit1 = V_SET1(2 * lanes), bit2 = V_SET1(4 * lanes);
    size_t i = 0;
    for (; i + (size_t)lanes <= n; i += (size_t)lanes) {
        __m512i x = _mm512_loadu_si512(codes + i), j = one;
#define STEP(NODE)                        \
    do {                                  \
        SORT_MASK right = V_GE(x, NODE);  \
        j = V_ADD(j, j);                  \
        j = V_MASK_ADD(j, right, j, one); \
    } while (0)
        for (int l = 0; l < V_LOG; l++) STEP(V_PERM(j, top));
        STEP(V_PERM(j, t1));
        if (wide > 1) STEP(V_PERM2(t2[0], j, t2[1]));
        if (wide > 2) {
            SORT_MASK far = V_TEST(j, bit1);
            STEP(V_BLEND(far, V_PERM2(t4[0], j, t4[1]), V_PERM2(t4[2], j, t4[3])));
        }
        if (wide > 3) {
            SORT_MASK far = V_TEST(j, bit1), farther = V_TEST(j, bit2);
            __m512i near = V_BLEND(far, V_PERM2(t8[0], j, t8[1]), V_PERM2(t8[2], j, t8[3]));
            __m512i rest = V_BLEND(far, V_PERM2(t8[4], j, t8[5]), V_PERM2(t8[6], j, t8[7]));
            STEP(V_BLEND(farther, near, rest));
        }
#undef STEP
        V_STORE_BYTES(ids + i, j); /* the leading one falls off or is cleared by the mask below */
    }
    SORT_NAME(classify_plain)(tree, levels, codes + i, ids + i, n - i);
    if (levels < 8)
        for (size_t k = 0; k < i; k++) ids[k] &= (uint8_t)((1u << levels) - 1);
}
#endif

static void SORT_NAME(classify)(const SORT_KEY *tree, int levels, const SORT_KEY *codes,
                                uint8_t *ids, size_t n) {
#ifdef __AVX512F__
    if (levels == V_LOG + 1) {
        SORT_NAME(classify_vector)(tree, V_LOG + 1, codes, ids, n);
        return;
    }
    if (levels == V_LOG + 2) {
        SORT_NAME(classify_vector)(tree, V_LOG + 2, codes, ids, n);
        return;
    }
    if (levels == V_LOG + 3) {
        SORT_NAME(classify_vector)(tree, V_LOG + 3, codes, ids, n);
        return;
    }
    if (levels == V_LOG + 4) {
        SORT_NAME(classify_vector)(tree, V_LOG + 4, codes, ids, n);
        return;
    }
#endif
    SORT_NAME(classify_plain)(tree, levels, codes, ids, n);
}

typedef struct {
    const sort_row *row;
    SORT_KEY *codes; /* n places: the output itself if it can hold them */
    uint8_t *ids;
    size_t (*offsets)[256]; /* per chunk: counts, then places */
    size_t chunk, chunks, buckets;
    size_t bounds[257];
    SORT_KEY tree[256 + 16];
    int levels;
    int failed;
} SORT_NAME(bucket_job);

static void SORT_NAME(count_chunks)(void *ctx, int64_t begin, int64_t end) {
    SORT_NAME(bucket_job) *job = ctx;
    SORT_KEY codes[SORT_BLOCK];
    for (int64_t c = begin; c < end; c++) {
        size_t first = (size_t)c * job->chunk, last = first + job->chunk;
        uint32_t count[4][256] = {{0}};
        if (last > job->row->n) last = job->row->n;
        for (size_t i = first; i < last; i += SORT_BLOCK) {
            size_t n = last - i < SORT_BLOCK ? last - i : SORT_BLOCK, k = 0;
            uint8_t *ids = job->ids + i;
            SORT_LOAD(job->row, codes, i, n);
            SORT_NAME(classify)(job->tree, job->levels, codes, ids, n);
            for (; k + 4 <= n; k += 4)
                for (int e = 0; e < 4; e++) count[e][ids[k + e]]++;
            for (; k < n; k++) count[0][ids[k]]++;
        }
        for (int b = 0; b < 256; b++)
            job->offsets[c][b] = (size_t)count[0][b] + count[1][b] + count[2][b] + count[3][b];
    }
}

static void SORT_NAME(move_chunks)(void *ctx, int64_t begin, int64_t end) {
    SORT_NAME(bucket_job) *job = ctx;
    SORT_KEY codes[SORT_BLOCK], *const out = job->codes;
    for (int64_t c = begin; c < end; c++) {
        size_t first = (size_t)c * job->chunk,
               last = first + job->chunk, *const place = job->offsets[c];
        if (last > job->row->n) last = job->row->n;
        for (size_t i = first; i < last; i += SORT_BLOCK) {
            size_t n = last - i < SORT_BLOCK ? last - i : SORT_BLOCK;
            const uint8_t *ids = job->ids + i;
            SORT_LOAD(job->row, codes, i, n);
            for (size_t k = 0; k < n; k++) out[place[ids[k]]++] = codes[k];
        }
    }
}

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
    job.chunk = (row->n + job.chunks - 1) / job.chunks;
    job.chunk = (job.chunk + SORT_BLOCK - 1) / SORT_BLOCK * SORT_BLOCK;
    job.chunks = (row->n + job.chunk - 1) / job.chunk;
    job.ids = malloc(row->n);
    job.offsets = malloc(job.chunks * sizeof *job.offsets);
    if (!job.ids || !job.offsets || SORT_NAME(choose_splitters)(&job)) {
        free(job.ids);
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
    free(job.ids);
    free(job.offsets);
    return job.failed ? -1 : 0;
}
