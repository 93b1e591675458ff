/* Sort by merging: the kernels of sort.py, which defines before this text
 *   U, I       the elements' bits as unsigned and signed integers;  KEY_OF, NUMBER_OF  order.h's functions
 *   ORDER      the masks of the dtype in core/scalar/order.h;  MAGNITUDE, QUIET  those of them, and the
 *              bits of a NaN, that floats have, else 0
 *   SIGN       the sign bit of signed types;  ONE_ZERO  -1 if -0 and +0 share a key, else 0
 *   GROUP      work-items of a group
 *   CODE       what is sorted: FORM 0 a key, 1 a key above a place in one u64, 2 a pair of both
 *
 * Codes with a place are all different, and equal keys without one are alike: so every way of
 * sorting them is stable.
 */
/* Elements that a work-item sorts by itself. */
#define RUN 8

PHX_FN int is_less(const CODE a, const CODE b) {
#if FORM == 2
    return a.key < b.key || (a.key == b.key && a.place < b.place);
#else
    return a < b;
#endif
}

PHX_FN CODE code_of(U x, u64 at, U flip) {
    const U key = (U)((U)KEY_OF((I)x, ORDER, ONE_ZERO, 0) ^ (U)SIGN ^ flip);
#if FORM == 2
    CODE c;
    c.key = key;
    c.place = at;
    return c;
#elif FORM == 1
    return ((u64)key << 32) | at;
#else
    return key;
#endif
}

PHX_FN RESULT result_of(const CODE c, U flip) {
#if FORM == 2
    return (RESULT)c.place;
#elif FORM == 1
    return (RESULT)(c & 0xffffffffu);
#else
    const U key = (U)((U)c ^ flip);
    const int is_nan = QUIET && key == (U) ~(U)0;
    const U x = is_nan ? (U)QUIET : (U)NUMBER_OF((I)key, MAGNITUDE, (I)SIGN);
    return (RESULT)x;
#endif
}

PHX_KERNEL(GROUP) encode(PHX_INPUT(U, x), PHX_OUTPUT(CODE, codes), const axes rows,
        const u64 first_row, const u64 count, const u64 n, const i64 step,
        const u64 flip) {
    for (place id = (place)PHX_GLOBAL_ID(0); id < count; id += (place)PHX_GLOBAL_SIZE(0)) {
        const place row = id / (place)n, i = id - row * (place)n;
        i64 at[2] = {0, 0};
        walk(&rows, (place)first_row + row, at);
        PHX_DATA(codes)[id] = code_of(PHX_DATA(x)[at[0] + (i64)i * step], i, (U)flip);
    }
}

PHX_KERNEL(GROUP) decode(PHX_INPUT(CODE, codes), PHX_OUTPUT(RESULT, o), const axes rows,
        const u64 first_row, const u64 count, const u64 n, const i64 step,
        const u64 flip) {
    for (place id = (place)PHX_GLOBAL_ID(0); id < count; id += (place)PHX_GLOBAL_SIZE(0)) {
        const place row = id / (place)n, i = id - row * (place)n;
        i64 at[2] = {0, 0};
        walk(&rows, (place)first_row + row, at);
        PHX_DATA(o)[at[1] + (i64)i * step] = result_of(PHX_DATA(codes)[id], (U)flip);
    }
}

