"""Products: dot, inner, outer, kron; and sums of products of neighbours: convolve, correlate."""

from __future__ import annotations

from typing import Any

from phalanx._warm import Array, matrix_product, slid_product
from phalanx.arrays.checks import as_operand, need_array, need_one_device
from phalanx.arrays.data_types import astype, int64, result_type
from phalanx.arrays.data_types import bool as bool_
from phalanx.namespace.conversion import asarray
from phalanx.namespace.elementwise import conj, multiply
from phalanx.namespace.linear import tensordot
from phalanx.namespace.manipulation import flip, reshape

Operand = Array | bool | int | float | complex
_MODES = ("full", "same", "valid")


def _operands(a: Operand, b: Operand, op: str) -> tuple[Array, Array]:
    """Two arrays of one device; numbers become 0-d arrays of it."""
    a, b = as_operand(a), as_operand(b)
    first: Any = a if isinstance(a, Array) else b
    need_array(first, op)
    made = [x if isinstance(x, Array) else asarray(x, device=first.device) for x in (a, b)]
    need_one_device(op, *made)
    return made[0], made[1]


def dot(a: Operand, b: Operand) -> Array:
    """Return the product as NumPy's ``dot`` has it: over the last axis, and the last but one.

    Numbers and 0-d arrays multiply. The order is that of ``matmul``.

    Raises:
        DeviceMismatchError: the arrays lie on two devices.
        TypeError: no array among the operands.
        ValueError: extents that differ.

    Examples:
        >>> print(px.dot(px.asarray([[1, 2], [3, 4]]), px.asarray([1, 10])))
        [21 43]
    """
    plain: Array | None = matrix_product(a, b, most=2)
    if plain is not None:
        return plain
    x, y = _operands(a, b, "dot")
    return x.dot(y) if x.ndim and y.ndim else multiply(x, y)


def inner(a: Operand, b: Operand) -> Array:
    """Return the sums of products over the last axes of both; numbers and 0-d arrays multiply.

    Complex numbers are not conjugated (``vecdot`` does that). The order is that of ``matmul``.

    Raises:
        DeviceMismatchError: the arrays lie on two devices.
        TypeError: no array among the operands.
        ValueError: last extents that differ.

    Examples:
        >>> print(px.inner(px.asarray([[1, 2], [3, 4]]), px.asarray([[1, 10], [0, 1]])))
        [[21  2]
         [43  4]]
    """
    plain: Array | None = matrix_product(a, b, most=1)
    if plain is not None:
        return plain
    x, y = _operands(a, b, "inner")
    if x.ndim == 0 or y.ndim == 0:
        return multiply(x, y)
    if x.shape[-1] != y.shape[-1]:
        raise ValueError(f"inner: the last extents of {x.shape} and {y.shape} differ")
    return tensordot(x, y, axes=((-1,), (-1,)))


def outer(a: Operand, b: Operand) -> Array:
    """Return the matrix of products of the elements of both, which are flattened first.

    Raises:
        DeviceMismatchError: the arrays lie on two devices.
        TypeError: no array among the operands.

    Examples:
        >>> print(px.outer(px.asarray([1, 2]), px.asarray([1, 10, 100])))
        [[  1  10 100]
         [  2  20 200]]
    """
    x, y = _operands(a, b, "outer")
    return multiply(reshape(x, (x.size, 1)), reshape(y, (1, y.size)))


def kron(a: Operand, b: Operand) -> Array:
    """Return the Kronecker product: blocks of ``b`` times each element of ``a``.

    Axes are aligned at the last one; extents are the products.

    Raises:
        DeviceMismatchError: the arrays lie on two devices.
        TypeError: no array among the operands.

    Examples:
        >>> print(px.kron(px.asarray([[1, 2]]), px.asarray([[1, 0], [0, 1]])))
        [[1 0 2 0]
         [0 1 0 2]]
    """
    x, y = _operands(a, b, "kron")
    ndim = max(x.ndim, y.ndim)
    first = (1,) * (ndim - x.ndim) + x.shape
    second = (1,) * (ndim - y.ndim) + y.shape
    wide = tuple(e for n in first for e in (n, 1))
    narrow = tuple(e for n in second for e in (1, n))
    product = multiply(reshape(x, wide), reshape(y, narrow))
    return reshape(product, tuple(m * n for m, n in zip(first, second, strict=True)))


def convolve(a: Array, v: Array, mode: str = "full") -> Array:
    """Return the convolution of two 1-d arrays: sums of ``a[n - m] * v[m]``.

    Args:
        a: (n,).
        v: (m,).
        mode: ``"full"`` gives all n + m - 1 sums, ``"same"`` the max(n, m) in the middle,
            ``"valid"`` those of whole overlaps.

    A sum runs over the shorter array in the order of ``matmul``. At the edges the longer one is
    continued with zeros, so that an infinite or NaN element of the shorter one makes them NaN.

    Raises:
        DeviceMismatchError: the arrays lie on two devices.
        TypeError: no arrays.
        ValueError: other than one axis, no elements, an unknown mode.

    Examples:
        >>> print(px.convolve(px.asarray([1, 2, 3]), px.asarray([0, 1, 2])))
        [0 1 4 7 6]
    """
    made: Array | None = _slid(a, flip(v), mode) if isinstance(v, Array) else None
    if made is not None:
        return made
    a, v = _vectors(a, v, mode, "convolve")
    if v.size > a.size:
        a, v = v, a
    found: Array = _slid(a, flip(v), mode)
    return found


def correlate(a: Array, v: Array, mode: str = "valid") -> Array:
    """Return the correlation of two 1-d arrays: sums of ``a[n + k] * conj(v[n])``.

    Arguments and errors are those of ``convolve``.

    Examples:
        >>> print(px.correlate(px.asarray([1, 2, 3]), px.asarray([0, 1, 2]), mode="full"))
        [2 5 8 3 0]
    """
    made: Array | None = None
    if isinstance(v, Array) and v.dtype.kind != "c":
        made = _slid(a, v, mode)
    if made is None:
        a, v = _vectors(a, v, mode, "correlate")
        v = conj(v) if v.dtype.kind == "c" else v
        made = _slid(a, v, mode) if v.size <= a.size else flip(_slid(v, a, mode))
    return made


def _slid(a: Any, v: Any, mode: str) -> Any:
    """The sums of products of a window that slides over ``a``, the longer vector.

    None if they are not vectors with elements of one dtype, which is not bool.
    """
    if mode not in _MODES or not isinstance(v, Array):
        return None
    if mode == "valid":
        return slid_product(a, v, 0, 0)
    m = v.size
    before, after = (m - 1, m - 1) if mode == "full" else (m // 2, (m - 1) // 2)
    return slid_product(a, v, before, after)


def _vectors(a: Array, v: Array, mode: str, op: str) -> tuple[Array, Array]:
    """Two vectors of one dtype; a 0-d array is one of extent 1."""
    need_array(a, op)
    need_array(v, op)
    need_one_device(op, a, v)
    if mode not in _MODES:
        raise ValueError(f'{op}: mode is "full", "same" or "valid", got {mode!r}')
    a, v = (x if x.ndim else reshape(x, (1,)) for x in (a, v))
    if a.ndim != 1 or v.ndim != 1 or not a.size or not v.size:
        raise ValueError(f"{op} takes 1-d arrays with elements, got shapes {a.shape} and {v.shape}")
    dtype = result_type(a, v)
    dtype = int64 if dtype is bool_ else dtype
    return astype(a, dtype, copy=False), astype(v, dtype, copy=False)
