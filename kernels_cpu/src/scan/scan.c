/* cumulative_sum and cumulative_prod along the last axis. */
#include "scan/scan.h"
#include "scan/scan_chains.h"

#include <stdlib.h>
#include <string.h>

#include "reduce/lists_reduce.h"

#define PHX_OUTLINE static __attribute__((noinline, unused))
#include "complex.h" /* after the dialect */
#include "convert.h"

/* A single row that is long enough for several threads: totals of the blocks, their scan, elements. */
static phx_error *scan_long_row(const scan_plan *plan, scan_job *job) {
    const int64_t blocks = (job->n + SCAN_BLOCK - 1) / SCAN_BLOCK;
    const int64_t pieces = (job->n + SCAN_PIECE - 1) / SCAN_PIECE;
    const int64_t grain = 1 + SCAN_GRAIN / (SCAN_PIECE * plan->unit);
    job->carry = malloc((size_t)(blocks * plan->unit));
    if (!job->carry)
        return cpu_fail(PHX_OUT_OF_MEMORY, "no memory for %lld bytes of block totals of a scan",
                        (long long)(blocks * plan->unit));
    phx_parallel_for(pieces, grain, plan->totals, job);
    plan->carries(job, blocks - 1); /* nothing needs the last total, which may be of a part of a block */
    phx_parallel_for(pieces, grain, plan->pieces, job);
    free(job->carry);
    return NULL;
}

static phx_error *scan(const scan_plan *plan, const phx_call *call) {
    const DLTensor *x = cpu_input(call, 0), *y = cpu_output(call, 0);
    const int last = x->ndim - 1;
    scan_job job;
    job.x = cpu_data(x);
    job.y = cpu_data(y);
    job.n = x->shape[last];
    job.sn = x->strides[last];
    job.yn = y->strides[last];
    if (job.n == 0 || !split_axes(&job.axes, x, y, last)) return NULL;
    const int64_t size = cpu_itemsize(x);
    if (job.axes.cols * job.axes.outer == 1 && phx_num_threads() > 1 && job.n * size >= 4 * SCAN_GRAIN)
        return scan_long_row(plan, &job);
    job.by_row = job.axes.cols == 1 || (job.n >= 16 && stride_size(job.sn) <= stride_size(job.axes.xc));
    job.width = !job.by_row ? SCAN_COLUMNS : job.n <= SCAN_BLOCK ? SCAN_CHAINS
                                                                 : 1;
    job.tiles = (job.axes.cols + job.width - 1) / job.width;
    const int64_t items = job.axes.outer * job.tiles, grain = 1 + SCAN_GRAIN / (job.n * job.width * size);
    if (items <= grain)
        plan->items(&job, 0, items);
    else
        phx_parallel_for(items, grain, plan->items, &job);
    return NULL;
}

/* ---- arithmetic: every NaN is stored with the same bits ------------------------------------------ */

#define ADD(a, b) ((a) + (b))
#define MULTIPLY(a, b) ((a) * (b))
#define ADD_INT(a, b) ((UNIT)((a) + (b)))
#define MULTIPLY_INT(a, b) ((UNIT)((u64)(a) * (b)))
#define SAME(x) (x)

static inline f32 clean_f32(f32 v) { return v == v ? v : PHX_NANF; }
static inline f64 clean_f64(f64 v) { return v == v ? v : PHX_NAN; }
static inline u16 clean_f16(f32 v) { return phx_f32_to_f16(clean_f32(v)); }
static inline u16 clean_bf16(f32 v) { return phx_f32_to_bf16(clean_f32(v)); }
static inline c64 clean_c64(c64 v) { return (c64){clean_f32(v.re), clean_f32(v.im)}; }
static inline c128 clean_c128(c128 v) { return (c128){clean_f64(v.re), clean_f64(v.im)}; }

/* The op multiply, kept out of the loops that would otherwise repeat its long code. */
static SCAN_APART c64 multiply_c64(c64 a, c64 b) { return phx_multiply_c64(a, b); }
static SCAN_APART c128 multiply_c128(c128 a, c128 b) { return phx_multiply_c128(a, b); }

/* ---- instances ----------------------------------------------------------------------------------- */

