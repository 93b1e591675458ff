# A few elements that the host moves or counts itself, where it can: a launch takes longer to make.

cdef enum:
    FEW = 1024


cdef char *host_place(Array x, int64_t count, bint write=False) except? NULL:
    """Where the host may read (or write) an array, once the work on it is done; NULL to leave it to a
    launch. ``count`` is the number of elements that it would look at.
    """
    if count > FEW or not x.device.host_addressable or not current_stream_of(x.device).timeline.is_inline:
        return NULL
    wait_on_host(x.buffer, write)
    return <char *>x.t.data + x.t.byte_offset


cdef inline void move_element(char *to, const char *source, int size) noexcept:
    if size == 4:
        (<uint32_t *>to)[0] = (<uint32_t *>source)[0]
    elif size == 8:
        (<uint64_t *>to)[0] = (<uint64_t *>source)[0]
    elif size == 1:
        to[0] = source[0]
    else:
        memcpy(to, source, size)


cdef void gather_elements(char *to, const char *source, const int64_t *room, int64_t count,
                          int size) noexcept:
    """``to[i] = source[room[i]]``, in elements."""
    cdef int64_t i
    if size == 4:
        for i in range(count):
            (<uint32_t *>to)[i] = (<const uint32_t *>source)[room[i]]
    elif size == 8:
        for i in range(count):
            (<uint64_t *>to)[i] = (<const uint64_t *>source)[room[i]]
    else:
        for i in range(count):
            move_element(to + i * size, source + room[i] * size, size)


cdef void scatter_elements(char *to, const int64_t *room, const char *source, int64_t count, int size,
                           int step) noexcept:
    """``to[room[i]] = source[i]``, in elements of ``size`` bytes; those of the source are ``step`` apart."""
    cdef int64_t i
    if size == 4 and step == 4:
        for i in range(count):
            (<uint32_t *>to)[room[i]] = (<const uint32_t *>source)[i]
    elif size == 8 and step == 8:
        for i in range(count):
            (<uint64_t *>to)[room[i]] = (<const uint64_t *>source)[i]
    else:
        for i in range(count):
            move_element(to + room[i] * size, source + i * step, size)


cdef bint add_places(int64_t *room, const int64_t *places, int64_t count, int64_t extent, int64_t stride,
                     bint is_first) noexcept:
    """Add the offsets of places along an axis, which may count from its end, to what is there unless
    it is the first. False if a place is wrong.
    """
    cdef int64_t i, at
    cdef uint64_t wrong = 0
    for i in range(count):
        at = places[i] + (extent & (places[i] >> 63))
        wrong |= <uint64_t>at >= <uint64_t>extent
        room[i] = (0 if is_first else room[i]) + at * stride
    return not wrong


cdef bint few_places(Array x, object key, int64_t *room, int64_t *count) except -1:
    """Write the offsets, in elements, that a key names: int64 arrays of one shape, one for each axis,
    or a mask of the shape of a contiguous array. False for any other key, or a wrong index.
    """
    cdef tuple keys
    cdef Array first = None
    cdef Array k
    cdef int64_t *places
    cdef int axis
    if type(key) is Array and (<Array>key).dtype.code == BOOL:
        return few_chosen(x, <Array>key, room, count)
    keys = <tuple>key if type(key) is tuple else (key,)
    if len(keys) != x.t.ndim or len(keys) == 0 or not x.device.host_addressable:
        return False
    for axis in range(x.t.ndim):
        if type(keys[axis]) is not Array:
            return False
        k = <Array>keys[axis]
        if not is_plain_index(x, k) or (first is not None and not same_shape(first, k)):
            return False
        places = <int64_t *>host_place(k, k.count)
        if places == NULL:
            return False
        first = k
        if not add_places(room, places, k.count, x.t.shape[axis], x.t.strides[axis], axis == 0):
            return False
    count[0] = first.count
    return True


cdef inline bint is_plain_index(Array x, Array k) noexcept:
    """Whether an array may be an index as it lies: int64, contiguous, of the device."""
    return k.dtype.code == INT64 and k.device is x.device and k.contiguous and k.count <= FEW


