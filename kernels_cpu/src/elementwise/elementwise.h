/* Inner loops of elementwise kernels: the macros from which the build step generates them.
 *
 * A loop has the type cpu_loop. Loops of cheap expressions have one variant for contiguous operands, one for each
 * single operand of stride 0, and one for any strides. Loops of dear expressions (their names end in _unit) take
 * contiguous operands only; the drivers hand them others through buffers, which costs little beside the expression.
 * float16 and bfloat16 run loops of float32 on blocks, so theirs are of this kind too.
 * An operand may be the output itself: each element is read before it is written, hence the ivdep.
 * The macros take C types in memory, inputs then output, and an expression of the elements a, b and c. The same
 * memory is seen as floats here and as integers or bytes there: the build has -fno-strict-aliasing.
 */
#ifndef PHX_CPU_ELEMENTWISE_H_
#define PHX_CPU_ELEMENTWISE_H_

#include <stdbool.h>

#include "runtime/kernel.h"

#include "convert.h"

#define MAX_OPERANDS 4

/* Drivers: the whole of a call. */
phx_error *cpu_map(const cpu_kernel *self, const phx_call *call);
phx_error *cpu_map_unit(const cpu_kernel *self, const phx_call *call);
phx_error *cpu_map_strided(const cpu_kernel *self, const phx_call *call);
phx_error *cpu_map_strided_unit(const cpu_kernel *self, const phx_call *call);

/* Both rows of a signature. */
#define CPU_MAP(OP, DTYPES, N_IN, BOUND, LOOP, COST)                                    \
    CPU_KERNEL(OP, DTYPES, N_IN, 1, PHX_LAYOUT_CONTIGUOUS, BOUND, cpu_map, LOOP, COST), \
        CPU_KERNEL(OP, DTYPES, N_IN, 1, PHX_LAYOUT_STRIDED, BOUND, cpu_map_strided, LOOP, COST)
#define CPU_MAP_UNIT(OP, DTYPES, N_IN, BOUND, LOOP, COST)                                    \
    CPU_KERNEL(OP, DTYPES, N_IN, 1, PHX_LAYOUT_CONTIGUOUS, BOUND, cpu_map_unit, LOOP, COST), \
        CPU_KERNEL(OP, DTYPES, N_IN, 1, PHX_LAYOUT_STRIDED, BOUND, cpu_map_strided_unit, LOOP, COST)

/* Loops that only move bytes, by item size. */
#define CPU_EACH_SIZE(X) X(1) X(2) X(4) X(8) X(16)
#define CPU_DECLARE_MOVES(SIZE)                                        \
    void cpu_copy_##SIZE(char *const *p, const int64_t *s, int64_t n); \
    void cpu_where_##SIZE(char *const *p, const int64_t *s, int64_t n);
CPU_EACH_SIZE(CPU_DECLARE_MOVES)
#undef CPU_DECLARE_MOVES

/* A transposing copy: item (r, c) of dst is item (c, r) of src; the strides are in bytes. */
void cpu_transpose(char *dst, int64_t dst_row, const char *src, int64_t src_column, int64_t rows, int64_t columns,
                   int64_t itemsize);

#define CPU_IVDEP _Pragma("GCC ivdep")
#define CPU_LOOP_ARGS char *const *p_, const int64_t *s_, int64_t n_

/* One pass with unit output stride; A_AT, B_AT, C_AT are x_[i_], y_[i_], z_[i_] or an element read before. */
#define CPU_PASS_1_(A, O, EXPR)                             \
    {                                                       \
        const A *x_ = (const A *)p_[0];                     \
        O *o_ = (O *)p_[1];                                 \
        CPU_IVDEP for (int64_t i_ = 0; i_ < n_; i_++) {     \
            const A a = x_[i_];                             \
            (void)a; /* some answers do not depend on it */ \
            o_[i_] = EXPR;                                  \
        }                                                   \
    }

#define CPU_PASS_2_(A, B, O, EXPR, A_AT, B_AT)          \
    {                                                   \
        const A *x_ = (const A *)p_[0];                 \
        const B *y_ = (const B *)p_[1];                 \
        O *o_ = (O *)p_[2];                             \
        CPU_IVDEP for (int64_t i_ = 0; i_ < n_; i_++) { \
            const A a = A_AT;                           \
            const B b = B_AT;                           \
            o_[i_] = EXPR;                              \
        }                                               \
    }

