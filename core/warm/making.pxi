# New arrays of a number, and joined arrays: the short ways for what programs do most.
#
# A function here returns None for operands that are not plain; the public one then serves or explains.

cdef extern from "Python.h":
    int PyContextVar_Get(object var, PyObject *default, PyObject **value) except -1


cdef int plain_shape(object shape, int64_t *dims) except -2:
    """Write the extents of an int or a tuple of ints; their number, or -1 if it is anything else."""
    cdef int i, n
    if type(shape) is int and 0 <= shape <= _MAX_COUNT:
        dims[0] = shape
        return 1
    if type(shape) is not tuple or len(<tuple>shape) > MAX_NDIM:
        return -1
    n = len(<tuple>shape)
    for i in range(n):
        extent = (<tuple>shape)[i]
        if type(extent) is not int or not 0 <= extent <= _MAX_COUNT:
            return -1
        dims[i] = extent
    return n


#: The device of each context; None where the default one serves.
current_device = ContextVar("phalanx_device", default=None)

cdef object _current_device = current_device
cdef object _get_device = None
cdef Device _default = None  # of the drivers of a host at one generation
cdef DriverSet _default_of = None
cdef uint64_t _default_generation = 0


cdef class DriverSet:
    """What a plugin host is to those that remember a device of it.

    Attributes:
        generation: changes with the set of drivers, so that others drop what they remember.
    """

    cdef public uint64_t generation


def keep_default(Device device not None, DriverSet drivers not None, uint64_t generation):
    """Remember the default device for as long as the drivers stay at this generation."""
    global _default, _default_of, _default_generation
    _default, _default_of, _default_generation = device, drivers, generation


cpdef Device plain_device(object device):
    """The current device for None, a device as it is; None for a name."""
    global _get_device
    cdef PyObject *found = NULL
    if device is not None:
        return <Device>device if type(device) is Device else None
    if PyContextVar_Get(_current_device, NULL, &found) == 0 and found != NULL:
        where = <object>found
        Py_DECREF(where)
        if where is not None:
            return <Device>where
    if _default is not None and _default_of.generation == _default_generation:
        return _default
    if _get_device is None:
        from .discovery.devices import get_device

        _get_device = get_device
    return <Device>_get_device()


cdef enum:
    SMALL_FILL = 4096  # bytes that are written faster than a launch is made


cdef inline char *own_memory(Array out, Stream s) noexcept:
    """Where the host may write a new array, which nothing else can use yet; NULL if it may not."""
    if not out.device.host_addressable or not s.timeline.is_inline or out.count == 0:
        return NULL
    if out.count > SMALL_FILL // out.dtype.itemsize:
        return NULL
    return <char *>out.t.data + out.t.byte_offset


cdef int fill_new(Array out, object value, Stream s) except -1:
    """Write a Python number into every element of a new array."""
    cdef char *place = own_memory(out, s)
    cdef int64_t size, done
    if place == NULL:
        fill(out, value)
        return 0
    size = out.count * out.dtype.itemsize
    if type(value) is int and value == 0:
        memset(place, 0, size)
        return 0
    write_scalar(place, value, out.dtype)
    done = out.dtype.itemsize
    while done < size:
        memcpy(place + done, place, min(done, size - done))
        done += min(done, size - done)
    return 0


cdef bint _fills_unset = False


def fill_unset(bint on):
    """Say whether unset memory is filled with what tells, which is not the short way."""
    global _fills_unset
    _fills_unset = on


def plain_array(shape, object value, object dtype, object device):
    """An array with every element a Python number, of unset memory if that is None.

    Without a ``dtype`` it has the number's; ``float`` stands for that of Python floats.
    """
    cdef int64_t dims[MAX_NDIM]
    cdef int n
    cdef Device where
    cdef Array out
    cdef Stream s
    kind = type(value)
    where = plain_device(device)
    if where is None or (value is None and _fills_unset):
        return None
    if value is not None and kind is not int and kind is not float and kind is not bool:
        return None
    if dtype is float or (dtype is None and kind is float):
        dtype = default_float(where)
    elif dtype is None and value is not None:
        dtype = <object>_dtypes[INT64 if kind is int else BOOL]
    if type(dtype) is not DType:
        return None
    if kind is float and (<DType>dtype).kind in "iub":
        return None
    if (<DType>dtype).code == BOOL and value is not None and value not in (0, 1):
        return None  # refused elsewhere
    n = plain_shape(shape, dims)
    if n < 0:
        return None
    if where.opened is None:
        where.ensure_open()
    s = current_stream_of(where)
    out = new_array(where, <DType>dtype, n, dims, s)
    if value is not None:
        fill_new(out, value, s)
    return out


def plain_like(object x, object value, object dtype, object device):
    """`plain_array` of the shape of an array, and its dtype and device unless given; None if it is none."""
    cdef Array like
    if type(x) is not Array:
        return None
    like = <Array>x
    return plain_array(like.shape, value, like.dtype if dtype is None else dtype,
                       like.device if device is None else device)


