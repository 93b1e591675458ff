/* The partition of a quicksort where lanes can be permuted alone: one permutation brings the lesser lanes to the
 * front and the others to the end, so the stream of the others grows downwards; included by sort_quick.inc.h. */
#define HIGH_AT(l) (l)
#define SPARE_AT(l, n) 0

#define SPLIT_FULL(v)                                   \
    do {                                                \
        const SORT_MASK k = V_LESS(V_BIAS(v), p);       \
        const SORT_VEC parted = V_PART(k, v);           \
        const size_t c = (size_t)__builtin_popcount(k); \
        V_STORE(low, parted);                           \
        V_STORE(high - SORT_LANES, parted);             \
        low += c;                                       \
        high -= SORT_LANES - c;                         \
    } while (0)

#define SPLIT_FOUR(p0, p1, p2, p3)                                                         \
    do {                                                                                   \
        const SORT_VEC v0 = V_LOAD(p0), v1 = V_LOAD(p1), v2 = V_LOAD(p2), v3 = V_LOAD(p3); \
        SPLIT_FULL(v0);                                                                    \
        SPLIT_FULL(v1);                                                                    \
        SPLIT_FULL(v2);                                                                    \
        SPLIT_FULL(v3);                                                                    \
    } while (0)

/* Stream keys below the pivot to low and the others to the end of high, of n places each; returns how many were
 * below. Either may be src: what is in place is read from the end where its stream begins. */
static size_t SORT_NAME(split)(const SORT_KEY *src, SORT_KEY *low, SORT_KEY *high, size_t n,
                               SORT_KEY pivot) {
    const SORT_VEC p = V_BIAS(V_SET1(pivot));
    const SORT_KEY *const first = low, *from = src;
    const int downwards = high == src;
    size_t left = n;
    high += n;
    if (downwards) {
        for (; left >= 4 * SORT_LANES; left -= 4 * SORT_LANES) {
            const SORT_KEY *q = src + left - SORT_LANES;
            SPLIT_FOUR(q, q - SORT_LANES, q - 2 * SORT_LANES, q - 3 * SORT_LANES);
        }
    } else {
        for (; left >= 4 * SORT_LANES; left -= 4 * SORT_LANES, from += 4 * SORT_LANES)
            SPLIT_FOUR(from, from + SORT_LANES, from + 2 * SORT_LANES, from + 3 * SORT_LANES);
    }
    while (left) {
        const size_t count = left < SORT_LANES ? left : SORT_LANES;
        const SORT_MASK live = SORT_NAME(row_mask)(count, 0);
        const SORT_VEC v = V_LOAD_OR_ONES(live, from + (downwards ? left - count : 0));
        const SORT_MASK k = (SORT_MASK)(V_LESS(V_BIAS(v), p) & live), other = (SORT_MASK)(live & ~k);
        const size_t c = (size_t)__builtin_popcount(k), g = count - c;
        V_STORE_MASK(low, SORT_NAME(row_mask)(c, 0), V_PART(k, v));
        V_STORE_MASK(high - g, SORT_NAME(row_mask)(g, 0), V_PART(other, v));
        low += c;
        high -= g;
        left -= count;
        from += downwards ? 0 : count;
    }
    return (size_t)(low - first);
}

#undef SPLIT_FULL
#undef SPLIT_FOUR
