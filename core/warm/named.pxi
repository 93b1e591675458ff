# Elementwise ops by name, for who has their operands ready.

def ternary(str name not None, first, second, third, DType key not None, Device device not None, *,
            Array out=None):
    """Run an op of three operands: they are arrays of the right dtypes or Python numbers of ``key``.

    The result goes into ``out``, of the dtype ``key``, if it is given; overlap is handled.
    """
    cdef void *operands[3]
    cdef Launch launch
    cdef Entry *e
    cdef int i
    cdef Function f = _named(name)
    launch.scalars = 0
    values = [first, second, third]
    if out is not None:
        check_writable(out)
    for i in range(3):
        if type(values[i]) is Array:
            if out is not None:
                values[i] = separate(<Array>values[i], out)
            operands[i] = <void *>values[i]
        else:
            operands[i] = NULL
            launch.scalars |= 1 << i
            encode_scalar(&launch, i, values[i], key)
    if not defined_for(f, key):
        raise TypeError(f"{name} is not defined for {key.name}")
    e = entry_of(f, device, key)
    return run_elementwise(device, e, name, 3, operands, &launch, out)


def chosen(condition, first, second):
    """`ternary` of ``where`` for values of one dtype, of which one may be a Python number of its kind.

    None if the operands are anything else.
    """
    cdef Array mask
    cdef Array x
    if type(condition) is not Array:
        return None
    mask = <Array>condition
    if type(first) is Array:
        x = <Array>first
        if type(second) is Array:
            if (<Array>second).dtype is not x.dtype or (<Array>second).device is not x.device:
                return None
        elif not is_kept(second, x.dtype):
            return None
    elif type(second) is Array and is_kept(first, (<Array>second).dtype):
        x = <Array>second
    else:
        return None
    if mask.dtype.code != BOOL or mask.device is not x.device:
        return None
    return ternary("where", mask, first, second, x.dtype, x.device)


def launch_elementwise(str op not None, tuple inputs not None, Array out not None):
    """Run an elementwise op by name on arrays of the exact dtypes, broadcast into ``out``."""
    cdef void *operands[3]
    cdef Launch launch
    cdef Entry *e
    cdef Array last = inputs[len(inputs) - 1]
    cdef int i, n = len(inputs)
    if op == "cast":
        run_cast(last, out.dtype, out)
        return
    for i in range(n):
        operands[i] = <void *><Array?>inputs[i]
    launch.scalars = 0
    e = entry_of(_named(op), last.device, last.dtype)
    run_elementwise(last.device, e, op, n, operands, &launch, out)


def compute(str op not None, tuple inputs not None, tuple dtypes not None, Device device not None,
            Array out=None):
    """Run an elementwise op by name on arrays of a device and Python numbers; return the result.

    ``dtypes`` are those of the overload, inputs then output. The result goes into ``out`` if it is
    given, which the operands broadcast to; an operand may be ``out`` itself, and overlap it else not.
    """
    cdef void *operands[3]
    cdef Launch launch
    cdef Function f
    cdef Entry *e
    cdef DType key
    cdef size_t place
    cdef int i, n = len(inputs)
    launch.scalars = 0
    for i in range(n):
        operands[i] = NULL
        if isinstance(inputs[i], Array):
            operands[i] = <void *>inputs[i]
        else:
            launch.scalars |= 1 << i
            encode_scalar(&launch, i, inputs[i], <DType?>dtypes[i])
    if op == "cast":
        place = (_N_FUNCTIONS + (<DType?>dtypes[0]).code) * N_DTYPES + (<DType?>dtypes[1]).code
        e = device._table.entries + place
        if e.state == ENTRY_EMPTY:
            e = entry_at(device, place, "cast", ((<DType>dtypes[0]).name, (<DType>dtypes[1]).name))
    else:
        f = _named(op)
        key = <DType?>dtypes[f.row.key]
        e = entry_of(f, device, key)
    return run_elementwise(device, e, op, n, operands, &launch, out)
