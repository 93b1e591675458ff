# NumPy's arrays, in and out: the short way for contiguous ones where the host can address the memory.

from cpython.buffer cimport (PyBUF_FORMAT, PyBUF_STRIDES, PyBUF_WRITABLE, PyBuffer_IsContiguous,
                             PyBuffer_Release, PyBuffer_ToContiguous, PyObject_GetBuffer)

cdef enum:
    NOGIL_COPY = 1 << 16  # bytes whose copy takes longer than handing the GIL over
    ONE_COPY = 1 << 20  # bytes up to which one thread copies as fast as the device's copy

cdef object _ndarray = None
#: The code of a dtype by the size of an element, for the two kinds of integers.
cdef int _signed[9]
cdef int _unsigned[9]
for _i in range(N_DTYPES):
    if DTYPES[_i].kind == "i":
        _signed[DTYPES[_i].itemsize] = DTYPES[_i].code
    elif DTYPES[_i].kind == "u":
        _unsigned[DTYPES[_i].itemsize] = DTYPES[_i].code


cdef bint is_ndarray(object data):
    """Whether this is one of NumPy's own arrays, not of a subclass."""
    global _ndarray
    if _ndarray is None:
        numpy = sys.modules.get("numpy")
        if numpy is None:
            return False
        _ndarray = numpy.ndarray
    return type(data) is _ndarray


cdef int code_of(const char *text, Py_ssize_t size) noexcept:
    """The code of a dtype by the format of a buffer in native byte order; -1 for any other."""
    cdef bint pair = text[0] == b"Z"
    cdef char letter = text[1] if pair else text[0]
    if text[1 + pair]:
        return -1
    if letter == b"f":
        return COMPLEX64 if pair else FLOAT32
    if letter == b"d":
        return COMPLEX128 if pair else FLOAT64
    if pair:
        return -1
    if letter == b"?":
        return BOOL
    if letter == b"e":
        return FLOAT16
    if letter in (b"b", b"h", b"i", b"l", b"q"):
        return _signed[size]
    return _unsigned[size] if letter in (b"B", b"H", b"I", b"L", b"Q") else -1


cdef void copy_bytes(void *to, const void *source, size_t size) noexcept:
    if size < NOGIL_COPY:
        memcpy(to, source, size)
    else:
        with nogil:
            memcpy(to, source, size)


def from_ndarray(object data, object dtype, object device):
    """A copy of a NumPy array of up to a mebibyte, of this dtype or, for None, of any.

    Arrays with gaps or other orders only where they are small.
    """
    cdef Py_buffer view
    cdef Device where
    cdef Stream s
    cdef Array out = None
    cdef int code
    cdef bint whole
    cdef char *place
    if not is_ndarray(data):
        return None
    where = plain_device(device)
    if where is None or not where.host_addressable:
        return None
    if where.opened is None:
        where.ensure_open()
    s = current_stream_of(where)
    if not s.timeline.is_inline:
        return None
    try:
        PyObject_GetBuffer(data, &view, PyBUF_FORMAT | PyBUF_STRIDES)
    except (BufferError, ValueError):  # dates, for example, have no format
        return None
    try:
        code = code_of(view.format, view.itemsize)
        whole = PyBuffer_IsContiguous(&view, b"C")
        if (code >= 0 and (dtype is None or dtype is <object>_dtypes[code])
                and view.len <= (ONE_COPY if whole else SMALL_FILL)):
            out = new_array(where, <DType>_dtypes[code], view.ndim, <int64_t *>view.shape, s)
            place = <char *>out.t.data + out.t.byte_offset
            if view.len and whole:
                copy_bytes(place, view.buf, view.len)
            elif view.len:
                PyBuffer_ToContiguous(place, &view, view.len, b"C")
    finally:
        PyBuffer_Release(&view)
    return out


def to_ndarray(Array x not None, object data):
    """Copy an array that the host can address into a contiguous NumPy array of its size; or False.

    Waits for the work on it.
    """
    cdef Py_buffer view
    cdef bint done = False
    if not x.contiguous or not x.device.host_addressable:
        return False
    PyObject_GetBuffer(data, &view, PyBUF_STRIDES | PyBUF_WRITABLE)
    try:
        if view.len == x.count * x.dtype.itemsize <= ONE_COPY and PyBuffer_IsContiguous(&view, b"C"):
            wait_for_host(x.buffer)
            copy_bytes(view.buf, <char *>x.t.data + x.t.byte_offset, view.len)
            done = True
    finally:
        PyBuffer_Release(&view)
    return done
