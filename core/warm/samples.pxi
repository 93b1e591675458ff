# Straight lines between a few samples, on the host where it can: elsewhere they are some fifteen launches.

ctypedef fused real:
    float
    double


cdef inline int64_t found_behind(const real *ascending, int64_t n, real v) noexcept:
    """How many elements are at most v, as ``searchsorted`` finds it; NaN is behind all numbers."""
    cdef int64_t at = 0, half
    while n > 0:
        half = n - n / 2
        if v >= ascending[at + half - 1] or v != v:
            at += half
        n -= half
    return at


cdef inline bint is_ascending(const real *x, int64_t n) noexcept:
    cdef bint ordered = True
    cdef int64_t i
    for i in range(1, n):
        ordered &= x[i - 1] <= x[i]
    return ordered


cdef void go_straight(const real *x, int64_t count, const real *xp, const real *fp, int64_t n,
                      real *to) noexcept:
    """The values at ``count`` places of the function with n samples, each rounded as the ops do."""
    cdef real first = xp[0], last = xp[n - 1]
    cdef real inner, slope
    cdef int64_t i, at = 0
    # neighbours are often in one interval or in the next; samples out of order have several that fit
    cdef bint ordered = count > 1 and is_ascending(xp, n)
    for i in range(count):
        inner = x[i]
        if inner != inner or first != first or last != last:
            inner = inner + first + last
        else:
            inner = first if inner < first else inner
            inner = last if inner > last else inner
        if ordered and at + 1 < n and xp[at + 1] <= inner:
            at += 1
        if not (ordered and at + 1 < n and xp[at] <= inner < xp[at + 1]):
            at = found_behind(xp + 1, n - 1, inner)
        if inner == xp[at]:
            to[i] = fp[at]
        else:
            slope = (fp[at + 1] - fp[at]) / (xp[at + 1] - xp[at]) if at + 1 < n else 0
            to[i] = slope * (inner - xp[at]) + fp[at]
        if x[i] < first:
            to[i] = fp[0]


def straight_few(x, xp, fp):
    """`interp` of a few places and samples of one dtype, float32 or float64; None for anything else."""
    cdef Array at
    cdef Array places
    cdef Array samples
    cdef Array out
    cdef const void *source[3]
    cdef void *to
    if type(x) is not Array or type(xp) is not Array or type(fp) is not Array:
        return None
    at, places, samples = <Array>x, <Array>xp, <Array>fp
    if at.dtype.code not in (FLOAT32, FLOAT64):
        return None
    if places.dtype is not at.dtype or samples.dtype is not at.dtype:
        return None
    if places.device is not at.device or samples.device is not at.device:
        return None
    if places.t.ndim != 1 or samples.t.ndim != 1 or places.count != samples.count or places.count == 0:
        return None
    at, places, samples = in_c_order(at), in_c_order(places), in_c_order(samples)
    source[0] = host_place(at, at.count)
    source[1] = host_place(places, places.count)
    source[2] = host_place(samples, samples.count)
    if source[0] == NULL or source[1] == NULL or source[2] == NULL:
        return None
    out = new_array(at.device, at.dtype, at.t.ndim, at.t.shape, current_stream_of(at.device))
    to = <char *>out.t.data + out.t.byte_offset
    if at.dtype.code == FLOAT32:
        go_straight(<float *>source[0], at.count, <float *>source[1], <float *>source[2], places.count,
                    <float *>to)
    else:
        go_straight(<double *>source[0], at.count, <double *>source[1], <double *>source[2], places.count,
                    <double *>to)
    return out
