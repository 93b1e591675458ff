# Views of other shapes, and the triangles of matrices: the short ways for what programs do most.
#
# A function here returns None for operands that are not plain; the public one then serves or explains.

def reshaped(Array x not None, object shape, object copy=None):
    """The elements in C order with another shape, one extent of which may be -1.

    A view of a contiguous array; of any one a new array if ``copy`` is true.
    """
    cdef int64_t dims[2 * MAX_NDIM]
    cdef int64_t known = 1, step = 1
    cdef int i, n, open_place = -1
    if not (x.contiguous or copy) or type(shape) is not tuple or len(<tuple>shape) > MAX_NDIM or x.count == 0:
        return None
    n = len(<tuple>shape)
    for i in range(n):
        extent = (<tuple>shape)[i]
        if type(extent) is not int or not -1 <= extent <= x.count or extent == 0:
            return None
        dims[i] = extent
        if dims[i] == -1:
            if open_place >= 0:
                return None
            open_place = i
        elif known > x.count // dims[i]:
            return None
        else:
            known *= dims[i]
    if open_place >= 0:
        if x.count % known:
            return None
        dims[open_place] = x.count // known
    elif known != x.count:
        return None
    for i in range(n - 1, -1, -1):
        dims[MAX_NDIM + i] = step
        step *= dims[i]
    if copy:
        x = new_in_c_order(x)
    return view_of(x, n, dims, dims + MAX_NDIM, 0)


def permuted(Array x not None, object axes):
    """A view with the axes in another order."""
    cdef int64_t dims[2 * MAX_NDIM]
    cdef uint64_t seen = 0
    cdef int i, n = x.t.ndim
    cdef int64_t axis
    dims[0] = dims[MAX_NDIM] = 0  # a 0-d array has none
    if type(axes) is not tuple or len(<tuple>axes) != n:
        return None
    for i in range(n):
        item = (<tuple>axes)[i]
        if type(item) is not int or not -n <= item < n:
            return None
        axis = item
        axis += n if axis < 0 else 0
        if seen >> axis & 1:
            return None
        seen |= (<uint64_t>1) << axis
        dims[i] = x.t.shape[axis]
        dims[MAX_NDIM + i] = x.t.strides[axis]
    return view_of(x, n, dims, dims + MAX_NDIM, 0)


def seen_as(Array x not None, tuple shape not None, tuple axes not None):
    """A view whose axes are axes of the array by their numbers, or new ones (-1), of given extents.

    The caller answers for extents that are those of the array's axes, and 1 for new ones.
    """
    cdef int64_t dims[2 * MAX_NDIM]
    cdef int i, axis, n = len(axes)
    dims[0] = dims[MAX_NDIM] = 0
    for i in range(n):
        axis = axes[i]
        dims[i] = shape[i]
        dims[MAX_NDIM + i] = 0 if axis < 0 else x.t.strides[axis]
    return view_of(x, n, dims, dims + MAX_NDIM, 0)


def with_axis(Array x not None, object axis):
    """A view with a new axis of extent 1."""
    cdef int64_t dims[2 * MAX_NDIM]
    cdef int i, n = x.t.ndim + 1
    cdef int place
    if type(axis) is not int or not -n <= axis < n or n > MAX_NDIM:
        return None
    place = axis + n if axis < 0 else axis
    for i in range(n):
        dims[i] = 1 if i == place else x.t.shape[i - (i > place)]
        dims[MAX_NDIM + i] = 0 if i == place else x.t.strides[i - (i > place)]
    return view_of(x, n, dims, dims + MAX_NDIM, 0)


def without_axis(Array x not None, object axis):
    """A view without an axis of extent 1."""
    cdef int64_t dims[2 * MAX_NDIM]
    cdef int i, n = x.t.ndim
    cdef int place
    if type(axis) is not int or not -n <= axis < n:
        return None
    place = axis + n if axis < 0 else axis
    if x.t.shape[place] != 1:
        return None
    for i in range(n - 1):
        dims[i] = x.t.shape[i + (i >= place)]
        dims[MAX_NDIM + i] = x.t.strides[i + (i >= place)]
    return view_of(x, n - 1, dims, dims + MAX_NDIM, 0)


def flipped(Array x not None, object axis):
    """A view with the elements of one axis, or of all (None), in reverse order."""
    cdef int64_t dims[2 * MAX_NDIM]
    cdef int i, n = x.t.ndim, place = -1
    cdef int64_t shift = 0
    if axis is not None:
        if type(axis) is not int or not -n <= axis < n:
            return None
        place = axis + n if axis < 0 else axis
    for i in range(n):
        dims[i] = x.t.shape[i]
        dims[MAX_NDIM + i] = x.t.strides[i]
        if (place < 0 or i == place) and dims[i] > 0:
            shift += (dims[i] - 1) * dims[MAX_NDIM + i]
            dims[MAX_NDIM + i] = -dims[MAX_NDIM + i]
    return view_of(x, n, dims, dims + MAX_NDIM, shift if x.count else 0)


def moved_axis(Array x not None, object source, object destination):
    """A view with one axis elsewhere, the others in order."""
    cdef int64_t dims[2 * MAX_NDIM]
    cdef int i, n = x.t.ndim, out = 0, origin, place
    if (type(source) is not int or type(destination) is not int or not -n <= source < n
            or not -n <= destination < n):
        return None
    origin = source + n if source < 0 else source
    place = destination + n if destination < 0 else destination
    for i in range(n):
        if i == origin:
            continue
        out += out == place
        dims[out] = x.t.shape[i]
        dims[MAX_NDIM + out] = x.t.strides[i]
        out += 1
    dims[place] = x.t.shape[origin]
    dims[MAX_NDIM + place] = x.t.strides[origin]
    return view_of(x, n, dims, dims + MAX_NDIM, 0)


