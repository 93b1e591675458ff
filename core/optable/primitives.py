"""The primitives: what all other ops are made of where a device has no kernel for them.

A device with kernels for these computes all that the Array API standard needs, with the bits of
the op table (``phalanx.decomposition``). A device without fp64 lacks those of float64, and needs
kernels of its own for the functions whose float32 results come from float64.
"""

from __future__ import annotations

_WORDS = ("uint32", "uint64")
_REAL = (*_WORDS, "float32", "float64")
_MOVED = ("uint8", "uint16", *_WORDS)
_FLOATS = ("float32", "float64")

#: By op, the dtypes of its operands; for ``cast`` from and to.
PRIMITIVES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("add", "subtract", "multiply", "equal"), _REAL),
    "less": ("int32", "int64", *_REAL),
    **dict.fromkeys(("divide", "fma", "sqrt"), _FLOATS),
    **dict.fromkeys(("floor_divide", "bitwise_left_shift", "bitwise_right_shift"), _WORDS),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor"), ("bool", *_WORDS)),
    **dict.fromkeys(("copy", "where", "gather", "scatter"), _MOVED),
    "arange": ("int64",),
    "wrap_index": ("int64",),
}
PRIMITIVE_CASTS: tuple[tuple[str, str], ...] = (
    *(("int8", "int32"), ("int16", "int32"), ("int32", "int64")),
    *(("uint8", "uint32"), ("uint16", "uint32"), ("uint32", "uint64")),
    *(("uint64", "uint32"), ("uint32", "uint16"), ("uint32", "uint8"), ("uint16", "uint8")),
    *(("int32", "float32"), ("int32", "float64"), ("float32", "int32"), ("float64", "int32")),
    *(("float32", "float64"), ("float64", "float32")),
)
#: Ops that no others are made of and that are made of none: random numbers that are tried for,
#: transforms and what factors matrices. No level of conformance requires them.
WHOLE = (
    *("random_gamma", "random_poisson", "random_binomial"),
    *("fft", "fft_from_pairs", "fft_to_pairs", "segment_sum"),
    *("householder", "jacobi", "eigh", "schur"),
)


def is_primitive(op: str, key: str, result: str) -> bool:
    """Return whether an overload is a primitive: ``key`` is the dtype that tells it from others."""
    if op == "cast":
        return (key, result) in PRIMITIVE_CASTS
    return key in PRIMITIVES.get(op, ())
