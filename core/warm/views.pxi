# New arrays and views: headers, counts, contiguity.

cdef Array new_header(Device device, DType dtype, int ndim):
    """An array without buffer, shape and strides; the caller fills them."""
    cdef Array a = Array.__new__(Array)
    a.device = device
    a.dtype = dtype
    a.t.device = device.dl
    a.t.dtype = dtype.dl
    a.t.ndim = ndim
    if ndim <= INLINE_NDIM:
        a.t.shape = a.inline_dims
    else:
        a.t.shape = a.inline_dims  # what __dealloc__ sees if the next line raises
        if ndim > MAX_NDIM:
            raise ValueError(f"an array of {ndim} axes; at most {MAX_NDIM} are supported")
        a.t.shape = <int64_t *>PyMem_Malloc(2 * ndim * sizeof(int64_t))
        if a.t.shape == NULL:
            a.t.shape = a.inline_dims
            raise MemoryError()
    a.t.strides = a.t.shape + ndim
    return a


cdef inline Array new_array(Device device, DType dtype, int ndim, const int64_t *shape, Stream s):
    """A C-contiguous array of unset memory, allocated on a stream."""
    cdef Array a = new_header(device, dtype, ndim)
    cdef int64_t n = 1
    cdef int i
    for i in range(ndim - 1, -1, -1):
        a.t.shape[i] = shape[i]
        a.t.strides[i] = n
        if (n | shape[i]) >> 29 and shape[i] and n > _MAX_COUNT // shape[i]:  # few need the quotient
            raise_too_large(device, dtype, ndim, shape)
        n *= shape[i]
    a.count = n
    a.contiguous = True
    attach(a, allocate(device, n * dtype.itemsize, s))
    return a


cdef inline void attach(Array a, Buffer b) noexcept:
    a.buffer = b
    a.t.data = b.base
    a.t.byte_offset = b.offset


cdef int64_t _MAX_COUNT = (<int64_t>1 << 59)


cdef int raise_too_large(Device device, DType dtype, int ndim, const int64_t *shape) except -1:
    dims = tuple([shape[i] for i in range(ndim)])
    raise errors.OutOfMemoryError(
        f"an array of shape {dims} and dtype {dtype} on {device} has more elements than 64 bits "
        "can address; check the shape", size=0, verdict="genuine")


cdef int64_t count_elements(Array like, int ndim, const int64_t *shape) except -1:
    """The product of the extents; a broadcast view may have more elements than 64 bits can count."""
    cdef int64_t n = 1
    cdef int i
    for i in range(ndim):
        if shape[i] == 0:
            return 0
    for i in range(ndim):
        if n > _MAX_COUNT // shape[i]:
            raise_too_large(like.device, like.dtype, ndim, shape)
        n *= shape[i]
    return n


cdef bint is_c_contiguous(int ndim, const int64_t *shape, const int64_t *strides) noexcept:
    """Whether C order without gaps; axes of one element may have any stride, empty is contiguous."""
    cdef int64_t expected = 1
    cdef int i
    for i in range(ndim):
        if shape[i] == 0:
            return True
    for i in range(ndim - 1, -1, -1):
        if shape[i] != 1:
            if strides[i] != expected:
                return False
            expected *= shape[i]
    return True


cdef Array view_of(Array base, int ndim, const int64_t *shape, const int64_t *strides,
                   int64_t shift):
    """A view of a buffer, ``shift`` elements from the first element of ``base``."""
    cdef Array a = new_header(base.device, base.dtype, ndim)
    cdef int i
    for i in range(ndim):
        a.t.shape[i] = shape[i]
        a.t.strides[i] = strides[i]
    a.count = count_elements(base, ndim, shape)
    a.contiguous = is_c_contiguous(ndim, a.t.shape, a.t.strides)
    a.buffer = base.buffer
    a.readonly = base.readonly
    a.t.data = base.t.data
    a.t.byte_offset = base.t.byte_offset + shift * base.dtype.itemsize
    return a


def same_view(Array x not None):
    """Another array over the same elements."""
    return view_of(x, x.t.ndim, x.t.shape, x.t.strides, 0)


