"""SciPy's LAPACK under the mode ``reproducible``: what takes it, what it gives, what it refuses."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import phalanx as px
import pytest
from array_kit import LAYOUTS, generator
from phalanx import linalg
from phalanx._warm import factor
from phalanx.conformance.reference.values import HostArray
from phalanx.kernels_cpu import lapack

pytestmark = pytest.mark.needs_cpu
DTYPES = ("float32", "float64", "complex64", "complex128")
OPS = ("cholesky", "eigh")
NAN, INF = float("nan"), float("inf")


@pytest.fixture(autouse=True)
def on_the_host(drivers: object) -> Iterator[None]:
    with px.device("cpu:0"):
        px.use_deterministic_algorithms("reproducible")
        yield
        px.use_deterministic_algorithms(None)


def matrix(name: str, *shape: int) -> HostArray:
    rng = generator("lapack", name, shape)
    x = rng.standard_normal(shape)
    return np.asarray((x + (1j * rng.standard_normal(shape) if name[0] == "c" else 0)).astype(name))


def small(error: HostArray, name: str, n: int) -> None:
    assert float(np.abs(error).max(initial=0)) <= 30 * max(n, 1) * float(np.finfo(name).eps)


@pytest.mark.parametrize("op", OPS)
def test_both_are_listed(op: str) -> None:
    found = {(kernel.determinism, kernel.provider[:5]) for kernel in px.kernels(op, "cpu:0")}
    assert found == {("bitwise", "_cpu_"), ("reproducible", "scipy")}


def test_listing_imports_nothing() -> None:
    text = "import sys, phalanx as px; px.kernels(device='cpu:0'); print('scipy' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 5, 33, 70])
@pytest.mark.parametrize("layout", ["contiguous", "strided", "negative"])
def test_what_it_gives(name: str, n: int, layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stacks in any layout; every function ends in LAPACK's kernels, of whole matrices."""
    ran = []
    launch = lapack.launch

    def counted(kernel: px.Kernel, inputs: list[px.Array], outputs: list[px.Array]) -> None:
        ran.append((kernel.op, inputs[0].shape))
        launch(kernel, inputs, outputs)

    monkeypatch.setattr(lapack, "launch", counted)
    device = px.get_device()
    x = matrix(name, 2, n, n)
    h = x + np.conj(np.swapaxes(x, 1, 2))
    d = (x @ np.conj(np.swapaxes(x, 1, 2)) / n + 2 * np.eye(n)).astype(name)
    a, hermitian, definite = (LAYOUTS[layout](y, device) for y in (x, h, d))
    lower = px.asnumpy(linalg.cholesky(definite))
    small(lower @ np.conj(np.swapaxes(lower, 1, 2)) - d, name, n)
    assert np.array_equal(lower, np.tril(lower))
    values, vectors = (px.asnumpy(part) for part in linalg.eigh(hermitian))
    small((vectors * values[:, None]) @ np.conj(np.swapaxes(vectors, 1, 2)) - h, name, 8 * n)
    u, s, vh = (px.asnumpy(part) for part in linalg.svd(a))
    small((u * s[:, None]) @ vh - x, name, 8 * n)
    assert {op for op, _ in ran} == set(OPS)
    assert {shape for _, shape in ran} == {(2, n, n)}


def test_wide_and_tall_and_none() -> None:
    for m, n in ((3, 7), (7, 3), (40, 35), (35, 40), (0, 3), (3, 0), (0, 0)):
        x = matrix("float64", 2, m, n)
        u, s, vh = (px.asnumpy(part) for part in linalg.svd(px.asarray(x), full_matrices=False))
        small((u * s[:, None]) @ vh - x, "float64", 40)
    assert linalg.eigh(px.zeros((2, 0, 0))).eigenvalues.shape == (2, 0)


def test_only_this_mode_takes_it() -> None:
    x = px.asarray(matrix("float64", 40, 40))
    h = x + x.mT
    bits = {}
    for mode in (None, "bitwise", "reproducible", "reproducible"):
        px.use_deterministic_algorithms(mode)
        made = px.asnumpy(linalg.eigh(h).eigenvectors).tobytes()
        assert bits.setdefault(mode, made) == made
    assert bits[None] == bits["bitwise"] != bits["reproducible"]


def test_without_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lapack, "_provider", lambda: "")
    px.use_deterministic_algorithms("reproducible")
    x = px.asarray(matrix("float64", 40, 40))
    made = px.asnumpy(linalg.svdvals(x)).tobytes()
    px.use_deterministic_algorithms("bitwise")
    assert px.asnumpy(linalg.svdvals(x)).tobytes() == made
    assert {kernel.determinism for kernel in px.kernels("eigh", "cpu:0")} == {"bitwise"}


def test_bad_matrices() -> None:
    x = np.eye(40)
    x[20, 20] = -1
    with pytest.raises(ValueError, match="not positive definite"):
        linalg.cholesky(px.asarray(x))
    made = px.asnumpy(factor("cholesky", px.asarray(x[None]), 40, 40))[0]
    assert np.isnan(made[20:, 20:][np.tril_indices(20)]).all()
    assert np.array_equal(made[:, :20], np.eye(40)[:, :20])
    for bad in (NAN, INF):
        x[20, 20] = bad
        for function in ("eigh", "svd", "pinv"):
            with pytest.raises(ValueError, match="NaN"):
                getattr(linalg, function)(px.asarray(x))


def test_only_one_triangle_is_read() -> None:
    x = np.eye(40) * 4 + np.tril(matrix("float64", 40, 40)) / 40
    dirty = x + np.triu(np.full((40, 40), NAN), 1)
    for function in ("cholesky", "eigvalsh"):
        want = px.asnumpy(getattr(linalg, function)(px.asarray(x)))
        assert np.array_equal(px.asnumpy(getattr(linalg, function)(px.asarray(dirty))), want)


def test_behind_what_a_stream_has_to_do() -> None:
    x = px.asarray(matrix("float64", 200, 200))
    with px.Stream("cpu:0") as stream:
        for _ in range(5):
            made = linalg.eigvalsh(matrix_of(x))
    stream.synchronize()
    want = np.linalg.eigvalsh(px.asnumpy(matrix_of(x)))
    np.testing.assert_allclose(px.asnumpy(made), want, rtol=1e-9, atol=1e-9)


def matrix_of(x: px.Array) -> px.Array:
    y = px.matmul(x, x.mT)
    for _ in range(20):
        y = y / px.max(px.abs(y)) + px.eye(200)
    return y
