/* The driver that all reductions share.
 *
 * The operand is (k1..kp, n). One kept axis is the columns; the reduced axis is cut into blocks. An item
 * of work is one block of a tile of columns, which a plan's tile function reduces to one accumulator per
 * column; the accumulators of the blocks are then combined in a tree of fixed shape. Which thread takes an
 * item, how many columns a tile has and in which order memory is read do not change the result.
 */
#ifndef PHX_CPU_REDUCE_H_
#define PHX_CPU_REDUCE_H_

#include "reduce/axes.h"
#include "runtime/kernel.h"

#include <string.h>

#define REDUCE_LANES 64   /* LANES and BLOCK of core/optable/structured.py */
#define REDUCE_BLOCK 4096
#define REDUCE_FREE_BLOCK 32768 /* block where the order cannot be seen: integers, extremes, logic */
#define REDUCE_TILE_BYTES 512  /* widest tile of columns of an ordered reduction, in bytes of accumulators */
#define REDUCE_FREE_COLUMNS 512 /* widest tile of columns of the others */
#define REDUCE_SHORT_ROW 16     /* rows below this length are short, unless a plan has a better bound */
#define REDUCE_ROOM 8192        /* bytes of accumulators of one tile */
#define REDUCE_GRAIN 131072     /* bytes of input that are worth a thread */

/* Bytes of lanes that stay in vector registers. */
#if defined(__AVX512F__)
#define REDUCE_REGISTERS 512
#elif defined(__AVX2__)
#define REDUCE_REGISTERS 256
#else
#define REDUCE_REGISTERS 128
#endif

typedef struct reduce_job reduce_job;

/* A block of a tile: cols columns (stride sc) of n elements (stride sn), strides in elements. */
typedef struct {
    const char *x;
    int64_t first; /* place of the first element along the reduced axis */
    int64_t n, sn;
    int64_t cols, sc;
    const void *centres; /* of the columns, in the type of the results, where the plan has a centre */
} reduce_tile;

typedef struct reduce_plan reduce_plan;

struct reduce_plan {
    /* Reduce each column of the tile into acc[column]; n == 0 gives the value of an empty reduction. */
    void (*tile)(const reduce_job *job, const reduce_tile *tile, void *acc);
    /* into[i] = into[i] op from[i] for i < count */
    void (*combine)(void *into, const void *from, int64_t count);
    /* Store count results at y, stride in bytes. */
    void (*finish)(const reduce_job *job, const void *acc, int64_t count, char *y, int64_t stride);
    int32_t acc_size; /* bytes */
    int32_t widest;   /* tile, in columns; widest * acc_size <= REDUCE_ROOM */
    int32_t block;    /* elements */
    int32_t short_row; /* contiguous rows below this length are taken as columns of a tile */
    int32_t may_widen; /* a tile of n < 64 rows may have more columns: it holds widest * 64 / n */
    int32_t mean;     /* divide by n at the end */
    int32_t needs_one; /* refuse n == 0 */
    int32_t absorbing; /* a tile result that is not zero decides the whole reduction: any, all */
    uint64_t flip;    /* turns the bits of an element into a signed key whose largest is wanted */
    const reduce_plan *centre; /* reduces each row to a number first, of acc_size, for the tiles; or NULL */
};

struct reduce_job {
    const reduce_plan *plan;
    const char *x;
    char *y;
    char *centres; /* results of the plan's centre, [outer][column] */
    char *partial; /* accumulators [outer][block][column]; NULL if there is one block */
    int64_t n, sn;
    int64_t yc; /* the output's column stride in bytes */
    int64_t width, tiles, blocks;
    int64_t item_size;
    int by_row;       /* a tile reads each column from its first to its last element before the next */
    int block_first;  /* of two neighbouring items, the block differs, not the tile */
    _Atomic int done; /* the single result is known already */
    kept_axes axes;
};

/* Run a reduction: one input (k1..kp, n), one output (k1..kp), any strides. */
phx_error *phx_reduce(const reduce_plan *plan, const phx_call *call);

#define REDUCE_KERNEL(OP, IN, OUT, BOUND, FN, COST) \
    CPU_KERNEL(OP, ((const uint8_t[]){IN, OUT}), 1, 1, PHX_LAYOUT_ANY, BOUND, FN, NULL, COST)

#define REDUCE_FN(NAME, ...)                                               \
    static phx_error *NAME(const cpu_kernel *self, const phx_call *call) { \
        static const reduce_plan plan = {__VA_ARGS__};                     \
        (void)self;                                                        \
        return phx_reduce(&plan, call);                                    \
    }

#endif
