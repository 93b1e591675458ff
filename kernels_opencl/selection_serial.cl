/* A work-item takes a block. */
SERIAL count_blocks(PHX_INPUT(u8, mask), PHX_OUTPUT(u64, counts), const i64 n, const i64 span) {
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
    (PHX_DATA(counts))[get_global_id(0)] = count;
}

/* CHUNK words are passed over at once if nothing in them is true. */
SERIAL write_blocks(PHX_INPUT(u8, mask), PHX_INPUT(T, x), PHX_OUTPUT(T, out), PHX_INPUT(u64, counts),
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
