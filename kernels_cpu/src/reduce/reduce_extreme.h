/* Template: the tile function of max and min of one type of key; reduce_keys.h sets its macros. */
#define FREE_NAME(f) NAME(f)
#define STORAGE KEY
#define PART KEY
#define INIT LOWEST
#define STEP(p, x) LARGER(p, TO_KEY(x))
#define MERGE LARGER
#define PAIR LARGER
#include "reduce/reduce_free.h"

#undef NAME
#undef KEY
#undef TO_KEY
#undef LOWEST
