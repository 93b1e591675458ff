/* Sorting networks over vector registers for one key width; included by sort_quick.inc.h with
 * SORT_KEY, SORT_LANES, SORT_MASK and the V_ macros defined. V_BIAS, its own inverse, turns keys
 * into what is compared; V_ORDER puts the lesser lanes of two registers into the first, V_PICK(a, b, m) takes the
 * larger lane where m has a bit, else the lesser.
 *
 * A block of R registers is a matrix of R rows and L lanes, read down the columns: the place of an
 * element is lane * R + row. The columns are sorted by Batcher's odd-even merges (Batcher 1968),
 * then neighbouring columns are merged bitonically; a last interleave turns columns into memory
 * order.
 * Rows of macro calls are no statements, hence no clang-format. */
/* clang-format off */

#define VROW(r) SORT_VEC v##r;
#define CX(a, b) V_ORDER(v##a, v##b)

#define OEM4(a, b, c, d) CX(a, c) CX(b, d) CX(b, c)
#define OEM8(a, b, c, d, e, f, g, h) OEM4(a, c, e, g) OEM4(b, d, f, h) CX(b, c) CX(d, e) CX(f, g)
#define COLUMNS1
#define COLUMNS2 CX(0, 1)
#define COLUMNS4 CX(0, 1) CX(2, 3) OEM4(0, 1, 2, 3)
#define COLUMNS8 COLUMNS4 CX(4, 5) CX(6, 7) OEM4(4, 5, 6, 7) OEM8(0, 1, 2, 3, 4, 5, 6, 7)
#define COLUMNS16                                                                              \
    COLUMNS8 CX(8, 9) CX(10, 11) OEM4(8, 9, 10, 11) CX(12, 13) CX(14, 15) OEM4(12, 13, 14, 15) \
        OEM8(8, 9, 10, 11, 12, 13, 14, 15) OEM8(0, 2, 4, 6, 8, 10, 12, 14)                     \
            OEM8(1, 3, 5, 7, 9, 11, 13, 15) CX(1, 2) CX(3, 4) CX(5, 6) CX(7, 8) CX(9, 10)      \
                CX(11, 12) CX(13, 14)

/* Half-cleaners down the rows: every column is bitonic before and sorted after. */
#define DOWN1
#define DOWN2 CX(0, 1)
#define DOWN4 CX(0, 2) CX(1, 3) CX(0, 1) CX(2, 3)
#define DOWN8                                                                                 \
    CX(0, 4)                                                                                  \
    CX(1, 5) CX(2, 6) CX(3, 7) CX(0, 2) CX(1, 3) CX(4, 6) CX(5, 7) CX(0, 1) CX(2, 3) CX(4, 5) \
        CX(6, 7)
#define DOWN16                                                                                     \
    CX(0, 8)                                                                                       \
    CX(1, 9) CX(2, 10) CX(3, 11) CX(4, 12) CX(5, 13) CX(6, 14) CX(7, 15) DOWN8 CX(8, 12) CX(9, 13) \
        CX(10, 14) CX(11, 15) CX(8, 10) CX(9, 11) CX(12, 14) CX(13, 15) CX(8, 9) CX(10, 11)        \
            CX(12, 13) CX(14, 15)

/* Compare lanes at distance x; lanes of the mask take the larger. */
#define LANE(r, x, m) v##r = V_PICK(v##r, V_SWAP(v##r, x), m);
#define LANES1(x, m) LANE(0, x, m)
#define LANES2(x, m) LANES1(x, m) LANE(1, x, m)
#define LANES4(x, m) LANES2(x, m) LANE(2, x, m) LANE(3, x, m)
#define LANES8(x, m) LANES4(x, m) LANE(4, x, m) LANE(5, x, m) LANE(6, x, m) LANE(7, x, m)
#define LANES16(x, m)                                                                       \
    LANES8(x, m)                                                                            \
    LANE(8, x, m) LANE(9, x, m) LANE(10, x, m) LANE(11, x, m) LANE(12, x, m) LANE(13, x, m) \
        LANE(14, x, m) LANE(15, x, m)

