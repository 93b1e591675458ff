"""What is timed of products that are not of two square matrices in float32."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .element_workloads import more
from .workloads import Operands, Workload, values

_SIDE = 64


def _shaped(
    first: Callable[[int], tuple[int, ...]], second: Callable[[int], tuple[int, ...]]
) -> Callable[[int, np.random.Generator], Operands]:
    """Make two operands of these shapes by size."""

    def make(n: int, rng: np.random.Generator) -> Operands:
        shapes = first(n), second(n)
        return tuple(values(int(np.prod(shape)), rng).reshape(shape) for shape in shapes)

    return make


def _double_matrices(n: int, rng: np.random.Generator) -> Operands:
    return rng.random((n, n)), rng.random((n, n))


MATRIX_WORKLOADS: tuple[Workload, ...] = (
    more(
        "matmul tall",
        "(n, 64) by (64, 64)",
        "a @ b",
        _shaped(lambda n: (n, _SIDE), lambda _: (_SIDE, _SIDE)),
        (4096, 2**16),
        width=_SIDE,
        limits=(_SIDE, 2**24),
        flops=lambda n: 2.0 * n * _SIDE**2,
    ),
    more(
        "matmul thin",
        "(64, n) by (n, 64)",
        "a @ b",
        _shaped(lambda n: (_SIDE, n), lambda n: (n, _SIDE)),
        (2**16,),
        width=_SIDE,
        limits=(_SIDE, 2**20),
        flops=lambda n: 2.0 * n * _SIDE**2,
    ),
    more(
        "matmul batched",
        "n products of (64, 64) by (64, 64)",
        "a @ b",
        _shaped(lambda n: (n, _SIDE, _SIDE), lambda n: (n, _SIDE, _SIDE)),
        (64, 1024),
        (64,),
        width=_SIDE**2,
        limits=(1, 2**16),
        flops=lambda n: 2.0 * n * _SIDE**3,
    ),
    more(
        "matmul a.T @ b",
        "a transposed matrix by another",
        "a.T @ b",
        _shaped(lambda n: (n, n), lambda n: (n, n)),
        (1024,),
        is_matrix=True,
        limits=(2, 8192),
        flops=lambda n: 2.0 * n**3,
    ),
    more(
        "matmul float64",
        "product of two square matrices in float64",
        "a @ b",
        _double_matrices,
        (1024,),
        is_matrix=True,
        limits=(2, 8192),
        flops=lambda n: 2.0 * n**3,
    ),
    more(
        "matrix @ vector",
        "a square matrix by a vector",
        "a @ b",
        _shaped(lambda n: (n, n), lambda n: (n,)),
        (2048,),
        is_matrix=True,
        limits=(2, 16384),
        flops=lambda n: 2.0 * n**2,
    ),
    more(
        "tensordot",
        "(n, 16, 16) by (16, 16, 64) over two axes",
        "xp.tensordot(a, b, axes=2)",
        _shaped(lambda n: (n, 16, 16), lambda _: (16, 16, _SIDE)),
        (4096,),
        special={"torch": "xp.tensordot(a, b, 2)"},
        width=256,
        limits=(_SIDE, 2**20),
        flops=lambda n: 2.0 * n * 256 * _SIDE,
    ),
)
