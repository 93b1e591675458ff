# The running extremes of a few elements, on the host where it can: elsewhere each doubling is a pass.

ctypedef fused word:
    int8_t
    int16_t
    int32_t
    int64_t
    uint8_t
    uint16_t
    uint32_t
    uint64_t


cdef inline bint is_above(word a, word b, word infinite) noexcept:
    """Whether a is the larger one. The bits of floats order them, with -0 below +0, if those of
    negative ones are turned.
    """
    cdef word magnitude = <word>~(<word>1 << (8 * sizeof(word) - 1))
    if infinite and a < 0:
        a ^= magnitude
    if infinite and b < 0:
        b ^= magnitude
    return a > b


cdef void run_along(const word *source, word *to, int64_t outer, int64_t n, int64_t inner, bint largest,
                    word infinite) noexcept:
    """The extremes along the middle axis of (outer, n, inner), of integers, or of floats by their bits.

    Then ``infinite`` has those of infinity: beyond it is NaN, and so is all that follows; else it is 0.
    """
    cdef word magnitude = <word>~(<word>1 << (8 * sizeof(word) - 1))
    cdef word quiet = infinite | (infinite & -infinite) >> 1
    cdef word before, v
    cdef int64_t i, k, at = 0
    for i in range(outer * n):
        for k in range(inner):
            v = source[at]
            if i % n:
                before = to[at - inner]
                if infinite and ((v & magnitude) > infinite or (before & magnitude) > infinite):
                    v = quiet
                elif is_above(before, v, infinite) == largest:
                    v = before
            to[at] = v
            at += 1


cdef int64_t infinity_of(DType dtype) noexcept:
    """The bits of a float's infinity; 0 of integers."""
    cdef int code = dtype.code
    if code == FLOAT16:
        return 0x7C00
    if code == BFLOAT16:
        return 0x7F80
    if code == FLOAT32:
        return 0x7F800000
    return 0x7FF0000000000000 if code == FLOAT64 else 0


def running_few(Array x not None, int axis, bint largest):
    """The running maximum, or minimum, of a few real numbers along an axis; None for many."""
    cdef Array dense
    cdef Array out
    cdef char *source
    cdef char *to
    cdef int64_t outer = 1, inner = 1, n = x.t.shape[axis], infinite = infinity_of(x.dtype)
    cdef int i, size = x.dtype.itemsize
    if x.count > FEW:
        return None
    dense = in_c_order(x)
    source = host_place(dense, dense.count)
    if source == NULL:
        return None
    for i in range(x.t.ndim):
        outer *= x.t.shape[i] if i < axis else 1
        inner *= x.t.shape[i] if i > axis else 1
    out = new_array(x.device, x.dtype, x.t.ndim, x.t.shape, current_stream_of(x.device))
    to = <char *>out.t.data + out.t.byte_offset
    if x.dtype.kind != "u":
        if size == 1:
            run_along[int8_t](<int8_t *>source, <int8_t *>to, outer, n, inner, largest, 0)
        elif size == 2:
            run_along[int16_t](<int16_t *>source, <int16_t *>to, outer, n, inner, largest, infinite)
        elif size == 4:
            run_along[int32_t](<int32_t *>source, <int32_t *>to, outer, n, inner, largest, infinite)
        else:
            run_along[int64_t](<int64_t *>source, <int64_t *>to, outer, n, inner, largest, infinite)
    elif size == 1:
        run_along[uint8_t](<uint8_t *>source, <uint8_t *>to, outer, n, inner, largest, 0)
    elif size == 2:
        run_along[uint16_t](<uint16_t *>source, <uint16_t *>to, outer, n, inner, largest, 0)
    elif size == 4:
        run_along[uint32_t](<uint32_t *>source, <uint32_t *>to, outer, n, inner, largest, 0)
    else:
        run_along[uint64_t](<uint64_t *>source, <uint64_t *>to, outer, n, inner, largest, 0)
    return out
