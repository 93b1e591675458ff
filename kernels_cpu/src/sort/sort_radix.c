/* Radix sorts of codes of 32 and 64 bits: the portable way, and the guard of quicksort's depth. */
#include "sort/sort_internal.h"

#include <string.h>

#define SORT_NAME(x) x##_32
#define SORT_KEY uint32_t
#include "sort/sort_radix.inc.h"
#undef SORT_NAME
#undef SORT_KEY

#define SORT_NAME(x) x##_64
#define SORT_KEY uint64_t
#include "sort/sort_radix.inc.h"
