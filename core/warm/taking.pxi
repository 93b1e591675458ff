# Elements at integer indices and under masks, and ops along one axis: from arrays to canonical operands.

cdef Array in_c_order(Array x):
    """The array itself if it is contiguous, else a copy."""
    return x if x.contiguous else new_in_c_order(x)


cdef Array new_in_c_order(Array x):
    """A contiguous copy."""
    cdef Array out
    out = new_array(x.device, x.dtype, x.t.ndim, x.t.shape, current_stream_of(x.device))
    assign(out, x)
    return out


cdef Array flat_view(Array x):
    """A contiguous array as one axis."""
    cdef int64_t dims[2]
    dims[0] = x.count
    dims[1] = 1
    return view_of(x, 1, dims, dims + 1, 0)


cdef Array offsets_of(Array x, Array index, int axis):
    """The element offsets (count,) of the slices along an axis that an index names; checks it."""
    cdef Stream s = current_stream_of(x.device)
    cdef Array offsets = new_array(x.device, <DType>_dtypes[INT64], 1, &index.count, s)
    if index.count:
        whole = flat_view(in_c_order(cast_array(index, <DType>_dtypes[INT64])))
        launch("wrap_index", (whole,), (offsets,), (x.t.shape[axis], x.t.strides[axis]))
    return offsets


cdef bint put_plainly(Array x, object key, object value) except -1:
    """``x[key] = value`` for a number or an array that fits as it is; false for all else."""
    cdef Array target
    cdef Array source
    if type(key) is int and x.t.ndim == 1 and is_kept(value, x.dtype) and element_put(x, key, value):
        return True
    target = basic_view(x, key)
    if target is not None and is_kept(value, x.dtype):
        if not few_filled(target, value):
            fill(target, value)
        return True
    if target is None and few_put(x, key, value):
        return True
    if type(value) is not Array:
        return False
    source = <Array>value
    if source.dtype is not x.dtype or source.device is not x.device:
        return False
    if target is None:
        return put_slices(x, key, source)
    if not same_shape(target, source):
        return False
    if not few_copied(target, source):
        assign(target, source)
    return True


cdef bint put_slices(Array x, object key, Array source) except -1:
    """The same for one integer array as the key and contiguous slices of the dtype and device."""
    cdef int64_t dims[MAX_NDIM + 1]
    cdef int64_t steps[MAX_NDIM + 1]
    cdef Array index
    cdef int i, n = x.t.ndim - 1
    if type(key) is not Array or n < 0 or not source.contiguous or overlaps(source, x):
        return False
    index = <Array>key
    if (index.device is not x.device or index.dtype.kind not in "iu" or not source.count
            or source.t.ndim != n + index.t.ndim):
        return False
    for i in range(source.t.ndim):
        if source.t.shape[i] != (index.t.shape[i] if i < index.t.ndim
                                 else x.t.shape[1 + i - index.t.ndim]):
            return False
    check_writable(x)
    dims[0], steps[0] = index.count, source.count // index.count
    for i in range(n):
        dims[1 + i] = x.t.shape[1 + i]
        steps[1 + i] = source.t.strides[index.t.ndim + i]
    rows = view_of(source, n + 1, dims, steps, 0)
    launch("scatter", (rows, offsets_of(x, index, 0)),
           (view_of(x, n, x.t.shape + 1, x.t.strides + 1, 0),))
    return True


def taken(Array x not None, Array index not None, int axis):
    """Slices along an axis at indices of any shape, whose axes come to stand there.

    ``index`` has an integer dtype and lies on the device of ``x``.
    """
    cdef int64_t dims[2 * MAX_NDIM]
    cdef int64_t rest[2 * MAX_NDIM]
    cdef int64_t step = 1
    cdef int i, n = x.t.ndim - 1, k = index.t.ndim
    cdef Stream s = current_stream_of(x.device)
    cdef Array offsets
    cdef Array out
    out = few_taken(x, index) if x.t.ndim == 1 and index.dtype.code == INT64 else None
    if out is not None:
        return out
    if n + k > MAX_NDIM:
        raise ValueError(f"an array of {n + k} axes; at most {MAX_NDIM} are supported")
    for i in range(n):
        rest[i] = x.t.shape[i + (i >= axis)]
        rest[MAX_NDIM + i] = x.t.strides[i + (i >= axis)]
    offsets = offsets_of(x, index, axis)
    dims[0] = index.count
    memcpy(dims + 1, rest, n * sizeof(int64_t))
    out = new_array(x.device, x.dtype, n + 1, dims, s)
    if out.count:
        launch("gather", (view_of(x, n, rest, rest + MAX_NDIM, 0), offsets), (out,))
    if k == 1 and axis == 0:
        return out
    for i in range(axis):
        dims[i] = rest[i]
        dims[MAX_NDIM + i] = out.t.strides[i + 1]
    for i in range(axis, n):
        dims[k + i] = rest[i]
        dims[MAX_NDIM + k + i] = out.t.strides[i + 1]
    step = out.t.strides[0]
    for i in range(k - 1, -1, -1):
        dims[axis + i] = index.t.shape[i]
        dims[MAX_NDIM + axis + i] = step
        step *= index.t.shape[i]
    return view_of(out, n + k, dims, dims + MAX_NDIM, 0)


