# Reductions, and the other structures that work along one axis.

cdef uint64_t reduced_axes(Array x, object axis, str op) except? 0xFFFFFFFFFFFFFFFF:
    """The set of axes as bits; ``None`` is all."""
    cdef uint64_t mask = 0
    if axis is None:
        return lowest_bits(x.t.ndim)
    if type(axis) is int:
        return (<uint64_t>1) << _normal_axis(axis, x, op)
    for a in (axis if isinstance(axis, (tuple, list)) else (axis,)):
        i = _normal_axis(a, x, op)
        if mask >> i & 1:
            raise ValueError(f"{op}: axis {a} is named twice in {axis}")
        mask |= (<uint64_t>1) << i
    return mask


cdef int _normal_axis(object axis, Array x, str op) except -1:
    i = axis
    if type(axis) is not int:
        try:
            i = axis.__index__()
        except (AttributeError, TypeError):
            raise TypeError(f"{op}: axis takes an int, a tuple of ints or None, got {axis!r}") from None
    if not -x.t.ndim <= i < x.t.ndim:
        raise IndexError(f"{op}: axis {i} is out of range for shape {x.shape}")
    return i + x.t.ndim if i < 0 else i


def normal_axis(axis, Array x not None, str op not None):
    """Return an axis counted from the front; raises ``IndexError`` outside the array's axes."""
    return _normal_axis(axis, x, op)


cdef bint split_axes(Plan *p, Array x, uint64_t mask) noexcept:
    """Write the kept axes, merged, and the reduced axes as one behind them into operand 0.

    False if the reduced axes do not run on in memory, so that a copy is needed.
    """
    cdef int i
    cdef int64_t n = 1
    cdef int64_t step = 0
    p.ndim = 0
    for i in range(x.t.ndim):
        if mask >> i & 1 or x.t.shape[i] == 1:
            continue
        if p.ndim and p.strides[0][p.ndim - 1] == x.t.strides[i] * x.t.shape[i]:
            p.shape[p.ndim - 1] *= x.t.shape[i]
        else:
            p.shape[p.ndim] = x.t.shape[i]
            p.ndim += 1
        p.strides[0][p.ndim - 1] = x.t.strides[i]
    for i in range(x.t.ndim - 1, -1, -1):
        if not mask >> i & 1 or x.t.shape[i] == 1:
            continue
        if n == 1:
            step = x.t.strides[i]
        elif x.t.strides[i] != step * n:
            return False
        n *= x.t.shape[i]
    p.shape[p.ndim] = n
    p.strides[0][p.ndim] = step if n != 1 else 1
    p.ndim += 1
    return True


cdef Array kept_first(Array x, uint64_t mask):
    """A C-contiguous copy with the kept axes first."""
    cdef int64_t shape[MAX_NDIM]
    cdef int64_t strides[MAX_NDIM]
    cdef int i, k = 0
    for i in range(x.t.ndim):
        if not mask >> i & 1:
            shape[k] = x.t.shape[i]
            strides[k] = x.t.strides[i]
            k += 1
    for i in range(x.t.ndim):
        if mask >> i & 1:
            shape[k] = x.t.shape[i]
            strides[k] = x.t.strides[i]
            k += 1
    cdef Array copied = new_array(x.device, x.dtype, x.t.ndim, shape, current_stream_of(x.device))
    assign(copied, view_of(x, x.t.ndim, shape, strides, 0))
    return copied


def reduce(str op not None, Array x not None, axis, bint keepdims, DType dtype not None):
    """Reduce over axes: ``None`` is all of them. ``dtype`` is the op's result dtype for ``x.dtype``.

    Raises:
        IndexError, ValueError: an axis that is not there or named twice.
    """
    cdef uint64_t mask = reduced_axes(x, axis, op)
    cdef int64_t shape[MAX_NDIM]
    cdef Plan p
    cdef int i, k = 0
    cdef Array source = x
    cdef Stream s = current_stream_of(x.device)
    for i in range(x.t.ndim):
        if not mask >> i & 1:
            shape[k] = x.t.shape[i]
            k += 1
        elif keepdims:
            shape[k] = 1
            k += 1
    if not split_axes(&p, x, mask):
        source = kept_first(x, mask)
        mask_kept = x.t.ndim - _bit_count(mask)
        split_axes(&p, source, lowest_bits(_bit_count(mask)) << mask_kept)
    cdef Array out = new_array(x.device, dtype, k, shape, s)
    if out.count:
        launch_along(op, source, out, &p, s, NULL, 0)
    return out


