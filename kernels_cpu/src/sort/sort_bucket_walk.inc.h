/* Chunks by a walk down a tree of splitters for each code; included by sort_bucket.inc.h. Aside lies the bucket
 * of each code, a byte. */
#define SORT_ASIDE 1
#define SORT_CHUNK_MOST ((size_t)-1) /* codes */

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

static void SORT_NAME(count_chunks)(void *ctx, int64_t begin, int64_t end) {
    SORT_NAME(bucket_job) *job = ctx;
    SORT_KEY codes[SORT_BLOCK];
    for (int64_t c = begin; c < end; c++) {
        size_t first = (size_t)c * job->chunk, last = first + job->chunk;
        uint32_t count[4][256] = {{0}};
        if (last > job->row->n) last = job->row->n;
        for (size_t i = first; i < last; i += SORT_BLOCK) {
            size_t n = last - i < SORT_BLOCK ? last - i : SORT_BLOCK, k = 0;
            uint8_t *ids = (uint8_t *)job->aside + i;
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
            const uint8_t *ids = (const uint8_t *)job->aside + i;
            SORT_LOAD(job->row, codes, i, n);
            for (size_t k = 0; k < n; k++) out[place[ids[k]]++] = codes[k];
        }
    }
}
