/* Rows of codes of 32 and 64 bits: small ones at once, large ones on all threads. */
#define _GNU_SOURCE /* madvise */
#include "runtime/parallel.h"
#include "sort/sort_internal.h"

#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

#define SORT_SMALL 512 /* codes on the stack */

/* Codes from which buckets pay, with several threads and with one (measured in November 2026 on two
 * cores of a Xeon of the Sapphire Rapids generation, with AVX2 on two of an EPYC of the Zen 3 one). */
#define SORT_BUCKETS_PAY ((size_t)1 << 15)
#define SORT_BUCKETS_PAY_ALONE ((size_t)1 << (SORT_LONG_ALONE))
#ifdef __AVX2__
#define SORT_LONG_ALONE 22
#else
#define SORT_LONG_ALONE 18
#endif

#define HUGE_PAGE ((size_t)2 << 20)

void *phx_sort_scratch(size_t bytes) {
#ifdef __linux__
    void *p = NULL;
    if (bytes >=
        16 * HUGE_PAGE) { /* smaller blocks stay in the heap of malloc and keep their pages */
        if (posix_memalign(&p, HUGE_PAGE, bytes)) return NULL;
        madvise(p, bytes, MADV_HUGEPAGE); /* a wish: without it the sort is only slower */
        return p;
    }
#endif
    return malloc(bytes);
}

#define SORT_NAME(x) x##_32
#define SORT_KEY uint32_t
#define SORT_LOAD phx_sort_load_32
#define SORT_STORE phx_sort_store_32
#include "sort/sort_row.inc.h"

#undef SORT_NAME
#undef SORT_KEY
#undef SORT_LOAD
#undef SORT_STORE

#define SORT_NAME(x) x##_64
#define SORT_KEY uint64_t
#define SORT_LOAD phx_sort_load_64
#define SORT_STORE phx_sort_store_64
#include "sort/sort_row.inc.h"