def plain_data(object data, object device):
    """An array of a Python number, or of nested lists and tuples of them, with their own dtype.

    An array is itself where no device is asked for.
    """
    cdef Device where
    kind = type(data)
    if kind is Array:
        return data if device is None else None
    if kind is float or kind is bool or (kind is int and _LEAST <= data <= _MOST):
        return plain_array((), data, None, device)
    if kind is not list and kind is not tuple:
        return None
    where = plain_device(device)
    return None if where is None else nested_array(data, None, where)


cdef object _LEAST = -(1 << 63)  # of int64
cdef object _MOST = (1 << 63) - 1


cdef Array scalar_on(Device device, DType dtype, object value):
    """A 0-d array of a Python number."""
    cdef Stream s = current_stream_of(device)
    cdef Array out = new_array(device, dtype, 0, NULL, s)
    fill_new(out, value, s)
    return out


def ruled(object start, object step, int64_t count, DType dtype not None, Device device not None):
    """The numbers start + i * step for i below ``count``."""
    cdef Array out
    cdef Stream s
    cdef int64_t *place
    cdef int64_t first, width, i
    if device.opened is None:
        device.ensure_open()
    s = current_stream_of(device)
    out = new_array(device, dtype, 1, &count, s)
    place = <int64_t *>own_memory(out, s)
    if (place != NULL and dtype.code == INT64 and type(start) is int and type(step) is int
            and _LEAST <= start <= _MOST and _LEAST <= step <= _MOST):
        first, width = start, step
        for i in range(count):
            place[i] = first + i * width
    elif count == 1:
        fill_new(out, start, s)
    elif count:
        launch("arange", (scalar_on(device, dtype, start), scalar_on(device, dtype, step)), (out,))
    return out


def plain_range(object start, object stop, object step, object dtype, object device):
    """The ints from start (or 0) up to below stop, step apart, as int64."""
    cdef int64_t first = 0, end, width
    cdef Device where
    if (type(start) is not int or type(step) is not int or (stop is not None and type(stop) is not int)
            or (dtype is not None and dtype is not <object>_dtypes[INT64])):
        return None
    where = plain_device(device)
    if where is None or not (-_MAX_COUNT < start < _MAX_COUNT and 0 < step < _MAX_COUNT):
        return None
    if stop is not None and not -_MAX_COUNT < stop < _MAX_COUNT:
        return None
    end = start if stop is None else stop
    first = 0 if stop is None else start
    width = step
    return ruled(first, width, (end - first - 1) // width + 1 if end > first else 0,
                 <DType>_dtypes[INT64], where)


cdef void write_triangle(int64_t *row, int64_t *column, int64_t rows, int64_t cols, int64_t k,
                         bint lower) noexcept nogil:
    """Rows and columns of the elements up to diagonal ``k`` of (rows, cols), or of those from it on.

    Rows that have none are not looked at.
    """
    cdef int64_t i, j, edge, end
    for i in range(max(-k, 0) if lower else 0, rows if lower else min(rows, cols - k)):
        edge = max(min(i + k + lower, cols), 0)
        end = edge if lower else cols
        for j in range(0 if lower else edge, end):
            row[0] = i
            column[0] = j
            row += 1
            column += 1


def triangle_places(int64_t rows, int64_t cols, int64_t k, bint lower, int64_t total, object device):
    """The places of `write_triangle`, of which there are ``total``; None where the host cannot write."""
    cdef Device where = plain_device(device)
    cdef Stream s
    cdef Array row
    cdef Array column
    if where is None or not where.host_addressable:
        return None
    if where.opened is None:
        where.ensure_open()
    s = current_stream_of(where)
    if not s.timeline.is_inline:
        return None
    row = new_array(where, <DType>_dtypes[INT64], 1, &total, s)
    column = new_array(where, <DType>_dtypes[INT64], 1, &total, s)
    if total:
        with nogil:
            write_triangle(<int64_t *>(<char *>row.t.data + row.t.byte_offset),
                           <int64_t *>(<char *>column.t.data + column.t.byte_offset),
                           rows, cols, k, lower)
    return row, column


cdef bint plain_parts(object parts) except -1:
    """Whether this is a list or tuple of arrays of one device, one dtype and one number of axes."""
    cdef Array first
    cdef Array x
    if type(parts) is not list and type(parts) is not tuple or not len(parts):
        return False
    if type(parts[0]) is not Array:
        return False
    first = <Array>parts[0]
    for part in parts:
        if type(part) is not Array:
            return False
        x = <Array>part
        if x.device is not first.device or x.dtype is not first.dtype or x.t.ndim != first.t.ndim:
            return False
    return True


