# Basic indexing and plain products of matrices: the short ways for what programs do most.

cdef extern from "Python.h":
    int PySlice_Unpack(object key, Py_ssize_t *start, Py_ssize_t *stop, Py_ssize_t *step) except -1
    Py_ssize_t PySlice_AdjustIndices(Py_ssize_t length, Py_ssize_t *start, Py_ssize_t *stop,
                                     Py_ssize_t step)


cdef Array basic_view(Array x, object key):
    """The view of a key of ints, slices, ``...`` and ``None``; None for any other or a wrong key,
    which ``indexing.getitem`` then serves or explains."""
    if type(key) is int and x.t.ndim:
        return row_at(x, key)
    if type(key) is Array:
        return None
    return view_by_keys(x, <tuple>key if type(key) is tuple else (key,))


cdef Array row_at(Array x, object key):
    """The view at a place of the first axis; None if there is no such place."""
    cdef int overflow = 0
    cdef int64_t at = PyLong_AsLongLongAndOverflow(key, &overflow), extent = x.t.shape[0]
    if overflow or not -extent <= at < extent:
        return None
    return row_of(x, at + extent if at < 0 else at)


cdef Array row_of(Array x, int64_t at):
    """The view at a place from 0 on of the first axis."""
    cdef int n = x.t.ndim - 1
    cdef Array a = new_header(x.device, x.dtype, n)
    memcpy(a.t.shape, x.t.shape + 1, n * sizeof(int64_t))
    memcpy(a.t.strides, x.t.strides + 1, n * sizeof(int64_t))
    a.count = x.count // x.t.shape[0]
    a.contiguous = x.contiguous or is_c_contiguous(n, a.t.shape, a.t.strides)
    a.buffer = x.buffer
    a.readonly = x.readonly
    a.t.data = x.t.data
    a.t.byte_offset = x.t.byte_offset + at * x.t.strides[0] * x.dtype.itemsize
    return a


@cython.final
cdef class Rows:
    """The views along the first axis, one after another."""

    cdef Array x
    cdef int64_t at

    def __iter__(self):
        return self

    def __next__(self):
        if self.at >= self.x.t.shape[0]:
            raise StopIteration
        self.at += 1
        return row_of(self.x, self.at - 1)


cdef Rows rows_of(Array x):
    """An iterator over the first axis."""
    cdef Rows rows = Rows.__new__(Rows)
    rows.x = x
    return rows


cdef Array view_by_keys(Array x, tuple keys):
    """`basic_view` of a tuple."""
    cdef int64_t dims[2 * MAX_NDIM]
    cdef int used = 0, new = 0, ellipses = 0, axis = 0, out = 0, i, n, rest
    cdef int64_t shift = 0, extent, at
    cdef Py_ssize_t start, stop, step, length
    for k in keys:
        if type(k) is int or type(k) is slice:
            used += 1
        elif k is None:
            new += 1
        elif k is Ellipsis:
            ellipses += 1
        else:
            return None
    if used > x.t.ndim or ellipses > 1 or x.t.ndim + new > MAX_NDIM:
        return None
    rest = x.t.ndim - used
    n = len(keys)
    for i in range(n + 1 - ellipses):
        k = keys[i] if i < n else Ellipsis
        if k is None:
            dims[out] = 1
            dims[MAX_NDIM + out] = 0
            out += 1
            continue
        if k is Ellipsis:
            for _ in range(rest):
                dims[out] = x.t.shape[axis]
                dims[MAX_NDIM + out] = x.t.strides[axis]
                out += 1
                axis += 1
            continue
        extent = x.t.shape[axis]
        if type(k) is int:
            if not -extent <= k < extent:
                return None
            at = k
            shift += (at + extent if at < 0 else at) * x.t.strides[axis]
        else:
            try:
                PySlice_Unpack(k, &start, &stop, &step)
            except (TypeError, ValueError):
                return None
            length = PySlice_AdjustIndices(extent, &start, &stop, step)
            dims[out] = length
            dims[MAX_NDIM + out] = x.t.strides[axis] * step
            if length:
                shift += start * x.t.strides[axis]
            out += 1
        axis += 1
    return view_of(x, out, dims, dims + MAX_NDIM, shift)
