# The common dtype of arrays and numbers, by the rules in force.

# A result dtype per pair, -1 where the standard leaves the pair undefined; and for those.
cdef int _PROMOTED[N_DTYPES][N_DTYPES]
cdef int _MIXED[N_DTYPES][N_DTYPES]


def _fill_promotion():
    from .arrays.promotion import MIXED, PAIRS

    for a in DTYPES:
        for b in DTYPES:
            result = PAIRS.get((a.name, b.name))
            _PROMOTED[a.code][b.code] = -1 if result is None else dtype_from_name(result).code
            result = MIXED.get((a.name, b.name))
            _MIXED[a.code][b.code] = -1 if result is None else dtype_from_name(result).code


_fill_promotion()


cdef bint mixes():
    from .arrays.promotion import is_mixed

    return is_mixed()


cdef inline DType common_dtype(DType a, DType b):
    """The common dtype of two by the rules in force; None if they have none."""
    cdef int code = _PROMOTED[a.code][b.code]
    if code < 0 and mixes():
        code = _MIXED[a.code][b.code]
    return None if code < 0 else <DType>_dtypes[code]


cdef bint is_same_kind(DType dtype, DType target):
    """Whether results may be put into a narrower array of their kind, as NumPy has it."""
    return dtype.kind == target.kind and mixes()


def promote_types(DType a not None, DType b not None):
    """Return the common dtype of two by the rules in force, or None if they have none."""
    return common_dtype(a, b)


def common_type(object x, object y):
    """The common dtype of two arrays, or of one and a Python number; None for all else, or none."""
    if type(x) is Array:
        if type(y) is Array:
            return common_dtype((<Array>x).dtype, (<Array>y).dtype)
        return number_dtype((<Array>x).dtype, y, (<Array>x).device)
    return number_dtype((<Array>y).dtype, x, (<Array>y).device) if type(y) is Array else None


def no_common_dtype(DType a not None, DType b not None):
    """Return why two dtypes have no common one, and what to do."""
    cdef int code = _MIXED[a.code][b.code]
    if code < 0:  # uint64 and a signed one
        return (f"{a.name} and {b.name} have no common dtype: no integer holds both; convert one, for "
                f"example with phalanx.astype(x, phalanx.{a.name})")
    return (f"{a.name} and {b.name} have no common dtype in the Array API standard; convert one, for "
            f"example with phalanx.astype(x, phalanx.{(<DType>_dtypes[code]).name}), or use "
            'phalanx.promotion("mixed")')


cdef bint _is_default_set = False


def ask_default_dtype():
    """Look from now on which dtype ``phalanx.set_default_dtype`` has set."""
    global _is_default_set
    _is_default_set = True


cpdef DType default_float(Device device=None):
    """The dtype of Python floats on their own, on a device if one is meant."""
    if not _is_default_set:
        return <DType>_dtypes[FLOAT64 if device is None or device.has_fp64 else FLOAT32]
    from .arrays.data_types import get_default_dtype

    return get_default_dtype(device)


cpdef DType default_complex(Device device=None):
    """The dtype of Python's complex numbers on their own."""
    return <DType>_dtypes[COMPLEX128 if default_float(device).code == FLOAT64 else COMPLEX64]


cpdef DType number_dtype(DType dtype, object value, Device device=None):
    """The dtype that an array of ``dtype`` and a Python number have in common; None if there is none."""
    kind = dtype.kind
    if isinstance(value, bool):
        return dtype if kind == "b" or mixes() else None
    if isinstance(value, int):
        return dtype if kind != "b" else <DType>_dtypes[INT64] if mixes() else None
    if isinstance(value, float):
        if kind in "fc":
            return dtype
        return default_float(device) if kind != "b" or mixes() else None
    if not isinstance(value, complex):
        return None
    if kind == "c":
        return dtype
    if kind == "f":
        return <DType>_dtypes[COMPLEX128 if dtype.code == FLOAT64 else COMPLEX64]
    return default_complex(device) if mixes() else None


cpdef object foreign_number(object value):
    """The Python number of a scalar or a 0-d array of NumPy's; None for anything else."""
    if type(value) is Array or type(value) is float or type(value) is int:
        return None
    numpy = sys.modules.get("numpy")
    if numpy is None or not (isinstance(value, numpy.generic)
                             or (type(value) is numpy.ndarray and value.ndim == 0)):
        return None
    number = value.item()
    if isinstance(number, (bool, int, float, complex)):
        return number
    if value.dtype.kind == "f" or value.dtype.name == "bfloat16":
        return float(value)  # of more bits than float64, or none of NumPy's own
    return complex(value) if value.dtype.kind == "c" else None
