# Public elementwise functions and operators.

# The rows of the table of entries: the elementwise functions, then cast by source dtype.
_FUNCTION_ROWS = tuple(row for row in OPS.values() if row.structure == "elementwise")
cdef size_t _N_ENTRIES = (len(_FUNCTION_ROWS) + N_DTYPES) * N_DTYPES

cdef int _N_FUNCTIONS = len(_FUNCTION_ROWS)
cdef dict _FUNCTION_INDEX = {row.name: i for i, row in enumerate(_FUNCTION_ROWS)}


def _signature_table():
    """Per function and per code of its key operand's dtype: (op name, dtypes), or None."""
    codes = {d.name: d.code for d in DTYPES}
    rows = []
    for row in _FUNCTION_ROWS:
        cells = [None] * N_DTYPES
        if row.name != "cast":
            for signature in row.signatures:
                cells[codes[signature.inputs[row.key]]] = (row.name, signature.dtypes)
        rows.append(cells)
    return rows


cdef list _SIGNATURES = _signature_table()
cdef inline Entry *entry_of(Function f, Device device, DType key) except NULL:
    cdef size_t place = f.index * N_DTYPES + key.code
    cdef Entry *e = device._table.entries + place
    if e.state == ENTRY_EMPTY:
        signature = (<list>_SIGNATURES[f.index])[key.code]
        return entry_at(device, place, signature[0], signature[1])
    return e


cdef inline bint defined_for(Function f, DType key):
    return (<list>_SIGNATURES[f.index])[key.code] is not None


cdef DType promoted(Function f, DType a, DType b):
    cdef DType common = common_dtype(a, b)
    if common is None:
        raise TypeError(f"{f.name}: {no_common_dtype(a, b)}")
    return common


cdef DType computed(Function f, DType key, Device device):
    """The dtype that the function computes in: the key, or the default float for integers."""
    if defined_for(f, key):
        return key
    if key.kind in "iu" and defined_for(f, <DType>_dtypes[FLOAT64]):
        return default_float(device)
    names = [(<DType>_dtypes[i]).name for i in range(N_DTYPES)
             if (<list>_SIGNATURES[f.index])[i] is not None]
    raise TypeError(f"{f.name} is not defined for {key.name}; it takes {', '.join(names)}")


cdef Function of_truths(Function f, DType key):
    """The function that sums and products of bools mean, as in NumPy and PyTorch; others as they are."""
    if key.code == BOOL and mixes():
        if f.name == "add":
            return _named("logical_or")
        if f.name == "multiply":
            return _named("logical_and")
    return f


cdef class Function:
    """An elementwise function of the op table."""

    cdef readonly str name
    cdef readonly object row
    cdef int index
    cdef int part  # which of a complex number it is, from 1 on; 0 if it is none
    cdef object __weakref__

    def __init__(self, str name not None):
        self.name = name
        self.row = OPS[name]
        self.index = _FUNCTION_INDEX[name]
        self.part = {"real": 1, "imag": 2}.get(name, 0)

    @property
    def __name__(self):
        return self.name

    @property
    def __qualname__(self):
        return self.name

    @property
    def __signature__(self):
        from .namespace.documentation import function_signature

        return function_signature(self.row)

    def __repr__(self):
        return f"<function {self.row.module}.{self.name}>"

    def __reduce__(self):
        from .namespace.public import public_function

        return public_function, (self.name,)

    def __get__(self, instance, owner):
        return self


cdef inline bint any_given(out, where, dtype, casting, order, subok):
    """Whether there is one of the keywords of NumPy's functions, which these have not."""
    return (out is not None or where is not None or dtype is not None or casting is not None
            or order is not None or subok is not None)


cdef object wrong_call(Function f, tuple operands, object out, object where, object dtype):
    from .arrays.refusals import wrong_call

    return wrong_call(f.name, f.row.arity, len(operands), out=out, where=where, dtype=dtype)


@cython.final
cdef class UnaryFunction(Function):
    @property
    def __doc__(self):
        from .namespace.documentation import function_doc

        return function_doc(self.row)

    def __call__(self, *operands, out=None, where=None, dtype=None, casting=None, order=None, subok=None):
        if len(operands) != 1 or any_given(out, where, dtype, casting, order, subok):
            raise wrong_call(self, operands, out, where, dtype)
        x = operands[0]
        result = unary(self, x)
        if result is NotImplemented:
            raise TypeError(f"{self.name} takes a phalanx array, got {type(x).__name__}; "
                            "make one with phalanx.asarray")
        return result


