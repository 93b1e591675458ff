/* Matrix products: what all kernels of matmul.py share, which defines before this text
 *   S         an element in memory            A         the type that accumulates
 *   O         an element of the result        RESUME(x) O to A
 *   LOAD(x)   S to A                          STORE(x)  A to O
 *   MAC(a, b, c)  a * b + c, fma for floats   PARTS     1, or 2 for complex numbers
 * Complex numbers lie in memory as pairs of S; LOAD and STORE see one part. O is S; or A, where the
 * result is the sums of blocks of k, which `join` and `finish` make the product of.
 *
 * A packed operand is cut into panels of so many lanes as a tile has (rows of the left, columns of
 * the right matrix): [batch][panel][step of k][part][lane]; missing lanes are zeros. Steps are
 * never padded: one more step would turn -0 into +0.
 */
#define FIRST(x) (x##_memory + x##_first * PARTS)

PHX_FN void mac_complex(A ar, A ai, A br, A bi, A *re, A *im) {
    *re = MAC(ar, br, *re);
    *re = MAC(-ai, bi, *re);
    *im = MAC(ar, bi, *im);
    *im = MAC(ai, br, *im);
}
