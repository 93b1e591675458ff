/* Elements to unsigned keys and back; see sort_order for the formula. */
#include "sort/sort_internal.h"

#include <string.h>

/* The branch on the stride gives the compiler a contiguous loop to vectorise. */
#define ENCODE(W)                                                                                  \
    static inline __attribute__((always_inline)) void encode_any_##W(                              \
        const sort_order *o, uint##W##_t *keys, const char *x, int64_t stride, size_t n) {         \
        const int##W##_t magnitude = (int##W##_t)o->magnitude, infinite = (int##W##_t)o->infinite; \
        const int##W##_t one_zero = (int##W##_t)o->one_zero;                                       \
        const int##W##_t turn = (int##W##_t)(o->sign ^ o->flip);                                   \
        const int is_float = W > 8 && o->is_float; /* integers are their own order */              \
        for (size_t i = 0; i < n; i++) {                                                           \
            int##W##_t b;                                                                          \
            memcpy(&b, x + (int64_t)i * stride, sizeof b);                                         \
            if (is_float) b = phx_order_i##W(b, magnitude, infinite, one_zero, 0);                 \
            keys[i] = (uint##W##_t)(b ^ turn);                                                     \
        }                                                                                          \
    }                                                                                              \
    static void encode_##W(const sort_row *row, uint##W##_t *keys, size_t first, size_t n) {       \
        const char *x = row->x + (int64_t)first * row->x_stride;                                   \
        if (row->x_stride == sizeof *keys)                                                         \
            encode_any_##W(&row->order, keys, x, sizeof *keys, n);                                 \
        else                                                                                       \
            encode_any_##W(&row->order, keys, x, row->x_stride, n);                                \
    }

ENCODE(8)
ENCODE(16)
ENCODE(32)
ENCODE(64)

#define DECODE(NAME, W, CODE)                                                                                  \
    static inline __attribute__((always_inline)) void NAME##_any(                                              \
        const sort_order *o, const CODE *keys, char *out, int64_t stride, size_t n) {                          \
        const int##W##_t magnitude = (int##W##_t)o->magnitude, turn = (int##W##_t)(o->sign ^ o->flip);         \
        const int is_float = W > 8 && o->is_float;                                                             \
        for (size_t i = 0; i < n; i++) {                                                                       \
            const int##W##_t key = (int##W##_t)keys[i];                                                        \
            const int##W##_t t = is_float ? phx_unorder_i##W(key, magnitude, turn) : (int##W##_t)(key ^ turn); \
            memcpy(out + (int64_t)i * stride, &t, sizeof t);                                                   \
        }                                                                                                      \
    }                                                                                                          \
    static void NAME(const sort_row *row, const CODE *keys, size_t first, size_t n) {                          \
        char *out = row->out + (int64_t)first * row->out_stride;                                               \
        if (row->out_stride == W / 8)                                                                          \
            NAME##_any(&row->order, keys, out, W / 8, n);                                                      \
        else                                                                                                   \
            NAME##_any(&row->order, keys, out, row->out_stride, n);                                            \
    }

DECODE(decode_32_8, 8, uint32_t)
DECODE(decode_32_16, 16, uint32_t)
DECODE(decode_32_32, 32, uint32_t)
DECODE(decode_64_64, 64, uint64_t)

