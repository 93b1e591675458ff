# The array: a DLTensor over a buffer. Everything that is not on the warm path delegates to Python.

from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM


cdef inline void put_item(tuple made, int i, object item) noexcept:
    """Set a place of a new tuple."""
    Py_INCREF(item)  # the tuple takes the reference over
    PyTuple_SET_ITEM(made, i, item)


cdef tuple as_tuple(int n, const int64_t *numbers):
    """Extents or strides as Python sees them."""
    cdef tuple made = PyTuple_New(n)
    cdef int i
    for i in range(n):
        put_item(made, i, numbers[i])
    return made


cdef inline bint is_at_hand(Array x) noexcept:
    """Whether this is one element that the host can read where it lies."""
    return x.count == 1 and x.device.host_addressable


@cython.final
@cython.no_gc
@cython.freelist(256)
cdef class Array:
    """An n-dimensional array on a device; made by ``asarray``, ``zeros`` and the other functions.

    Implements the array object of the Python Array API standard 2025.12. Views share memory.
    Arrays of different devices do not mix: move one with ``to_device``.

    Examples:
        >>> x = px.asarray([[1, 2, 3], [4, 5, 6]])
        >>> column = x[:, 1]  # a view
        >>> column += 10
        >>> print(x)
        [[ 1 12  3]
         [ 4 15  6]]
    """

    cdef DLTensor t
    cdef int64_t inline_dims[2 * INLINE_NDIM]
    cdef readonly Buffer buffer
    cdef readonly Device device
    cdef readonly DType dtype
    cdef int64_t count
    cdef bint contiguous
    cdef readonly bint readonly  # a view of what was broadcast
    cdef object __weakref__

    def __dealloc__(self):
        if self.t.shape != self.inline_dims:
            PyMem_Free(self.t.shape)

    # Attributes of the standard

    @property
    def ndim(self):
        """The number of axes."""
        return self.t.ndim

    @property
    def shape(self):
        """The extent of each axis."""
        return as_tuple(self.t.ndim, self.t.shape)

    @property
    def size(self):
        """The number of elements."""
        return self.count

    @property
    def T(self):
        """The transpose of a matrix, a view; the array itself with fewer than two axes."""
        if self.t.ndim < 2:
            return self
        if self.t.ndim > 2:
            raise ValueError(f"T needs at most two axes, got shape {self.shape}; "
                             "use mT or permute_dims for stacks of matrices")
        return _transpose_last(self)

    @property
    def mT(self):
        """The transpose of a stack of matrices (..., n, m), a view (..., m, n)."""
        if self.t.ndim < 2:
            raise ValueError(f"mT needs two axes or more, got shape {self.shape}")
        return _transpose_last(self)

    # Memory layout, for drivers and exporters

    @property
    def strides(self):
        """Elements from one place to the next along each axis."""
        return as_tuple(self.t.ndim, self.t.strides)

    @property
    def offset(self):
        """Bytes from the buffer's handle to the first element."""
        return self.t.byte_offset

    @property
    def itemsize(self):
        """Bytes per element."""
        return self.dtype.itemsize

    @property
    def nbytes(self):
        """Bytes of all elements, without gaps."""
        return <object>self.count * self.dtype.itemsize

    @property
    def is_contiguous(self):
        """Whether the elements lie in C order without gaps."""
        return self.contiguous

    # Arithmetic

    def __add__(self, other):
        return binary(_add, self, other)

    def __radd__(self, other):
        return binary(_add, other, self)

    def __sub__(self, other):
        return binary(_subtract, self, other)

    def __rsub__(self, other):
        return binary(_subtract, other, self)

    def __mul__(self, other):
        return binary(_multiply, self, other)

    def __rmul__(self, other):
        return binary(_multiply, other, self)

    def __truediv__(self, other):
        return binary(_divide, self, other)

    def __rtruediv__(self, other):
        return binary(_divide, other, self)

    def __floordiv__(self, other):
        return binary(_floor_divide, self, other)

    def __rfloordiv__(self, other):
        return binary(_floor_divide, other, self)

    def __mod__(self, other):
        return binary(_remainder, self, other)

    def __rmod__(self, other):
        return binary(_remainder, other, self)

    def __divmod__(self, other):
        return self // other, self % other

    def __rdivmod__(self, other):
        return other // self, other % self

    def __pow__(self, other, modulo):
        if modulo is not None:
            return NotImplemented
        return binary(_pow, self, other)

    def __rpow__(self, other, modulo):
        if modulo is not None:
            return NotImplemented
        return binary(_pow, other, self)

    def __and__(self, other):
        return binary(_bitwise_and, self, other)

    def __rand__(self, other):
        return binary(_bitwise_and, other, self)

    def __or__(self, other):
        return binary(_bitwise_or, self, other)

    def __ror__(self, other):
        return binary(_bitwise_or, other, self)

    def __xor__(self, other):
        return binary(_bitwise_xor, self, other)

    def __rxor__(self, other):
        return binary(_bitwise_xor, other, self)

    def __lshift__(self, other):
        return binary(_bitwise_left_shift, self, other)

    def __rlshift__(self, other):
        return binary(_bitwise_left_shift, other, self)

    def __rshift__(self, other):
        return binary(_bitwise_right_shift, self, other)

    def __rrshift__(self, other):
        return binary(_bitwise_right_shift, other, self)

    def __iadd__(self, other):
        return in_place(_add, self, other)

    def __isub__(self, other):
        return in_place(_subtract, self, other)

    def __imul__(self, other):
        return in_place(_multiply, self, other)

    def __itruediv__(self, other):
        return in_place(_divide, self, other)

    def __ifloordiv__(self, other):
        return in_place(_floor_divide, self, other)

    def __imod__(self, other):
        return in_place(_remainder, self, other)

    def __ipow__(self, other):
        return in_place(_pow, self, other)

    def __iand__(self, other):
        return in_place(_bitwise_and, self, other)

    def __ior__(self, other):
        return in_place(_bitwise_or, self, other)

    def __ixor__(self, other):
        return in_place(_bitwise_xor, self, other)

    def __ilshift__(self, other):
        return in_place(_bitwise_left_shift, self, other)

    def __irshift__(self, other):
        return in_place(_bitwise_right_shift, self, other)

    def __imatmul__(self, other):
        from .namespace import linear

        return linear.matmul_in_place(self, other)

    def __matmul__(self, other):
        if not isinstance(other, Array):
            return NotImplemented
        product = matrix_product(self, other)
        if product is not None:
            return product
        from .namespace import linear

        return linear.matmul(self, other)

    def __neg__(self):
        return unary(_negative, self)

    def __pos__(self):
        return unary(_positive, self)

    def __abs__(self):
        return unary(_abs, self)

    def __invert__(self):
        return unary(_bitwise_invert, self)

    # Comparison; unequal types compare as the operator protocol says

    def __eq__(self, other):
        return binary(_equal, self, other)

    def __ne__(self, other):
        return binary(_not_equal, self, other)

    def __lt__(self, other):
        return binary(_less, self, other)

    def __le__(self, other):
        return binary(_less_equal, self, other)

    def __gt__(self, other):
        return binary(_greater, self, other)

    def __ge__(self, other):
        return binary(_greater_equal, self, other)

    __hash__ = None

    # NumPy's functions, and operators of its arrays and scalars with ours

    @property
    def __array_priority__(self):
        return 1000  # as PyTorch's: dask takes the array with the highest; NumPy goes by the protocols

    def __array_ufunc__(self, ufunc, method, *inputs, **keywords):
        from .arrays import numpy_protocols

        return numpy_protocols.array_ufunc(ufunc, method, inputs, keywords)

    def __array_function__(self, function, types, args, keywords):
        from .arrays import numpy_protocols

        return numpy_protocols.array_function(function, args, keywords)

    # Conversion to Python numbers: copies one element to the host and waits for it

    def item(self):
        """Return the only element as a Python number; waits for the device.

        Raises:
            ValueError: the array has not exactly one element.

        Examples:
            >>> px.asarray([[2.5]]).item()
            2.5
        """
        if is_at_hand(self):
            return only_element(self)
        from .arrays import transfer

        return transfer.item(self)

    def tolist(self):
        """Return the elements as nested Python lists, or a number for 0-d; waits for the device.

        Examples:
            >>> px.asarray([[1, 2], [3, 4]], dtype=px.float16).tolist()
            [[1.0, 2.0], [3.0, 4.0]]
        """
        if self.t.ndim and is_listed(self):
            return listed(self)
        from .arrays import transfer

        return transfer.tolist(self)

    def __bool__(self):
        if is_at_hand(self):
            return bool(only_element(self))
        from .arrays import transfer

        return transfer.to_bool(self)

    def __int__(self):
        if is_at_hand(self) and self.t.ndim == 0 and not is_complex(self.dtype):
            return int(only_element(self))
        from .arrays import transfer

        return transfer.to_int(self)

    def __float__(self):
        if is_at_hand(self) and self.t.ndim == 0 and not is_complex(self.dtype):
            return float(only_element(self))
        from .arrays import transfer

        return transfer.to_float(self)

    def __complex__(self):
        from .arrays import transfer

        return transfer.to_complex(self)

    def __index__(self):
        from .arrays import transfer

        return transfer.to_index(self)

    def __len__(self):
        if self.t.ndim == 0:
            raise TypeError("len() of a 0-d array: it has no axes")
        return self.t.shape[0]

    def __iter__(self):
        if self.t.ndim == 0:
            raise TypeError("iteration over a 0-d array: it has no axes")
        return rows_of(self)

    def __contains__(self, item):
        from .namespace import reductions

        found = self == item
        return isinstance(found, Array) and bool(reductions.any(found))

    def __getattr__(self, name):
        from .namespace import namesakes

        raise namesakes.MissingName(name, of_array=True)

    # Indexing, transfer, interchange

    def __getitem__(self, key):
        view = basic_view(self, key)
        if view is None:
            view = taken_by_key(self, key)
        if view is not None:
            return view
        from .arrays import indexing

        return indexing.getitem(self, key)

    def __setitem__(self, key, value):
        if put_plainly(self, key, value):
            return
        from .arrays import indexing

        indexing.setitem(self, key, value)

    def to_device(self, device, /, *, stream=None):
        """Return the array on a device: itself if it is there already, else a copy.

        ``stream`` is a ``Stream`` of the target that takes the copy (default: the current one).

        Examples:
            >>> x = px.asarray([1, 2])
            >>> y = x.to_device("cpu:0")
            >>> y.device == "cpu:0", y.to_device("cpu:0") is y
            (True, True)
        """
        from .arrays import transfer

        return transfer.to_device(self, device, stream=stream)

    def __array_namespace__(self, /, *, api_version=None):
        from .namespace import inspection

        return inspection.namespace(api_version)

    def __dlpack_device__(self):
        return (self.device.dl.device_type, self.device.dl.device_id)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        return export_dlpack(self, stream, max_version, dl_device, copy)

    @property
    def __cuda_array_interface__(self):
        from .arrays import interchange

        return interchange.cuda_array_interface(self)

    def __array__(self, dtype=None, copy=None):
        from .arrays import transfer

        return transfer.to_numpy_protocol(self, dtype, copy)

    def __reduce__(self):
        from .arrays import pickling

        return pickling.reduce_array(self)

    def __copy__(self):
        return unary(_copy, self)

    def __deepcopy__(self, memo):
        return unary(_copy, self)

    def __repr__(self):
        from .arrays import printing

        return printing.array_repr(self)

    def __str__(self):
        from .arrays import printing

        return printing.array_str(self)

    def __format__(self, spec):
        if self.t.ndim == 0 and spec:
            return format(self.item(), spec)
        return format(str(self), spec)
