/* Loops that only move bytes: copies, selection and transposition, by item size. */
#include <string.h>

#include "elementwise/elementwise.h"

typedef struct {
    u64 half[2];
} item_16;
typedef u8 item_1;
typedef u16 item_2;
typedef u32 item_4;
typedef u64 item_8;

/* Dense items from every STEP-th one, by a constant step so that vectors are loaded and shuffled. */
#define PACK_(SIZE, STEP)                                         \
    if (s_[0] == (STEP) * SIZE) {                                 \
        const item_##SIZE *in = (const item_##SIZE *)p_[0];       \
        for (int64_t i = 0; i < n_; i++) out[i] = in[(STEP) * i]; \
        return;                                                   \
    }

#define DEFINE_PACK(SIZE)                                                              \
    static void pack_##SIZE(CPU_LOOP_ARGS) {                                           \
        item_##SIZE *restrict out = (item_##SIZE *)p_[1];                              \
        PACK_(SIZE, 2)                                                                 \
        PACK_(SIZE, 3)                                                                 \
        PACK_(SIZE, 4)                                                                 \
        PACK_(SIZE, -1)                                                                \
        const char *from = p_[0];                                                      \
        for (int64_t i = 0; i < n_; i++, from += s_[0]) out[i] = *(item_##SIZE *)from; \
    }
CPU_EACH_SIZE(DEFINE_PACK)

#define DEFINE_COPY(SIZE)                                                \
    void cpu_copy_##SIZE(CPU_LOOP_ARGS) {                                \
        if (s_[1] == SIZE && s_[0] == SIZE) {                            \
            if (p_[0] != p_[1]) memcpy(p_[1], p_[0], (size_t)n_ * SIZE); \
            return;                                                      \
        }                                                                \
        if (s_[1] == SIZE && s_[0] == 0) {                               \
            const item_##SIZE value = *(const item_##SIZE *)p_[0];       \
            item_##SIZE *out = (item_##SIZE *)p_[1];                     \
            for (int64_t i = 0; i < n_; i++) out[i] = value;             \
            return;                                                      \
        }                                                                \
        if (s_[1] == SIZE) {                                             \
            pack_##SIZE(p_, s_, n_);                                     \
            return;                                                      \
        }                                                                \
        const char *from = p_[0];                                        \
        char *to = p_[1];                                                \
        for (int64_t i = 0; i < n_; i++, from += s_[0], to += s_[1])     \
            *(item_##SIZE *)to = *(const item_##SIZE *)from;             \
    }
CPU_EACH_SIZE(DEFINE_COPY)

#define DEFINE_WHERE(SIZE) CPU_TERNARY(cpu_where_##SIZE, u8, item_##SIZE, item_##SIZE, item_##SIZE, a ? b : c)
CPU_EACH_SIZE(DEFINE_WHERE)

/* ---- transposition: cells of CELL x CELL items go through registers, the rest item by item
 * ----------------------- */

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector) /* gcc 12, clang */
#define HAS_SHUFFLE 1
#endif
#endif

#ifdef HAS_SHUFFLE
typedef u32 lanes_4 __attribute__((vector_size(32)));
typedef u64 lanes_8 __attribute__((vector_size(32)));

#define LOAD(V, AT) __builtin_memcpy(&(V), AT, sizeof(V))
#define STORE(AT, V) __builtin_memcpy(AT, &(V), sizeof(V))
#define PICK __builtin_shufflevector