cdef bint few_chosen(Array x, Array mask, int64_t *room, int64_t *count) except -1:
    """`few_places` of a mask."""
    cdef uint8_t *flags
    cdef int64_t i, found = 0
    if (mask.device is not x.device or not mask.contiguous or not x.contiguous or mask.count > FEW
            or x.t.ndim == 0 or not same_shape(mask, x)):
        return False
    flags = <uint8_t *>host_place(mask, mask.count)
    if flags == NULL:
        return False
    for i in range(mask.count):
        room[found] = i
        found += flags[i] != 0
    count[0] = found
    return True


cdef Array few_at(Array x, Array places):
    """The elements of a vector at a few places; None for other operands, or a wrong place."""
    cdef char *source
    cdef int64_t *at
    cdef Array out
    if x.t.ndim != 1 or not is_plain_index(x, places):
        return None
    source = host_place(x, places.count)
    at = <int64_t *>host_place(places, places.count)
    if source == NULL or at == NULL:
        return None
    out = new_array(x.device, x.dtype, places.t.ndim, places.t.shape, current_stream_of(x.device))
    return out if gather_places(<char *>out.t.data + out.t.byte_offset, source, at, places.count,
                                x.t.shape[0], x.t.strides[0], x.dtype.itemsize) else None


cdef bint gather_places(char *to, const char *source, const int64_t *places, int64_t count,
                        int64_t extent, int64_t stride, int size) noexcept:
    """``to[i] = source[places[i]]``, of places that may count from the end; false if one is wrong."""
    cdef int64_t i, at
    for i in range(count):
        at = places[i]
        at += extent & (at >> 63)
        if <uint64_t>at >= <uint64_t>extent:
            return False
        move_element(to + i * size, source + at * stride * size, size)
    return True


cdef Array few_taken(Array x, object key):
    """``x[key]`` for few elements that `few_places` finds; None for all else."""
    cdef int64_t room[FEW]
    cdef int64_t count
    cdef int size = x.dtype.itemsize
    cdef char *source
    cdef char *to
    cdef Array first
    cdef Array out
    if type(key) is Array and (<Array>key).dtype.code == INT64:
        return few_at(x, <Array>key)
    if not few_places(x, key, room, &count):
        return None
    source = host_place(x, count)
    first = <Array>(key[0] if type(key) is tuple else key)
    if first.dtype.code == BOOL:
        out = new_array(x.device, x.dtype, 1, &count, current_stream_of(x.device))
    else:
        out = new_array(x.device, x.dtype, first.t.ndim, first.t.shape, current_stream_of(x.device))
    to = <char *>out.t.data + out.t.byte_offset
    if source != NULL:
        gather_elements(to, source, room, count, size)
    return out if source != NULL or count == 0 else None


cdef bint few_put(Array x, object key, object value) except -1:
    """``x[key] = value`` for few elements that `few_places` finds; false for all else.

    The value is an array of their dtype and shape, or a number of their kind.
    """
    cdef int64_t room[FEW]
    cdef char number[16]
    cdef int64_t count
    cdef int size = x.dtype.itemsize
    cdef int step = 0
    cdef char *source = number
    cdef char *to
    cdef Array given
    cdef Array first
    kind = type(value)
    if not (kind is Array or (kind is float and x.dtype.kind == "f")
            or (kind is int and x.dtype.kind in "iuf")):
        return False
    if not few_places(x, key, room, &count):
        return False
    if kind is Array:
        given = <Array>value
        first = <Array>(key[0] if type(key) is tuple else key)
        if (given.dtype is not x.dtype or given.device is not x.device or not given.contiguous
                or uses_of(given.buffer) is uses_of(x.buffer)):
            return False
        if not (given.t.ndim == 1 and given.count == count if first.dtype.code == BOOL
                else same_shape(given, first)):
            return False
        source = host_place(given, count)
        step = size
    else:
        write_scalar(number, value, x.dtype)
    check_writable(x)
    to = host_place(x, count, True)
    if source == NULL or to == NULL:
        return count == 0
    scatter_elements(to, room, source, count, size, step)
    return True


cdef bint is_kept(object value, DType dtype) noexcept:
    """Whether a Python number is of a dtype's kind, or of one that the kind includes."""
    kind = type(value)
    if kind is float:
        return dtype.kind in "fc"
    if kind is int:
        return dtype.kind in "iufc"
    if kind is complex:
        return dtype.kind == "c"
    return kind is bool and dtype.code == BOOL


