"""What ``linalg`` takes and refuses: shapes, layouts, mistakes, threads; further names."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import phalanx as px
import pytest
from array_kit import LAYOUTS, generator
from phalanx import linalg
from phalanx.conformance.reference.values import HostArray

DTYPES = ("float32", "float64", "complex64", "complex128")
NAN, INF = float("nan"), float("inf")


def matrix(name: str, *shape: int) -> HostArray:
    rng = generator("linalg inputs", name, shape)
    x = rng.standard_normal(shape)
    return np.asarray((x + (1j * rng.standard_normal(shape) if name[0] == "c" else 0)).astype(name))


def near(got: px.Array, want: HostArray) -> None:
    host = px.asnumpy(got)
    assert host.shape == np.shape(want)
    slack = 2e-4 if host.dtype.name in ("float32", "complex64") else 1e-10
    np.testing.assert_allclose(host, want, rtol=slack, atol=slack)


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize(
    "shape", [(4, 4), (2, 5, 3), (3, 6), (33, 40), (40, 33), (2, 0, 3), (3, 0)]
)
def test_lu(name: str, shape: tuple[int, ...], device: px.Device) -> None:
    x = matrix(name, *shape)
    m, n = shape[-2:]
    for layout in ("contiguous", "strided", "negative") if x.size else ("contiguous",):
        p, lower, upper = linalg.lu(LAYOUTS[layout](x, device))
        assert p.shape == (*shape[:-2], m, m)
        assert lower.shape == (*shape[:-2], m, min(m, n))
        near(p @ lower @ upper, x)
        host = px.asnumpy(lower)
        assert np.array_equal(host, np.tril(host))
        assert np.all(np.diagonal(host, axis1=-2, axis2=-1) == 1)
        assert np.array_equal(px.asnumpy(upper), np.triu(px.asnumpy(upper)))
        assert np.array_equal(px.asnumpy(p).sum(axis=-1), np.ones(shape[:-1]))


@pytest.mark.parametrize("name", DTYPES)
def test_eig(name: str, device: px.Device) -> None:
    """Stacks, empty ones, layouts; NaN and infinite elements, and no convergence, are told of."""
    kind = "complex64" if name in ("float32", "complex64") else "complex128"
    for shape in ((0, 0), (2, 0, 0), (0, 3, 3), (2, 1, 3, 3)):
        values, vectors = linalg.eig(px.asarray(matrix(name, *shape)))
        assert (values.shape, vectors.shape) == (shape[:-1], shape)
        assert values.dtype.name == vectors.dtype.name == kind
    x = matrix(name, 2, 4, 4)
    want = linalg.eig(px.asarray(x))
    for layout in ("strided", "negative"):
        for got, part in zip(linalg.eig(LAYOUTS[layout](x, device)), want, strict=True):
            assert px.asnumpy(got).tobytes() == px.asnumpy(part).tobytes()
    for wrong in (NAN, INF):
        x[1, 2, 0] = wrong
        with pytest.raises(ValueError, match=r"eig of shape \(2, 4, 4\): elements are NaN or inf"):
            linalg.eig(px.asarray(x))


def test_eig_tells_of_no_convergence(device: px.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    from phalanx.linalg import eigen

    for function, rows, dtype in (
        ("eig", 7, px.complex128),
        ("eigh", 4, px.float64),
        ("eigvalsh", 4, px.complex64),
    ):
        made = px.zeros((1, rows, 2), dtype=dtype)
        made[:, -1] = -1
        monkeypatch.setattr(eigen, "factor", lambda *_, made=made: made)
        said = rf"{function} of shape \(2, 2\) did not converge in 300 sweeps"
        with pytest.raises(ValueError, match=said):
            getattr(linalg, function)(px.eye(2, dtype=dtype))


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("n", [1, 4, 33, 65])
def test_triangles(name: str, n: int, device: px.Device) -> None:
    a = matrix(name, 2, n, n) / n + 2 * np.eye(n, dtype=name)
    b, vector = matrix(name, n, 3), matrix(name, n)
    for lower in (False, True):
        part = np.tril(a) if lower else np.triu(a)
        for unit in (False, True):
            real = part - np.eye(n) * part + np.eye(n) if unit else part
            for layout in ("contiguous", "strided", "negative"):
                x = LAYOUTS[layout](a, device)
                got = linalg.solve_triangular(x, px.asarray(b), lower=lower, unit_diagonal=unit)
                near(got, np.linalg.solve(real, b))
            one = linalg.solve_triangular(
                px.asarray(a[0]), px.asarray(vector), lower=lower, unit_diagonal=unit
            )
            near(one, np.linalg.solve(real[0], vector))


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (5, 5)])
def test_lstsq(name: str, shape: tuple[int, int], device: px.Device) -> None:
    a = matrix(name, *shape)
    for b in (matrix(name, shape[0]), matrix(name, shape[0], 3)):
        got, want = linalg.lstsq(px.asarray(a), px.asarray(b)), np.linalg.lstsq(a, b)
        near(got.x, want[0])
        near(got.residuals, want[1])
        assert int(got.rank) == want[2]
        near(got.singular_values, want[3])
    flat = np.ones(shape, name)  # of rank 1
    got, want = linalg.lstsq(px.asarray(flat), px.asarray(b)), np.linalg.lstsq(flat, b)
    near(got.x, want[0])
    assert (int(got.rank), got.residuals.shape) == (1, (0,))
    loose = linalg.lstsq(px.asarray(np.diag([1.0, 0.01])), px.ones(2), rcond=0.1)
    assert loose.x.tolist() == [1.0, 0.0]


def test_cond(device: px.Device) -> None:
    x = matrix("float64", 2, 4, 4)
    for p in (None, 2, -2, 1, -1, INF, -INF, "fro"):
        near(linalg.cond(px.asarray(x), p), np.linalg.cond(x, p))
    near(linalg.cond(px.asarray(x[:, :3])), np.linalg.cond(x[:, :3]))
    with pytest.raises(ValueError, match=r"cond takes matrices with elements, got shape \(0, 2\)"):
        linalg.cond(px.ones((0, 2)))
    with pytest.raises(ValueError, match="cond takes square matrices"):
        linalg.cond(px.ones((2, 3)), 1)
    with pytest.raises(ValueError, match=r"cond of shape \(1, 1\): elements are NaN"):
        linalg.cond(px.asarray([[NAN]]))
    with pytest.raises(TypeError, match=r"linalg\.cond is not defined for float16"):
        linalg.cond(px.ones((2, 2), dtype=px.float16), 1)


@pytest.mark.parametrize("p", [None, 2, -2, 1, -1, INF, -INF, "fro", "nuc"])
@pytest.mark.parametrize("name", DTYPES)
def test_cond_of_singular_matrices(name: str, p: Any, device: px.Device) -> None:
    """They have infinity, beside others in a stack too; the smallest over the largest is 0."""
    for n in (2, 40):
        x = matrix(name, 4, n, n)
        x[1, :, 1] = x[3] = 0
        got = linalg.cond(px.asarray(x), p)
        near(got[::2], np.linalg.cond(x[::2], p))
        value = got[1].item()  # singular values are rounded
        assert value < 1e-6 if p == -2 else value > 1e6 if p in (None, 2) else value == INF
        assert got[3].item() == INF
        assert linalg.cond(px.asarray(x[3]), p).item() == INF
    for shape in ((0, 3, 3), (2, 0, 1, 1)):
        assert linalg.cond(px.zeros(shape), p).shape == shape[:-2]
    for shape in ((0, 0), (3, 0, 0)):
        with pytest.raises(ValueError, match="cond takes matrices with elements"):
            linalg.cond(px.zeros(shape), p)


def test_cond_keeps_nan(device: px.Device) -> None:
    x = np.array([[[0.0, NAN], [0.0, 1.0]], [[1.0, NAN], [0.0, 1.0]], np.eye(2)])
    for p in (1, -1, INF, "fro"):
        got = linalg.cond(px.asarray(x), p)
        assert px.isnan(got).tolist() == [True, True, False]


def test_no_elements(device: px.Device) -> None:
    """As NumPy has it, for functions that it has."""
    for shape in ((0, 0), (3, 0, 0), (0, 2, 2)):
        x = np.ones(shape)
        a = px.asarray(x)
        for function in ("det", "inv", "cholesky", "eigvalsh"):
            near(getattr(linalg, function)(a), getattr(np.linalg, function)(x))
        near(linalg.slogdet(a).sign, np.linalg.slogdet(x).sign)
        near(linalg.slogdet(a).logabsdet, np.linalg.slogdet(x).logabsdet)
        near(linalg.eigh(a).eigenvectors, x)
        right = np.ones((*shape[:-1], 3))
        near(linalg.solve(a, px.asarray(right)), np.linalg.solve(x, right))
        near(linalg.solve_triangular(a, px.asarray(right)), right)
    near(linalg.solve(px.eye(3), px.ones((3, 0))), np.ones((3, 0)))
    for shape in ((0, 3), (3, 0), (2, 0, 3), (0, 4, 3), (0, 0)):
        x = np.ones(shape)
        a = px.asarray(x)
        for mode in ("reduced", "complete"):
            for got, want in zip(linalg.qr(a, mode=mode), np.linalg.qr(x, mode), strict=True):
                near(got, want)
        for full in (False, True):
            for got, want in zip(
                linalg.svd(a, full_matrices=full), np.linalg.svd(x, full), strict=True
            ):
                near(got, want)
        near(linalg.pinv(a), np.linalg.pinv(x))
        near(linalg.svdvals(a), np.linalg.svdvals(x))
    assert linalg.lstsq(px.ones((3, 0)), px.ones(3)).x.shape == (0,)


@pytest.mark.parametrize("bad", [NAN, INF])
def test_nan_and_infinity(bad: float, device: px.Device) -> None:
    """Eigenvalues and rotations refuse them, others let them pass; no Cholesky factor has NaN."""
    for n in (3, 40):
        host = np.eye(n) * 2
        host[2, 1] = host[1, 2] = bad
        x = px.asarray(host)
        for function in ("eigh", "eigvalsh", "svd", "svdvals", "pinv", "matrix_rank"):
            with pytest.raises(
                ValueError, match=rf"\({n}, {n}\): elements are NaN(,| or) infinite"
            ):
                getattr(linalg, function)(x)
        with pytest.raises(ValueError, match=r"cholesky of shape .* not positive definite"):
            linalg.cholesky(x)
        assert np.isnan(px.asnumpy(linalg.qr(x).R)).any()
        if np.isnan(bad):
            assert np.isnan(linalg.det(x).item())
            assert px.any(px.isnan(linalg.solve(x, px.ones(n)))).item()


def test_only_one_triangle_is_read(device: px.Device) -> None:
    host = matrix("float64", 40, 40)
    host = host @ host.T + 40 * np.eye(40)
    upper = np.full_like(host, NAN)
    lower = np.tril(host) + np.triu(upper, 1)
    near(linalg.cholesky(px.asarray(lower)), np.linalg.cholesky(host))
    near(linalg.cholesky(px.asarray(lower.T.copy()), upper=True), np.linalg.cholesky(host).T)
    near(linalg.solve_triangular(px.asarray(lower), px.ones(40), lower=True),
         np.linalg.solve(np.tril(host), np.ones(40)))  # fmt: skip
    near(linalg.eigvalsh(px.asarray(np.tril(host))), np.linalg.eigvalsh(host))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: linalg.lstsq(px.eye(2), px.ones(3)), ValueError, "lstsq takes a matrix"),
        (lambda: linalg.lstsq(px.ones((2, 2, 2)), px.ones(2)), ValueError, "lstsq takes a matrix"),
        (lambda: linalg.lstsq(px.eye(2), [1, 2]), TypeError, "lstsq takes a phalanx array"),
        (lambda: linalg.lu(px.ones(3)), ValueError, "lu takes matrices"),
        (lambda: linalg.lu(px.ones((2, 2), dtype=px.int8)), TypeError, "lu takes a floating array"),
        (
            lambda: linalg.solve_triangular(px.eye(2), px.ones(3)),
            ValueError,
            r"solve_triangular of shapes \(2, 2\) and \(3,\): the right side needs 2 rows, got 3",
        ),
        (
            lambda: linalg.solve(px.ones((2, 3, 3)), px.ones((5, 3, 1))),
            ValueError,
            "do not broadcast|cannot be broadcast|broadcast",
        ),
        (
            lambda: linalg.solve(px.asarray([[1.0, 2.0], [2.0, 4.0]]), px.ones(2)),
            ValueError,
            r"solve of shape \(2, 2\): Singular matrix",
        ),
    ],
)  # fmt: skip
def test_mistakes(
    make: Callable[[], object], error: type[Exception], message: str, device: px.Device
) -> None:
    with pytest.raises(error, match=message):
        make()


def test_operands_stay(device: px.Device) -> None:
    host = matrix("float64", 40, 40)
    host = host @ host.T + np.eye(40)
    x = px.asarray(host)
    for function in ("cholesky", "inv", "det", "qr", "eigh", "svd", "lu", "pinv"):
        getattr(linalg, function)(x)
        assert np.array_equal(px.asnumpy(x), host), function
    right = px.asarray(host)
    linalg.solve(x, right)
    assert np.array_equal(px.asnumpy(right), host)


def test_eight_threads() -> None:
    """The same bits from all, while they all work."""
    x = px.asarray(matrix("float64", 3, 45, 45), device="cpu:0")

    def all_of(_: int) -> list[bytes]:
        results = [*linalg.svd(x), *linalg.qr(x), linalg.inv(x), *linalg.eigh(x + x.mT)]
        return [px.asnumpy(result).tobytes() for result in results]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(all_of, range(8)))
    assert all(one == found[0] for one in found)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (2, 0, 3)], ids=str)
def test_norms_of_no_elements(shape: tuple[int, ...]) -> None:
    """0, as NumPy has them, where it has them."""
    x, a = np.zeros(shape), px.zeros(shape)
    for order in ("fro", "nuc", 1, 2, np.inf):
        want = np.linalg.matrix_norm(x, ord=order)
        assert px.asnumpy(linalg.matrix_norm(a, ord=order)).tolist() == want.tolist()
    for order in (0, 1, 2, 3, np.inf):
        want = np.linalg.vector_norm(x, ord=order, axis=-1)
        assert px.asnumpy(linalg.vector_norm(a, ord=order, axis=-1)).tolist() == want.tolist()
    if shape[-1] == 0 and x.size == 0 and shape[0]:
        with pytest.raises(ValueError, match=r"min of shape .*: no elements"):
            linalg.vector_norm(a, ord=-np.inf, axis=-1)