#define D u8
#define STORAGE u8
#define UNIT u8
#define LOAD SAME
#define STORE SAME
#define NATIVE 1
#define PLUS ADD_INT
#define TIMES MULTIPLY_INT
#include "scan/scan_type.h"

#define D u16
#define STORAGE u16
#define UNIT u16
#define LOAD SAME
#define STORE SAME
#define NATIVE 1
#define PLUS ADD_INT
#define TIMES MULTIPLY_INT
#include "scan/scan_type.h"

#define D u32
#define STORAGE u32
#define UNIT u32
#define LOAD SAME
#define STORE SAME
#define NATIVE 1
#define PLUS ADD_INT
#define TIMES MULTIPLY_INT
#include "scan/scan_type.h"

#define D u64
#define STORAGE u64
#define UNIT u64
#define LOAD SAME
#define STORE SAME
#define NATIVE 1
#define PLUS ADD_INT
#define TIMES MULTIPLY_INT
#include "scan/scan_type.h"

#define D f16
#define VECTORS f32
#define STORAGE u16
#define UNIT f32
#define LOAD phx_f16_to_f32
#define STORE clean_f16
#define NATIVE 0
#define PLUS ADD
#define TIMES MULTIPLY
#include "scan/scan_type.h"

#define D bf16
#define VECTORS f32
#define STORAGE u16
#define UNIT f32
#define LOAD phx_bf16_to_f32
#define STORE clean_bf16
#define NATIVE 0
#define PLUS ADD
#define TIMES MULTIPLY
#include "scan/scan_type.h"

#define D f32
#define VECTORS f32
#define STORAGE f32
#define UNIT f32
#define LOAD SAME
#define STORE clean_f32
#define NATIVE 1
#define PLUS ADD
#define TIMES MULTIPLY
#include "scan/scan_type.h"

#define D f64
#define VECTORS f64
#define STORAGE f64
#define UNIT f64
#define LOAD SAME
#define STORE clean_f64
#define NATIVE 1
#define PLUS ADD
#define TIMES MULTIPLY
#include "scan/scan_type.h"

#define D c64
#define STORAGE c64
#define UNIT c64
#define LOAD SAME
#define STORE clean_c64
#define NATIVE 1
#define PLUS phx_add_c64
#define TIMES multiply_c64
#include "scan/scan_type.h"

#define D c128
#define STORAGE c128
#define UNIT c128
#define LOAD SAME
#define STORE clean_c128
#define NATIVE 1
#define PLUS phx_add_c128
#define TIMES multiply_c128
#include "scan/scan_type.h"

#define KERNEL(OP, T, BOUND, FN, COST) \
    CPU_KERNEL(OP, ((const uint8_t[]){T, T}), 1, 1, PHX_LAYOUT_ANY, BOUND, FN, NULL, COST)

#define ROWS(T, BOUND, D, COST)                              \
    KERNEL("cumulative_sum", T, BOUND, sum_##D##_run, COST), \
        KERNEL("cumulative_prod", T, BOUND, prod_##D##_run, COST)

static const cpu_kernel rows[] = {
    ROWS(PHX_INT8, 0.0, u8, 8),
    ROWS(PHX_INT16, 0.0, u16, 8),
    ROWS(PHX_INT32, 0.0, u32, 8),
    ROWS(PHX_INT64, 0.0, u64, 8),
    ROWS(PHX_UINT8, 0.0, u8, 8),
    ROWS(PHX_UINT16, 0.0, u16, 8),
    ROWS(PHX_UINT32, 0.0, u32, 8),
    ROWS(PHX_UINT64, 0.0, u64, 8),
    ROWS(PHX_FLOAT16, -1.0, f16, 12),
    ROWS(PHX_BFLOAT16, -1.0, bf16, 12),
    ROWS(PHX_FLOAT32, -1.0, f32, 8),
    ROWS(PHX_FLOAT64, -1.0, f64, 8),
    ROWS(PHX_COMPLEX64, -1.0, c64, 16),
    ROWS(PHX_COMPLEX128, -1.0, c128, 16),
};

cpu_kernel_list phx_scan_kernels(void) { return (cpu_kernel_list){rows, sizeof rows / sizeof rows[0]}; }