@cython.final
cdef class BinaryFunction(Function):
    @property
    def __doc__(self):
        from .namespace.documentation import function_doc

        return function_doc(self.row)

    def __call__(self, *operands, out=None, where=None, dtype=None, casting=None, order=None, subok=None):
        if len(operands) != 2 or any_given(out, where, dtype, casting, order, subok):
            raise wrong_call(self, operands, out, where, dtype)
        x1, x2 = operands
        result = binary(self, x1, x2)
        if result is NotImplemented:
            raise TypeError(f"{self.name} takes phalanx arrays and Python numbers, at least one "
                            f"array, got {type(x1).__name__} and {type(x2).__name__}")
        return result


_abs = UnaryFunction("abs")
_negative = UnaryFunction("negative")
_positive = UnaryFunction("positive")
_bitwise_invert = UnaryFunction("bitwise_invert")
_copy = UnaryFunction("copy")
_add = BinaryFunction("add")
_subtract = BinaryFunction("subtract")
_multiply = BinaryFunction("multiply")
_divide = BinaryFunction("divide")
_floor_divide = BinaryFunction("floor_divide")
_remainder = BinaryFunction("remainder")
_pow = BinaryFunction("pow")
_bitwise_and = BinaryFunction("bitwise_and")
_bitwise_or = BinaryFunction("bitwise_or")
_bitwise_xor = BinaryFunction("bitwise_xor")
_bitwise_left_shift = BinaryFunction("bitwise_left_shift")
_bitwise_right_shift = BinaryFunction("bitwise_right_shift")
_equal = BinaryFunction("equal")
_not_equal = BinaryFunction("not_equal")
_less = BinaryFunction("less")
_less_equal = BinaryFunction("less_equal")
_greater = BinaryFunction("greater")
_greater_equal = BinaryFunction("greater_equal")


cdef dict _by_name = {row.name: Function(row.name) for row in _FUNCTION_ROWS}


cdef inline Function _named(str name):
    return <Function>_by_name[name]


cdef object unary(Function f, object x):
    cdef void *operands[1]
    cdef Launch launch
    cdef Array a
    if type(x) is not Array:
        return NotImplemented
    a = <Array>x
    if f.part and a.dtype.kind == "c":
        return part_of(a, f.part - 1)
    if not defined_for(f, a.dtype):
        a = cast_array(a, computed(f, a.dtype, a.device))
    operands[0] = <void *>a
    launch.scalars = 0
    return run_elementwise(a.device, entry_of(f, a.device, a.dtype), f.name, 1, operands,
                           &launch, None)


cdef object binary(Function f, object x, object y):
    cdef Array a
    cdef Array b
    if type(x) is Array:
        a = <Array>x
        if type(y) is Array:
            b = <Array>y
            if a.device is not b.device:
                raise_device_mismatch(f, a, b)
            if a.dtype is not b.dtype or not defined_for(f, a.dtype):
                key = promoted(f, a.dtype, b.dtype)
                f = of_truths(f, key)
                key = computed(f, key, a.device)
                a = cast_array(a, key)
                b = cast_array(b, key)
            return run_binary(f, a, b, None)
        return with_other(f, a, y, 1, None)
    if type(y) is Array:
        return with_other(f, <Array>y, x, 0, None)
    return NotImplemented


cdef object with_other(Function f, Array a, object value, int place, Array out):
    """An array with what is none of ours: a Python number, or a scalar of NumPy's, which counts as one.

    Arrays of others, and lists, are refused. For anything else NotImplemented: it may know arrays.
    """
    result = with_scalar(f, a, value, place, out)
    if result is not NotImplemented:
        return result
    number = foreign_number(value)
    if number is not None:
        return with_scalar(f, a, number, place, out)
    kind = type(value)
    if kind is list or kind is tuple or hasattr(kind, "__dlpack__"):
        name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
        raise TypeError(f"{f.name} of a phalanx array and a {name}: write phalanx.asarray(...) around "
                        f"it, with device={a.device.name!r} if it shall be there")
    return NotImplemented


