/* What the instances of scan_rows.h share with scan.c. */
#ifndef PHX_CPU_SCAN_H_
#define PHX_CPU_SCAN_H_

#include "reduce/axes.h"
#include "runtime/parallel.h"

#define SCAN_BLOCK 256  /* of core/optable/structured.py */
#define SCAN_LEVELS 7   /* a row of 2^63 elements has 2^55 blocks, and 256^7 = 2^56 */
#define SCAN_CHAINS 8   /* running sums side by side: one alone waits for every addition */
#define SCAN_PIECE (SCAN_BLOCK * SCAN_CHAINS)
#define SCAN_COLUMNS 128 /* columns side by side */
#define SCAN_APART __attribute__((noinline)) /* one copy of the code for all callers */
#define SCAN_GRAIN 65536 /* bytes of input that are worth a thread */

typedef struct {
    const char *x;
    char *y;
    int64_t n, sn, yn; /* the scanned axis and its strides in elements */
    kept_axes axes;
    int64_t width, tiles; /* columns per item */
    int by_row;
    char *carry; /* of one long row: the total of each block, then the carry behind it */
} scan_job;

/* The functions of one instance; begin and end count items, or pieces of the one row. */
typedef struct {
    phx_task_fn items;  /* tiles of all rows, from beginning to end */
    phx_task_fn totals; /* of the blocks of the one row's pieces */
    phx_task_fn pieces; /* of the one row, given the carries */
    void (*carries)(scan_job *job, int64_t blocks); /* totals to carries */
    int64_t unit; /* bytes of a carry */
} scan_plan;

#endif