/* Blocks of width = lanes * RUN elements, several of them in a group; rows are cut into blocks. */
PHX_KERNEL_OF(GROUP) blocks(PHX_OUTPUT(CODE, codes), const u64 segments, const u64 n, const u64 each) {
    PHX_LOCAL_ARRAY(CODE, room, GROUP * RUN);
    const u32 lanes = (u32)each, together = GROUP / lanes;
    const u32 slot = (u32)PHX_LOCAL_ID(0) / lanes, lane = (u32)PHX_LOCAL_ID(0) % lanes;
    const u32 width = lanes * RUN, own = lane * RUN;
    const u64 per_row = (n + width - 1) / width;
    PHX_LOCAL_PTR(CODE) block = room + slot * width;
    for (u64 first = PHX_GROUP_ID(0) * together; first < segments; first += PHX_GROUPS(0) * together) {
        const u64 segment = first + slot, row = segment / per_row;
        const u64 begin = (segment - row * per_row) * width;
        const u32 count = segment < segments ? (u32)PHX_MIN((u64)width, n - begin) : 0;
        PHX_GLOBAL CODE *data = PHX_DATA(codes) + row * n + begin;
        CODE c[RUN];
    PHX_UNROLL
        for (u32 e = 0; e < RUN; e++) c[e] = own + e < count ? data[own + e] : last_code();
        PHX_UNROLL
        for (u32 turn = 0; turn < RUN; turn++) {
            PHX_UNROLL
            for (u32 e = turn & 1; e + 1 < RUN; e += 2) {
                const int swap = is_less(c[e + 1], c[e]);
                const CODE low = swap ? c[e + 1] : c[e], high = swap ? c[e] : c[e + 1];
                c[e] = low;
                c[e + 1] = high;
            }
        }
        for (u32 w = RUN; w < width; w *= 2) {
            for (u32 e = 0; e < RUN; e++) block[own + e] = c[e];
            PHX_BARRIER();
            PHX_LOCAL_PTR(CODE) a = block + own / (2 * w) * (2 * w);
            PHX_LOCAL_PTR(CODE) b = a + w;
            const u32 d = own % (2 * w);
            u32 low = d > w ? d - w : 0, high = PHX_MIN(d, w);
            while (low < high) {
                const u32 middle = (low + high) / 2;
                if (is_less(b[d - 1 - middle], a[middle]))
                    high = middle;
                else
                    low = middle + 1;
            }
            u32 i = low, j = d - low;
            for (u32 e = 0; e < RUN; e++) {
                const int left = j >= w || (i < w && !is_less(b[j], a[i]));
                c[e] = left ? a[i] : b[j];
                i += left;
                j += !left;
            }
            PHX_BARRIER();
        }
        for (u32 e = 0; e < RUN; e++)
            if (own + e < count) data[own + e] = c[e];
    }
}

/* Write `count` elements of two runs merged, from the d-th on. */
PHX_FN void merge_part(PHX_GLOBAL const CODE *a, const u64 na, PHX_GLOBAL const CODE *b, const u64 nb,
                       const u64 d, const u64 count, PHX_GLOBAL CODE *o) {
    u64 low = d > nb ? d - nb : 0, high = PHX_MIN(d, na);
    while (low < high) {
        const u64 middle = (low + high) / 2;
        if (is_less(b[d - 1 - middle], a[middle]))
            high = middle;
        else
            low = middle + 1;
    }
    u64 i = low, j = d - low, e = 0;
    if (i < na && j < nb) {
        CODE x = a[i], y = b[j];
        for (;;) {
            const int right = is_less(y, x);
            o[e++] = right ? y : x;
            i += !right;
            j += right;
            if (e == count || i == na || j == nb) break;
            x = a[i];
            y = b[j];
        }
    }
    for (; e < count && i < na; e++) o[e] = a[i++];
    for (; e < count; e++) o[e] = b[j++];
}

/* One pass: neighbouring runs of `width` become one; a work-item writes `span` elements at a time. */
PHX_KERNEL(GROUP) merge(PHX_INPUT(CODE, from), PHX_OUTPUT(CODE, to), const u64 items, const u64 n,
                        const u64 width, const u64 span) {
    const u64 per_row = (n + span - 1) / span;
    for (u64 id = PHX_GLOBAL_ID(0); id < items; id += PHX_GLOBAL_SIZE(0)) {
        const u64 row = id / per_row, first = (id - row * per_row) * span;
        const u64 base = first / (2 * width) * (2 * width), d = first - base;
        const u64 na = PHX_MIN(width, n - base), nb = PHX_MIN(2 * width, n - base) - na;
        PHX_GLOBAL const CODE *a = PHX_DATA(from) + row * n + base;
        merge_part(a, na, a + na, nb, d, PHX_MIN(span, na + nb - d), PHX_DATA(to) + row * n + first);
    }
}
