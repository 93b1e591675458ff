/* Places, and elements, where a mask is true: counted block by block, then written.
 *
 * A mask is cut into aligned words of 8 places: word w has those from 8 w - skew on. T is the type of
 * what is written, VALUE(place) what it is. A block is `span` words; each block sums up how many
 * places are true before it, which is why there are not many blocks.
 */
#define LOW (u64)0x7F7F7F7F7F7F7F7F
#define ONES (u64)0x0101010101010101
#define SKEW(mask) ((i64)((u64)(mask) & 7))

/* Bit 0 of each byte: whether the byte is not 0. */
PHX_FN u64 truths(u64 m) { return (((m & LOW) + LOW) | m) >> 7 & ONES; }

PHX_FN u32 ones(u64 m) { return (u32)((m * ONES) >> 56); }

/* The truths from place `at` on; places outside of the mask are false. */
PHX_FN u64 word_at(PHX_GLOBAL const u8 *mask, const i64 at, const i64 n) {
    if (at >= 0 && at + 8 <= n) return truths(*(PHX_GLOBAL const u64 *)(mask + at));
    u64 m = 0;
    for (i64 b = 0; b < 8; b++)
        if (at + b >= 0 && at + b < n && mask[at + b]) m |= (u64)1 << (8 * b);
    return m;
}
