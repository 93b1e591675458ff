/* Loops that only move bytes: copies, selection and transposition, by item size. */
#include <string.h>

#include "elementwise.h"

typedef struct {
    u64 half[2];
} item_16;
typedef u8 item_1;
typedef u16 item_2;
typedef u32 item_4;
typedef u64 item_8;

#define DEFINE_COPY(SIZE)                                                                                    \
    void cpu_copy_##SIZE(CPU_LOOP_ARGS) {                                                                    \
        if (s_[1] == SIZE && s_[0] == SIZE) {                                                                \
            if (p_[0] != p_[1]) memcpy(p_[1], p_[0], (size_t)n_ * SIZE);                                     \
            return;                                                                                          \
        }                                                                                                    \
        if (s_[1] == SIZE && s_[0] == 0) {                                                                   \
            const item_##SIZE value = *(const item_##SIZE *)p_[0];                                           \
            item_##SIZE *out = (item_##SIZE *)p_[1];                                                         \
            for (int64_t i = 0; i < n_; i++) out[i] = value;                                                 \
            return;                                                                                          \
        }                                                                                                    \
        const char *from = p_[0];                                                                            \
        char *to = p_[1];                                                                                    \
        for (int64_t i = 0; i < n_; i++, from += s_[0], to += s_[1])                                         \
            *(item_##SIZE *)to = *(const item_##SIZE *)from;                                                 \
    }
CPU_EACH_SIZE(DEFINE_COPY)

#define MEM_1 item_1
#define MEM_2 item_2
#define MEM_4 item_4
#define MEM_8 item_8
#define MEM_16 item_16
#define VAL_1 item_1
#define VAL_2 item_2
#define VAL_4 item_4
#define VAL_8 item_8
#define VAL_16 item_16
#define GET_1(x) (x)
#define GET_2(x) (x)
#define GET_4(x) (x)
#define GET_8(x) (x)
#define GET_16(x) (x)
#define PUT_1(x) (x)
#define PUT_2(x) (x)
#define PUT_4(x) (x)
#define PUT_8(x) (x)
#define PUT_16(x) (x)

#define DEFINE_WHERE(SIZE) CPU_TERNARY(cpu_where_##SIZE, b, SIZE, SIZE, SIZE, a ? b : c)
CPU_EACH_SIZE(DEFINE_WHERE)

/* Blocks of CELL x CELL items: the loads of a block are dense, and so are its stores. */
#define DEFINE_TRANSPOSE(SIZE, CELL)                                                                         \
    static void transpose_##SIZE(char *dst, int64_t dst_row, const char *src, int64_t src_column,            \
                                 int64_t rows, int64_t columns) {                                            \
        int64_t r = 0;                                                                                       \
        for (; r + CELL <= rows; r += CELL) {                                                                \
            int64_t c = 0;                                                                                   \
            for (; c + CELL <= columns; c += CELL) {                                                         \
                item_##SIZE cell[CELL][CELL];                                                                \
                for (int k = 0; k < CELL; k++)                                                               \
                    memcpy(cell[k], src + (c + k) * src_column + r * SIZE, sizeof cell[k]);                  \
                for (int j = 0; j < CELL; j++) {                                                             \
                    item_##SIZE line[CELL];                                                                  \
                    for (int k = 0; k < CELL; k++) line[k] = cell[k][j];                                     \
                    memcpy(dst + (r + j) * dst_row + c * SIZE, line, sizeof line);                           \
                }                                                                                            \
            }                                                                                                \
            for (; c < columns; c++)                                                                         \
                for (int j = 0; j < CELL; j++)                                                               \
                    *(item_##SIZE *)(dst + (r + j) * dst_row + c * SIZE) =                                   \
                        *(const item_##SIZE *)(src + c * src_column + (r + j) * SIZE);                       \
        }                                                                                                    \
        for (; r < rows; r++)                                                                                \
            for (int64_t c = 0; c < columns; c++)                                                            \
                *(item_##SIZE *)(dst + r * dst_row + c * SIZE) =                                             \
                    *(const item_##SIZE *)(src + c * src_column + r * SIZE);                                 \
    }
DEFINE_TRANSPOSE(1, 16)
DEFINE_TRANSPOSE(2, 8)
DEFINE_TRANSPOSE(4, 8)
DEFINE_TRANSPOSE(8, 8)
DEFINE_TRANSPOSE(16, 4)

void cpu_transpose(char *dst, int64_t dst_row, const char *src, int64_t src_column, int64_t rows, int64_t columns,
                   int64_t itemsize) {
    switch (itemsize) {
        case 1: transpose_1(dst, dst_row, src, src_column, rows, columns); break;
        case 2: transpose_2(dst, dst_row, src, src_column, rows, columns); break;
        case 4: transpose_4(dst, dst_row, src, src_column, rows, columns); break;
        case 8: transpose_8(dst, dst_row, src, src_column, rows, columns); break;
        default: transpose_16(dst, dst_row, src, src_column, rows, columns); break;
    }
}
