/* A group takes a block, GROUP * WORDS words at a time. */

/* The sum over the group. */
PHX_FN u64 group_sum(const u64 own, PHX_LOCAL_PTR(u64) room) {
    const u32 id = (u32)PHX_LOCAL_ID(0);
    room[id] = own;
    for (u32 gap = GROUP / 2; gap > 0; gap /= 2) {
        PHX_BARRIER();
        if (id < gap) room[id] += room[id + gap];
    }
    PHX_BARRIER();
    return room[0];
}

/* The sum over the work-items up to this one; that of all is then in room[GROUP - 1]. */
PHX_FN u32 group_scan(u32 own, PHX_LOCAL_PTR(u32) room) {
    const u32 id = (u32)PHX_LOCAL_ID(0);
    for (u32 gap = 1; gap < GROUP; gap *= 2) {
        room[id] = own;
        PHX_BARRIER();
        if (id >= gap) own += room[id - gap];
        PHX_BARRIER();
    }
    room[id] = own;
    PHX_BARRIER();
    return own;
}

PHX_KERNEL_OF(GROUP) count_blocks(PHX_INPUT(u8, mask), PHX_OUTPUT(u64, counts), const i64 n, const i64 span) {
    PHX_LOCAL_ARRAY(u64, room, GROUP);
    PHX_GLOBAL const u8 *mask = PHX_DATA(mask);
    const i64 skew = SKEW(mask), begin = (i64)PHX_GROUP_ID(0) * span;
    const i64 end = PHX_MIN(begin + span, (n + skew + 7) / 8);
    u64 own = 0;
    for (i64 w = begin + (i64)PHX_LOCAL_ID(0); w < end; w += GROUP)
        own += ones(word_at(mask, 8 * w - skew, n));
    const u64 sum = group_sum(own, room);
    if (PHX_LOCAL_ID(0) == 0) PHX_DATA(counts)[PHX_GROUP_ID(0)] = sum;
}

/* True places are gathered in local memory, so that neighbours write neighbouring elements. */
PHX_KERNEL_OF(GROUP) write_blocks(PHX_INPUT(u8, mask), PHX_INPUT(T, x), PHX_OUTPUT(T, out), PHX_INPUT(u64, counts),
        const i64 n, const i64 span, const i64 total) {
    PHX_LOCAL_ARRAY(u64, room, GROUP);
    PHX_LOCAL_ARRAY(u32, ranks, GROUP);
    PHX_LOCAL_ARRAY(u16, kept, GROUP * WORDS * 8);
    PHX_GLOBAL const u8 *mask = PHX_DATA(mask);
    const u32 id = (u32)PHX_LOCAL_ID(0);
    const i64 skew = SKEW(mask), begin = (i64)PHX_GROUP_ID(0) * span;
    const i64 end = PHX_MIN(begin + span, (n + skew + 7) / 8);
    u64 own = 0;
    for (u64 b = id; b < PHX_GROUP_ID(0); b += GROUP) own += PHX_DATA(counts)[b];
    PHX_GLOBAL T *at = PHX_DATA(out) + group_sum(own, room);
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
        PHX_BARRIER();
        for (u32 k = id; k < all; k += GROUP) at[k] = VALUE(place + kept[k]);
        at += all;
    }
}