cdef object in_place(Function f, Array x, object other):
    """``x op= other``: the result must keep the array's dtype and shape."""
    cdef Array b
    check_writable(x)
    if type(other) is Array:
        b = <Array>other
        if x.device is not b.device:
            raise_device_mismatch(f, x, b)
        common = promoted(f, x.dtype, b.dtype)
        if common is not x.dtype and defined_for(f, common) and is_same_kind(common, x.dtype):
            assign(x, binary(f, x, b))
            return x
        if common is x.dtype:
            computed(f, x.dtype, x.device)  # explains what is not defined
        if common is not x.dtype or not defined_for(f, x.dtype):
            raise TypeError(f"{f.name} in place: {b.dtype.name} does not go into {x.dtype.name} without a "
                            "cast; write x = x op y, or convert the operand")
        return run_binary(f, x, separate(cast_array(b, x.dtype), x), x)
    return with_other(f, x, other, 1, x)


cdef Array run_binary(Function f, Array a, Array b, Array out):
    cdef void *operands[2]
    cdef Launch launch
    cdef Entry *e = entry_of(f, a.device, a.dtype)
    if f is _pow and b.dtype.kind == "i" and a.size:
        need_exponents(b)
    operands[0] = <void *>a
    operands[1] = <void *>b
    launch.scalars = 0
    return run_elementwise(a.device, e, f.name, 2, operands, &launch, out)


cdef object with_scalar(Function f, Array a, object value, int place, Array out):
    """An array with a Python number, which takes the array's dtype."""
    cdef void *operands[2]
    cdef Launch launch
    cdef DType key = scalar_key(f, a.dtype, value, a.device)
    if key is None:
        return NotImplemented
    if f is _pow and key.kind in "iu":
        if place == 0:
            need_exponents(a)
        elif value < 0:
            raise_no_integer(a.dtype, value)
    if key is not a.dtype:
        if out is not None:
            raise TypeError(f"{f.name} in place: a Python {type(value).__name__} does not go into "
                            f"{a.dtype.name} without a cast; write x = x op y")
        a = cast_array(a, key)
    launch.scalars = 1 << place
    encode_scalar(&launch, place, value, key)
    operands[place] = NULL
    operands[1 - place] = <void *>a
    return run_elementwise(a.device, entry_of(f, a.device, key), f.name, 2, operands, &launch, out)


cdef int need_exponents(Array y) except -1:
    """Wait for integers that are exponents of integers, and raise ValueError if one is negative."""
    if y.dtype.kind == "i" and y.size:
        least = int(reduce("min", y, None, False, y.dtype))
        if least < 0:
            raise_no_integer(y.dtype, least)
    return 0


cdef int raise_no_integer(DType dtype, object exponent) except -1:
    raise ValueError(f"pow: {dtype.name} to the power {exponent} is no integer; convert first, for "
                     "example with phalanx.astype(x, phalanx.float64)")


cdef DType scalar_key(Function f, DType dtype, object value, Device device):
    """The dtype in which an array of ``dtype`` meets a Python number; None if it cannot."""
    cdef DType key = number_dtype(dtype, value, device)
    if key is not None:
        return computed(f, key, device)
    if not isinstance(value, (bool, int, float, complex)):
        return None
    name = type(value).__name__
    if name == "bool":
        raise TypeError(f"{f.name}: a Python bool does not mix with {dtype.name} in the Array API standard; "
                        "write 0 or 1")
    fit = {"int": "int64", "float": "float64"}.get(name, "complex128")
    raise TypeError(f"{f.name}: a Python {name} does not mix with {dtype.name} in the Array API standard; "
                    f"convert with phalanx.astype(x, phalanx.{fit})")


cdef int raise_device_mismatch(Function f, Array a, Array b) except -1:
    raise errors.DeviceMismatchError(
        f"{f.name} of arrays on {a.device} (shape {a.shape}) and {b.device} (shape {b.shape}): "
        f'move one, for example with y.to_device("{a.device}")')


cdef int check_writable(Array x) except -1:
    cdef int i
    if x.buffer.readonly:
        raise ValueError("the array's memory is read-only (it belongs to another library); copy it "
                         "with phalanx.asarray(x, copy=True)")
    if x.readonly:
        raise ValueError("elements of the array share memory (it was broadcast, or is a view of what "
                         "was): copy it with phalanx.asarray(x, copy=True) before writing")
    for i in range(x.t.ndim):
        if x.t.strides[i] == 0 and x.t.shape[i] > 1 and x.count:
            raise ValueError(f"elements of the array share memory along axis {i} (it was broadcast): "
                             "copy it with phalanx.asarray(x, copy=True) before writing")
    return 0


