/* Long rows of codes, sorted by eight bits of the key at a time from the lowest up, each time keeping the
 * order of what is equal: kernels of sort.py, which defines what sort.h names and
 *   GROUP   work-items of a group, a power of two     EACH   codes of one of them, odd for the sake of
 *           the banks of local memory
 * A row is cut into parts of `per` tiles of GROUP * EACH codes. count_digits counts the digits of each
 * part: [row][digit][part]. The running sums of a row's counts tell where the parts' codes go.
 */
#define DIGITS 256
#define NIBBLE 16 /* of a digit, as far as one round inside a tile goes; a counter is half a u32 */
#define COLUMN (NIBBLE / 2)
#define TILE (GROUP * EACH)
#define SPREAD(i) ((i) + (i) / COLUMN)

PHX_FN u32 digit_of(const CODE c, const u32 shift) {
#if FORM == 2
    return (u32)(c.key >> shift) % DIGITS;
#elif FORM == 1
    return (u32)(c >> 32 >> shift) % DIGITS;
#else
    return (u32)(c >> shift) % DIGITS;
#endif
}

PHX_KERNEL_OF(GROUP) count_digits(PHX_INPUT(CODE, codes), PHX_OUTPUT(u32, counts), const u64 tasks, const u64 parts,
        const u64 per, const u64 n, const u64 shift) {
    PHX_LOCAL_ARRAY(u32, counted, DIGITS);
    const u32 id = (u32)PHX_LOCAL_ID(0);
    for (u64 task = PHX_GROUP_ID(0); task < tasks; task += PHX_GROUPS(0)) {
        const u64 row = task / parts, part = task - row * parts;
        const u64 begin = part * per * TILE, end = PHX_MIN(n, begin + per * TILE);
        PHX_GLOBAL const CODE *from = PHX_DATA(codes) + row * n;
        for (u32 d = id; d < DIGITS; d += GROUP) counted[d] = 0;
        PHX_BARRIER();
        for (u64 i = begin + id; i < end; i += GROUP) PHX_LOCAL_ATOMIC_ADD(counted, digit_of(from[i], (u32)shift), 1u);
        PHX_BARRIER();
        for (u32 d = id; d < DIGITS; d += GROUP) PHX_DATA(counts)[(row * DIGITS + d) * parts + part] = counted[d];
    }
}

/* Exclusive sums of the counters, low halves before high ones; a work-item has a column of them. */
PHX_FN void sum_counters(PHX_LOCAL_PTR(u32) counters, PHX_LOCAL_PTR(u32) sums, const u32 id) {
    u32 own = 0, there = 0;
    PHX_UNROLL
    for (u32 j = 0; j < COLUMN; j++) own += counters[SPREAD(id * COLUMN + j)];
    sums[id] = own;
    u32 with = own;
    for (u32 gap = 1; gap < GROUP; gap *= 2) {
        PHX_BARRIER();
        if (id >= gap) with += sums[there + id - gap];
        there = GROUP - there;
        sums[there + id] = with;
    }
    PHX_BARRIER();
    u32 before = with - own + (sums[there + GROUP - 1] << 16);
    PHX_UNROLL
    for (u32 j = 0; j < COLUMN; j++) {
        const u32 here = counters[SPREAD(id * COLUMN + j)];
        counters[SPREAD(id * COLUMN + j)] = before;
        before += here;
    }
}

PHX_KERNEL_OF(GROUP) move_digits(PHX_INPUT(CODE, codes), PHX_INPUT(u32, sums), PHX_OUTPUT(CODE, o), const u64 tasks,
        const u64 parts, const u64 per, const u64 n, const u64 shift) {
    PHX_LOCAL_ARRAY(CODE, tile, TILE);
    PHX_LOCAL_ARRAY(u32, counters, SPREAD(COLUMN * GROUP));
    PHX_LOCAL_ARRAY(u32, partial, 2 * GROUP);
    PHX_LOCAL_ARRAY(u32, starts, DIGITS);  /* of the digits in the tile, and */
    PHX_LOCAL_ARRAY(u32, targets, DIGITS); /* in the row */
    const u32 id = (u32)PHX_LOCAL_ID(0);
    for (u64 task = PHX_GROUP_ID(0); task < tasks; task += PHX_GROUPS(0)) {
        const u64 row = task / parts, part = task - row * parts;
        const u64 begin = part * per * TILE, end = PHX_MIN(n, begin + per * TILE);
        PHX_GLOBAL const CODE *from = PHX_DATA(codes) + row * n;
        PHX_GLOBAL CODE *to = PHX_DATA(o) + row * n;
        for (u32 d = id; d < DIGITS; d += GROUP) {
            const u64 behind = d * parts + part;
            targets[d] = behind ? PHX_DATA(sums)[row * DIGITS * parts + behind - 1] : 0;
        }
        for (u64 first = begin; first < end; first += TILE) {
            const u32 count = (u32)PHX_MIN((u64)TILE, end - first);
            CODE c[EACH];
            u32 before[EACH];
            PHX_UNROLL
            for (u32 e = 0; e < EACH; e++) {
                const u32 i = e * GROUP + id;
                tile[i] = i < count ? from[first + i] : last_code();
            }
            for (u32 low = 0; low < 8; low += 4) {
                PHX_BARRIER();
                for (u32 j = 0; j < COLUMN; j++) counters[SPREAD(j * GROUP + id)] = 0;
                PHX_UNROLL
                for (u32 e = 0; e < EACH; e++) {
                    c[e] = tile[id * EACH + e];
                    const u32 nibble = digit_of(c[e], (u32)shift) >> low & (NIBBLE - 1);
                    const u32 at = SPREAD(nibble % COLUMN * GROUP + id), upper = nibble / COLUMN * 16;
                    const u32 counted = counters[at];
                    before[e] = counted >> upper & 0xffffu;
                    counters[at] = counted + (1u << upper);
                }
                PHX_BARRIER();
                sum_counters(counters, partial, id);
                PHX_BARRIER();
                PHX_UNROLL
                for (u32 e = 0; e < EACH; e++) {
                    const u32 nibble = digit_of(c[e], (u32)shift) >> low & (NIBBLE - 1);
                    const u32 at = SPREAD(nibble % COLUMN * GROUP + id), upper = nibble / COLUMN * 16;
                    tile[(counters[at] >> upper & 0xffffu) + before[e]] = c[e];
                }
            }
            PHX_BARRIER();
            PHX_UNROLL
            for (u32 e = 0; e < EACH; e++) {
                const u32 i = e * GROUP + id;
                c[e] = tile[i];
                const u32 digit = digit_of(c[e], (u32)shift);
                if (i == 0 || digit_of(tile[i - 1], (u32)shift) != digit) starts[digit] = i;
            }
            PHX_BARRIER();
            PHX_UNROLL
            for (u32 e = 0; e < EACH; e++) {
                const u32 i = e * GROUP + id, digit = digit_of(c[e], (u32)shift);
                if (i < count) to[(u64)targets[digit] + i - starts[digit]] = c[e];
            }
            PHX_BARRIER();
            PHX_UNROLL
            for (u32 e = 0; e < EACH; e++) {
                const u32 i = e * GROUP + id, digit = digit_of(c[e], (u32)shift);
                if (i < count && (i + 1 == count || digit_of(tile[i + 1], (u32)shift) != digit))
                    targets[digit] += i + 1 - starts[digit];
            }
            PHX_BARRIER();
        }
    }
}
