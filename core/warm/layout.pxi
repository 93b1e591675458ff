# From the shapes and strides of the operands to the canonical forms that kernels see.

cdef struct Plan:
    int n              # operands, the output last
    int ndim
    int64_t count      # elements of the output
    int64_t shape[MAX_NDIM]
    int64_t strides[4][MAX_NDIM]  # per operand; of one-element operands all zero
    int order[MAX_NDIM]           # output axis -> place of the axis in memory order of a new output


cdef int broadcast_into(Plan *p, int n, void **operands) except -1:
    """Set the common shape of the first n operands (NULL is a host scalar) and their strides."""
    cdef Array a = None
    cdef int i, j, k
    cdef int64_t extent
    p.n = n
    p.ndim = 0
    for i in range(n):
        if operands[i] != NULL:
            a = <Array>operands[i]
            p.ndim = max(p.ndim, a.t.ndim)
    for j in range(p.ndim):
        p.shape[j] = 1
    for i in range(n):
        for j in range(p.ndim):
            p.strides[i][j] = 0
        if operands[i] == NULL:
            continue
        a = <Array>operands[i]
        for k in range(a.t.ndim):
            j = p.ndim - a.t.ndim + k
            extent = a.t.shape[k]
            if extent != 1:
                if p.shape[j] == 1:
                    p.shape[j] = extent
                elif p.shape[j] != extent:
                    raise_broadcast(n, operands)
                p.strides[i][j] = a.t.strides[k]
    p.count = count_elements(a, p.ndim, p.shape)
    return 0


cdef int raise_broadcast(int n, void **operands) except -1:
    shapes = [(<Array>operands[i]).shape for i in range(n) if operands[i] != NULL]
    raise ValueError(
        f"shapes {', '.join(map(str, shapes))} cannot be broadcast: aligned at the last axis, extents "
        "must be equal or 1")


cdef void memory_order(Plan *p) noexcept:
    """Choose the axis order of a new output: that of the first operand which has all axes, so that
    an elementwise op on transposed operands runs along memory."""
    cdef int i, j, k, axis, guide = -1
    cdef int64_t key
    for j in range(p.ndim):
        p.order[j] = j
    for i in range(p.n):
        k = 0
        for j in range(p.ndim):
            k += p.strides[i][j] != 0 or p.shape[j] == 1
        if k == p.ndim:
            guide = i
            break
    if guide < 0:
        return
    for i in range(1, p.ndim):  # insertion sort by falling stride: stable, few axes
        axis = p.order[i]
        key = _magnitude(p.strides[guide][axis])
        if p.shape[axis] == 1:
            continue
        j = i - 1
        while j >= 0 and _magnitude(p.strides[guide][p.order[j]]) < key and p.shape[p.order[j]] != 1:
            p.order[j + 1] = p.order[j]
            j -= 1
        p.order[j + 1] = axis


cdef inline int64_t _magnitude(int64_t stride) noexcept:
    return -stride if stride < 0 else stride


cdef void output_strides(Plan *p) noexcept:
    """Strides of a new output without gaps, axes laid out in ``order``; it is operand n."""
    cdef int i
    cdef int64_t step = 1
    for i in range(p.ndim - 1, -1, -1):
        p.strides[p.n][p.order[i]] = step
        step *= p.shape[p.order[i]]


cdef void merge_axes(Plan *p, int operands) noexcept:
    """Sort the axes by falling output stride, drop axes of extent 1, merge those that run on."""
    cdef int i, j, k, axis, kept = 0
    cdef int64_t key
    cdef int out = operands - 1
    cdef int axes[MAX_NDIM]
    cdef int64_t shape[MAX_NDIM]
    cdef int64_t strides[4][MAX_NDIM]
    cdef bint runs_on
    for i in range(p.ndim):
        if p.shape[i] == 1:
            continue
        key = _magnitude(p.strides[out][i])
        j = kept - 1
        while j >= 0 and _magnitude(p.strides[out][axes[j]]) < key:
            axes[j + 1] = axes[j]
            j -= 1
        axes[j + 1] = i
        kept += 1
    k = -1
    for i in range(kept):
        axis = axes[i]
        runs_on = k >= 0
        if runs_on:
            for j in range(operands):
                if strides[j][k] != p.strides[j][axis] * p.shape[axis]:
                    runs_on = False
                    break
        if runs_on:
            shape[k] *= p.shape[axis]
        else:
            k += 1
            shape[k] = p.shape[axis]
        for j in range(operands):
            strides[j][k] = p.strides[j][axis]
    p.ndim = k + 1
    memcpy(p.shape, shape, p.ndim * sizeof(int64_t))
    for j in range(operands):
        memcpy(p.strides[j], strides[j], p.ndim * sizeof(int64_t))


cdef bint is_linear(Plan *p, int operands) noexcept:
    """Whether after merging every operand is contiguous or one element: the contiguous kernel fits."""
    cdef int i
    if p.ndim == 0:
        return True
    if p.ndim != 1 or p.strides[operands - 1][0] != 1:
        return False
    for i in range(operands - 1):
        if p.strides[i][0] != 1 and p.strides[i][0] != 0:
            return False
    return True