cdef Array taken_by_key(Array x, object key):
    """What a key of one array of ints, behind whole slices, or a mask takes; None for other keys."""
    cdef Array index = few_taken(x, key)
    cdef int i, axis = 0
    if index is not None:
        return index
    if type(key) is tuple:
        axis = len(<tuple>key) - 1
        for i in range(axis):
            part = (<tuple>key)[i]
            if type(part) is not slice or part != _WHOLE:
                return None
        key = (<tuple>key)[axis] if axis >= 0 else None
    if type(key) is not Array or axis >= x.t.ndim:
        return None
    index = <Array>key
    if index.device is not x.device:
        return None
    if index.dtype.code == BOOL and axis == 0 and index.t.ndim and same_shape(index, x):
        return selected(x, index)
    return taken(x, index, axis) if index.dtype.kind in "iu" else None


cdef object _WHOLE = slice(None)


cdef int64_t count_true(Array flags) except -1:
    """The number of true elements of a flat mask; waits for them."""
    cdef int64_t count = few_true(flags)
    cdef Array found
    if count >= 0 or flags.count == 0:
        return max(count, 0)
    found = reduce("count_nonzero", flags, None, False, <DType>_dtypes[INT64])
    return read_in_place(found) if found.device.host_addressable else int(found)


def places_of(Array mask not None):
    """The places (int64) of the true elements of a mask in C order."""
    cdef Array flags = flat_view(in_c_order(mask))
    cdef int64_t count = count_true(flags)
    cdef Array out = new_array(mask.device, <DType>_dtypes[INT64], 1, &count,
                               current_stream_of(mask.device))
    cdef uint8_t *is_true = <uint8_t *>host_place(flags, flags.count)
    cdef int64_t *place
    cdef int64_t i, done = 0
    if count and is_true != NULL:
        place = <int64_t *>(<char *>out.t.data + out.t.byte_offset)
        for i in range(flags.count):
            if is_true[i] and done < count:  # another thread may have changed the mask
                place[done] = i
                done += 1
    elif count:
        launch("nonzero", (flags,), (out,))
    return out


def selected(Array x not None, Array mask not None):
    """The elements where a mask of the same shape and device is true, in C order."""
    cdef int64_t dims[2]
    cdef int64_t steps[2]
    cdef Array flags = flat_view(in_c_order(mask))
    cdef int64_t count = count_true(flags)
    cdef Array out = new_array(x.device, x.dtype, 1, &count, current_stream_of(x.device))
    if count:
        dims[0], dims[1] = x.count, 1
        steps[0] = steps[1] = 1
        rows = view_of(in_c_order(x), 2, dims, steps, 0)
        dims[0] = count
        launch("compress", (rows, flags), (view_of(out, 2, dims, steps, 0),))
    return out


def plain_search(object x1, object x2, bint right):
    """``searchsorted`` of arrays of one dtype on one device; None for any other operands."""
    cdef Array edges
    cdef Array values
    cdef Array out
    if type(x1) is not Array or type(x2) is not Array:
        return None
    edges, values = <Array>x1, <Array>x2
    if (edges.t.ndim != 1 or edges.dtype is not values.dtype or edges.device is not values.device
            or edges.dtype.kind not in "iuf"):
        return None
    out = new_array(edges.device, <DType>_dtypes[INT64], values.t.ndim, values.t.shape,
                    current_stream_of(edges.device))
    if out.count:
        launch("searchsorted", (edges, flat_view(in_c_order(values))), (flat_view(out),), (right,))
    return out


cdef Array axis_behind(Array x, int axis):
    """A view with an axis moved behind the others."""
    cdef int64_t dims[2 * MAX_NDIM]
    cdef int i, n = x.t.ndim
    if axis == n - 1:
        return x
    for i in range(n - 1):
        dims[i] = x.t.shape[i + (i >= axis)]
        dims[MAX_NDIM + i] = x.t.strides[i + (i >= axis)]
    dims[n - 1] = x.t.shape[axis]
    dims[MAX_NDIM + n - 1] = x.t.strides[axis]
    return view_of(x, n, dims, dims + MAX_NDIM, 0)


def along_axis(str op not None, Array x not None, int axis, DType dtype not None, tuple params=()):
    """Run an op of the last axis along any axis; the result has the shape of ``x``."""
    cdef Stream s = current_stream_of(x.device)
    cdef Array out = new_array(x.device, dtype, x.t.ndim, x.t.shape, s)
    cdef Array source
    cdef Array target
    cdef Kernel kernel
    if not out.count:
        return out
    source, target = axis_behind(x, axis), axis_behind(out, axis)
    kernel = kernel_at(x.device, (op, x.dtype, dtype))
    if kernel is None or kernel.run_fn == NULL:
        launch(op, (source,), (target,), params)
    else:
        launch_natively(s, kernel, (source,), (target,), params)
    return out


def sorted_along(x, axis, bint descending, bint places):
    """Sort along an axis, or find the ``places`` that do; the errors are those of ``phalanx.sort``."""
    cdef str op = "argsort" if places else "sort"
    cdef Array source
    cdef int i
    cdef tuple params = (1 if descending else 0,)
    if not isinstance(x, Array):
        from .arrays.checks import need_array

        need_array(x, op)
    source = x
    if is_complex(source.dtype):
        raise TypeError(
            f"{op} is not defined for {source.dtype}: complex numbers have no order; use "
            "phalanx.abs(x) or phalanx.real(x)")
    if source.t.ndim == 0:
        raise ValueError(f"{op} needs at least one axis, got a 0-d array")
    i = _normal_axis(axis, source, op)
    if places:
        return along_axis(op, source, i, <DType>_dtypes[INT64], params)
    if source.t.shape[i] < 2:
        return copy(source)
    return along_axis(op, source, i, source.dtype, params)