cdef Array _transpose_last(Array a):
    cdef int64_t dims[2 * MAX_NDIM]
    cdef int n = a.t.ndim
    memcpy(dims, a.t.shape, n * sizeof(int64_t))
    memcpy(dims + MAX_NDIM, a.t.strides, n * sizeof(int64_t))
    dims[n - 1], dims[n - 2] = dims[n - 2], dims[n - 1]
    dims[MAX_NDIM + n - 1], dims[MAX_NDIM + n - 2] = dims[MAX_NDIM + n - 2], dims[MAX_NDIM + n - 1]
    return view_of(a, n, dims, dims + MAX_NDIM, 0)


def view(Array base not None, tuple shape, tuple strides, int64_t shift=0, *, bint readonly=False):
    """Return a view with the given shape and strides (elements), ``shift`` elements from the first.

    ``readonly`` refuses writing, also through views of the view. The caller answers for staying
    inside the buffer.
    """
    cdef Array a
    cdef int64_t dims[2 * MAX_NDIM]
    cdef int n = len(shape)
    if n > MAX_NDIM:
        raise ValueError(f"a view of {n} axes; at most {MAX_NDIM} are supported")
    for i in range(n):
        dims[i] = shape[i]
        dims[MAX_NDIM + i] = strides[i]
    a = view_of(base, n, dims, dims + MAX_NDIM, shift)
    a.readonly |= readonly
    return a


def reinterpret(Array base not None, DType dtype not None, tuple shape, tuple strides,
                int64_t byte_shift=0):
    """Return a view with another dtype (strides in its elements); the caller answers for its bounds."""
    cdef Array a = new_header(base.device, dtype, len(shape))
    cdef int i
    a.count = 1
    for i in range(a.t.ndim):
        a.t.shape[i] = shape[i]
        a.t.strides[i] = strides[i]
        a.count *= a.t.shape[i]
    a.contiguous = is_c_contiguous(a.t.ndim, a.t.shape, a.t.strides)
    a.buffer = base.buffer
    a.readonly = base.readonly
    a.t.data = base.t.data
    a.t.byte_offset = base.t.byte_offset + byte_shift
    return a


cdef Array part_of(Array x, int part):
    """A view of the real parts of complex numbers, or of the imaginary ones, which lie behind them."""
    cdef DType dtype = <DType>_dtypes[FLOAT32 if x.dtype.code == COMPLEX64 else FLOAT64]
    cdef Array a = new_header(x.device, dtype, x.t.ndim)
    cdef int i
    for i in range(x.t.ndim):
        a.t.shape[i] = x.t.shape[i]
        a.t.strides[i] = 2 * x.t.strides[i]
    a.count = x.count
    a.contiguous = is_c_contiguous(a.t.ndim, a.t.shape, a.t.strides)
    a.buffer = x.buffer
    a.readonly = x.readonly
    a.t.data = x.t.data
    a.t.byte_offset = x.t.byte_offset + part * dtype.itemsize
    return a


def empty(tuple shape, DType dtype not None, Device device not None, Stream stream=None):
    """Return an array of unset memory, C-contiguous."""
    cdef int64_t dims[MAX_NDIM]
    cdef int n = len(shape)
    if n > MAX_NDIM:
        raise ValueError(f"an array of {n} axes; at most {MAX_NDIM} are supported")
    for i in range(n):
        extent = shape[i]
        if extent < 0:
            raise ValueError(f"negative extent in shape {shape}: extents are 0 or more")
        if extent > _MAX_COUNT:
            raise errors.OutOfMemoryError(
                f"an array of shape {shape} and dtype {dtype} on {device} cannot be addressed",
                size=0, verdict="genuine")
        dims[i] = extent
    device.ensure_open()
    return new_array(device, dtype, n, dims, stream or current_stream_of(device))


cdef extern from *:
    """
    /* A static type's own dictionary: the only way to give it attributes from Python. */
    static PyObject *phx_type_dict(PyTypeObject *type) { return type->tp_dict; }
    """
    PyObject *phx_type_dict(type t)
    void PyType_Modified(type t)


def add_methods(dict methods not None):
    """Give ``Array`` further methods and properties: functions of an array first, by name."""
    (<dict>phx_type_dict(Array)).update(methods)
    PyType_Modified(Array)