cdef bint few_filled(Array target, object value) except -1:
    """Write a number of its kind into a few elements where they lie; false for all else."""
    cdef char number[16]
    cdef char *to
    cdef int64_t i, step
    cdef int size = target.dtype.itemsize
    if target.count == 0 or target.count > FEW or not (target.contiguous or target.t.ndim == 1):
        return False
    check_writable(target)
    write_scalar(number, value, target.dtype)
    to = place_to_write(target, target.count)
    if to == NULL:
        return False
    step = size if target.contiguous else target.t.strides[0] * size
    for i in range(target.count):
        move_element(to + i * step, number, size)
    return True


cdef bint element_put(Array x, object key, object value) except -1:
    """Write a number of its kind to one place of a vector; false if it is not to be done here."""
    cdef char number[16]
    cdef int overflow = 0
    cdef int64_t at = PyLong_AsLongLongAndOverflow(key, &overflow), extent = x.t.shape[0]
    cdef char *to
    if overflow or not -extent <= at < extent:
        return False
    check_writable(x)
    write_scalar(number, value, x.dtype)
    to = place_to_write(x, 1)
    if to == NULL:
        return False
    at += extent if at < 0 else 0
    move_element(to + at * x.t.strides[0] * x.dtype.itemsize, number, x.dtype.itemsize)
    return True


cdef bint few_copied(Array target, Array source) except -1:
    """Copy a few contiguous elements of one dtype where they lie; false for all else."""
    cdef char *origin
    cdef char *to
    if target.count == 0 or not target.contiguous or not source.contiguous:
        return False
    check_writable(target)
    origin = host_place(source, source.count)
    to = NULL if origin == NULL else place_to_write(target, target.count)
    if to == NULL:
        return False
    memmove(to, origin, target.count * target.dtype.itemsize)
    return True


cdef char *place_to_write(Array target, int64_t count) except? NULL:
    """`host_place` of what is to be written; NULL also if earlier work on it failed: a launch that
    writes all of it makes up for that.
    """
    try:
        return host_place(target, count, True)
    except errors.PhalanxError:
        return NULL


def rows_at(Array x not None, Array order not None):
    """The rows of a stack (b, m, n) at places (b, k), int64 and in range: (b, k, n)."""
    cdef int64_t dims[3]
    cdef int64_t i, j, k, at
    cdef int size = x.dtype.itemsize
    cdef char *source = host_place(x, order.count * x.t.shape[2])
    cdef char *places = host_place(order, order.count)
    cdef char *to
    cdef Array out
    dims[0], dims[1], dims[2] = x.t.shape[0], order.t.shape[1], x.t.shape[2]
    out = new_array(x.device, x.dtype, 3, dims, current_stream_of(x.device))
    if out.count == 0:
        return out
    if source == NULL or places == NULL:
        offsets = binary(_multiply, order, x.t.strides[1])
        if dims[0] > 1:
            offsets = binary(_add, offsets, binary(
                _multiply, steps_along(dims[0], 2, 0, x.device), x.t.strides[0]))
        launch("gather", (view_of(x, 1, dims + 2, x.t.strides + 2, 0),
                          flat_view(in_c_order(offsets))), (reshaped(out, (-1, dims[2])),))
        return out
    to = <char *>out.t.data + out.t.byte_offset
    for i in range(dims[0]):
        for j in range(dims[1]):
            at = i * x.t.strides[0] + x.t.strides[1] * (<int64_t *>places)[
                i * order.t.strides[0] + j * order.t.strides[1]]
            for k in range(dims[2]):
                move_element(to, source + (at + k * x.t.strides[2]) * size, size)
                to += size
    return out


def odd_few(Array order not None):
    """Whether each of a few permutations (b, n), int64, is odd, as bool (b,); None for many.

    An odd one has an odd number of pairs out of order.
    """
    cdef int64_t b = order.t.shape[0], n = order.t.shape[1], i, j, k
    cdef int64_t *place = <int64_t *>host_place(order, b * n * n)
    cdef int64_t step = order.t.strides[1]
    cdef uint8_t *found
    cdef uint8_t odd
    cdef Array out
    if place == NULL:
        return None
    out = new_array(order.device, <DType>_dtypes[BOOL], 1, &b, current_stream_of(order.device))
    found = <uint8_t *>out.t.data + out.t.byte_offset
    for i in range(b):
        odd = 0
        for j in range(n):
            for k in range(j):
                odd ^= place[k * step] > place[j * step]
        found[i] = odd
        place += order.t.strides[0]
    return out


