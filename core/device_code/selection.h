/* Places, and elements, where a mask is true: counted block by block, then written.
 *
 * A mask is cut into aligned words of 8 places: word w has those from 8 w - skew on. T is the type of
 * what is written, VALUE(place) what it is. A block is `span` words; each block sums up how many
 * places are true before it, which is why there are not many blocks.
 */
#define LOW 0x7F7F7F7F7F7F7F7Ful
#define ONES 0x0101010101010101ul
#define SKEW(mask) ((i64)((size_t)(mask) & 7))

/* Bit 0 of each byte: whether the byte is not 0. */
PHX_FN u64 truths(u64 m) { return (((m & LOW) + LOW) | m) >> 7 & ONES; }

PHX_FN u32 ones(u64 m) { return (u32)((m * ONES) >> 56); }

/* The truths from place `at` on; places outside of the mask are false. */
PHX_FN u64 word_at(__global const u8 *mask, const i64 at, const i64 n) {
    if (at >= 0 && at + 8 <= n) return truths(*(__global const u64 *)(mask + at));
    u64 m = 0;
    for (i64 b = 0; b < 8; b++)
        if (at + b >= 0 && at + b < n && mask[at + b]) m |= 1ul << (8 * b);
    return m;
}

#if SERIAL /* a work-item takes a block */

#define KERNEL __kernel __attribute__((reqd_work_group_size(1, 1, 1))) void

KERNEL count_blocks(PHX_INPUT(u8, mask), PHX_OUTPUT(u64, counts), const i64 n, const i64 span) {
    __global const u8 *mask = PHX_DATA(mask);
    const i64 skew = SKEW(mask), begin = (i64)get_global_id(0) * span;
    const i64 end = min(begin + span, (n + skew + 7) / 8);
    const i64 last = min(end, (n + skew) / 8);
    u64 count = 0;
    i64 w = begin;
    if (w == 0 && skew) count += ones(word_at(mask, 8 * w++ - skew, n));
    while (w < last) { /* 255 truths fit into a byte */
        const i64 some = min(last - w, (i64)255);
        __global const u64 *words = (__global const u64 *)(mask - skew) + w;
        u64 bytes = 0;
        for (i64 k = 0; k < some; k++) bytes += truths(words[k]);
        for (; bytes; bytes >>= 8) count += bytes & 255;
        w += some;
    }
    for (; w < end; w++) count += ones(word_at(mask, 8 * w - skew, n));
    PHX_DATA(counts)
    [get_global_id(0)] = count;
}

/* CHUNK words are passed over at once if nothing in them is true. */
KERNEL write_blocks(PHX_INPUT(u8, mask), PHX_INPUT(T, x), PHX_OUTPUT(T, out), PHX_INPUT(u64, counts),
                    const i64 n, const i64 span, const i64 total) {
    __global const u8 *mask = PHX_DATA(mask);
    const i64 block = (i64)get_global_id(0), skew = SKEW(mask);
    const i64 end = min((block + 1) * span, (n + skew + 7) / 8), last = min(end, (n + skew) / 8);
    __global const u64 *words = (__global const u64 *)(mask - skew);
    __global T *out = PHX_DATA(out);
    i64 at = 0;
    for (i64 b = 0; b < block; b++) at += (i64)PHX_DATA(counts)[b];
    const i64 stop = get_global_size(0) > 1 ? at + (i64)PHX_DATA(counts)[block] : total;
    for (i64 begin = block * span; begin < end; begin += CHUNK) {
        const i64 until = min(begin + CHUNK, end);
        u64 some = (begin == 0 && skew) || until > last;
        for (i64 w = begin; !some && w < until; w++) some |= words[w];
        for (i64 w = begin; some && w < until;) {
            const i64 place = 8 * w - skew;
            if (place >= 0 && w + 4 <= min(until, last) && stop - at >= 32) {
#pragma unroll /* PoCL does not by itself */
                for (i64 b = 0; b < 32; b++) { /* what is not kept is overwritten: no branches */
                    out[at] = VALUE(place + b);
                    at += mask[place + b] != 0;
                }
                w += 4;
            } else {
                u64 m = word_at(mask, place, n);
                for (i64 b = 0; m; b++, m >>= 8)
                    if (m & 1) out[at++] = VALUE(place + b);
                w++;
            }
        }
    }
}

#else /* a group takes a block, GROUP * WORDS words at a time */

#define KERNEL __kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void

/* The sum over the group. */
PHX_FN u64 group_sum(const u64 own, __local u64 *room) {
    const u32 id = (u32)get_local_id(0);
    room[id] = own;
    for (u32 gap = GROUP / 2; gap > 0; gap /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (id < gap) room[id] += room[id + gap];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    return room[0];
}

/* The sum over the work-items up to this one; that of all is then in room[GROUP - 1]. */
PHX_FN u32 group_scan(u32 own, __local u32 *room) {
    const u32 id = (u32)get_local_id(0);
    for (u32 gap = 1; gap < GROUP; gap *= 2) {
        room[id] = own;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (id >= gap) own += room[id - gap];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    room[id] = own;
    barrier(CLK_LOCAL_MEM_FENCE);
    return own;
}

KERNEL count_blocks(PHX_INPUT(u8, mask), PHX_OUTPUT(u64, counts), const i64 n, const i64 span) {
    __local u64 room[GROUP];
    __global const u8 *mask = PHX_DATA(mask);
    const i64 skew = SKEW(mask), begin = (i64)get_group_id(0) * span;
    const i64 end = min(begin + span, (n + skew + 7) / 8);
    u64 own = 0;
    for (i64 w = begin + (i64)get_local_id(0); w < end; w += GROUP)
        own += ones(word_at(mask, 8 * w - skew, n));
    const u64 sum = group_sum(own, room);
    if (get_local_id(0) == 0) PHX_DATA(counts)
                              [get_group_id(0)] = sum;
}

/* True places are gathered in local memory, so that neighbours write neighbouring elements. */
KERNEL write_blocks(PHX_INPUT(u8, mask), PHX_INPUT(T, x), PHX_OUTPUT(T, out), PHX_INPUT(u64, counts),
                    const i64 n, const i64 span, const i64 total) {
    __local u64 room[GROUP];
    __local u32 ranks[GROUP];
    __local u16 kept[GROUP * WORDS * 8];
    __global const u8 *mask = PHX_DATA(mask);
    const u32 id = (u32)get_local_id(0);
    const i64 skew = SKEW(mask), begin = (i64)get_group_id(0) * span;
    const i64 end = min(begin + span, (n + skew + 7) / 8);
    u64 own = 0;
    for (u64 b = id; b < get_group_id(0); b += GROUP) own += PHX_DATA(counts)[b];
    __global T *at = PHX_DATA(out) + group_sum(own, room);
    for (i64 w = begin; w < end; w += GROUP * WORDS) {
        const i64 place = 8 * w - skew;
        u64 m[WORDS];
        u32 count = 0;
        for (u32 k = 0; k < WORDS; k++) {
            m[k] = word_at(mask, place + 8 * (id * WORDS + k), n);
            count += ones(m[k]);
        }
        u32 rank = group_scan(count, ranks) - count;
        const u32 all = ranks[GROUP - 1];
        for (u32 k = 0; k < WORDS; k++)
            for (u32 b = 0; b < 8; b++)
                if (m[k] >> (8 * b) & 1) kept[rank++] = (u16)(8 * (id * WORDS + k) + b);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (u32 k = id; k < all; k += GROUP) at[k] = VALUE(place + kept[k]);
        at += all;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
#endif
