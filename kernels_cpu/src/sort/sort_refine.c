/* The second half of an argsort by keys of which a code holds only the upper bits. */
#include "sort/sort_internal.h"

#define SHORT_RUN 16

/* Order a few codes by their whole keys; equal keys keep their order. */
static void order_short_run(const sort_row *row, uint64_t *codes, size_t n) {
    const uint64_t places = ((uint64_t)1 << row->index_bits) - 1;
    uint64_t keys[SHORT_RUN];
    for (size_t i = 0; i < n; i++) {
        uint64_t code = codes[i], key = phx_sort_key(row, (size_t)(code & places));
        size_t j = i;
        for (; j > 0 && keys[j - 1] > key; j--) {
            keys[j] = keys[j - 1];
            codes[j] = codes[j - 1];
        }
        keys[j] = key;
        codes[j] = code;
    }
}

void phx_sort_refine(const sort_row *row, uint64_t *codes, uint64_t *spare, size_t n, int rest) {
    const int bits = row->index_bits, take = rest < 64 - bits ? rest : 64 - bits;
    const uint64_t places = ((uint64_t)1 << bits) - 1, mask = ~(uint64_t)0 >> (64 - take);
    for (size_t first = 0, last; first < n; first = last) {
        const uint64_t top = codes[first] >> bits;
        for (last = first + 1; last < n && codes[last] >> bits == top; last++) {
        }
        size_t run = last - first;
        if (run == 1) continue;
        if (run <= SHORT_RUN) {
            order_short_run(row, codes + first, run);
            continue;
        }
        for (size_t i = first; i < last; i++) {
            uint64_t place = codes[i] & places;
            codes[i] = (phx_sort_key(row, (size_t)place) >> (rest - take) & mask) << bits | place;
        }
        phx_sort_codes_64(codes + first, spare, run, bits);
        if (rest > take) phx_sort_refine(row, codes + first, spare, run, rest - take);
    }
}
