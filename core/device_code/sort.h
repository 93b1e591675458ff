/* Sort by merging: the kernels of sort.py, which defines before this text
 *   U, I       the elements' bits as unsigned and signed integers of WIDTH bits
 *   MAGNITUDE  all bits but the sign for floats, 0 for integers
 *   SIGN       the sign bit of signed types
 *   INFINITY_  magnitudes above are NaN;  QUIET  a NaN;  MERGE_ZEROS  1 if -0 and +0 share a key
 *   CODE       what is sorted: FORM 0 a key, 1 a key above a place in one u64, 2 a pair of both
 *
 * Codes with a place are all different, and equal keys without one are alike: so every way of
 * sorting them is stable.
 */
#if FORM == 2
#define LESS(a, b) ((a).key < (b).key || ((a).key == (b).key && (a).place < (b).place))
#else
#define LESS(a, b) ((a) < (b))
#endif
/* Elements that a work-item sorts by itself. */
#define RUN 8

PHX_FN CODE last_code(void) {
#if FORM == 2
    CODE c;
    c.key = c.place = ~(u64)0;
    return c;
#else
    return ~(CODE)0;
#endif
}

PHX_FN CODE code_of(U x, ulong at, U flip) {
    const U size = (U)(x & (U)((U) ~(U)0 >> 1));
    if (MERGE_ZEROS && size == 0) x = 0;
    U key = (U)(x ^ ((U)((I)x >> (WIDTH - 1)) & (U)MAGNITUDE) ^ (U)SIGN);
    if (size > (U)INFINITY_) key = (U) ~(U)0;
    key ^= flip;
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

__kernel void encode(PHX_INPUT(U, x), PHX_OUTPUT(CODE, codes), const axes rows,
                     const ulong first_row, const ulong count, const ulong n, const long step,
                     const ulong flip) {
    const place id = (place)get_global_id(0);
    if (id >= count) return;
    const place row = id / (place)n, i = id - row * (place)n;
    long at[2] = {0, 0};
    walk(&rows, (place)first_row + row, at);
    PHX_DATA(codes)
    [id] = code_of(PHX_DATA(x)[at[0] + (long)i * step], i, (U)flip);
}

__kernel void decode(PHX_INPUT(CODE, codes), PHX_OUTPUT(RESULT, o), const axes rows,
                     const ulong first_row, const ulong count, const ulong n, const long step,
                     const ulong flip) {
    const place id = (place)get_global_id(0);
    if (id >= count) return;
    const place row = id / (place)n, i = id - row * (place)n;
    const CODE c = PHX_DATA(codes)[id];
    long at[2] = {0, 0};
    walk(&rows, (place)first_row + row, at);
#if FORM == 2
    const i64 x = (i64)c.place;
#elif FORM == 1
    const i64 x = (i64)(c & 0xffffffffu);
#else
    U x = (U)((U)c ^ (U)flip ^ (U)SIGN);
    x ^= (U)((I)x >> (WIDTH - 1)) & (U)MAGNITUDE;
    if ((U)(x & (U)((U) ~(U)0 >> 1)) > (U)INFINITY_) x = (U)QUIET;
#endif
    PHX_DATA(o)
    [at[1] + (long)i * step] = (RESULT)x;
}

/* Blocks of width = lanes * RUN elements, several of them in a group; rows are cut into blocks. */
__kernel void blocks(PHX_OUTPUT(CODE, codes), const ulong segments, const ulong n,
                     const uint lanes, __local CODE *room) {
    const uint local_id = (uint)get_local_id(0), lane = local_id % lanes;
    const uint width = lanes * RUN, own = lane * RUN;
    const ulong segment = get_group_id(0) * (get_local_size(0) / lanes) + local_id / lanes;
    const ulong per_row = (n + width - 1) / width;
    const ulong row = segment / per_row, begin = (segment - row * per_row) * width;
    const uint count = segment < segments ? (uint)min((ulong)width, n - begin) : 0;
    __global CODE *data = PHX_DATA(codes) + row * n + begin;
    __local CODE *block = room + (local_id / lanes) * width;
    CODE c[RUN];
#pragma unroll
    for (uint e = 0; e < RUN; e++) c[e] = own + e < count ? data[own + e] : last_code();
#pragma unroll
    for (uint turn = 0; turn < RUN; turn++)
#pragma unroll
        for (uint e = turn & 1; e + 1 < RUN; e += 2) {
            const int swap = LESS(c[e + 1], c[e]);
            const CODE low = swap ? c[e + 1] : c[e], high = swap ? c[e] : c[e + 1];
            c[e] = low;
            c[e + 1] = high;
        }
    for (uint w = RUN; w < width; w *= 2) {
        for (uint e = 0; e < RUN; e++) block[own + e] = c[e];
        barrier(CLK_LOCAL_MEM_FENCE);
        __local const CODE *a = block + own / (2 * w) * (2 * w), *b = a + w;
        const uint d = own % (2 * w);
        uint low = d > w ? d - w : 0, high = min(d, w);
        while (low < high) {
            const uint middle = (low + high) / 2;
            if (LESS(b[d - 1 - middle], a[middle]))
                high = middle;
            else
                low = middle + 1;
        }
        uint i = low, j = d - low;
        for (uint e = 0; e < RUN; e++) {
            const int left = j >= w || (i < w && !LESS(b[j], a[i]));
            c[e] = left ? a[i] : b[j];
            i += left;
            j += !left;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (uint e = 0; e < RUN; e++)
        if (own + e < count) data[own + e] = c[e];
}

/* One pass: neighbouring runs of `width` become one; a work-item writes `span` elements. */
__kernel void merge(PHX_INPUT(CODE, from), PHX_OUTPUT(CODE, to), const ulong items, const ulong n,
                    const ulong width, const ulong span) {
    const ulong id = get_global_id(0);
    if (id >= items) return;
    const ulong per_row = (n + span - 1) / span, row = id / per_row;
    const ulong first = (id - row * per_row) * span, base = first / (2 * width) * (2 * width);
    const ulong na = min(width, n - base), nb = min(2 * width, n - base) - na;
    __global const CODE *a = PHX_DATA(from) + row * n + base, *b = a + na;
    __global CODE *o = PHX_DATA(to) + row * n + first;
    const ulong d = first - base, count = min(span, na + nb - d);
    ulong low = d > nb ? d - nb : 0, high = min(d, na);
    while (low < high) {
        const ulong middle = (low + high) / 2;
        if (LESS(b[d - 1 - middle], a[middle]))
            high = middle;
        else
            low = middle + 1;
    }
    ulong i = low, j = d - low, e = 0;
    if (i < na && j < nb) {
        CODE x = a[i], y = b[j];
        for (;;) {
            const int right = LESS(y, x);
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