/* Put the places of the elements below their keys; without an index the code is the key. */
#define PACK(W, C)                                                                    \
    static void pack_##W##_##C(const sort_row *row, uint##C##_t *codes, size_t first, \
                               size_t count) {                                        \
        uint##W##_t keys[SORT_BLOCK];                                                 \
        const int up = row->up, down = row->down, bits = row->index_bits;             \
        const uint##C##_t places = bits ? (uint##C##_t) - 1 : 0;                      \
        while (count) {                                                               \
            size_t step = count < SORT_BLOCK ? count : SORT_BLOCK;                    \
            encode_##W(row, keys, first, step);                                       \
            for (size_t i = 0; i < step; i++)                                         \
                codes[i] = (uint##C##_t)keys[i] << up >> down << bits |               \
                           ((uint##C##_t)(first + i) & places);                       \
            codes += step, first += step, count -= step;                              \
        }                                                                             \
    }

PACK(8, 32)
PACK(16, 32)
PACK(8, 64)
PACK(16, 64)
PACK(32, 64)
PACK(64, 64)

void phx_sort_load_32(const sort_row *row, uint32_t *codes, size_t first, size_t count) {
    if (row->order.width == 4)
        encode_32(row, codes, first, count);
    else if (row->order.width == 2)
        pack_16_32(row, codes, first, count);
    else
        pack_8_32(row, codes, first, count);
}

void phx_sort_load_64(const sort_row *row, uint64_t *codes, size_t first, size_t count) {
    if (!row->index_bits)
        encode_64(row, codes, first, count);
    else if (row->order.width == 8)
        pack_64_64(row, codes, first, count);
    else if (row->order.width == 4)
        pack_32_64(row, codes, first, count);
    else if (row->order.width == 2)
        pack_16_64(row, codes, first, count);
    else
        pack_8_64(row, codes, first, count);
}

/* Write places as int64. */
#define UNPACK(C)                                                                       \
    static void unpack_##C(const sort_row *row, const uint##C##_t *codes, size_t first, \
                           size_t count) {                                              \
        const uint##C##_t places = (uint##C##_t)(((uint64_t)1 << row->index_bits) - 1); \
        char *out = row->out + (int64_t)first * row->out_stride;                        \
        if (row->out_stride == 8) {                                                     \
            for (size_t i = 0; i < count; i++) {                                        \
                int64_t place = (int64_t)(codes[i] & places);                           \
                memcpy(out + i * 8, &place, 8);                                         \
            }                                                                           \
            return;                                                                     \
        }                                                                               \
        for (size_t i = 0; i < count; i++) {                                            \
            int64_t place = (int64_t)(codes[i] & places);                               \
            memcpy(out + (int64_t)i * row->out_stride, &place, 8);                      \
        }                                                                               \
    }

UNPACK(32)
UNPACK(64)

void phx_sort_store_32(const sort_row *row, const uint32_t *codes, size_t first, size_t count) {
    if (row->index_bits)
        unpack_32(row, codes, first, count);
    else if (row->order.width == 4)
        decode_32_32(row, codes, first, count);
    else if (row->order.width == 2)
        decode_32_16(row, codes, first, count);
    else
        decode_32_8(row, codes, first, count);
}

void phx_sort_store_64(const sort_row *row, const uint64_t *codes, size_t first, size_t count) {
    if (row->index_bits)
        unpack_64(row, codes, first, count);
    else
        decode_64_64(row, codes, first, count);
}

uint64_t phx_sort_key(const sort_row *row, size_t place) {
    uint64_t key = 0;
    uint32_t key32 = 0;
    if (row->order.width == 8) {
        encode_64(row, &key, place, 1);
        return key;
    }
    if (row->order.width == 4) {
        encode_32(row, &key32, place, 1);
        return key32;
    }
    sort_row plain = *row;
    plain.index_bits = 0;
    phx_sort_load_32(&plain, &key32, place, 1);
    return key32;
}

static int is_nan(const sort_row *row, const char *p) {
    uint64_t bits = 0, all = ~(uint64_t)0 >> (65 - 8 * row->order.width);
    memcpy(&bits, p,
           (size_t)row->order.width); /* little-endian, like every target of these kernels */
    return (bits & all) > row->order.infinite;
}

void phx_sort_restore_nans(const sort_row *row) {
    const int width = row->order.width;
    if (!row->order.is_float || row->n == 0) return;
    const char *end = row->out + (int64_t)(row->n - 1) * row->out_stride;
    if (!is_nan(row, row->order.flip ? row->out : end)) return;
    size_t nans = 1, at = 0;
    if (!row->order.flip) {
        while (nans < row->n && is_nan(row, end - (int64_t)nans * row->out_stride)) nans++;
        at = row->n - nans;
    }
    for (size_t i = 0; i < row->n; i++) {
        const char *p = row->x + (int64_t)i * row->x_stride;
        if (is_nan(row, p)) memcpy(row->out + (int64_t)at++ * row->out_stride, p, (size_t)width);
    }
}
