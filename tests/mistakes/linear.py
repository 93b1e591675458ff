"""Products, linalg and fft."""

from __future__ import annotations

from .kit import Mistake

MISTAKES = (
    Mistake(
        "m @ m",
        ValueError,
        "matmul of shapes (2, 3) and (2, 3): the inner extents 3 and 2 differ",
    ),
    Mistake(
        "m @= m",
        ValueError,
        "matmul of shapes (2, 3) and (2, 3): the inner extents 3 and 2 differ",
    ),
    Mistake(
        "s @ x",
        ValueError,
        "matmul takes arrays with at least one axis; multiply 0-d arrays with *",
    ),
    Mistake(
        "b @ b",
        TypeError,
        "matmul is not defined for bool; use phalanx.astype(x, phalanx.int64)",
    ),
    Mistake(
        "x @ np.ones(3)",
        TypeError,
        "matmul takes phalanx arrays, got ndarray; use phalanx.asarray",
    ),
    Mistake(
        "px.matmul(x, 2)",
        TypeError,
        "matmul takes phalanx arrays, got int; multiply by numbers with *",
    ),
    Mistake(
        "px.matmul(px.ones((2, 2, 3)), px.ones((3, 3, 2)))",
        ValueError,
        "shapes (2,), (3,) cannot be broadcast: aligned at the last axis, extents must be "
        "equal or 1",
    ),
    Mistake(
        "x.dot(None)",
        TypeError,
        "dot takes a phalanx array, got NoneType; use phalanx.asarray",
    ),
    Mistake(
        "px.vecdot(x, px.ones(2))",
        ValueError,
        "vecdot of shapes (3,) and (2,): the extents 3 and 2 along axis -1 differ",
    ),
    Mistake(
        "px.vecdot(m, m, axis=0)",
        ValueError,
        "vecdot: axis counts from the end within both shapes, got 0",
    ),
    Mistake(
        "px.tensordot(m, m, axes=1)",
        ValueError,
        "tensordot: the extents of axes [1] of shape (2, 3) and of axes [0] of shape (2, 3) differ",
    ),
    Mistake(
        "px.tensordot(m, m, axes=3)",
        ValueError,
        "tensordot: axes is a number from 0 to 2 for shapes (2, 3) and (2, 3), got 3",
    ),
    Mistake(
        'px.tensordot(m, m, axes="ij,jk")',
        TypeError,
        "tensordot: axes is a number or two sequences of axes, such as ((1,), (0,)), got 'ij,jk'",
    ),
    Mistake(
        "px.tensordot(m, m, axes=((0, 0), (0, 1)))",
        ValueError,
        "tensordot: axes ((0, 0), (0, 1)) name an axis twice",
    ),
    Mistake(
        "px.linalg.inv(m)",
        ValueError,
        "inv takes square matrices (..., n, m) on the last two axes, got shape (2, 3)",
    ),
    Mistake(
        "px.linalg.inv([[1.0]])",
        TypeError,
        "inv takes a phalanx array, got list; use phalanx.asarray",
    ),
    Mistake("px.linalg.inv(px.zeros((2, 2)))", ValueError, "inv of shape (2, 2): Singular matrix"),
    Mistake(
        'px.linalg.det(px.eye(2, dtype="int64"))',
        TypeError,
        "det takes a floating array, got int64; convert it with phalanx.astype(x, phalanx.float64)",
    ),
    Mistake(
        "px.linalg.solve(px.eye(2), px.ones(3))",
        ValueError,
        "solve of shapes (2, 2) and (3,): the right side needs 2 rows, got 3",
    ),
    Mistake(
        "px.linalg.solve(px.eye(2), [1.0, 2.0])",
        TypeError,
        "solve takes a phalanx array, got list; use phalanx.asarray",
    ),
    Mistake(
        "px.linalg.cholesky(-px.eye(2))",
        ValueError,
        "cholesky of shape (2, 2): Matrix is not positive definite",
    ),
    Mistake(
        "px.linalg.svd(x)",
        ValueError,
        "svd takes matrices (..., n, m) on the last two axes, got shape (3,)",
    ),
    Mistake(
        'px.linalg.qr(px.eye(2), mode="full")',
        ValueError,
        'qr: mode is "reduced" or "complete", got \'full\'',
    ),
    Mistake(
        "px.linalg.vector_norm(i)",
        TypeError,
        "vector_norm takes a floating array, got int64; convert it with phalanx.astype(x, "
        "phalanx.float64)",
    ),
    Mistake(
        'px.linalg.vector_norm(x, ord="fro")',
        TypeError,
        "vector_norm: ord is a number, got 'fro'",
    ),
    Mistake(
        'px.linalg.matrix_norm(m, ord="max")',
        ValueError,
        'matrix_norm: ord is "fro", "nuc", 1, 2, inf, -1, -2 or -inf, got \'max\'',
    ),
    Mistake(
        "px.linalg.matrix_power(px.eye(2), 0.5)",
        TypeError,
        "matrix_power: n is an int, got 0.5",
    ),
    Mistake(
        "px.linalg.cross(px.ones(2), px.ones(2))",
        ValueError,
        "cross takes vectors of 3, got extents 2, 2 along axis -1",
    ),
    Mistake(
        "px.linalg.outer([1], [2])",
        TypeError,
        "outer takes a phalanx array, got list; use phalanx.asarray",
    ),
    Mistake(
        "px.linalg.trace(x)",
        ValueError,
        "diagonal takes matrices (..., n, m), got shape (3,)",
    ),
    Mistake(
        "px.fft.fft(i)",
        TypeError,
        "fft takes a floating array, got int64; use phalanx.astype(x, phalanx.float64)",
    ),
    Mistake(
        "px.fft.fft(x, n=0)",
        ValueError,
        "fft of shape (3,) along axis 0: the length must be positive, got 0",
    ),
    Mistake("px.fft.fft(x, n=2.5)", TypeError, "fft: a length is an int, got 2.5"),
    Mistake("px.fft.fft(x, axis=1)", IndexError, "fft: axis 1 is out of range for shape (3,)"),
    Mistake(
        'px.fft.fft(x, norm="unit")',
        ValueError,
        'fft: norm is "backward", "ortho" or "forward", got \'unit\'',
    ),
    Mistake(
        "px.fft.rfft(c)",
        TypeError,
        "rfft takes a real floating array, got complex128; use phalanx.fft.fft",
    ),
    Mistake(
        "px.fft.fftn(m, s=(2,), axes=(0, 1))",
        ValueError,
        "fftn: s (2,) and axes (0, 1) differ in length",
    ),
    Mistake("px.fft.fftfreq(2.5)", TypeError, "fftfreq: n is an int, got 2.5"),
    Mistake(
        "px.fft.fftfreq(4, d=0)",
        ValueError,
        "fftfreq: d, the distance of the samples, must not be 0",
    ),
    Mistake(
        "px.fft.fftshift([1, 2])",
        TypeError,
        "fftshift takes a phalanx array, got list; use phalanx.asarray",
    ),
)
