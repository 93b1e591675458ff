/* Sort by digits of 8 bits, from the lowest up, which keeps the order of equal ones: for cores. A
 * work-item counts, and then moves, one chunk of a row. Before this text: FORM and CODE as in sort.cl.
 * See Knuth, The Art of Computer Programming 3 (2nd ed.), 5.2.5.
 */
#define DIGITS 256
#if FORM == 2
#define KEY(c) ((c).key)
#elif FORM == 1
#define KEY(c) ((c) >> 32)
#else
#define KEY(c) (c)
#endif
#define DIGIT(c) ((u32)(KEY(c) >> shift) & (DIGITS - 1))
#define ALONE __kernel __attribute__((reqd_work_group_size(1, 1, 1))) void

/* counts[row][digit][chunk] */
ALONE count_digits(PHX_INPUT(CODE, from), PHX_OUTPUT(u32, counts), const ulong n, const ulong chunk,
                   const ulong shift) {
    const u64 part = get_global_id(0), parts = get_global_size(0), row = get_global_id(1);
    const u64 first = part * chunk, end = min(first + chunk, (u64)n);
    __global const CODE *from = PHX_DATA(from) + row * n;
    __global u32 *counts = PHX_DATA(counts) + row * DIGITS * parts + part;
    u32 found[DIGITS];
    for (u32 digit = 0; digit < DIGITS; digit++) found[digit] = 0;
    for (u64 i = first; i < end; i++) found[DIGIT(from[i])]++;
    for (u32 digit = 0; digit < DIGITS; digit++) counts[digit * parts] = found[digit];
}

/* Each count of a row becomes the sum of those before it. */
ALONE place_digits(PHX_OUTPUT(u32, counts), const ulong parts) {
    __global u32 *counts = PHX_DATA(counts) + get_global_id(0) * DIGITS * parts;
    u32 place = 0;
    for (u64 i = 0; i < DIGITS * parts; i++) {
        const u32 here = counts[i];
        counts[i] = place;
        place += here;
    }
}

ALONE move_digits(PHX_INPUT(CODE, from), PHX_INPUT(u32, counts), PHX_OUTPUT(CODE, to), const ulong n,
                  const ulong chunk, const ulong shift) {
    const u64 part = get_global_id(0), parts = get_global_size(0), row = get_global_id(1);
    const u64 first = part * chunk, end = min(first + chunk, (u64)n);
    __global const CODE *from = PHX_DATA(from) + row * n;
    __global const u32 *counts = PHX_DATA(counts) + row * DIGITS * parts + part;
    __global CODE *to = PHX_DATA(to) + row * n;
    u32 place[DIGITS];
    for (u32 digit = 0; digit < DIGITS; digit++) place[digit] = counts[digit * parts];
    for (u64 i = first; i < end; i++) {
        const CODE c = from[i];
        to[place[DIGIT(c)]++] = c;
    }
}
