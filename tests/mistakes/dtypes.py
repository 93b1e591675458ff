"""Dtypes and their names."""

from __future__ import annotations

from .kit import Mistake

MISTAKES = (
    Mistake(
        'x.astype("flaot32")',
        TypeError,
        "unknown dtype 'flaot32'; did you mean 'float32'? The dtypes are bool, int8, int16, "
        "int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64, "
        "complex64, complex128",
    ),
    Mistake(
        'x.astype("f4")',
        TypeError,
        "unknown dtype 'f4'; did you mean 'float32'? The dtypes are bool, int8, int16, "
        "int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64, "
        "complex64, complex128",
    ),
    Mistake(
        'x.astype("float")',
        TypeError,
        "unknown dtype 'float'; did you mean 'float64'? The dtypes are bool, int8, int16, "
        "int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64, "
        "complex64, complex128",
    ),
    Mistake(
        'x.astype("str")',
        TypeError,
        "unknown dtype 'str'; the dtypes are bool, int8, int16, int32, int64, uint8, uint16, "
        "uint32, uint64, float16, bfloat16, float32, float64, complex64, complex128",
    ),
    Mistake(
        "x.astype(str)",
        TypeError,
        "dtype takes a phalanx dtype such as phalanx.float32, got <class 'str'>",
    ),
    Mistake("x.astype(None)", TypeError, "astype takes a dtype such as phalanx.float32, got None"),
    Mistake(
        "x.astype(x)",
        TypeError,
        "dtype takes a phalanx dtype such as phalanx.float32, got an array: write x.dtype",
    ),
    Mistake("x.astype(3)", TypeError, "dtype takes a phalanx dtype such as phalanx.float32, got 3"),
    Mistake(
        "px.zeros(3, dtype=object)",
        TypeError,
        "dtype takes a phalanx dtype such as phalanx.float32, got <class 'object'>",
    ),
    Mistake(
        'px.zeros(3, dtype=np.dtype("U5"))',
        TypeError,
        "unknown dtype 'str160'; the dtypes are bool, int8, int16, int32, int64, uint8, "
        "uint16, uint32, uint64, float16, bfloat16, float32, float64, complex64, complex128",
    ),
    Mistake(
        'px.astype(c, "float32")',
        TypeError,
        "complex128 to float32 drops the imaginary part: use phalanx.real(x)",
    ),
    Mistake(
        'px.astype([1], "float32")',
        TypeError,
        "astype takes a phalanx array, got list; use phalanx.asarray",
    ),
    Mistake(
        'px.finfo("int8")',
        TypeError,
        "finfo takes a floating dtype, got int8; for integers use iinfo",
    ),
    Mistake(
        "px.iinfo(px.float32)",
        TypeError,
        "iinfo takes an integer dtype, got float32; for floats use finfo",
    ),
    Mistake(
        "px.iinfo(None)",
        TypeError,
        "iinfo takes an integer dtype, got None; for floats use finfo",
    ),
    Mistake(
        'px.isdtype(px.float32, "float")',
        ValueError,
        "unknown kind 'float'; the kinds are 'bool', 'signed integer', 'unsigned integer', "
        "'integral', 'real floating', 'complex floating', 'numeric'",
    ),
    Mistake(
        "px.can_cast(3, px.float32)",
        TypeError,
        "dtype takes a phalanx dtype such as phalanx.float32, got 3",
    ),
    Mistake(
        "px.result_type()",
        ValueError,
        "result_type needs at least one array, dtype or number",
    ),
    Mistake(
        "px.result_type([1, 2])",
        TypeError,
        "result_type takes arrays, dtypes and numbers, got list; use phalanx.asarray",
    ),
    Mistake(
        "px.result_type(px.uint64, px.int64)",
        TypeError,
        "uint64 and int64 have no common dtype: no integer holds both; convert one, for "
        "example with phalanx.astype(x, phalanx.uint64)",
    ),
    Mistake(
        'px.set_default_dtype("int32")',
        ValueError,
        "the default dtype is float32 or float64, got int32",
    ),
    Mistake(
        "px.Array([1, 2])",
        TypeError,
        "phalanx._warm.Array objects are not made this way: arrays come from "
        "phalanx.asarray, zeros, ..., buffers from an allocator, dtypes are phalanx.float32, "
        "...",
    ),
    Mistake(
        'px.DType("float32")',
        TypeError,
        "phalanx._warm.DType objects are not made this way: arrays come from "
        "phalanx.asarray, zeros, ..., buffers from an allocator, dtypes are phalanx.float32, "
        "...",
    ),
)