#define CPU_PASS_3_(A, B, C, O, EXPR, B_AT, C_AT)       \
    {                                                   \
        const A *x_ = (const A *)p_[0];                 \
        const B *y_ = (const B *)p_[1];                 \
        const C *z_ = (const C *)p_[2];                 \
        O *o_ = (O *)p_[3];                             \
        CPU_IVDEP for (int64_t i_ = 0; i_ < n_; i_++) { \
            const A a = x_[i_];                         \
            const B b = B_AT;                           \
            const C c = C_AT;                           \
            o_[i_] = EXPR;                              \
        }                                               \
    }

#define CPU_UNARY_UNIT(NAME, A, O, EXPR) \
    static void NAME(CPU_LOOP_ARGS) {    \
        (void)s_;                        \
        CPU_PASS_1_(A, O, EXPR)          \
    }

#define CPU_BINARY_UNIT(NAME, A, B, O, EXPR)       \
    static void NAME(CPU_LOOP_ARGS) {              \
        (void)s_;                                  \
        CPU_PASS_2_(A, B, O, EXPR, x_[i_], y_[i_]) \
    }

#define CPU_PASS_STRIDED_1_(A, O, EXPR)                                 \
    {                                                                   \
        const char *x_ = p_[0];                                         \
        char *o_ = p_[1];                                               \
        for (int64_t i_ = 0; i_ < n_; i_++, x_ += s_[0], o_ += s_[1]) { \
            const A a = *(const A *)x_;                                 \
            (void)a;                                                    \
            *(O *)o_ = EXPR;                                            \
        }                                                               \
    }

#define CPU_UNARY(NAME, A, O, EXPR)                   \
    static void NAME(CPU_LOOP_ARGS) {                 \
        if (s_[0] == sizeof(A) && s_[1] == sizeof(O)) \
            CPU_PASS_1_(A, O, EXPR)                   \
        else                                          \
            CPU_PASS_STRIDED_1_(A, O, EXPR)           \
    }

#define CPU_BINARY(NAME, A, B, O, EXPR)                                                  \
    static void NAME(CPU_LOOP_ARGS) {                                                    \
        const int64_t u_ = sizeof(A), v_ = sizeof(B);                                    \
        const int unit_ = s_[2] == sizeof(O);                                            \
        if (unit_ && s_[0] == u_ && s_[1] == v_) {                                       \
            CPU_PASS_2_(A, B, O, EXPR, x_[i_], y_[i_])                                   \
        } else if (unit_ && s_[0] == u_ && s_[1] == 0) {                                 \
            const B y0_ = *(const B *)p_[1];                                             \
            CPU_PASS_2_(A, B, O, EXPR, x_[i_], ((void)y_, y0_))                          \
        } else if (unit_ && s_[0] == 0 && s_[1] == v_) {                                 \
            const A x0_ = *(const A *)p_[0];                                             \
            CPU_PASS_2_(A, B, O, EXPR, ((void)x_, x0_), y_[i_])                          \
        } else {                                                                         \
            const char *x_ = p_[0], *y_ = p_[1];                                         \
            char *o_ = p_[2];                                                            \
            for (int64_t i_ = 0; i_ < n_; i_++, x_ += s_[0], y_ += s_[1], o_ += s_[2]) { \
                const A a = *(const A *)x_;                                              \
                const B b = *(const B *)y_;                                              \
                *(O *)o_ = EXPR;                                                         \
            }                                                                            \
        }                                                                                \
    }