cdef bint take_extents(Array x, int *n, int64_t *shape) noexcept:
    """Broadcast a shape with an array's; false if they do not fit."""
    cdef int i, k, lead = x.t.ndim - n[0]
    if lead > 0:
        for i in range(n[0] - 1, -1, -1):
            shape[i + lead] = shape[i]
        for i in range(lead):
            shape[i] = 1
        n[0] = x.t.ndim
    for i in range(x.t.ndim):
        k = n[0] - x.t.ndim + i
        if shape[k] == 1:
            shape[k] = x.t.shape[i]
        elif x.t.shape[i] != 1 and x.t.shape[i] != shape[k]:
            return False
    return True


cdef Array spread_over(Array x, int n, const int64_t *shape):
    """A view of a shape that the array broadcasts to; read-only where elements repeat."""
    cdef int64_t strides[MAX_NDIM]
    cdef Array out
    cdef int i, k
    for i in range(n):
        k = i - (n - x.t.ndim)
        strides[i] = 0 if k < 0 or x.t.shape[k] != shape[i] else x.t.strides[k]
    out = view_of(x, n, shape, strides, 0)
    out.readonly |= n != x.t.ndim or memcmp(shape, x.t.shape, n * sizeof(int64_t)) != 0
    return out


def spread(Array x not None, object shape):
    """A view with a larger shape, which refuses writing."""
    cdef int64_t dims[MAX_NDIM]
    cdef int64_t wanted[MAX_NDIM]
    cdef Array out
    cdef int n, k
    n = k = plain_shape(shape, wanted)
    if n < x.t.ndim:
        return None
    memcpy(dims, wanted, n * sizeof(int64_t))
    if not take_extents(x, &k, dims) or memcmp(dims, wanted, n * sizeof(int64_t)):
        return None
    out = spread_over(x, n, wanted)
    out.readonly = True
    return out


def spread_alike(tuple arrays not None):
    """Views of all arrays with their common shape; those that repeat refuse writing."""
    cdef int64_t shape[MAX_NDIM]
    cdef int n = 0
    for x in arrays:
        if type(x) is not Array or not take_extents(<Array>x, &n, shape):
            return None
    return tuple([spread_over(<Array>x, n, shape) for x in arrays])


def diagonal_of(Array x not None, object offset):
    """A view (..., k) of a diagonal of the last two axes; positive offsets lie above."""
    cdef int64_t dims[2 * MAX_NDIM]
    cdef int i, n = x.t.ndim - 2
    cdef int64_t above = min(max(offset, -_MAX_COUNT), _MAX_COUNT)
    cdef int64_t row = max(<int64_t>0, -above), column = max(<int64_t>0, above)
    for i in range(n):
        dims[i] = x.t.shape[i]
        dims[MAX_NDIM + i] = x.t.strides[i]
    dims[n] = max(<int64_t>0, min(x.t.shape[n] - row, x.t.shape[n + 1] - column))
    dims[MAX_NDIM + n] = x.t.strides[n] + x.t.strides[n + 1]
    return view_of(x, n + 1, dims, dims + MAX_NDIM,
                   row * x.t.strides[n] + column * x.t.strides[n + 1] if dims[n] else 0)


def slices_of(Array x not None, int axis):
    """Views of the slices along an axis that is there, without that axis."""
    cdef int64_t dims[2 * MAX_NDIM]
    cdef int64_t k
    cdef int i
    for i in range(x.t.ndim - 1):
        dims[i] = x.t.shape[i + (i >= axis)]
        dims[MAX_NDIM + i] = x.t.strides[i + (i >= axis)]
    return tuple([view_of(x, x.t.ndim - 1, dims, dims + MAX_NDIM, k * x.t.strides[axis])
                  for k in range(x.t.shape[axis])])


cdef Array steps_along(int64_t count, int n, int axis, Device device):
    """The ints below ``count`` along one of n axes, whose others have the extent 1."""
    cdef int64_t dims[2 * MAX_NDIM]
    cdef int i
    for i in range(n):
        dims[i] = count if i == axis else 1
        dims[MAX_NDIM + i] = i == axis
    return view_of(ruled(0, 1, count, <DType>_dtypes[INT64], device), n, dims, dims + MAX_NDIM, 0)


def on_or_below(int64_t rows, int64_t cols, object k, Device device not None):
    """Whether elements lie on or below diagonal ``k``: bool (rows, cols)."""
    cdef int64_t least = max(-rows, min(k, cols)), first = min(least, 0)
    cdef int64_t row[4]
    cdef int64_t column[4]
    column[:] = [1, cols, 0, 1]
    row[:] = [rows, 1, 1, 0]
    steps = ruled(first, 1, max(cols, rows + least) - first, <DType>_dtypes[INT64], device)
    return run_binary(_less_equal, view_of(steps, 2, column, column + 2, -first),
                      view_of(steps, 2, row, row + 2, least - first), None)


def triangle(Array x not None, object k, bint lower):
    """The part of the last two axes on one side of diagonal ``k``, with it; zeros elsewhere."""
    cdef int n = x.t.ndim
    zero = False if x.dtype.code == BOOL else 0
    below = on_or_below(x.t.shape[n - 2], x.t.shape[n - 1], k if lower else k - 1, x.device)
    return ternary("where", below, x if lower else zero, zero if lower else x, x.dtype, x.device)
