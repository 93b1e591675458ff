/* The partition of a quicksort where lanes can be compressed: two streams that grow; included by sort_quick.inc.h. */
#define HIGH_AT(l) 0
#define SPARE_AT(l, n) ((n) - (l))

#define SPLIT_FULL(v)                                \
    do {                                             \
        SORT_MASK k = V_LESS(v, p);                  \
        size_t c = (size_t)__builtin_popcount(k);    \
        V_STORE(low, V_COMPRESS(k, v));              \
        V_STORE(high, V_COMPRESS((SORT_MASK)~k, v)); \
        low += c;                                    \
        high += SORT_LANES - c;                      \
    } while (0)

/* Stream keys below the pivot to low and the others to high; returns how many were below. Either
 * may be src. */
static size_t SORT_NAME(split)(const SORT_KEY *src, SORT_KEY *low, SORT_KEY *high, size_t n,
                               SORT_KEY pivot) {
    const SORT_VEC p = V_SET1(pivot);
    const SORT_KEY *first = low;
    size_t i = 0;
    for (; i + 4 * SORT_LANES <= n; i += 4 * SORT_LANES) {
        SORT_VEC a = V_LOAD(src + i), b = V_LOAD(src + i + SORT_LANES);
        SORT_VEC c4 = V_LOAD(src + i + 2 * SORT_LANES), d = V_LOAD(src + i + 3 * SORT_LANES);
        SPLIT_FULL(a);
        SPLIT_FULL(b);
        SPLIT_FULL(c4);
        SPLIT_FULL(d);
    }
    for (; i < n; i += SORT_LANES) {
        SORT_MASK live = SORT_NAME(row_mask)(n, i);
        SORT_VEC v = V_LOAD_OR_ONES(live, src + i);
        SORT_MASK k = (SORT_MASK)(V_LESS(v, p) & live), other = (SORT_MASK)(live & ~k);
        size_t c = (size_t)__builtin_popcount(k), g = (size_t)__builtin_popcount(other);
        V_STORE_MASK(low, (SORT_MASK)((1u << c) - 1), V_COMPRESS(k, v));
        V_STORE_MASK(high, (SORT_MASK)((1u << g) - 1), V_COMPRESS(other, v));
        low += c;
        high += g;
    }
    return (size_t)(low - first);
}

#undef SPLIT_FULL
