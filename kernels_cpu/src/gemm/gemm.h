/* Matrix products of the CPU library: C = A @ B for one pair of matrices.
 *
 * A is (m, k), B is (k, n), C is (m, n); every stride is in elements and may be anything, so a
 * transposed, reversed, sliced or broadcast operand needs no copy. C is overwritten and must not
 * overlap A or B, and no two of its elements may share memory. k == 0 gives zeros.
 *
 * Numbers: k is cut into blocks of 4096 steps. In a block, each element of C is the chain acc = 0;
 * acc = fma(a[p], b[p], acc) for p in order; the blocks' sums are joined by the tree of a reduction
 * (docs/ops.md). The accumulation type is f32 for f32, f64 for f64, f32 for f16 and bf16 (rounded once, at
 * the end), arithmetic modulo 2^bits for integers. Complex: re = fma(ar, br, re); re = fma(-ai, bi,
 * re); im = fma(ar, bi, im); im = fma(ai, br, im). The bits depend neither on the instruction set
 * nor on the threads, but for which NaN a NaN is.
 *
 * Blocks until C is complete; the work is shared through phx_parallel_for. Returns 0, or -1 if
 * there was no memory for packing (then C is undefined).
 */
#ifndef PHX_CPU_GEMM_H_
#define PHX_CPU_GEMM_H_

#include <stdint.h>

#include "elementwise/dialect.h"

#define PHX_GEMM(NAME, T)                                                                        \
    int phx_gemm_##NAME(int64_t m, int64_t n, int64_t k, const T *a, int64_t a_rs, int64_t a_cs, \
                        const T *b, int64_t b_rs, int64_t b_cs, T *c, int64_t c_rs, int64_t c_cs)

/* `count` inner products of k steps, of rows that are an, bn elements apart, to places cn apart; k is from 1 to
 * PHX_GEMM_CHAIN; the numbers are those of the products. */
#define PHX_GEMM_CHAIN 4096
#define PHX_GEMM_ROWS(NAME, T)                                                                            \
    void phx_gemm_rows_##NAME(int64_t count, int64_t k, const T *a, int64_t an, int64_t a_cs, const T *b, \
                              int64_t bn, int64_t b_rs, T *c, int64_t cn)

PHX_GEMM(f32, float);
PHX_GEMM(f64, double);
PHX_GEMM(f16, uint16_t);  /* IEEE binary16, as its bits */
PHX_GEMM(bf16, uint16_t); /* bfloat16, as its bits */
PHX_GEMM(c64, c64);
PHX_GEMM(c128, c128);
PHX_GEMM(i8, int8_t);
PHX_GEMM(i16, int16_t);
PHX_GEMM(i32, int32_t);
PHX_GEMM(i64, int64_t);
PHX_GEMM(u8, uint8_t);
PHX_GEMM(u16, uint16_t);
PHX_GEMM(u32, uint32_t);
PHX_GEMM(u64, uint64_t);

PHX_GEMM_ROWS(f32, float);
PHX_GEMM_ROWS(f64, double);
PHX_GEMM_ROWS(f16, uint16_t);
PHX_GEMM_ROWS(bf16, uint16_t);
PHX_GEMM_ROWS(c64, c64);
PHX_GEMM_ROWS(c128, c128);
PHX_GEMM_ROWS(i8, int8_t);
PHX_GEMM_ROWS(i16, int16_t);
PHX_GEMM_ROWS(i32, int32_t);
PHX_GEMM_ROWS(i64, int64_t);
PHX_GEMM_ROWS(u8, uint8_t);
PHX_GEMM_ROWS(u16, uint16_t);
PHX_GEMM_ROWS(u32, uint32_t);
PHX_GEMM_ROWS(u64, uint64_t);

#endif
