/* The order of numbers as the order of integers, for sorting, searching and extremes: one definition of
 * where NaN and the two zeros stand.
 *
 *   phx_order_i<W>(bits, magnitude, infinite, one_zero, flip)
 *                    the key of a number from its bits; a larger number has a larger key. NaNs have one
 *                    key, the largest that there is, whatever flip says.
 *   phx_unorder_i<W>(key, magnitude, flip)
 *                    the bits of the number of a key made without one_zero; NaN gives some NaN
 *
 *   magnitude, infinite   PHX_ORDER_<dtype>: the bits beside the sign, and those of infinity, above
 *                         which all are NaN. For integers PHX_ORDER_INTEGER.
 *   one_zero              -1: -0 and +0 share the key 0. 0: -0 comes before +0
 *   flip                  -1: the order backwards, NaN still the largest. For unsigned integers the sign
 *                         bit makes signed keys of them, its complement those of the order backwards.
 *
 * IEEE 754-2019, 5.10, orders all but the NaNs so: of the same sign, floats are ordered as their bits are.
 * Constant masks leave two to five instructions. T of PHX_ORDER_TYPE_ may be a vector of the dialect.
 *
 * Needs the types of the dialect's prelude only.
 */
#ifndef PHX_SCALAR_ORDER_H
#define PHX_SCALAR_ORDER_H

#define PHX_MAGNITUDE_f16 0x7fff
#define PHX_MAGNITUDE_bf16 0x7fff
#define PHX_MAGNITUDE_f32 0x7fffffff
#define PHX_MAGNITUDE_f64 0x7fffffffffffffff

#define PHX_ORDER_f16 PHX_MAGNITUDE_f16, 0x7c00
#define PHX_ORDER_bf16 PHX_MAGNITUDE_bf16, 0x7f80
#define PHX_ORDER_f32 PHX_MAGNITUDE_f32, 0x7f800000
#define PHX_ORDER_f64 PHX_MAGNITUDE_f64, 0x7ff0000000000000
#define PHX_ORDER_INTEGER 0, 0

/* The NaN that extremes, and the sorts of devices, give for any. */
#define PHX_NAN_BITS_f16 0x7e00
#define PHX_NAN_BITS_bf16 0x7fc0
#define PHX_NAN_BITS_f32 0x7fc00000
#define PHX_NAN_BITS_f64 0x7ff8000000000000

#define PHX_ORDER_TYPE_(NAME, T, LARGEST)                                            \
    PHX_FN T phx_order_##NAME(T bits, T magnitude, T infinite, T one_zero, T flip) { \
        const T size = (T)(bits & magnitude);                                        \
        const T two = (T)(bits < (T)0 ? (T)(bits ^ magnitude) : bits);               \
        const T one = (T)(bits < (T)0 ? (T)(-size) : size);                          \
        const T key = (T)(one_zero != (T)0 ? one : two);                             \
        return (T)(size > infinite ? (T)(LARGEST) : (T)(key ^ flip));                \
    }                                                                                \
    PHX_FN T phx_unorder_##NAME(T key, T magnitude, T flip) {                        \
        const T ordered = (T)(key ^ flip);                                           \
        return (T)(ordered ^ (ordered < (T)0 ? magnitude : (T)0));                   \
    }

PHX_ORDER_TYPE_(i8, i8, 0x7f)
PHX_ORDER_TYPE_(i16, i16, 0x7fff)
PHX_ORDER_TYPE_(i32, i32, 0x7fffffff)
PHX_ORDER_TYPE_(i64, i64, 0x7fffffffffffffff)

#endif
