/* How many numbers there are of each of n targets: counts of 32 bits in tables, which are added up. */

/* Each work-item counts its share of neighbours in a table of its own. */
PHX_KERNEL(GROUP) count_alone(PHX_INPUT(i64, ids), PHX_OUTPUT(u32, tables), const u64 m, const u64 n,
        const i64 step) {
    const u64 parts = PHX_GLOBAL_SIZE(0), me = PHX_GLOBAL_ID(0);
    const u64 share = (m + parts - 1) / parts, end = PHX_MIN((me + 1) * share, m);
    PHX_GLOBAL u32 *own = PHX_DATA(tables) + me * n;
    for (u64 t = 0; t < n; t++) own[t] = 0;
    for (u64 i = me * share; i < end; i++) {
        const i64 id = PHX_DATA(ids)[(i64)i * step];
        if (id >= 0 && id < (i64)n) own[id]++;
    }
}

/* Each group counts in local memory, in a table of at most BINS. */
PHX_KERNEL(GROUP) count_local(PHX_INPUT(i64, ids), PHX_OUTPUT(u32, tables), const u64 m, const u64 n,
        const i64 step) {
    PHX_LOCAL_ARRAY(u32, own, BINS);
    const u64 me = PHX_LOCAL_ID(0), lanes = PHX_LOCAL_SIZE(0);
    for (u64 t = me; t < n; t += lanes) own[t] = 0;
    PHX_BARRIER();
    for (u64 i = PHX_GLOBAL_ID(0); i < m; i += PHX_GLOBAL_SIZE(0)) {
        const i64 id = PHX_DATA(ids)[(i64)i * step];
        if (id >= 0 && id < (i64)n) PHX_LOCAL_ATOMIC_ADD(own, (u32)id, 1u);
    }
    PHX_BARRIER();
    for (u64 t = me; t < n; t += lanes) PHX_DATA(tables)[PHX_GROUP_ID(0) * n + t] = own[t];
}

/* All count in one table, which `clear` has made. */
PHX_KERNEL(GROUP) clear(PHX_OUTPUT(u32, tables), const u64 n) {
    for (u64 t = PHX_GLOBAL_ID(0); t < n; t += PHX_GLOBAL_SIZE(0)) PHX_DATA(tables)[t] = 0;
}

PHX_KERNEL(GROUP) count_together(PHX_INPUT(i64, ids), PHX_OUTPUT(u32, tables), const u64 m,
        const u64 n, const i64 step) {
    for (u64 i = PHX_GLOBAL_ID(0); i < m; i += PHX_GLOBAL_SIZE(0)) {
        const i64 id = PHX_DATA(ids)[(i64)i * step];
        if (id < 0 || id >= (i64)n) continue;
        PHX_GLOBAL u32 *slot = PHX_DATA(tables) + id;
        u32 seen = *slot, found = PHX_ATOMIC_CAS(slot, seen, seen + 1u);
        while (found != seen) {
            seen = found;
            found = PHX_ATOMIC_CAS(slot, seen, seen + 1u);
        }
    }
}

/* Counts are the sums over tables, behind those of the numbers before. */
PHX_KERNEL(GROUP) add_up(PHX_INPUT(u32, tables), PHX_OUTPUT(i64, y), const u64 parts, const u64 n,
        const i64 step, const u64 more) {
    for (u64 t = PHX_GLOBAL_ID(0); t < n; t += PHX_GLOBAL_SIZE(0)) {
        i64 sum = more ? PHX_DATA(y)[(i64)t * step] : 0;
        for (u64 p = 0; p < parts; p++) sum += (i64)PHX_DATA(tables)[p * n + t];
        PHX_DATA(y)[(i64)t * step] = sum;
    }
}
