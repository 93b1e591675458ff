/* Template: sum and prod of one integer type.
 *
 * Include with these macros set; they are undefined at the end:
 *   ELEMENT   type in memory
 *   SUM_PART  in which a block is summed: 32 bits, where it cannot overflow, for elements of 8 and 16
 */
#define PASTE_(op, type, f) op##_##type##_##f
#define PASTE(op, type, f) PASTE_(op, type, f)

#define FREE_NAME(f) PASTE(sum, ELEMENT, f)
#define STORAGE ELEMENT
#define PART SUM_PART
#define INIT 0
#define STEP(p, x) ((p) + (SUM_PART)(x))
#define ACC u64
#define MERGE ADD_WIDE
#include "reduce/reduce_free.h"

#define FREE_NAME(f) PASTE(prod, ELEMENT, f)
#define STORAGE ELEMENT
#define PART u64
#define INIT 1
#define STEP TIMES_WIDE
#define MERGE TIMES_WIDE
#include "reduce/reduce_free.h"

#undef PASTE_
#undef PASTE
#undef ELEMENT
#undef SUM_PART