def joined(object parts, object axis):
    """Arrays behind each other along an axis."""
    cdef int64_t dims[MAX_NDIM]
    cdef int64_t begin = 0
    cdef int i, place, n
    cdef Array first
    cdef Array x
    cdef Array out
    if not plain_parts(parts) or type(axis) is not int:
        return None
    first = <Array>parts[0]
    n = first.t.ndim
    if not -n <= axis < n:
        return None
    place = axis + n if axis < 0 else axis
    memcpy(dims, first.t.shape, n * sizeof(int64_t))
    dims[place] = 0
    for part in parts:
        x = <Array>part
        for i in range(n):
            if i != place and x.t.shape[i] != dims[i]:
                return None
        dims[place] += x.t.shape[place]
    out = new_array(first.device, first.dtype, n, dims, current_stream_of(first.device))
    for part in parts:
        x = <Array>part
        if x.count:
            assign(view_of(out, n, x.t.shape, out.t.strides, begin * out.t.strides[place]), x)
        begin += x.t.shape[place]
    return out


def stacked(object parts, object axis):
    """Arrays of one shape along a new axis."""
    cdef int64_t dims[2 * MAX_NDIM]
    cdef int i, place, n
    cdef Array first
    cdef Array out
    if not plain_parts(parts) or type(axis) is not int:
        return None
    first = <Array>parts[0]
    n = first.t.ndim + 1
    if not -n <= axis < n or n > MAX_NDIM:
        return None
    place = axis + n if axis < 0 else axis
    for part in parts:
        if not same_shape(first, <Array>part):
            return None
    for i in range(n):
        dims[i] = len(parts) if i == place else first.t.shape[i - (i > place)]
    out = new_array(first.device, first.dtype, n, dims, current_stream_of(first.device))
    if out.count == 0:
        return out
    for i in range(n - 1):
        dims[i] = first.t.shape[i]
        dims[MAX_NDIM + i] = out.t.strides[i + (i >= place)]
    for i in range(len(parts)):
        assign(view_of(out, n - 1, dims, dims + MAX_NDIM, i * out.t.strides[place]), <Array>parts[i])
    return out


def repeated(Array x not None, object times, int axis):
    """Each slice along an axis that is there so often, 0 or more, one behind the other."""
    cdef int64_t dims[2 * MAX_NDIM]
    cdef int64_t count = min(times, _MAX_COUNT)
    cdef int i, n = x.t.ndim + 1
    if n > MAX_NDIM:
        return None
    for i in range(n):
        dims[i] = count if i == axis + 1 else x.t.shape[i - (i > axis)]
        dims[MAX_NDIM + i] = 0 if i == axis + 1 else x.t.strides[i - (i > axis)]
    return joined_axes(new_in_c_order(view_of(x, n, dims, dims + MAX_NDIM, 0)), axis + 1)


def rolled(Array x not None, object shift, int axis):
    """The elements moved along an axis by so many places; what falls out returns in front."""
    cdef int64_t dims[MAX_NDIM]
    cdef int64_t extent = x.t.shape[axis], cut = shift % extent if extent else 0
    cdef Array out
    if cut == 0:
        return unary(_copy, x)
    out = new_array(x.device, x.dtype, x.t.ndim, x.t.shape, current_stream_of(x.device))
    memcpy(dims, x.t.shape, x.t.ndim * sizeof(int64_t))
    for begin, end in ((0, cut), (cut, extent)):
        dims[axis] = end - begin
        assign(view_of(out, x.t.ndim, dims, out.t.strides, begin * out.t.strides[axis]),
               view_of(x, x.t.ndim, dims, x.t.strides, (extent - cut if begin == 0 else 0)
                       * x.t.strides[axis]))
    return out


def number_on(Device device not None, DType dtype not None, value):
    """A Python number as a 0-d array."""
    if device.opened is None:
        device.ensure_open()
    return scalar_on(device, dtype, value)


def tiled(Array x not None, tuple times not None):
    """Copies side by side, so often along each of the last axes; none of the numbers is negative."""
    cdef int64_t dims[2 * MAX_NDIM]
    cdef int i, k, n = max(x.t.ndim, <int>len(times))
    cdef Array out
    if 2 * n > MAX_NDIM:
        return None
    for i in range(n):
        k = i - (n - <int>len(times))
        dims[2 * i] = 1 if k < 0 else min(times[k], _MAX_COUNT)
        dims[MAX_NDIM + 2 * i] = 0
        k = i - (n - x.t.ndim)
        dims[2 * i + 1] = 1 if k < 0 else x.t.shape[k]
        dims[MAX_NDIM + 2 * i + 1] = 0 if k < 0 else x.t.strides[k]
    out = new_in_c_order(view_of(x, 2 * n, dims, dims + MAX_NDIM, 0))
    for i in range(n):
        out = joined_axes(out, i + 1)
    return out


cdef Array joined_axes(Array x, int axis):
    """A contiguous array with an axis and the one before as one."""
    cdef int64_t dims[2 * MAX_NDIM]
    cdef int i, n = x.t.ndim - 1
    for i in range(n):
        dims[i] = x.t.shape[i + (i >= axis)] * (x.t.shape[axis] if i == axis - 1 else 1)
        dims[MAX_NDIM + i] = x.t.strides[i + (i >= axis - 1)]
    return view_of(x, n, dims, dims + MAX_NDIM, 0)
