/* Write slices at element offsets; of several at one offset the last stays. */

PHX_KERNEL(GROUP) scatter_ordered(PHX_INPUT(T, v), PHX_INPUT(i64, f), PHX_OUTPUT(T, o), const axes a,
        const u64 inner, const u64 span, const u64 m,
        const i64 f_step, const i64 v_step) {
    const u64 all = PHX_GLOBAL_SIZE(0) * span;
    for (u64 begin = PHX_GLOBAL_ID(0) * span; begin < inner; begin += all) {
        const u64 end = PHX_MIN(begin + span, inner);
        for (u64 i = 0; i < m; i++) {
            const i64 offset = PHX_DATA(f)[(i64)i * f_step];
            for (u64 p = begin; p < end && IS_PLACE(offset); p++) {
                i64 at[2] = {0, 0};
                walk(&a, (place)p, at);
                PHX_DATA(o)[offset + at[1]] = PHX_DATA(v)[(i64)i * v_step + at[0]];
            }
        }
    }
}

/* A table has at least twice as many slots as slices. A slot belongs to one offset and names the last
 * slice with that offset, counted from 1: whoever claims it first, the largest number stays. */
PHX_FN u32 slot_of(i64 offset, u64 shift) {
    return (u32)(((u64)offset * (u64)0x9E3779B97F4A7C15) >> shift);
}

PHX_KERNEL(GROUP) clear(PHX_OUTPUT(u32, table), const u64 slots) {
    for (u64 i = PHX_GLOBAL_ID(0); i < slots; i += PHX_GLOBAL_SIZE(0)) PHX_DATA(table)[i] = 0;
}

PHX_KERNEL(GROUP) claim(PHX_INPUT(i64, f), PHX_OUTPUT(u32, table), const u64 m, const i64 f_step,
        const u64 shift) {
    PHX_GLOBAL u32 *slots = PHX_DATA(table);
    const u32 mask = (u32)(((u64)1 << (64 - shift)) - 1);
    for (u64 i = PHX_GLOBAL_ID(0); i < m; i += PHX_GLOBAL_SIZE(0)) {
        const i64 offset = PHX_DATA(f)[(i64)i * f_step];
        u32 slot = slot_of(offset, shift);
        for (;; slot = (slot + 1) & mask) {
            const u32 other = PHX_ATOMIC_CAS(slots + slot, 0u, (u32)i + 1u);
            if (other == 0) break;
            if (PHX_DATA(f)[((i64)other - 1) * f_step] == offset) {
                PHX_ATOMIC_MAX(slots + slot, (u32)i + 1u);
                break;
            }
        }
    }
}

PHX_KERNEL(GROUP) mark(PHX_INPUT(i64, f), PHX_INPUT(u32, table), PHX_OUTPUT(u8, last), const u64 m,
        const i64 f_step, const u64 shift) {
    const u32 mask = (u32)(((u64)1 << (64 - shift)) - 1);
    for (u64 i = PHX_GLOBAL_ID(0); i < m; i += PHX_GLOBAL_SIZE(0)) {
        const i64 offset = PHX_DATA(f)[(i64)i * f_step];
        u32 slot = slot_of(offset, shift), winner;
        for (;; slot = (slot + 1) & mask) {
            winner = PHX_DATA(table)[slot];
            if (PHX_DATA(f)[((i64)winner - 1) * f_step] == offset) break;
        }
        PHX_DATA(last)[i] = (u8)(winner == (u32)i + 1u && IS_PLACE(offset));
    }
}

PHX_KERNEL(GROUP) scatter_last(PHX_INPUT(T, v), PHX_INPUT(i64, f), PHX_INPUT(u8, last),
        PHX_OUTPUT(T, o), const axes a, const u64 inner, const u64 m,
        const i64 f_step, const i64 v_step) {
    for (u64 p = PHX_GLOBAL_ID(1 - ROWS); p < inner; p += PHX_GLOBAL_SIZE(1 - ROWS)) {
        i64 at[2] = {0, 0};
        walk(&a, (place)p, at);
        for (u64 i = PHX_GLOBAL_ID(ROWS); i < m; i += PHX_GLOBAL_SIZE(ROWS))
            if (PHX_DATA(last)[i])
                PHX_DATA(o)[PHX_DATA(f)[(i64)i * f_step] + at[1]] =
                        PHX_DATA(v)[(i64)i * v_step + at[0]];
    }
}
