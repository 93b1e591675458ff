/* The ordered sums of one block of floats and of doubles. */
#define LANES_NAME(f) sum_f32_##f
#define UNIT f32
#define PARTS 1
#define OP ADD
#define NEUTRAL -0.0f
#include "reduce/reduce_lanes.h"

#define LANES_NAME(f) sum_f64_##f
#define UNIT f64
#define PARTS 1
#define OP ADD
#define NEUTRAL -0.0
#include "reduce/reduce_lanes.h"
