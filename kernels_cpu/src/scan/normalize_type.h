/* Template: the ops of normalize.c on one type. An UNIT is f32 or f64, in which everything is computed.
 *
 * Include with these macros set; they are undefined at the end:
 *   NAME(op, f)      name of the function f of an op on this type
 *   STORAGE, UNIT    type in memory and in the arithmetic; LOAD(x) and STORE(v) convert
 *   EXP, LOG, ROOT   of an UNIT; EXP is that of softmax
 *   COUNT(n)         a length as an UNIT
 *   SUM(f)           the instance of reduce_lanes.h for sums
 *   ONE_NAN          the NaN of a row that has no other result
 *
 * An op is a centre of the row, d = x - centre, the sum of a term of each d, a factor from that sum, and a
 * last step.
 */

#define ROW_NAME(f) NAME(softmax, f)
#define CENTRE_IS_MEAN 0
#define KEEPS 1 /* the term is what the last step takes */
#define AFFINE 0
#define TERM(d) EXP(d)
#define FACTOR(total, n, eps) ((UNIT)1 / (total))
#define LAST(v, factor, w, b) ((v) * (factor))
#include "scan/normalize_row.h"

#define ROW_NAME(f) NAME(log_softmax, f)
#define CENTRE_IS_MEAN 0
#define KEEPS 0
#define AFFINE 0
#define TERM(d) EXP(d)
#define FACTOR(total, n, eps) LOG(total)
#define LAST(v, factor, w, b) ((v) - (factor))
#include "scan/normalize_row.h"

#define ROW_NAME(f) NAME(layer_norm, f)
#define CENTRE_IS_MEAN 1
#define KEEPS 0
#define AFFINE 1
#define TERM(d) ((d) * (d))
#define FACTOR(total, n, eps) ((UNIT)1 / ROOT((total) / COUNT(n) + (UNIT)(eps)))
#define LAST(v, factor, w, b) ((v) * (factor) * (w) + (b))
#include "scan/normalize_row.h"

#undef NAME
#undef STORAGE
#undef UNIT
#undef LOAD
#undef STORE
#undef EXP
#undef LOG
#undef ROOT
#undef COUNT
#undef SUM
#undef ONE_NAN
