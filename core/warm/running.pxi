# The running extremes, on the host where it can: elsewhere each doubling is a pass.

ctypedef fused word:
    int8_t
    int16_t
    int32_t
    int64_t
    uint8_t
    uint16_t
    uint32_t
    uint64_t


cdef inline word rank_of(word v, word infinite, word last) noexcept nogil:
    """What orders the bits of floats as integers, -0 below +0: of NaN it is ``last``, beyond all."""
    cdef word magnitude = <word>~(<word>1 << (8 * sizeof(word) - 1))
    if (v & magnitude) > infinite:
        return last
    return v ^ ((v >> (8 * sizeof(word) - 1)) & magnitude)


cdef inline word ranked(word key, word infinite, word last) noexcept nogil:
    """The bits of a key; of what stands for NaN the quiet one."""
    cdef word magnitude = <word>~(<word>1 << (8 * sizeof(word) - 1))
    if key == last:
        return infinite | (infinite & -infinite) >> 1
    return key ^ ((key >> (8 * sizeof(word) - 1)) & magnitude)


cdef inline word beyond(word a, word b, bint largest) noexcept nogil:
    return (b if b > a else a) if largest else (b if b < a else a)


cdef inline void run_row(const word *source, word *to, int64_t n, bint largest, word infinite,
                         word last) noexcept nogil:
    """`run_along` of one row of neighbours."""
    cdef word best = source[0]
    cdef int64_t i
    to[0] = source[0]
    if infinite == 0:
        for i in range(1, n):
            best = beyond(best, source[i], largest)
            to[i] = best
        return
    best = rank_of(best, infinite, last)
    for i in range(1, n):
        best = beyond(best, rank_of(source[i], infinite, last), largest)
        to[i] = ranked(best, infinite, last)


cdef inline void run_rows(const word *source, word *to, int64_t n, int64_t inner, bint largest,
                          word infinite, word last) noexcept nogil:
    """`run_along` of rows whose elements are ``inner`` apart."""
    cdef word best
    cdef int64_t i
    memcpy(to, source, inner * sizeof(word))
    for i in range(inner, n * inner):
        if infinite == 0:
            to[i] = beyond(to[i - inner], source[i], largest)
        else:
            best = beyond(rank_of(to[i - inner], infinite, last), rank_of(source[i], infinite, last), largest)
            to[i] = ranked(best, infinite, last)


cdef void run_along(const word *source, word *to, int64_t outer, int64_t n, int64_t inner, bint largest,
                    word infinite) noexcept nogil:
    """The extremes along the middle axis of (outer, n, inner), of integers, or of floats by their bits.

    Then ``infinite`` has those of infinity: beyond it is NaN, and so is all that follows; else it is 0.
    """
    cdef word last = <word>1 << (8 * sizeof(word) - 1)  # the least of the signed ones
    cdef int64_t i, at
    if largest:
        last = <word>~last
    for i in range(outer):
        at = i * n * inner
        if inner > 1:
            run_rows(source + at, to + at, n, inner, largest, infinite, last)
        elif largest:
            run_row(source + at, to + at, n, True, infinite, last)
        else:
            run_row(source + at, to + at, n, False, infinite, last)


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


cdef void run_words(const char *source, char *to, int64_t outer, int64_t n, int64_t inner, bint largest,
                    int64_t infinite, int size, bint signed) noexcept nogil:
    """`run_along` of words of a size."""
    if not signed and size == 1:
        run_along[uint8_t](<uint8_t *>source, <uint8_t *>to, outer, n, inner, largest, 0)
    elif not signed and size == 2:
        run_along[uint16_t](<uint16_t *>source, <uint16_t *>to, outer, n, inner, largest, 0)
    elif not signed and size == 4:
        run_along[uint32_t](<uint32_t *>source, <uint32_t *>to, outer, n, inner, largest, 0)
    elif not signed:
        run_along[uint64_t](<uint64_t *>source, <uint64_t *>to, outer, n, inner, largest, 0)
    elif size == 1:
        run_along[int8_t](<int8_t *>source, <int8_t *>to, outer, n, inner, largest, 0)
    elif size == 2:
        run_along[int16_t](<int16_t *>source, <int16_t *>to, outer, n, inner, largest, infinite)
    elif size == 4:
        run_along[int32_t](<int32_t *>source, <int32_t *>to, outer, n, inner, largest, infinite)
    else:
        run_along[int64_t](<int64_t *>source, <int64_t *>to, outer, n, inner, largest, infinite)


def running_on_host(Array x not None, int axis, bint largest):
    """The running maximum, or minimum, of real numbers along an axis; None if the host cannot."""
    cdef Array dense
    cdef Array out
    cdef char *source
    cdef char *to
    cdef int64_t outer = 1, inner = 1, n = x.t.shape[axis], infinite = infinity_of(x.dtype)
    cdef int i, size = x.dtype.itemsize
    cdef bint signed = x.dtype.kind != "u"
    if host_place(x, 1) == NULL or x.count == 0:
        return None
    dense = in_c_order(x)
    source = host_place(dense, 1)
    for i in range(x.t.ndim):
        outer *= x.t.shape[i] if i < axis else 1
        inner *= x.t.shape[i] if i > axis else 1
    out = new_array(x.device, x.dtype, x.t.ndim, x.t.shape, current_stream_of(x.device))
    to = <char *>out.t.data + out.t.byte_offset
    if x.count <= FEW:
        run_words(source, to, outer, n, inner, largest, infinite, size, signed)
    else:
        with nogil:
            run_words(source, to, outer, n, inner, largest, infinite, size, signed)
    return out
