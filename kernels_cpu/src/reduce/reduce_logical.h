/* Template: any and all, which look for an element whose truth is not `flip`, and count_nonzero.
 *
 * Include with these macros set; they are undefined at the end:
 *   INSTANCE    begins the names of the functions
 *   BITS        type in memory
 *   LANE        accumulator of a lane, as wide as the element or its parts
 *   NONZERO(x)  1 if the element x is not zero, else 0
 */
#define PASTE_(op, instance, f) op##_##instance##_##f
#define PASTE(op, instance, f) PASTE_(op, instance, f)

#define FREE_NAME(f) PASTE(find, INSTANCE, f)
#define STORAGE BITS
#define PART LANE
#define INIT 0
#define STEP(p, x) ((LANE)((p) | (LANE)(NONZERO(x) ^ flip)))
#define RUN STRETCH
#define ACC u8
#define MERGE OR
#define ENOUGH SURE
#include "reduce/reduce_free.h"

/* Lanes are emptied before they overflow. */
#define FREE_NAME(f) PASTE(count, INSTANCE, f)
#define STORAGE BITS
#define PART LANE
#define INIT 0
#define STEP(p, x) ((LANE)((p) + NONZERO(x)))
#define RUN (sizeof(LANE) == 1 ? 255 : REDUCE_FREE_BLOCK)
#define ACC i64
#define MERGE ADD
#include "reduce/reduce_free.h"

#undef PASTE_
#undef PASTE
#undef INSTANCE
#undef BITS
#undef LANE
#undef NONZERO