#define CPU_TERNARY(NAME, A, B, C, O, EXPR)                                                           \
    void NAME(CPU_LOOP_ARGS) {                                                                        \
        const int64_t v_ = sizeof(B), w_ = sizeof(C);                                                 \
        const int unit_ = s_[0] == sizeof(A) && s_[3] == sizeof(O);                                   \
        if (unit_ && s_[1] == v_ && s_[2] == w_) {                                                    \
            CPU_PASS_3_(A, B, C, O, EXPR, y_[i_], z_[i_])                                             \
        } else if (unit_ && s_[1] == 0 && s_[2] == w_) {                                              \
            const B y0_ = *(const B *)p_[1];                                                          \
            CPU_PASS_3_(A, B, C, O, EXPR, ((void)y_, y0_), z_[i_])                                    \
        } else if (unit_ && s_[1] == v_ && s_[2] == 0) {                                              \
            const C z0_ = *(const C *)p_[2];                                                          \
            CPU_PASS_3_(A, B, C, O, EXPR, y_[i_], ((void)z_, z0_))                                    \
        } else if (unit_ && s_[1] == 0 && s_[2] == 0) {                                               \
            const B y0_ = *(const B *)p_[1];                                                          \
            const C z0_ = *(const C *)p_[2];                                                          \
            CPU_PASS_3_(A, B, C, O, EXPR, ((void)y_, y0_), ((void)z_, z0_))                           \
        } else {                                                                                      \
            const char *x_ = p_[0], *y_ = p_[1], *z_ = p_[2];                                         \
            char *o_ = p_[3];                                                                         \
            for (int64_t i_ = 0; i_ < n_; i_++, x_ += s_[0], y_ += s_[1], z_ += s_[2], o_ += s_[3]) { \
                const A a = *(const A *)x_;                                                           \
                const B b = *(const B *)y_;                                                           \
                const C c = *(const C *)z_;                                                           \
                *(O *)o_ = EXPR;                                                                      \
            }                                                                                         \
        }                                                                                             \
    }

#define CPU_TERNARY_UNIT(NAME, A, B, C, O, EXPR)      \
    static void NAME(CPU_LOOP_ARGS) {                 \
        (void)s_;                                     \
        CPU_PASS_3_(A, B, C, O, EXPR, y_[i_], z_[i_]) \
    }

/* Guarded ops: a block whose operands are all fit for the branch-free MAIN runs that, any other the complete EXPR;
 * the bits are the same. RARE picks out an unfit `a` of type PART, which is the operand's type or that of its parts.
 * The block is looked at before it is written, so the output may be an input. */
#define CPU_GUARD_BLOCK 256

#define CPU_ANY_RARE_(AT, BYTES, PART, RARE)                                         \
    {                                                                                \
        const PART *x_ = (const PART *)(AT);                                         \
        for (int64_t i_ = 0; i_ < (int64_t)((size_t)(BYTES) / sizeof(PART)); i_++) { \
            const PART a = x_[i_];                                                   \
            rare_ |= (RARE) ? 1u : 0u;                                               \
        }                                                                            \
    }

#define CPU_GUARDED_UNARY_UNIT(NAME, A, O, EXPR, MAIN, PART, RARE_A)                         \
    static void NAME##_block(CPU_LOOP_ARGS) {                                                \
        CPU_RARE_TYPE(PART)                                                                  \
        rare_ = 0;                                                                           \
        CPU_ANY_RARE_(p_[0], n_ * s_[0], PART, RARE_A)                                       \
        if (rare_)                                                                           \
            CPU_PASS_1_(A, O, EXPR)                                                          \
        else                                                                                 \
            CPU_PASS_1_(A, O, MAIN)                                                          \
    }                                                                                        \
    static void NAME(CPU_LOOP_ARGS) {                                                        \
        static const int64_t sizes_[] = {sizeof(A), sizeof(O)};                              \
        (void)s_;                                                                            \
        for (int64_t k_ = 0; k_ < n_; k_ += CPU_GUARD_BLOCK) {                               \
            char *const q_[] = {p_[0] + k_ * sizes_[0], p_[1] + k_ * sizes_[1]};             \
            NAME##_block(q_, sizes_, n_ - k_ < CPU_GUARD_BLOCK ? n_ - k_ : CPU_GUARD_BLOCK); \
        }                                                                                    \
    }

#define CPU_GUARDED_BINARY_UNIT(NAME, A, B, O, EXPR, MAIN, PART, RARE_A, RARE_B)             \
    static void NAME##_block(CPU_LOOP_ARGS) {                                                \
        CPU_RARE_TYPE(PART)                                                                  \
        rare_ = 0;                                                                           \
        CPU_ANY_RARE_(p_[0], n_ * s_[0], PART, RARE_A)                                       \
        CPU_ANY_RARE_(p_[1], n_ * s_[1], PART, RARE_B)                                       \
        if (rare_)                                                                           \
            CPU_PASS_2_(A, B, O, EXPR, x_[i_], y_[i_])                                       \
        else                                                                                 \
            CPU_PASS_2_(A, B, O, MAIN, x_[i_], y_[i_])                                       \
    }                                                                                        \
    static void NAME(CPU_LOOP_ARGS) {                                                        \
        static const int64_t sizes_[] = {sizeof(A), sizeof(B), sizeof(O)};                   \
        (void)s_;                                                                            \
        for (int64_t k_ = 0; k_ < n_; k_ += CPU_GUARD_BLOCK) {                               \
            char *const q_[] = {p_[0] + k_ * sizes_[0], p_[1] + k_ * sizes_[1],              \
                                p_[2] + k_ * sizes_[2]};                                     \
            NAME##_block(q_, sizes_, n_ - k_ < CPU_GUARD_BLOCK ? n_ - k_ : CPU_GUARD_BLOCK); \
        }                                                                                    \
    }