cdef bint few_along(Array x, Array index, int axis, int64_t *room) except -1:
    """Write the offsets, in elements, that few int64 indices (..., m, ...) name along an axis of x
    (..., n, ...), whose other extents are equal. False for all else, or a wrong index.
    """
    cdef int64_t place[MAX_NDIM]
    cdef int64_t *places
    cdef int64_t e, at, begin = 0, n = x.t.shape[axis]
    cdef int i
    if (not index.contiguous or index.dtype.code != INT64 or x.t.ndim != index.t.ndim
            or index.device is not x.device):
        return False
    for i in range(x.t.ndim):
        place[i] = 0
        if i != axis and x.t.shape[i] != index.t.shape[i]:
            return False
    places = <int64_t *>host_place(index, index.count)
    if places == NULL:
        return False
    for e in range(index.count):
        at = places[e]
        at += n if at < 0 else 0
        if not 0 <= at < n:
            return False
        room[e] = begin + at * x.t.strides[axis]
        for i in range(x.t.ndim - 1, -1, -1):
            place[i] += 1
            begin += 0 if i == axis else x.t.strides[i]
            if place[i] < index.t.shape[i]:
                break
            begin -= 0 if i == axis else place[i] * x.t.strides[i]
            place[i] = 0
    return True


def taken_along(Array x not None, Array index not None, int axis):
    """The elements of x at the places of an axis, as `few_along` has them; None for all else."""
    cdef int64_t room[FEW]
    cdef int size = x.dtype.itemsize
    cdef char *source
    cdef char *to
    cdef Array out
    if not few_along(x, index, axis, room):
        return None
    source = host_place(x, 1)
    if source == NULL:
        return None
    out = new_array(x.device, x.dtype, index.t.ndim, index.t.shape, current_stream_of(x.device))
    to = <char *>out.t.data + out.t.byte_offset
    gather_elements(to, source, room, index.count, size)
    return out


def put_along(Array x not None, Array index not None, int axis, value):
    """Write a number of the dtype's kind, or an array of the shape of the index and the dtype of x,
    at the places of an axis, as `few_along` has them; false for all else.
    """
    cdef int64_t room[FEW]
    cdef char number[16]
    cdef int size = x.dtype.itemsize
    cdef int step = 0
    cdef char *source = number
    cdef char *to
    cdef Array given
    if type(value) is not Array and not is_kept(value, x.dtype):
        return False
    if not few_along(x, index, axis, room):
        return False
    check_writable(x)
    if type(value) is Array:
        given = <Array>value
        if (given.dtype is not x.dtype or given.device is not x.device or not given.contiguous
                or not same_shape(given, index) or uses_of(given.buffer) is uses_of(x.buffer)):
            return False
        source = host_place(given, given.count)
        step = size
    else:
        write_scalar(number, value, x.dtype)
    to = NULL if source == NULL or index.count == 0 else host_place(x, 1, True)
    if to == NULL:
        return False
    scatter_elements(to, room, source, index.count, size, step)
    return True


cdef enum:
    COUNTED = 1 << 16  # numbers that the host counts faster than launches do


def counted_on_host(Array ids not None, object least):
    """How often each number is among int64 ones, for the numbers below ``least`` at least.

    None for many, and if one is negative or not small.
    """
    cdef int64_t *place
    cdef int64_t *found
    cdef int64_t i, count, seen = 0, highest = -1
    cdef Array out
    if ids.dtype.code != INT64 or not ids.contiguous or ids.count > COUNTED or least > COUNTED:
        return None
    count = least
    place = <int64_t *>host_place(ids, 1)
    if place == NULL:
        return None
    for i in range(ids.count):
        seen |= place[i]
        highest = max(highest, place[i])
    if seen < 0 or highest >= COUNTED:
        return None
    count = max(count, highest + 1)
    out = new_array(ids.device, <DType>_dtypes[INT64], 1, &count, current_stream_of(ids.device))
    found = <int64_t *>(<char *>out.t.data + out.t.byte_offset)
    memset(found, 0, count * sizeof(int64_t))
    for i in range(ids.count):
        if 0 <= place[i] < count:  # another thread may have changed it
            found[place[i]] += 1
    return out
