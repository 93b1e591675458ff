"""The extension ``linalg``.

What is defined uniquely is compared with NumPy in float64, factors by their defining equations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import phalanx as px
import pytest
from phalanx.conformance.case import Case
from phalanx.conformance.groups.semantics.compare import LAYOUTS, close, put, same, whole_numbers
from phalanx.conformance.layouts import HostArray

#: Parts of the largest element that a float32 result may be off; the matrices have a condition
#: number below 10.
_SLACK = 1e-5
_STACKS: tuple[tuple[int, ...], ...] = ((), (3,), (2, 1, 2), (0,))
_SIZES = (1, 2, 4, 7)


def _dominant(case: Case, shape: tuple[int, ...], dtype: str = "float32") -> HostArray:
    """Square matrices whose diagonal outweighs the rest, so that they are well-conditioned."""
    host = whole_numbers(case, shape, dtype) / np.asarray(16 * shape[-1], dtype)
    return np.asarray(host + np.eye(shape[-1], dtype=dtype))


def _definite(case: Case, shape: tuple[int, ...], dtype: str = "float32") -> HostArray:
    host = _dominant(case, shape, dtype)
    return np.asarray(host + np.matrix_transpose(host).conj())


def _matrices(case: Case, make: Callable[..., HostArray]) -> list[tuple[str, HostArray]]:
    """Stacks of matrices with the layout in which each is to lie."""
    shapes = [(*stack, n, n) for stack in _STACKS for n in _SIZES]
    dtypes = ("float32", "complex64")
    return [
        (LAYOUTS[number % 3], make(case, shape, dtypes[number % 2]))
        for number, shape in enumerate(shapes)
    ]


def _exact(host: HostArray) -> HostArray:
    return host.astype(np.complex128 if host.dtype.kind == "c" else np.float64)


def _got(x: px.Array) -> HostArray:
    return _exact(np.asarray(px.asnumpy(x)))


def _adjoint(host: HostArray) -> HostArray:
    return np.asarray(np.matrix_transpose(host).conj())


@pytest.mark.parametrize("name", ["det", "inv", "matrix_rank", "svdvals"])
def test_unique_results(case: Case, name: str) -> None:
    """Determinants, inverses, ranks and singular values of stacks in every layout."""
    for layout, host in _matrices(case, _dominant):
        want = np.asarray(getattr(np.linalg, name)(_exact(host)))
        close(case, getattr(px.linalg, name)(put(case, host, layout)), want, _SLACK, name)


@pytest.mark.parametrize("name", ["cholesky", "eigvalsh"])
def test_results_of_definite(case: Case, name: str) -> None:
    """Factors and eigenvalues of positive definite matrices."""
    for layout, host in _matrices(case, _definite):
        want = getattr(np.linalg, name)(_exact(host))
        x = put(case, host, layout)
        close(case, getattr(px.linalg, name)(x), want, _SLACK, name)
        if name == "cholesky":
            upper = px.linalg.cholesky(x, upper=True)
            close(case, upper, _adjoint(want), _SLACK, "upper")


def test_slogdet(case: Case) -> None:
    """Sign and logarithm of determinants, of those that overflow too."""
    for layout, host in _matrices(case, _dominant):
        found, want = px.linalg.slogdet(put(case, host, layout)), np.linalg.slogdet(_exact(host))
        close(case, found.sign, want.sign, _SLACK, "sign")
        close(case, found.logabsdet, want.logabsdet, _SLACK, "logabsdet")
    huge = px.linalg.slogdet(px.eye(40, dtype=px.float32) * 1000)
    close(case, huge.logabsdet, 40 * np.log(1000.0), _SLACK, "of a determinant that overflows")


def test_solve(case: Case) -> None:
    """Linear systems with one and with several right sides."""
    for layout, host in _matrices(case, _dominant):
        right = whole_numbers(case, (*host.shape[:-1], 3), "float32").astype(host.dtype)
        want = np.linalg.solve(_exact(host), _exact(right))
        close(case, px.linalg.solve(put(case, host, layout), put(case, right)), want, _SLACK)
        vector = whole_numbers(case, host.shape[-1:], str(host.dtype), "vector")
        want = np.linalg.solve(_exact(host), _exact(vector)[:, None])[..., 0]
        close(case, px.linalg.solve(put(case, host), put(case, vector)), want, _SLACK, "vector")


def test_eigh(case: Case) -> None:
    """Ascending eigenvalues, and orthonormal vectors that belong to them."""
    for layout, host in _matrices(case, _definite):
        values, vectors = (_got(part) for part in px.linalg.eigh(put(case, host, layout)))
        wanted = np.linalg.eigvalsh(_exact(host))
        assert np.abs(values - wanted).max(initial=0) <= _SLACK * 4
        _equal(vectors @ (values[..., None] * _adjoint(vectors)), host, "V diag(w) Vh")
        _equal(_adjoint(vectors) @ vectors, np.eye(host.shape[-1]), "Vh V")


def _sizes(rows: int, columns: int) -> tuple[tuple[Literal["reduced", "complete"], int], ...]:
    """The modes of ``qr`` with the number of columns of Q."""
    return (("reduced", min(rows, columns)), ("complete", rows))


def _equal(got: HostArray, want: HostArray, what: str) -> None:
    error = float(np.abs(got - want).max(initial=0))
    assert error <= 2e-5, f"{what} is off by {error:.3g}"


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 6, 4), (0, 3, 2)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_factors(case: Case, dtype: str, shape: tuple[int, ...]) -> None:
    """``qr``, ``svd`` and ``pinv`` of matrices that are not square, in both sizes."""
    host = whole_numbers(case, shape, dtype) / np.asarray(8, dtype)
    exact = _exact(host)
    for layout in LAYOUTS:
        x = put(case, host, layout)
        rows, columns = shape[-2:]
        for mode, k in _sizes(rows, columns):
            q, r = (_got(part) for part in px.linalg.qr(x, mode=mode))
            assert (q.shape[-2:], r.shape[-2:]) == ((rows, k), (k, columns))
            _equal(q @ r, exact, f"Q R, {mode}")
            _equal(_adjoint(q) @ q, np.eye(k), f"Qh Q, {mode}")
            _equal(np.tril(r, -1), np.zeros_like(r), f"below R, {mode}")
        k = min(rows, columns)
        for full in (False, True):
            u, s, vh = (_got(part) for part in px.linalg.svd(x, full_matrices=full))
            assert (u.shape[-1], vh.shape[-2]) == ((rows, columns) if full else (k, k))
            _equal((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], exact, "U diag(S) Vh")
            _equal(s, np.linalg.svdvals(exact), "S")
        p = _got(px.linalg.pinv(x))
        _equal(exact @ p @ exact, exact, "A pinv(A) A")


def test_eig(case: Case) -> None:
    """Complex eigenvalues and vectors of real and complex matrices."""
    for host in (
        np.asarray([[0, -1], [1, 0]], np.float32),
        _dominant(case, (3, 4, 4), "complex64"),
    ):
        found = px.linalg.eig(put(case, host))
        assert found.eigenvalues.dtype is found.eigenvectors.dtype is px.complex64
        values, vectors = _got(found.eigenvalues), _got(found.eigenvectors)
        _equal(_exact(host) @ vectors, vectors * values[..., None, :], "A V = V diag(w)")
        _equal(np.sort(_got(px.linalg.eigvals(put(case, host)))), np.sort(values), "eigvals")


@pytest.mark.parametrize("order", ["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
def test_matrix_norm(case: Case, order: Any) -> None:
    """All norms of matrices, with and without ``keepdims``."""
    for layout in LAYOUTS:
        host = whole_numbers(case, (2, 3, 4), "float32")
        for keepdims in (False, True):
            got = px.linalg.matrix_norm(put(case, host, layout), ord=order, keepdims=keepdims)
            want = np.linalg.matrix_norm(_exact(host), ord=order, keepdims=keepdims)
            close(case, got, want, _SLACK, f"{layout}, {keepdims}")


@pytest.mark.parametrize("order", [2, 1, 0, np.inf, -np.inf, 3, 0.5])
def test_vector_norm(case: Case, order: Any) -> None:
    """Norms over all elements, one axis and several."""
    host = whole_numbers(case, (3, 4, 5), "float32") + np.float32(10)
    for axis in (None, 0, -1, (0, 2), (1, 0)):
        for keepdims in (False, True):
            options = {"axis": axis, "ord": order, "keepdims": keepdims}
            got = px.linalg.vector_norm(put(case, host, "transposed"), **options)
            want = np.linalg.vector_norm(_exact(host), **options)
            close(case, got, want, _SLACK, f"over {axis}")


@pytest.mark.parametrize("n", [0, 1, 2, 5, -1, -3])
def test_matrix_power(case: Case, n: int) -> None:
    """Powers of stacks of matrices, negative ones by the inverse."""
    host = _dominant(case, (2, 3, 3))
    want = np.linalg.matrix_power(_exact(host), n)
    close(case, px.linalg.matrix_power(put(case, host), n), want, _SLACK)


def test_exact_functions(case: Case) -> None:
    """``cross``, ``diagonal``, ``outer``, ``trace`` of whole numbers are exact."""
    for layout in LAYOUTS:
        a, b = (whole_numbers(case, (4, 3), "int32", i) for i in range(2))
        x, y = put(case, a, layout), put(case, b, layout)
        same(case, px.linalg.cross(x, y), np.linalg.cross(a, b), "cross")
        same(case, px.linalg.cross(x.mT, y.mT, axis=-2), np.linalg.cross(a, b).T, "cross, axis -2")
        same(case, px.linalg.outer(x[0], y[:, 1]), np.linalg.outer(a[0], b[:, 1]), "outer")
        c = whole_numbers(case, (2, 4, 3), "int32")
        z = put(case, c, layout)
        for offset in (0, 1, -1, 2, -3, 5, -7):
            want = np.linalg.diagonal(c, offset=offset)
            same(case, px.linalg.diagonal(z, offset=offset), want, f"diagonal {offset}")
            want = np.linalg.trace(c, offset=offset, dtype=np.int64)
            same(case, px.linalg.trace(z, offset=offset), want, f"trace {offset}")
    same(case, px.linalg.matmul(x.mT, y), np.linalg.matmul(a.T, b), "matmul")
    same(case, px.linalg.vecdot(x, y), np.linalg.vecdot(a, b), "vecdot")
    same(case, px.linalg.tensordot(x.mT, y, axes=1), a.T @ b, "tensordot")


@pytest.mark.parametrize("name", ["inv", "solve", "cholesky", "det", "eigh", "matrix_power"])
def test_refused_matrices(case: Case, name: str) -> None:
    """Matrices that are singular, not definite or not square, and integers."""
    singular = px.zeros((2, 2), dtype=px.float32)
    calls: dict[str, Callable[[px.Array], object]] = {
        "solve": lambda x: px.linalg.solve(x, px.ones((2, 1), dtype=px.float32)),
        "matrix_power": lambda x: px.linalg.matrix_power(x, -1),
    }
    call = calls.get(name, getattr(px.linalg, name))
    if name in ("inv", "solve", "cholesky", "matrix_power"):
        with pytest.raises(ValueError, match=r"."):
            call(singular)
    for shape in ((2, 3), (4,), ()):
        with pytest.raises(ValueError, match="square"):
            call(px.zeros(shape, dtype=px.float32))
    with pytest.raises(TypeError):
        call(px.ones((2, 2), dtype=px.int32))