/* The first step of a merge: an element against its mirror image in the two groups of columns. */
#define MIRROR(a, b, x, m)                                   \
    do {                                                     \
        SORT_VEC ma = V_SWAP(v##b, x), mb = V_SWAP(v##a, x); \
        v##a = V_PICK(v##a, ma, m);                          \
        v##b = V_PICK(v##b, mb, m);                          \
    } while (0);
#define MIRROR1(x, m) LANE(0, x, m)
#define MIRROR2(x, m) MIRROR(0, 1, x, m)
#define MIRROR4(x, m) MIRROR(0, 3, x, m) MIRROR(1, 2, x, m)
#define MIRROR8(x, m) MIRROR(0, 7, x, m) MIRROR(1, 6, x, m) MIRROR(2, 5, x, m) MIRROR(3, 4, x, m)
#define MIRROR16(x, m)                                                              \
    MIRROR(0, 15, x, m)                                                             \
    MIRROR(1, 14, x, m) MIRROR(2, 13, x, m) MIRROR(3, 12, x, m) MIRROR(4, 11, x, m) \
        MIRROR(5, 10, x, m) MIRROR(6, 9, x, m) MIRROR(7, 8, x, m)

#if SORT_LANES == 16
#define M1 0xAAAA
#define M2 0xCCCC
#define M4 0xF0F0
#define MERGE_ALL(R)                                                                   \
    MIRROR##R(1, M1) DOWN##R MIRROR##R(3, M2) LANES##R(1, M1) DOWN##R MIRROR##R(7, M4) \
        LANES##R(2, M2) LANES##R(1, M1) DOWN##R MIRROR##R(15, 0xFF00) LANES##R(4, M4)  \
            LANES##R(2, M2) LANES##R(1, M1) DOWN##R
#elif SORT_LANES == 4
#define MERGE_ALL(R) MIRROR##R(1, 0xA) DOWN##R MIRROR##R(3, 0xC) LANES##R(1, 0xA) DOWN##R
#else
#define M1 0xAA
#define M2 0xCC
#define MERGE_ALL(R)                                                                     \
    MIRROR##R(1, M1) DOWN##R MIRROR##R(3, M2) LANES##R(1, M1) DOWN##R MIRROR##R(7, 0xF0) \
        LANES##R(2, M2) LANES##R(1, M1) DOWN##R
#endif

/* The last half-cleaners of a bitonic block in memory order, along the rows. */
#if SORT_LANES == 16
#define ALONG LANES16(8, 0xFF00) LANES16(4, M4) LANES16(2, M2) LANES16(1, M1)
#elif SORT_LANES == 4
#define ALONG LANES16(2, 0xC) LANES16(1, 0xA)
#else
#define ALONG LANES16(4, 0xF0) LANES16(2, M2) LANES16(1, M1)
#endif

/* Interleave two registers: the row's bit becomes the lowest bit of the lane. */
#define ZIP(a, b)                             \
    do {                                      \
        SORT_VEC low = V_ZIP_LOW(v##a, v##b); \
        v##b = V_ZIP_HIGH(v##a, v##b);        \
        v##a = low;                           \
    } while (0);
#define UNFOLD1
#define UNFOLD2 ZIP(0, 1)
#define UNFOLD4 ZIP(0, 2) ZIP(1, 3) ZIP(0, 1) ZIP(2, 3)
#define UNFOLD8                                                                               \
    ZIP(0, 4)                                                                                 \
    ZIP(1, 5) ZIP(2, 6) ZIP(3, 7) ZIP(0, 2) ZIP(1, 3) ZIP(4, 6) ZIP(5, 7) ZIP(0, 1) ZIP(2, 3) \
        ZIP(4, 5) ZIP(6, 7)
#define UNFOLD16                                                                                   \
    ZIP(0, 8)                                                                                      \
    ZIP(1, 9) ZIP(2, 10) ZIP(3, 11) ZIP(4, 12) ZIP(5, 13) ZIP(6, 14) ZIP(7, 15) UNFOLD8 ZIP(8, 12) \
        ZIP(9, 13) ZIP(10, 14) ZIP(11, 15) ZIP(8, 10) ZIP(9, 11) ZIP(12, 14) ZIP(13, 15) ZIP(8, 9) \
            ZIP(10, 11) ZIP(12, 13) ZIP(14, 15)

/* Rows of the lower half are full, since a smaller network is taken otherwise. */
#define FULL(r) v##r = V_BIAS(V_LOAD(src + r * SORT_LANES));
#define PART(r)                                   \
    SORT_MASK k##r = row_mask(n, r * SORT_LANES); \
    v##r = V_BIAS(V_LOAD_OR_ONES(k##r, src + r * SORT_LANES));
#define FULL_OUT(r) V_STORE(dst + r * SORT_LANES, V_BIAS(v##r));
#define PART_OUT(r) V_STORE_MASK(dst + r * SORT_LANES, k##r, V_BIAS(v##r));

#define ROWS_1(LOW, HIGH) HIGH(0)
#define ROWS_2(LOW, HIGH) LOW(0) HIGH(1)
#define ROWS_4(LOW, HIGH) LOW(0) LOW(1) HIGH(2) HIGH(3)
#define ROWS_8(LOW, HIGH) LOW(0) LOW(1) LOW(2) LOW(3) HIGH(4) HIGH(5) HIGH(6) HIGH(7)
#define ROWS_16(LOW, HIGH)                                                                      \
    LOW(0)                                                                                      \
    LOW(1) LOW(2) LOW(3) LOW(4) LOW(5) LOW(6) LOW(7) HIGH(8) HIGH(9) HIGH(10) HIGH(11) HIGH(12) \
        HIGH(13) HIGH(14) HIGH(15)

#define NETWORK(R)                                                                         \
    static __attribute__((noinline)) void SORT_NAME(network##R)(const SORT_KEY *src,       \
                                                                SORT_KEY *dst, size_t n) { \
        ROWS_##R(VROW, VROW);                                                              \
        ROWS_##R(FULL, PART);                                                              \
        COLUMNS##R MERGE_ALL(R) UNFOLD##R;                                                 \
        ROWS_##R(FULL_OUT, PART_OUT);                                                      \
    }

/* Lanes of the row that starts at element `first` which hold one of the n elements. */
static inline SORT_MASK SORT_NAME(row_mask)(size_t n, size_t first) {
    size_t rest = n > first ? n - first : 0;
    return rest >= SORT_LANES ? (SORT_MASK)((1u << SORT_LANES) - 1) : (SORT_MASK)((1u << rest) - 1);
}
#define row_mask SORT_NAME(row_mask)

NETWORK(1)
NETWORK(2)
NETWORK(4)
NETWORK(8)
NETWORK(16)

/* Sort n <= 16 * LANES keys from src to dst, which may be the same. */
static inline void SORT_NAME(leaf)(const SORT_KEY *src, SORT_KEY *dst, size_t n) {
    if (n <= SORT_LANES)
        SORT_NAME(network1)(src, dst, n);
    else if (n <= 2 * SORT_LANES)
        SORT_NAME(network2)(src, dst, n);
    else if (n <= 4 * SORT_LANES)
        SORT_NAME(network4)(src, dst, n);
    else if (n <= 8 * SORT_LANES)
        SORT_NAME(network8)(src, dst, n);
    else
        SORT_NAME(network16)(src, dst, n);
}

/* Sort a block of 16 rows that is bitonic. */
static __attribute__((noinline)) void SORT_NAME(bitonic)(SORT_KEY *keys) {
    const SORT_KEY *src = keys;
    SORT_KEY *dst = keys;
    ROWS_16(VROW, VROW);
    ROWS_16(FULL, FULL);
    DOWN16 ALONG;
    ROWS_16(FULL_OUT, FULL_OUT);
}
/* clang-format on */

/* Bring the lesser of the keys of two rows into the first, each with its own in the other, or with its mirror image. */
static inline void SORT_NAME(order_rows)(SORT_KEY *row, SORT_KEY *other, int mirrored) {
    SORT_VEC a = V_BIAS(V_LOAD(row)), b = V_BIAS(V_LOAD(other));
    if (mirrored) b = V_SWAP(b, SORT_LANES - 1);
    V_ORDER(a, b);
    V_STORE(row, V_BIAS(a));
    V_STORE(other, V_BIAS(b));
}

/* Of two sorted halves, each of an even number of rows, make bitonic ones, the keys of the first not above those of the
 * second, whose rows then stand in reverse. */
static void SORT_NAME(part_halves)(SORT_KEY *keys, size_t rows) {
    for (size_t r = 0; r < rows; r++) SORT_NAME(order_rows)(keys + r * SORT_LANES, keys + (2 * rows - 1 - r) * SORT_LANES, 1);
}

/* Of bitonic blocks as long as they are apart make two, the keys of the first not above those of the second. */
static void SORT_NAME(part_blocks)(SORT_KEY *keys, size_t apart) {
    for (size_t i = 0; i < apart; i += SORT_LANES) SORT_NAME(order_rows)(keys + i, keys + i + apart, 0);
}

/* Sort n <= SORT_MERGED keys, more than one block of them, from src to dst, which may be the same: blocks are sorted and
 * merged bitonically, without a branch that depends on a key. */
static void SORT_NAME(merged)(const SORT_KEY *src, SORT_KEY *dst, size_t n) {
    SORT_KEY keys[SORT_MERGED];
    size_t all = 2 * SORT_LEAF;
    while (all < n) all *= 2;
    for (size_t i = 0; i < n; i += SORT_LEAF)
        SORT_NAME(leaf)(src + i, keys + i, n - i < SORT_LEAF ? n - i : SORT_LEAF);
    memset(keys + n, 0xff, (all - n) * sizeof *keys);
    for (size_t half = SORT_LEAF; half < all; half *= 2) {
        for (size_t i = 0; i < all; i += 2 * half) SORT_NAME(part_halves)(keys + i, half / SORT_LANES);
        for (size_t apart = half / 2; apart >= SORT_LEAF; apart /= 2)
            for (size_t i = 0; i < all; i += 2 * apart) SORT_NAME(part_blocks)(keys + i, apart);
        for (size_t i = 0; i < all; i += SORT_LEAF) SORT_NAME(bitonic)(keys + i);
    }
    memcpy(dst, keys, n * sizeof *keys);
}

#undef row_mask
#undef M1
#undef M2
#undef M4
#undef MERGE_ALL
#undef ALONG
