# What the factors of matrices need around a launch.


def factor(str op not None, Array x not None, int64_t rows, int64_t columns):
    """What an op of the table makes of a stack: (b, rows, columns)."""
    cdef int64_t dims[3]
    cdef Array out
    dims[:] = [x.t.shape[0], rows, columns]
    out = new_array(x.device, x.dtype, 3, dims, current_stream_of(x.device))
    if out.count:
        launch(op, (x,), (out,))
    return out


def some(Array flags not None):
    """Whether an element of a boolean array is true; waits for them."""
    cdef int64_t count = few_true(flags)
    return count > 0 if count >= 0 else read_flag("any", flags)


def every(Array flags not None):
    """Whether all elements of a boolean array are true; waits for them."""
    cdef int64_t count = few_true(flags)
    return count == flags.count if count >= 0 else read_flag("all", flags)


cdef object read_flag(str op, Array flags):
    cdef Array found = flags
    if flags.count != 1:
        found = reduce(op, flags, None, False, <DType>_dtypes[BOOL])
    return only_element(found) if found.device.host_addressable else bool(found)


def mark_diagonal(Array x not None, int64_t k):
    """Write ones on diagonal ``k`` of a new matrix in C order that nothing else can use yet."""
    cdef int64_t cols = x.t.shape[1], first_row = max(0, -k), first_col = max(0, k), step = cols + 1
    cdef int64_t length = min(x.t.shape[0] - first_row, cols - first_col)
    cdef int64_t shift = first_row * cols + first_col, i
    cdef int size = x.dtype.itemsize
    cdef char *place
    cdef char number[16]
    if length <= 0:
        return
    place = own_memory(x, current_stream_of(x.device))
    if place == NULL:
        fill(view_of(x, 1, &length, &step, shift), 1)
        return
    write_scalar(number, 1, x.dtype)
    for i in range(length):
        move_element(place + (shift + i * step) * size, number, size)