/* Three rounds of exchanges: of single items, of pairs, of halves. */
static inline void cell_4(char *dst, int64_t dst_row, const char *src, int64_t src_column) {
    lanes_4 v[8], w[8];
    for (int k = 0; k < 8; k++) LOAD(v[k], src + k * src_column);
    for (int k = 0; k < 8; k += 2) {
        w[k] = PICK(v[k], v[k + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        w[k + 1] = PICK(v[k], v[k + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (int k = 0; k < 8; k += 4) {
        for (int j = 0; j < 2; j++) {
            v[k + 2 * j] = PICK(w[k + j], w[k + j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            v[k + 2 * j + 1] = PICK(w[k + j], w[k + j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    }
    for (int k = 0; k < 4; k++) {
        w[k] = PICK(v[k], v[k + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        w[k + 4] = PICK(v[k], v[k + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
    for (int k = 0; k < 8; k++) STORE(dst + k * dst_row, w[k]);
}

static inline void cell_8(char *dst, int64_t dst_row, const char *src, int64_t src_column) {
    lanes_8 v[4], w[4];
    for (int k = 0; k < 4; k++) LOAD(v[k], src + k * src_column);
    for (int k = 0; k < 4; k += 2) {
        w[k] = PICK(v[k], v[k + 1], 0, 4, 2, 6);
        w[k + 1] = PICK(v[k], v[k + 1], 1, 5, 3, 7);
    }
    for (int k = 0; k < 2; k++) {
        v[k] = PICK(w[k], w[k + 2], 0, 1, 4, 5);
        v[k + 2] = PICK(w[k], w[k + 2], 2, 3, 6, 7);
    }
    for (int k = 0; k < 4; k++) STORE(dst + k * dst_row, v[k]);
}
#endif

#define DEFINE_CELL(SIZE, CELL)                                                                       \
    static inline void cell_##SIZE(char *dst, int64_t dst_row, const char *src, int64_t src_column) { \
        item_##SIZE cell[CELL][CELL];                                                                 \
        for (int k = 0; k < CELL; k++) memcpy(cell[k], src + k * src_column, sizeof cell[k]);         \
        for (int j = 0; j < CELL; j++) {                                                              \
            item_##SIZE line[CELL];                                                                   \
            for (int k = 0; k < CELL; k++) line[k] = cell[k][j];                                      \
            memcpy(dst + j * dst_row, line, sizeof line);                                             \
        }                                                                                             \
    }
DEFINE_CELL(1, 16)
DEFINE_CELL(2, 8)
DEFINE_CELL(16, 4)
#ifndef HAS_SHUFFLE
DEFINE_CELL(4, 8)
DEFINE_CELL(8, 4)
#endif

#define DEFINE_TRANSPOSE(SIZE, CELL)                                                                \
    static void transpose_##SIZE(char *dst, int64_t dst_row, const char *src, int64_t src_column,   \
                                 int64_t rows, int64_t columns) {                                   \
        const int64_t whole_rows = rows - rows % CELL, whole_columns = columns - columns % CELL;    \
        for (int64_t r = 0; r < whole_rows; r += CELL)                                              \
            for (int64_t c = 0; c < whole_columns; c += CELL)                                       \
                cell_##SIZE(dst + r * dst_row + c * SIZE, dst_row, src + c * src_column + r * SIZE, \
                            src_column);                                                            \
        for (int64_t r = 0; r < rows; r++)                                                          \
            for (int64_t c = r < whole_rows ? whole_columns : 0; c < columns; c++)                  \
                *(item_##SIZE *)(dst + r * dst_row + c * SIZE) =                                    \
                    *(const item_##SIZE *)(src + c * src_column + r * SIZE);                        \
    }
DEFINE_TRANSPOSE(1, 16)
DEFINE_TRANSPOSE(2, 8)
DEFINE_TRANSPOSE(4, 8)
DEFINE_TRANSPOSE(8, 4)
DEFINE_TRANSPOSE(16, 4)

void cpu_transpose(char *dst, int64_t dst_row, const char *src, int64_t src_column, int64_t rows,
                   int64_t columns, int64_t itemsize) {
    switch (itemsize) {
    case 1: transpose_1(dst, dst_row, src, src_column, rows, columns); break;
    case 2: transpose_2(dst, dst_row, src, src_column, rows, columns); break;
    case 4: transpose_4(dst, dst_row, src, src_column, rows, columns); break;
    case 8: transpose_8(dst, dst_row, src, src_column, rows, columns); break;
    default: transpose_16(dst, dst_row, src, src_column, rows, columns); break;
    }
}