/* As wide as the parts, so that a vector of verdicts has the lanes of a vector of parts. */
#define CPU_RARE_TYPE(PART) CPU_RARE_TYPE_##PART
#define CPU_RARE_TYPE_f32 u32
#define CPU_RARE_TYPE_f64 u64
#define CPU_RARE_TYPE_c64 u32
#define CPU_RARE_TYPE_c128 u64

/* Functions tried by a shorter way (tried.c, tried_vectors.c, tried_pow_avx512.c). `loop` does the elements that are not
 * sure by it, and some of their neighbours. The output may be an input. */
void cpu_tried_log_f32(const f32 *x, f32 *out, int64_t n, cpu_loop loop);
void cpu_tried_log2_f32(const f32 *x, f32 *out, int64_t n, cpu_loop loop);
void cpu_tried_log10_f32(const f32 *x, f32 *out, int64_t n, cpu_loop loop);
void cpu_tried_exp_f32(const f32 *x, f32 *out, int64_t n, cpu_loop loop);
void cpu_tried_exp2_f32(const f32 *x, f32 *out, int64_t n, cpu_loop loop);
void cpu_tried_tanh_f32(const f32 *x, f32 *out, int64_t n, cpu_loop loop);
void cpu_tried_cbrt_f32(const f32 *x, f32 *out, int64_t n, cpu_loop loop);
void cpu_tried_pow_f32(const f32 *x, const f32 *y, f32 *out, int64_t n, cpu_loop loop);

#define CPU_TRIED_UNARY_UNIT(NAME, T, FUNCTION, LOOP)     \
    static void NAME(CPU_LOOP_ARGS) {                     \
        (void)s_;                                         \
        FUNCTION((const T *)p_[0], (T *)p_[1], n_, LOOP); \
    }

#define CPU_TRIED_BINARY_UNIT(NAME, T, FUNCTION, LOOP)                      \
    static void NAME(CPU_LOOP_ARGS) {                                       \
        (void)s_;                                                           \
        FUNCTION((const T *)p_[0], (const T *)p_[1], (T *)p_[2], n_, LOOP); \
    }

/* Products of complex numbers in vectors; return of how many of n elements, from the first on: none where the
 * instruction set is too small. LOOP does the rest. */
int64_t cpu_multiply_c64(char *const *p, int64_t n);
int64_t cpu_multiply_c128(char *const *p, int64_t n);

#define CPU_MULTIPLY_COMPLEX(NAME, C, LOOP)                                              \
    static void NAME(CPU_LOOP_ARGS) {                                                    \
        const int64_t size_ = sizeof(C), k_ = cpu_multiply_##C(p_, n_);                  \
        char *const q_[] = {p_[0] + k_ * size_, p_[1] + k_ * size_, p_[2] + k_ * size_}; \
        if (k_ < n_) LOOP(q_, s_, n_ - k_);                                              \
    }

/* float16 and bfloat16 (H) by a loop of float32; PREDICATE says that the result is bool. */
void cpu_half_f16(char *const *p, int64_t n, int inputs, bool predicate, cpu_loop loop);
void cpu_half_bf16(char *const *p, int64_t n, int inputs, bool predicate, cpu_loop loop);

/* Casts of contiguous float16 by the processor's instructions. */
void cpu_cast_f16_f32(CPU_LOOP_ARGS);
void cpu_cast_f32_f16(CPU_LOOP_ARGS);

/* Square roots by fewer cycles than the processor's own. */
void cpu_sqrt_f32(CPU_LOOP_ARGS);
void cpu_sqrt_f64(CPU_LOOP_ARGS);

#define CPU_HALF_UNIT(NAME, H, INPUTS, PREDICATE, LOOP) \
    static void NAME(CPU_LOOP_ARGS) {                   \
        (void)s_;                                       \
        cpu_half_##H(p_, n_, INPUTS, PREDICATE, LOOP);  \
    }

#endif
