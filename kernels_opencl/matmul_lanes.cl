/* CPU: one work-item makes a tile of ROWS rows and VECTORS vectors of LANES columns, in registers.
 * The tile is spelt out by matmul.py: START, STEP and FINISH name each register.
 *
 * PoCL's fma, vload and vstore are calls that it does not inline. Where the processor has fma,
 * clang's builtin for each lane becomes one vector instruction of the same value. */
#define COLUMNS (VECTORS * LANES)
typedef VECTOR vector __attribute__((aligned(sizeof(A))));

PHX_FN VECTOR mac_vector(VECTOR a, VECTOR b, VECTOR c) {
#if defined(FUSED) && defined(__FMA__) && defined(__has_builtin)
    VECTOR r;
    FUSED
    return r;
#else
    return MAC_VECTOR(a, b, c);
#endif
}
