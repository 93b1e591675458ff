/* How the groups of a scan tell each other totals: each tells those of its blocks, and waits for those
 * before, which other groups have taken on earlier.
 *
 * A row's totals lie one level behind the other: those of its blocks, those of BLOCK of these, and so on.
 * One is WORDS words, each with 32 of its bits and, above them, 1 as soon as it is there.
 */
typedef union {
    U value;
    u32 part[WORDS];
} scan_parts;

PHX_FN void tell_total(PHX_GLOBAL u64 *to, const U value) {
    scan_parts s;
    s.part[0] = 0;
    s.value = value;
    for (u32 w = 0; w < WORDS; w++) PHX_ATOMIC_STORE64(to + w, (u64)1 << 32 | s.part[w]);
}

PHX_FN U await_total(PHX_GLOBAL u64 *from) {
    scan_parts s;
    for (u32 w = 0; w < WORDS; w++) {
        u64 word = PHX_ATOMIC_LOAD64(from + w);
        while (!(word >> 32)) word = PHX_ATOMIC_LOAD64(from + w);
        s.part[w] = (u32)word;
    }
    return s.value;
}

/* The sum of count <= BLOCK totals, from the left. All work-items come here, and get it. */
PHX_FN U sum_totals(PHX_GLOBAL u64 *from, const u32 count, PHX_LOCAL_PTR(U) seen, const u32 id) {
    PHX_BARRIER();
    for (u32 k = id; k < count; k += GROUP) seen[k] = await_total(from + (u64)k * WORDS);
    PHX_BARRIER();
    U a = FIRST;
    PHX_ORDERED
    for (u32 k = 0; k < count; k++) a = NEXT(a, k > 0, seen[k]);
    return a;
}

/* Element i of the scan of `count` totals: the sum in its block, behind that of the blocks before. */
PHX_FN U scan_of_totals(PHX_GLOBAL u64 *from, const u64 count, const u64 i, PHX_LOCAL_PTR(U) seen, const u32 id) {
    u32 levels = 1;
    for (u64 k = i; k >= BLOCK; k = k / BLOCK - 1) levels++;
    U a = FIRST;
    for (u32 level = levels; level-- > 0;) {
        PHX_GLOBAL u64 *totals = from;
        u64 k = i, counted = count;
        for (u32 below = 0; below < level; below++) {
            totals += counted * WORDS;
            counted /= BLOCK;
            k = k / BLOCK - 1;
        }
        const U sum = sum_totals(totals + k / BLOCK * BLOCK * WORDS, (u32)(k % BLOCK) + 1, seen, id);
        a = NEXT(a, level + 1 < levels, sum);
    }
    return a;
}

/* The carries of a tile of whole blocks from `first` on, and the totals of BLOCK blocks that end in it. */
PHX_FN void await_carries(PHX_GLOBAL u64 *own, const u64 count, const u64 first, PHX_LOCAL_PTR(U) totals,
        PHX_LOCAL_PTR(U) carries, PHX_LOCAL_PTR(U) seen, const u32 id) {
    const u64 begin = first / BLOCK * BLOCK; /* of the block of totals */
    const i32 above = begin > 0;
    U a = FIRST, upper = FIRST, before = FIRST;
    if (first > begin) a = sum_totals(own + begin * WORDS, (u32)(first - begin), seen, id);
    for (u32 k = 0; k < TILE; k++) {
        if (id == 0) carries[k] = a;
        a = NEXT(a, first + k > begin, totals[k]);
    }
    /* told before anything of the levels above is awaited: else each block of totals waits for the last one */
    PHX_GLOBAL u64 *level = own;
    u64 end = first + TILE, counted = count;
    while (end % BLOCK == 0 && end <= counted) { /* a is the total of those BLOCK that end there */
        level += counted * WORDS;
        counted /= BLOCK;
        end /= BLOCK;
        if (id == 0) tell_total(level + (end - 1) * WORDS, a);
        if (end % BLOCK == 0) a = sum_totals(level + (end - BLOCK) * WORDS, BLOCK, seen, id);
    }
    if (!above) return;
    upper = scan_of_totals(own + count * WORDS, count / BLOCK, begin / BLOCK - 1, seen, id);
    if (first == begin) before = scan_of_totals(own, count, first - 1, seen, id);
    if (id < TILE) carries[id] = id == 0 && first == begin ? before : OP(upper, carries[id]);
}

PHX_KERNEL(GROUP) scan_clear(PHX_OUTPUT(u64, words), const u64 n) {
    for (u64 i = PHX_GLOBAL_ID(0); i < n; i += PHX_GLOBAL_SIZE(0)) PHX_DATA(words)[i] = 0;
}