cdef int64_t count_words(const char *place, int64_t count, int size, uint64_t mask) noexcept:
    """How many of ``count`` elements have a bit of the mask."""
    cdef int64_t i, found = 0
    if size == 1:
        for i in range(count):
            found += (<const uint8_t *>place)[i] != 0
    elif size == 2:
        for i in range(count):
            found += ((<const uint16_t *>place)[i] & <uint16_t>mask) != 0
    elif size == 4:
        for i in range(count):
            found += ((<const uint32_t *>place)[i] & <uint32_t>mask) != 0
    elif size == 8:
        for i in range(count):
            found += ((<const uint64_t *>place)[i] & mask) != 0
    else:
        for i in range(count):
            found += (((<const uint64_t *>place)[2 * i] | (<const uint64_t *>place)[2 * i + 1])
                      & mask) != 0
    return found


cdef int64_t few_true(Array flags) except -2:
    """How many elements are true; -1 to leave it to a launch."""
    cdef char *place = host_place(flags, flags.count) if flags.contiguous else NULL
    return -1 if place == NULL else count_words(place, flags.count, 1, 0xFF)


cdef uint64_t bits_without_sign(DType dtype) noexcept:
    """What is set somewhere in each element that is not zero, in the first 8 bytes."""
    cdef uint64_t sign
    if dtype.kind not in "fc":
        return 0xFFFFFFFFFFFFFFFF
    if dtype.code == COMPLEX64:
        return 0x7FFFFFFF7FFFFFFF
    sign = (<uint64_t>1) << (8 * min(dtype.itemsize, 8) - 1)
    return ~sign


def counted(Array x not None, object axis, bint keepdims):
    """How many elements along axes are not zero (int64)."""
    cdef char *place = NULL
    cdef Array out
    if axis is None and not keepdims and x.contiguous:
        place = host_place(x, x.count)
    if place == NULL:
        return reduce("count_nonzero", x, axis, keepdims, <DType>_dtypes[INT64])
    out = new_array(x.device, <DType>_dtypes[INT64], 0, NULL, current_stream_of(x.device))
    (<int64_t *>(<char *>out.t.data + out.t.byte_offset))[0] = count_words(
        place, x.count, x.dtype.itemsize, bits_without_sign(x.dtype))
    return out


cdef uint64_t lowest_bits(int n) noexcept:
    return 0xFFFFFFFFFFFFFFFF if n == 64 else ((<uint64_t>1) << n) - 1


cdef int _bit_count(uint64_t mask) noexcept:
    cdef int n = 0
    while mask:
        mask &= mask - 1
        n += 1
    return n


cdef int launch_along(str op, Array x, Array out, Plan *p, Stream s, const int64_t *params,
                      int n_params) except -1:
    """Launch a reduction: the input as planned, the output as one run of its kept elements."""
    cdef DLTensor tensors[2]
    cdef const DLTensor *pointers[2]
    cdef void *arrays[2]
    cdef int64_t strides[MAX_NDIM]
    cdef int64_t step = 1
    cdef int i
    cdef Kernel kernel = kernel_at(x.device, (op, x.dtype, out.dtype))
    for i in range(p.ndim - 2, -1, -1):
        strides[i] = step
        step *= p.shape[i]
    if kernel is None or kernel.run_fn == NULL:
        inputs = [view_of(x, p.ndim, p.shape, p.strides[0], 0)]
        outputs = [view_of(out, p.ndim - 1, p.shape, strides, 0)]
        if kernel is None:
            return _dispatch_other(x.device, op, (x.dtype.name, out.dtype.name), inputs, outputs, (), s)
        return launch_arrays(x.device, kernel, inputs, outputs, (), s)
    tensors[0] = x.t
    tensors[0].ndim = p.ndim
    tensors[0].shape = p.shape
    tensors[0].strides = p.strides[0]
    tensors[1] = out.t
    tensors[1].ndim = p.ndim - 1
    tensors[1].shape = p.shape
    tensors[1].strides = strides
    pointers[0] = &tensors[0]
    pointers[1] = &tensors[1]
    arrays[0], arrays[1] = <void *>x, <void *>out
    return launch_native(s, kernel, kernel.run_fn, kernel.native_row, pointers, arrays, 1, 1, params,
                         n_params, 0, x.count)
