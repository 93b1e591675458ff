# Products of arrays that are seen as stacks of matrices, without views of their own.

cdef struct Stack:
    # An array seen as a stack of matrices: the array's own axes, or new ones of extent 1.
    DLTensor t
    int64_t shape[MAX_NDIM]
    int64_t strides[MAX_NDIM]


cdef void see(Stack *stack, Array x, int n) noexcept:
    """See an array with n axes, whose extents and strides the caller has written."""
    stack.t = x.t
    stack.t.ndim = n
    stack.t.shape = stack.shape
    stack.t.strides = stack.strides


cdef bint see_axes(Stack *stack, Array x, tuple axes) except -1:
    """See an array with axes of its own by their numbers, or new ones (-1)."""
    cdef int i, axis, n = len(axes)
    if n > MAX_NDIM:
        return False
    for i in range(n):
        axis = axes[i]
        stack.shape[i] = 1 if axis < 0 else x.t.shape[axis]
        stack.strides[i] = 0 if axis < 0 else x.t.strides[axis]
    see(stack, x, n)
    return True


cdef void see_matrices(Stack *stack, Array x, bint first) noexcept:
    """See an array as it is; a vector as a row if it is the first operand, else as a column."""
    cdef int i, n = x.t.ndim
    for i in range(n):
        stack.shape[i] = x.t.shape[i]
        stack.strides[i] = x.t.strides[i]
    if n == 1:
        n = 2
        stack.shape[first] = x.t.shape[0]
        stack.strides[first] = x.t.strides[0]
        stack.shape[not first] = 1
        stack.strides[not first] = 0
    see(stack, x, n)


cdef bint are_plain(Array a, Array b) noexcept:
    """Whether two arrays have elements of one dtype on one device, and are no booleans."""
    return (a.dtype is b.dtype and a.device is b.device and a.count != 0 and b.count != 0
            and a.dtype.code != BOOL)


cdef Array product_of(Array a, Stack *left, Array b, Stack *right, int kept, const int *axes):
    """The product of two stacks of one shape, seen with some of its axes; those left out are of 1.

    None if the stacks do not fit.
    """
    cdef Stack product
    cdef const DLTensor *tensors[3]
    cdef void *arrays[3]
    cdef int64_t shape[MAX_NDIM]
    cdef int64_t strides[MAX_NDIM]
    cdef int i, n = left.t.ndim
    cdef int64_t step = 1
    cdef Array out
    cdef Kernel kernel
    cdef Stream s
    if (n != right.t.ndim or left.shape[n - 1] != right.shape[n - 2]
            or memcmp(left.shape, right.shape, (n - 2) * sizeof(int64_t))):
        return None
    kernel = kernel_at(a.device, ("matmul", a.dtype, a.dtype, a.dtype))
    memcpy(product.shape, left.shape, (n - 1) * sizeof(int64_t))
    product.shape[n - 1] = right.shape[n - 1]
    for i in range(n - 1, -1, -1):
        product.strides[i] = step
        step *= product.shape[i]
    s = current_stream_of(a.device)
    for i in range(kept):
        shape[i] = product.shape[axes[i]]
        strides[i] = product.strides[axes[i]]
    out = new_array(a.device, a.dtype, kept, shape, s)
    see(&product, out, n)
    if kernel is None or kernel.run_fn == NULL:
        inputs = [view_of(a, n, left.shape, left.strides, 0), view_of(b, n, right.shape, right.strides, 0)]
        outputs = [view_of(out, n, product.shape, product.strides, 0)]
        if kernel is None:
            _dispatch_other(a.device, "matmul", 3 * (a.dtype.name,), inputs, outputs, (), s)
        else:
            launch_arrays(a.device, kernel, inputs, outputs, (), s)
    else:
        tensors[0], tensors[1], tensors[2] = &left.t, &right.t, &product.t
        arrays[0], arrays[1], arrays[2] = <void *>a, <void *>b, <void *>out
        launch_native(s, kernel, kernel.run_fn, kernel.native_row, tensors, arrays, 2, 1, NULL, 0, 0,
                      a.count * product.shape[n - 1])
    for i in range(1, kept):
        if axes[i] < axes[i - 1]:
            return view_of(out, kept, shape, strides, 0)
    return out


def matrix_product(x1, x2, int most=MAX_NDIM):
    """The product of matrices, vectors, or stacks of one shape, of one dtype on one device.

    None if it is not that simple, or if an operand has more axes than ``most``.
    """
    cdef Stack left
    cdef Stack right
    cdef int axes[MAX_NDIM]
    cdef int i, n, kept = 0
    if type(x1) is not Array or type(x2) is not Array:
        return None
    a, b = <Array>x1, <Array>x2
    if (not are_plain(a, b) or a.t.ndim == 0 or b.t.ndim == 0 or a.t.ndim > most or b.t.ndim > most):
        return None
    see_matrices(&left, a, True)
    see_matrices(&right, b, False)
    n = left.t.ndim
    for i in range(n):
        if not (i == n - 2 and a.t.ndim == 1 or i == n - 1 and b.t.ndim == 1):
            axes[kept] = i
            kept += 1
    return product_of(a, &left, b, &right, kept, axes)


def product_seen_as(Array a not None, tuple left not None, Array b not None, tuple right not None,
                    tuple axes not None):
    """`matrix_product` of arrays by the numbers of their axes, or -1 for new ones, seen in turn.

    ``axes`` are those of the product that the result has; the others are of extent 1. None if it
    is not that simple.
    """
    cdef Stack first
    cdef Stack second
    cdef int kept[MAX_NDIM]
    cdef int i, n = len(axes)
    if not are_plain(a, b) or n > MAX_NDIM:
        return None
    if not see_axes(&first, a, left) or not see_axes(&second, b, right):
        return None
    for i in range(n):
        kept[i] = axes[i]
    return product_of(a, &first, b, &second, n, kept)


def slid_product(x1, x2, int64_t before, int64_t after):
    """The products of the vector x2 with each window of the vector x1, its zeros before and after it.

    None if they are not plain vectors, the first the longer one.
    """
    cdef int64_t dims[2 * MAX_NDIM]
    cdef Stack windows
    cdef Stack column
    cdef Array padded
    cdef Stream s
    cdef int kept = 0
    cdef int64_t size
    if type(x1) is not Array or type(x2) is not Array:
        return None
    a, v = <Array>x1, <Array>x2
    if not are_plain(a, v) or a.t.ndim != 1 or v.t.ndim != 1 or a.count < v.count:
        return None
    if before + after:
        size = before + a.count + after
        s = current_stream_of(a.device)
        padded = new_array(a.device, a.dtype, 1, &size, s)
        fill_new(padded, 0, s)
        dims[0], dims[MAX_NDIM] = a.count, 1
        assign(view_of(padded, 1, dims, dims + MAX_NDIM, before), a)
        a = padded
    windows.shape[0], windows.shape[1] = a.count - v.count + 1, v.count
    windows.strides[0] = windows.strides[1] = a.t.strides[0]
    see(&windows, a, 2)
    see_matrices(&column, v, False)
    return product_of(a, &windows, v, &column, 1, &kept)
