/* What programs of all dialects share; a dialect's own text comes before this one, its words are
 * listed in dialect.py. PHX_FP64 is 1 where the device has double.
 */
typedef struct {
    f32 re, im;
} c64;
/* 16 bytes to move. */
typedef struct {
    u64 lo, hi;
} u128;

PHX_FN c64 phx_make_c64(f32 re, f32 im) {
    c64 z;
    z.re = re;
    z.im = im;
    return z;
}

#if PHX_FP64
typedef struct {
    f64 re, im;
} c128;

PHX_FN c128 phx_make_c128(f64 re, f64 im) {
    c128 z;
    z.re = re;
    z.im = im;
    return z;
}
#endif

/* Two numbers that are loaded, stored and added together; the dialect says so if it has vectors. */
#ifndef PHX_HAS_PAIRS
#define PHX_PAIR(T)                                    \
    typedef struct {                                   \
        T x, y;                                        \
    } T##x2;                                           \
    PHX_FN T##x2 phx_make_##T##x2(T x, T y) {          \
        T##x2 z;                                       \
        z.x = x;                                       \
        z.y = y;                                       \
        return z;                                      \
    }                                                  \
    PHX_FN T##x2 phx_add_##T##x2(T##x2 a, T##x2 b) {   \
        return phx_make_##T##x2(a.x + b.x, a.y + b.y); \
    }
PHX_PAIR(f32)
#if PHX_FP64
PHX_PAIR(f64)
#endif
#undef PHX_PAIR
#endif

/* Hints to a compiler; without effect where the dialect does not know them. PHX_ORDERED stands before
 * a loop whose order of sums must stay, where a compiler takes liberties. */
#ifndef PHX_ORDERED
#define PHX_ORDERED
#endif
#ifndef PHX_UNROLL
#define PHX_UNROLL
#endif

/* Two more words that a dialect may have: PHX_ASYNC_COPY(to, i, from) begins to copy 16 bytes from the
 * device's memory to element i of a local array, and PHX_ASYNC_WAIT() waits for those copies that the
 * work-item itself has begun; a barrier then shows them to the others. */

/* Three more, for devices of `Traits.matrix_f64`, which have the two above as well. PHX_ASYNC_MARK() ends a part
 * of the copies, and PHX_ASYNC_WAIT_BUT(n) waits for all parts but the last n. And 32 work-items whose numbers are
 * neighbours, the first a multiple of 32, call PHX_MATRIX_F64(c, a0, a1, a2, a3, b0, b1) together: c, an array of
 * 4 f64, becomes c + a b, where each element goes on as a chain of 8 fma, the step of least k first. Of a,
 * 16 x 8, b, 8 x 8, and c, 16 x 8, work-item i with g = i / 4 and t = i % 4 has
 *   a0, a1  rows g and g + 8 of column t       b0  row t, column g
 *   a2, a3  the same of column t + 4           b1  row t + 4, column g
 *   c[0], c[1]  row g, columns 2 t and 2 t + 1; c[2], c[3] the same of row g + 8. */

/* Three more, for devices of `Traits.forward_progress`: PHX_ATOMIC_LOAD64(p), PHX_ATOMIC_STORE64(p, x) and
 * PHX_ATOMIC_ADD64(p, x), which returns what was there, on a u64 in the device's memory. Other groups see
 * what was stored while they run. */

/* An array argument is a pair of parameters, its memory and the place of its first element. */
#define PHX_INPUT(T, x) PHX_GLOBAL const T *x##_memory, const u64 x##_first
#define PHX_OUTPUT(T, x) PHX_GLOBAL T *x##_memory, const u64 x##_first
#define PHX_DATA(x) (x##_memory + x##_first)

#define PHX_MIN(a, b) ((a) < (b) ? (a) : (b))