cdef bint is_same_place(Array a, Array b):
    """Whether elements of equal size lie at the same places, in the same order."""
    return (uses_of(a.buffer) is uses_of(b.buffer)
            and <char *>a.t.data + a.t.byte_offset == <char *>b.t.data + b.t.byte_offset
            and a.dtype.itemsize == b.dtype.itemsize and same_shape(a, b)
            and memcmp(a.t.strides, b.t.strides, b.t.ndim * sizeof(int64_t)) == 0)


cdef Array separate(Array source, Array target):
    """``source``, or a copy of it if it overlaps ``target`` in another order than its own."""
    if uses_of(source.buffer) is not uses_of(target.buffer) or is_same_place(source, target):
        return source
    return unary(_copy, source)


def overlaps(Array a not None, Array b not None):
    """Return whether two arrays may lie over common memory."""
    return uses_of(a.buffer) is uses_of(b.buffer)


cdef Array cast_array(Array a, DType dtype):
    """The array in another dtype; itself if it has it already."""
    if a.dtype is dtype:
        return a
    return run_cast(a, dtype, None)


cdef Array run_cast(Array a, DType dtype, Array out):
    cdef void *operands[1]
    cdef Launch launch
    cdef size_t place = (_N_FUNCTIONS + a.dtype.code) * N_DTYPES + dtype.code
    cdef Entry *e = a.device._table.entries + place
    if e.state == ENTRY_EMPTY:
        e = entry_at(a.device, place, "cast", (a.dtype.name, dtype.name))
    operands[0] = <void *>a
    launch.scalars = 0
    return run_elementwise(a.device, e, "cast", 1, operands, &launch, out)


def cast(Array x not None, DType dtype not None):
    """Return the array in another dtype, itself if it has that dtype."""
    return cast_array(x, dtype)


def copy(Array x not None):
    """Return a copy that keeps the order of the axes in memory."""
    return unary(_copy, x)


def assign(Array target not None, Array source not None):
    """Write ``source``, broadcast and converted, into ``target``; overlap is handled."""
    cdef void *operands[1]
    cdef Launch launch
    check_writable(target)
    if source.device is not target.device:
        raise_device_mismatch(_copy, target, source)
    if source.dtype is target.dtype and is_same_place(source, target):
        return  # as Python ends x[i] += y
    source = separate(source, target)
    if source.dtype is not target.dtype:
        run_cast(source, target.dtype, target)
        return
    operands[0] = <void *>source
    launch.scalars = 0
    run_elementwise(target.device, entry_of(_copy, target.device, target.dtype), "copy", 1, operands,
                    &launch, target)


def fill(Array target not None, value):
    """Write a Python number, converted to the array's dtype, into every element."""
    cdef void *operands[1]
    cdef Launch launch
    check_writable(target)
    if target.count == 0:
        return
    if target.contiguous and entry_of(_copy, target.device, target.dtype).state == ENTRY_OTHER:
        from .arrays import transfer

        transfer.fill_from_host(target, scalar_bytes(value, target.dtype))
        return
    launch.scalars = 1
    encode_scalar(&launch, 0, value, target.dtype)
    operands[0] = NULL
    fill_target(target, operands, &launch)


cdef int fill_target(Array target, void **operands, Launch *launch) except -1:
    cdef Plan p
    cdef Stream s = current_stream_of(target.device)
    p.n = 1
    p.ndim = target.t.ndim
    p.count = target.count
    memcpy(p.shape, target.t.shape, p.ndim * sizeof(int64_t))
    memset(p.strides[0], 0, p.ndim * sizeof(int64_t))
    memcpy(p.strides[1], target.t.strides, p.ndim * sizeof(int64_t))
    merge_axes(&p, 2)
    return launch_planned(target.device, entry_of(_copy, target.device, target.dtype), "copy", s, 1,
                          operands, launch, target, &p)


def check_array_writable(Array x not None):
    """Raise ``ValueError`` if the memory belongs to another library that forbids writing."""
    check_writable(x)
