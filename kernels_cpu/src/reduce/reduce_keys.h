/* Includes KEY_TEMPLATE once for each type of key of the extremes, with these macros, undefined at the end:
 *   NAME(f)    name of the function f of this instance
 *   KEY        signed integer type of the elements' bits and of the keys, whose largest is wanted
 *   TO_KEY(x)  the key of the element x, made with the variable `flip` of core/scalar/order.h
 *   LOWEST     the smallest KEY
 * Whoever includes this sets ONE_ZERO: -1 if -0 and +0 share a key, else 0.
 */
#include "order.h"

#define NAME(f) int8_##f
#define KEY i8
#define TO_KEY(x) ((x) ^ flip)
#define LOWEST INT8_MIN
#include KEY_TEMPLATE

#define NAME(f) int16_##f
#define KEY i16
#define TO_KEY(x) ((x) ^ flip)
#define LOWEST INT16_MIN
#include KEY_TEMPLATE

#define NAME(f) int32_##f
#define KEY i32
#define TO_KEY(x) ((x) ^ flip)
#define LOWEST INT32_MIN
#include KEY_TEMPLATE

#define NAME(f) int64_##f
#define KEY i64
#define TO_KEY(x) ((x) ^ flip)
#define LOWEST INT64_MIN
#include KEY_TEMPLATE

#define NAME(f) f16_##f
#define KEY i16
#define TO_KEY(x) phx_order_i16(x, PHX_ORDER_f16, ONE_ZERO, flip)
#define LOWEST INT16_MIN
#include KEY_TEMPLATE

#define NAME(f) bf16_##f
#define KEY i16
#define TO_KEY(x) phx_order_i16(x, PHX_ORDER_bf16, ONE_ZERO, flip)
#define LOWEST INT16_MIN
#include KEY_TEMPLATE

#define NAME(f) f32_##f
#define KEY i32
#define TO_KEY(x) phx_order_i32(x, PHX_ORDER_f32, ONE_ZERO, flip)
#define LOWEST INT32_MIN
#include KEY_TEMPLATE

#define NAME(f) f64_##f
#define KEY i64
#define TO_KEY(x) phx_order_i64(x, PHX_ORDER_f64, ONE_ZERO, flip)
#define LOWEST INT64_MIN
#include KEY_TEMPLATE

/* The dtypes that have an order, as list elements X(number, suffix). */
#define EACH_REAL(X)                                                                            \
    X(PHX_INT8, i8), X(PHX_INT16, i16), X(PHX_INT32, i32), X(PHX_INT64, i64), X(PHX_UINT8, u8), \
        X(PHX_UINT16, u16), X(PHX_UINT32, u32), X(PHX_UINT64, u64), X(PHX_FLOAT16, f16),        \
        X(PHX_BFLOAT16, bf16), X(PHX_FLOAT32, f32), X(PHX_FLOAT64, f64)

#undef KEY_TEMPLATE
#undef ONE_ZERO
