/* Template: one type of a scan, between memory and arithmetic, and its running sums and products.
 *
 * Include with these macros set; they are undefined at the end:
 *   D              name of the instance
 *   STORAGE, UNIT  type in memory and in the arithmetic; LOAD(x) and STORE(v) convert
 *   NATIVE         1 if STORAGE is UNIT
 *   PLUS, TIMES    (a, b) of UNITs
 *   VECTORS        UNIT, where scan_chains.h has vectors of it
 */

#define JOIN_(a, b, c) a##_##b##_##c
#define JOIN(a, b, c) JOIN_(a, b, c)
#define TYPE(f) JOIN(scan, D, f)

static SCAN_APART void TYPE(gather)(UNIT *restrict to, const STORAGE *restrict x, int64_t n, int64_t sn) {
    if (sn == 1)
        for (int64_t i = 0; i < n; i++) to[i] = LOAD(x[i]);
    else
        for (int64_t i = 0; i < n; i++) {
            SCALAR_LOOP;
            to[i] = LOAD(x[i * sn]);
        }
}

static SCAN_APART void TYPE(scatter)(STORAGE *restrict y, const UNIT *restrict from, int64_t n, int64_t yn) {
    if (yn == 1)
        for (int64_t i = 0; i < n; i++) y[i] = STORE(from[i]);
    else
        for (int64_t i = 0; i < n; i++) {
            SCALAR_LOOP;
            y[i * yn] = STORE(from[i]);
        }
}

#define SCAN_NAME(f) JOIN(sum, D, f)
#define OP PLUS
#include "scan/scan_rows.h"

#define SCAN_NAME(f) JOIN(prod, D, f)
#define OP TIMES
#include "scan/scan_rows.h"

#undef JOIN_
#undef JOIN
#undef TYPE
#undef D
#undef STORAGE
#undef UNIT
#undef LOAD
#undef STORE
#undef NATIVE
#undef PLUS
#undef TIMES
#undef VECTORS
