"""The linalg extension against NumPy, its errors, and the fallback where the host cannot reach."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import phalanx as px
import pytest
from array_kit import LAYOUTS, assert_same, generator
from phalanx import linalg
from phalanx.conformance.reference.values import HostArray

DTYPES = ("float32", "float64", "complex64", "complex128")


@pytest.fixture(autouse=True)
def _allowed() -> Iterator[None]:
    """Most tests are about numbers; those about the policy set their own."""
    with px.fallback_policy("allow"):
        yield


def matrices(name: str, shape: tuple[int, ...], *labels: object) -> HostArray:
    rng = generator("linalg", name, shape, *labels)
    x = rng.standard_normal(shape)
    return (x + (1j * rng.standard_normal(shape) if name[0] == "c" else 0)).astype(name)


def hermitian(name: str, shape: tuple[int, ...]) -> HostArray:
    """Positive definite and well conditioned."""
    x = matrices(name, shape)
    return (x @ x.conj().mT + 3 * np.eye(shape[-1])).astype(name)


def close(got: px.Array, want: HostArray, what: str = "") -> None:
    host = px.asnumpy(got)
    want = np.asarray(want)
    assert host.dtype == want.dtype, f"{what}: {host.dtype}, want {want.dtype}"
    assert host.shape == want.shape, f"{what}: {host.shape}, want {want.shape}"
    tolerance = 2e-4 if want.dtype.name in ("float32", "complex64") else 1e-10
    np.testing.assert_allclose(host, want, rtol=tolerance, atol=tolerance, err_msg=what)


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (1, 1), (2, 4, 4), (0, 3, 3), (2, 1, 5, 5)])
def test_square_matrices(name: str, shape: tuple[int, ...], device: px.Device) -> None:
    x, h = matrices(name, shape), hermitian(name, shape)
    for layout in ("contiguous", "strided", "negative") if x.size else ("contiguous",):
        a, b = LAYOUTS[layout](x, device), LAYOUTS[layout](h, device)
        close(linalg.det(a), np.linalg.det(x), "det")
        close(linalg.inv(b), np.linalg.inv(h), "inv")
        close(linalg.cholesky(b), np.linalg.cholesky(h), "cholesky")
        close(linalg.cholesky(b, upper=True), np.linalg.cholesky(h, upper=True), "upper")
        close(linalg.eigvalsh(b), np.linalg.eigvalsh(h), "eigvalsh")
        for g, w in zip(linalg.slogdet(a), np.linalg.slogdet(x), strict=True):
            close(g, w, "slogdet")
        for n in (-2, -1, 0, 1, 2, 5):
            close(
                linalg.matrix_power(b / 5, n),
                np.linalg.matrix_power(h / 5, n).astype(name),
                f"power {n}",
            )
        close(linalg.solve(b, a), np.linalg.solve(h, x), "solve")
        close(linalg.trace(a), np.trace(x, axis1=-2, axis2=-1), "trace")


@pytest.mark.parametrize("name", DTYPES)
def test_eigenvectors(name: str, device: px.Device) -> None:
    h = px.asarray(hermitian(name, (2, 4, 4)))
    values, vectors = linalg.eigh(h)
    assert values.dtype.kind == "f"
    close(
        px.matmul(h, vectors),
        px.asnumpy(vectors * px.astype(px.expand_dims(values, axis=1), vectors.dtype)),
    )
    x = px.asarray(matrices(name, (4, 4)))
    values, vectors = linalg.eig(x)
    assert values.dtype.kind == vectors.dtype.kind == "c"
    wide = px.astype(x, values.dtype)
    close(px.matmul(wide, vectors), px.asnumpy(vectors * values))
    ours, want = px.asnumpy(linalg.eigvals(x)), np.linalg.eigvals(px.asnumpy(x))
    np.testing.assert_allclose(np.sort_complex(ours), np.sort_complex(want), rtol=1e-3)
    diagonal = linalg.eig(px.asarray([[1.0, 0.0], [0.0, 2.0]]))  # NumPy gives real numbers here
    assert diagonal.eigenvalues.dtype is px.complex128


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5), (2, 4, 3)])
def test_factorisations(name: str, shape: tuple[int, ...], device: px.Device) -> None:
    x = matrices(name, shape)
    a = px.asarray(x)
    for mode in ("reduced", "complete"):
        q, r = linalg.qr(a, mode=mode)
        assert q.shape == np.linalg.qr(x, mode=mode).Q.shape
        close(q @ r, x, f"qr {mode}")
    for full in (False, True):
        u, s, vh = linalg.svd(a, full_matrices=full)
        assert u.shape == np.linalg.svd(x, full_matrices=full).U.shape
        k = min(shape[-2:])
        scaled = u[..., :k] * px.astype(px.expand_dims(s, axis=-2), u.dtype)
        close(scaled @ vh[..., :k, :], x, f"svd {full}")
    close(linalg.svdvals(a), np.linalg.svdvals(x), "svdvals")
    close(linalg.pinv(a), np.linalg.pinv(x), "pinv")
    close(linalg.pinv(a, rtol=0.5), np.linalg.pinv(x, rtol=0.5), "pinv with rtol")
    close(
        linalg.pinv(a, rtol=px.asarray(0.5, dtype=s.dtype)),
        np.linalg.pinv(x, rtol=0.5),
        "rtol as array",
    )
    assert px.asnumpy(linalg.matrix_rank(a)).tolist() == np.linalg.matrix_rank(x).tolist()


def test_rank(device: px.Device) -> None:
    x = px.asarray([[1.0, 2.0], [2.0, 4.0]])
    assert linalg.matrix_rank(x).item() == 1
    assert linalg.matrix_rank(px.zeros((3, 2))).item() == 0
    assert linalg.matrix_rank(px.eye(4), rtol=2.0).item() == 0
    assert linalg.matrix_rank(px.stack([px.eye(2), x]), rtol=px.asarray([0.1, 0.1])).tolist() == [
        2,
        1,
    ]
    assert linalg.matrix_rank(px.ones((2, 0, 3))).tolist() == [0, 0]


@pytest.mark.parametrize("name", DTYPES)
def test_norms(name: str, device: px.Device) -> None:
    x = matrices(name, (2, 3, 4))
    a = px.asarray(x)
    for order in (0, 1, 2, 3, 0.5, -1, np.inf, -np.inf):
        for axis in (None, 0, -1, (0, 2)):
            for keep in (False, True):
                got = linalg.vector_norm(a, ord=order, axis=axis, keepdims=keep)
                close(
                    got,
                    np.linalg.vector_norm(x, ord=order, axis=axis, keepdims=keep),
                    f"{order} {axis}",
                )
    for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        for keep in (False, True):
            got = linalg.matrix_norm(a, ord=order, keepdims=keep)
            close(got, np.linalg.matrix_norm(x, ord=order, keepdims=keep), f"matrix {order}")


def test_solve_shapes(device: px.Device) -> None:
    h = hermitian("float64", (2, 3, 3))
    b = np.arange(3.0)
    a = px.asarray(h)
    close(linalg.solve(a, px.asarray(b)), np.linalg.solve(h, b[:, None])[..., 0], "a vector")
    wide = matrices("float64", (3, 5))
    close(linalg.solve(a, px.asarray(wide)), np.linalg.solve(h, wide), "broadcast")
    close(
        linalg.solve(a[0], px.asarray([1.0, 2.0, 3.0], dtype=px.float32)),
        np.linalg.solve(h[0], [1.0, 2.0, 3.0]),
        "promoted",
    )


@pytest.mark.parametrize("name", ["float64", "complex64", "int32"])
def test_products_and_views(name: str, device: px.Device) -> None:
    rng = generator("products", name)
    x, y = (rng.integers(-5, 6, (2, 3, 4)).astype(name) for _ in range(2))
    a, b = px.asarray(x), px.asarray(y)
    assert linalg.matmul is px.matmul
    assert linalg.tensordot is px.tensordot
    assert linalg.vecdot is px.vecdot
    assert linalg.matrix_transpose is px.matrix_transpose
    close(linalg.outer(a[0, 0], b[1, 1]), np.outer(x[0, 0], y[1, 1]))
    close(linalg.cross(a, b, axis=-2), np.linalg.cross(x, y, axis=-2))
    close(linalg.cross(a[:, :, :3], b[1, 1, :3]), np.linalg.cross(x[:, :, :3], y[1, 1, :3]))
    for offset in range(-4, 5):
        got = linalg.diagonal(a, offset=offset)
        close(got, np.linalg.diagonal(x, offset=offset), f"diagonal {offset}")
        assert got.buffer is a.buffer
        want = np.trace(x, offset, -2, -1, dtype="int64" if name == "int32" else name)
        close(linalg.trace(a, offset=offset), want, f"trace {offset}")
    diagonal = linalg.diagonal(a[0])
    diagonal += 1
    assert a[0, 1, 1].item() == x[0, 1, 1] + 1
    assert linalg.trace(a, dtype=px.complex128).dtype is px.complex128


# ---- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function", ["det", "inv", "cholesky", "eig", "eigh", "eigvals", "eigvalsh", "slogdet"]
)
def test_functions_of_square_matrices(function: str, device: px.Device) -> None:
    call = getattr(linalg, function)
    with pytest.raises(
        ValueError, match=rf"({function}|eig) takes square matrices .* got shape \(2, 3\)"
    ):
        call(px.ones((2, 3)))
    with pytest.raises(ValueError, match=r"square matrices .* got shape \(3,\)"):
        call(px.ones(3))
    with pytest.raises(TypeError, match="takes a floating array, got int64"):
        call(px.ones((2, 2), dtype=px.int64))
    with pytest.raises(TypeError, match="takes a phalanx array, got list"):
        call([[1.0]])
    for half in ("float16", "bfloat16"):
        with pytest.raises(TypeError, match=f"is not defined for {half}; convert to float32"):
            call(px.ones((2, 2), dtype=half))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: linalg.inv(px.ones((2, 2))),
            ValueError,
            r"inv of shape \(2, 2\): Singular matrix",
        ),
        (
            lambda: linalg.solve(px.ones((2, 2)), px.ones((2, 2))),
            ValueError,
            "solve of shape .*Singular",
        ),
        (
            lambda: linalg.cholesky(-px.eye(2)),
            ValueError,
            "cholesky of shape .*not positive definite",
        ),
        (
            lambda: linalg.matrix_power(px.ones((2, 3)), 2),
            ValueError,
            "matrix_power takes square matrices",
        ),
        (lambda: linalg.matrix_power(px.zeros((2, 2)), -1), ValueError, "Singular"),
        (
            lambda: linalg.qr(px.ones((2, 2)), mode="raw"),
            ValueError,
            'mode is "reduced" or "complete", got \'raw\'',
        ),
        (
            lambda: linalg.cross(px.ones(3), px.ones(3), axis=0),
            ValueError,
            "cross: axis counts from the end",
        ),
        (
            lambda: linalg.cross(px.ones(2), px.ones(3)),
            ValueError,
            "cross takes vectors of 3, got extents 2, 3",
        ),
        (lambda: linalg.outer(px.ones((2, 2)), px.ones(2)), ValueError, "outer takes two vectors"),
        (lambda: linalg.diagonal(px.ones(2)), ValueError, "diagonal takes matrices"),
        (
            lambda: linalg.vector_norm(px.asarray([1])),
            TypeError,
            "vector_norm takes a floating array, got int64",
        ),
        (
            lambda: linalg.vector_norm(px.ones(2), axis=3),
            IndexError,
            "vector_norm: axis 3 is out of range",
        ),
        (lambda: linalg.matrix_norm(px.ones(2)), ValueError, "matrix_norm takes matrices"),
        (lambda: linalg.svd(px.ones(2)), ValueError, "svd takes matrices"),
        (
            lambda: linalg.pinv(px.ones((2, 2), dtype=px.int8)),
            TypeError,
            "pinv takes a floating array",
        ),
    ],
)
def test_errors(
    make: Callable[[], object], error: type[Exception], message: str, device: px.Device
) -> None:
    with pytest.raises(error, match=message):
        make()


def test_devices_do_not_mix(drivers: object) -> None:
    a, b = px.eye(2, device="fake:0"), px.eye(2, device="fake:1")
    with pytest.raises(px.DeviceMismatchError, match="solve of arrays on fake:0 and fake:1"):
        linalg.solve(a, b)
    with pytest.raises(px.DeviceMismatchError):
        linalg.cross(px.ones(3, device="fake:0"), px.ones(3, device="fake:1"))


# ---- the policy ----------------------------------------------------------------------------------


def test_no_fallback_where_the_host_reaches(drivers: object) -> None:
    with px.device("fakehost:0"), px.fallback_policy("error"):
        px.fallback_report(reset=True)
        assert linalg.det(px.eye(3)).item() == 1.0
        result = linalg.inv(px.eye(3) * 2)
        result += 1  # the memory is NumPy's, and writable
        assert result[0, 0].item() == 1.5
        assert linalg.eigvals(px.eye(2)).tolist() == [1.0, 1.0]
        assert px.fallback_report() == ()


def test_own_ops_need_no_fallback(fake: px.Device) -> None:
    with px.fallback_policy("error"):
        assert linalg.vector_norm(px.asarray([3.0, 4.0])).item() == 5.0
        assert linalg.matrix_norm(px.asarray([[3.0, 4.0]])).item() == 5.0
        assert linalg.eigvals(px.eye(2)).tolist() == [1.0, 1.0]
        assert linalg.matrix_power(px.eye(2) * 2, 3).tolist() == [[8.0, 0.0], [0.0, 8.0]]
        assert linalg.outer(px.ones(2), px.ones(2)).shape == (2, 2)


def test_powers_of_matrices_that_are_not_finite(device: px.Device) -> None:
    """No product with ones and zeros comes first, which would make NaN of infinities."""
    h = np.array([[np.inf, -0.0], [0.0, 2.0]])
    x = px.asarray(h, device=device)
    assert_same(linalg.matrix_power(x, 1), h)
    assert_same(linalg.matrix_power(x, 2), px.asnumpy(x @ x))
    made = linalg.matrix_power(x, 1)
    made[0, 0] = 1.0
    assert float(x[0, 0]) == np.inf
    assert_same(linalg.matrix_power(x, 0), np.eye(2))
