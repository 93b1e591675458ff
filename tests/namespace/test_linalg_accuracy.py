"""Backward errors of ``linalg`` by the ratios of LAPACK's test programs, for its kinds of matrices.

E. Anderson et al., LAPACK Users' Guide, and LAPACK Working Note 41, section 7: singular values or
eigenvalues by mode, between random orthogonal matrices, and ratios of norms that pass below 30.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import phalanx as px
import pytest
from array_kit import generator
from exhaustive import some_of
from phalanx import linalg
from phalanx.conformance.reference.values import HostArray

DTYPES = ("float32", "float64", "complex64", "complex128")
#: Around a block of 32 and its halves.
SIZES = (1, 2, 3, 31, 32, 33, 70)
LIMIT = 30.0
DEFICIENT = ("ones", "rank 1", "rank 5", "Hilbert", "columns", "rows", "zeros")
DEFICIENT_SHAPES = ((8, 8), (24, 24), (33, 33), (70, 33), (33, 70), (70, 70))
MODES = ("one large", "one small", "geometric", "arithmetic", "log-random", "clusters", "identity")


def spectrum(mode: str, n: int, condition: float, rng: np.random.Generator) -> HostArray:
    """Values from 1 to 1 / condition: the modes of DLATM1, and clusters of four."""
    places = np.arange(n) / max(1, n - 1)
    small = 1 / condition
    values = {
        "one large": np.where(np.arange(n) == 0, 1.0, small),
        "one small": np.where(np.arange(n) == n - 1, small, 1.0),
        "geometric": condition**-places,
        "arithmetic": 1 - places * (1 - small),
        "log-random": np.exp(np.log(small) * rng.random(n)),
        "clusters": condition ** -(np.floor(4 * places) / 4) * (1 + 1e-9 * rng.random(n)),
        "identity": np.ones(n),
    }
    return np.asarray(values[mode])


def unitary(name: str, n: int, rng: np.random.Generator) -> HostArray:
    x = rng.standard_normal((n, n))
    if name[0] == "c":
        x = x + 1j * rng.standard_normal((n, n))
    return np.linalg.qr(x).Q


def made(name: str, mode: str, m: int, n: int, scale: float = 1.0, kind: str = "") -> HostArray:
    """A matrix with a spectrum; Hermitian or positive definite by ``kind``."""
    rng = generator("accuracy", name, mode, m, n, kind)
    eps = float(np.finfo(name).eps)
    k = min(m, n)
    values = spectrum(mode, k, 0.1 / eps if kind != "definite" else 1e-2 / eps, rng)
    if kind == "hermitian":
        values = values * rng.choice([-1, 1], k)
    left = unitary(name, m, rng)
    right = left if kind else unitary(name, n, rng)
    x = (left[:, :k] * values) @ right[:, :k].conj().T
    if kind:
        x = (x + x.conj().T) / 2
    return (x * scale).astype(name)


def norm(x: HostArray) -> float:
    return float(np.abs(x).sum(axis=-2).max(initial=0))


def wide(x: Any) -> HostArray:
    """The elements in more precision, so that the test's own roundings do not count."""
    host = px.asnumpy(x) if isinstance(x, px.Array) else x
    return host.astype(np.clongdouble if host.dtype.kind == "c" else np.longdouble)


def small(error: HostArray, *sizes: float, name: str, what: str) -> None:
    """Hold a ratio of norms to the limit."""
    eps = np.finfo(name).eps
    ratio = norm(error) / float(np.prod([np.longdouble(s) for s in sizes]) * eps)
    assert ratio < LIMIT, f"{what}: ratio {ratio:.3g}"


def orthonormal(q: HostArray, name: str, what: str) -> None:
    small(q.conj().T @ q - np.eye(q.shape[1]), max(q.shape), name=name, what=f"{what} orthonormal")


@pytest.mark.parametrize("name", some_of(DTYPES, ("float32", "complex128")))
@pytest.mark.parametrize("mode", some_of(MODES, ("one small", "geometric", "clusters")))
class TestRatios:
    @pytest.mark.parametrize("n", SIZES)
    def test_systems(self, name: str, mode: str, n: int) -> None:
        """DGET01, DGET02, DGET03: |A - P L U|, |b - A x|, and |I - A inv(A)| by the condition."""
        x = made(name, mode, n, n)
        a, host = px.asarray(x), wide(x)
        p, lower, upper = (wide(part) for part in linalg.lu(a))
        small(host - p @ lower @ upper, n, norm(host), name=name, what="lu")
        assert float(np.abs(lower).max()) <= (1.0 if name[0] == "f" else 2**0.5 + 1e-6)
        right = wide(made(name, "identity", n, 3))
        found = wide(linalg.solve(a, px.asarray(right.astype(name))))
        error = host @ found - right.astype(name)
        for k in range(3):
            small(
                error[:, k : k + 1], n, norm(host), norm(found[:, k : k + 1]), name=name, what="x"
            )
        inverse = wide(linalg.inv(a))
        error = np.eye(n) - inverse @ host
        small(error, n, norm(host), norm(inverse), name=name, what="inv")

    @pytest.mark.parametrize("n", SIZES)
    def test_definite(self, name: str, mode: str, n: int) -> None:
        """DPOT01: |A - L L'|."""
        x = made(name, mode, n, n, kind="definite")
        for upper in (False, True):
            factor = wide(linalg.cholesky(px.asarray(x), upper=upper))
            product = factor.conj().T @ factor if upper else factor @ factor.conj().T
            small(wide(x) - product, n, norm(x), name=name, what=f"cholesky {upper}")

    @pytest.mark.parametrize("shape", [*((n, n) for n in SIZES), (70, 33), (33, 70), (65, 1)])
    def test_orthogonal(self, name: str, mode: str, shape: tuple[int, int]) -> None:
        """DQRT01 and DBDT01: |A - Q R|, |A - U S V'|, and the orthonormal factors."""
        orthogonal_factors_hold(made(name, mode, *shape), name)

    @pytest.mark.parametrize("n", SIZES)
    def test_hermitian(self, name: str, mode: str, n: int) -> None:
        """DSYT21: |A - V D V'|, orthonormal vectors, and values beside NumPy's."""
        hermitian_values_hold(made(name, mode, n, n, kind="hermitian"), name)

    @pytest.mark.parametrize("n", SIZES)
    def test_general(self, name: str, mode: str, n: int) -> None:
        """DGET22: |A V - V W|, and the length of the vectors."""
        eigenvectors_hold(made(name, mode, n, n), name)


def orthogonal_factors_hold(x: HostArray, name: str) -> None:
    most = max(x.shape)
    for complete in (False, True):
        mode = "complete" if complete else "reduced"
        q, r = (wide(part) for part in linalg.qr(px.asarray(x), mode=mode))
        small(wide(x) - q @ r, most, norm(x), name=name, what="qr")
        orthonormal(q, name, "Q")
        u, s, vh = (wide(part) for part in linalg.svd(px.asarray(x), full_matrices=complete))
        k = len(s)
        small(wide(x) - (u[:, :k] * s) @ vh[:k], most, norm(x), name=name, what="svd")
        orthonormal(u, name, "U")
        orthonormal(vh.conj().T, name, "V")
        assert np.all(s[1:] <= s[:-1])
        assert np.all(s >= 0)
    slack = LIMIT * most * float(np.finfo(name).eps) * norm(x)
    alone = wide(linalg.svdvals(px.asarray(x)))
    assert float(np.abs(s - alone).max()) < slack
    exact = np.linalg.svd(x.astype("complex128" if name[0] == "c" else "float64")).S
    assert float(np.abs(s - exact).max()) < slack


def hermitian_values_hold(x: HostArray, name: str) -> None:
    n = len(x)
    values, vectors = (wide(part) for part in linalg.eigh(px.asarray(x)))
    small(wide(x) - (vectors * values) @ vectors.conj().T, n, norm(x), name=name, what="eigh")
    orthonormal(vectors, name, "V")
    assert np.all(np.diff(values) >= 0)
    exact = np.linalg.eigvalsh(x.astype("complex128" if name[0] == "c" else "float64"))
    slack = LIMIT * n * float(np.finfo(name).eps) * norm(x)
    assert float(np.abs(values - exact).max()) < slack


def eigenvectors_hold(x: HostArray, name: str) -> None:
    n = len(x)
    values, vectors = (wide(part) for part in linalg.eig(px.asarray(x)))
    small(wide(x) @ vectors - vectors * values, n, norm(x), name=name, what="eig")
    lengths = np.sqrt((np.abs(vectors) ** 2).sum(axis=0))
    eps = float(np.finfo(name).eps)
    assert float(np.abs(lengths - 1).max()) < LIMIT * eps
    sizes = np.abs(vectors)  # one of those that rounding may have made the largest
    nearly = sizes >= sizes.max(axis=0) * (1 - 8 * eps)
    assert np.all(np.any(nearly & (np.abs(vectors - sizes) <= 8 * eps * sizes), axis=0))


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("n", [2, 7, 33])
@pytest.mark.parametrize("kind", ["defective", "nilpotent", "cycle", "ones", "graded", "far"])
def test_eigenvectors_of_hard_matrices(name: str, n: int, kind: str) -> None:
    """Without a full set of vectors, of equal magnitudes, graded, and far from normal."""
    rng = generator("hard", name, n)
    grades = 10.0 ** -np.linspace(0, 15, n)
    matrices = {
        "defective": 2 * np.eye(n) + np.eye(n, k=1),
        "nilpotent": np.eye(n, k=-1),
        "cycle": np.roll(np.eye(n), 1, axis=0),
        "ones": np.ones((n, n)),
        "graded": grades[:, None] * rng.standard_normal((n, n)) * grades,
        "far": np.triu(1e4 * rng.standard_normal((n, n)), 1) + rng.standard_normal((n, n)),
    }
    eigenvectors_hold(matrices[kind].astype(name), name)


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", DEFICIENT_SHAPES, ids=str)
@pytest.mark.parametrize("kind", DEFICIENT)
def test_deficient(name: str, shape: tuple[int, int], kind: str) -> None:
    """What is left of equal columns falls by eps from each to the next, below normal numbers."""
    rng = generator("deficient", name, *shape)
    m, n = shape
    x = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if name[0] == "c" else 0)
    grades = 10.0 ** -np.linspace(0, 36, max(shape))
    matrices = {
        "ones": np.ones(shape),
        "rank 1": x[:, :1] * x[:1],
        "rank 5": x[:, :5] @ x[:5],
        "Hilbert": 1 / (1.0 + np.add.outer(np.arange(m), np.arange(n))),
        "columns": x * grades[:n],
        "rows": x * grades[:m, None],
        "zeros": np.where(np.arange(n) % 3, 0, x),
    }
    a = matrices[kind].astype(name)
    orthogonal_factors_hold(a, name)
    if m == n:
        hermitian_values_hold((a + a.conj().T) / 2, name)
        eigenvectors_hold(a, name)


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("exponent", [-0.5, 0.5, 0.95])
def test_scaled(name: str, exponent: float) -> None:
    """Near the square root of the least and largest number, and near the largest."""
    scale = float(np.finfo(name).max) ** exponent
    x = made(name, "geometric", 33, 33, scale)
    h = made(name, "geometric", 33, 33, scale, "hermitian")
    q, r = (wide(part) for part in linalg.qr(px.asarray(x)))
    small(wide(x) - q @ r, 33, norm(x), name=name, what="qr")
    u, s, vh = (wide(part) for part in linalg.svd(px.asarray(x)))
    small(wide(x) - (u * s) @ vh, 33, norm(x), name=name, what="svd")
    w, v = (wide(part) for part in linalg.eigh(px.asarray(h)))
    small(wide(h) - (v * w) @ v.conj().T, 33, norm(h), name=name, what="eigh")
    p, lower, upper = (wide(part) for part in linalg.lu(px.asarray(x)))
    small(wide(x) - p @ lower @ upper, 33, norm(x), name=name, what="lu")


@pytest.mark.parametrize("name", DTYPES)
def test_signs(name: str) -> None:
    """The largest element of a vector is real and positive; R has the sign that LAPACK's has."""
    x = made(name, "arithmetic", 40, 35)
    h = made(name, "arithmetic", 35, 35, kind="hermitian")
    u, _, vh = (px.asnumpy(part) for part in linalg.svd(px.asarray(x), full_matrices=False))
    wide_v = px.asnumpy(linalg.svd(px.asarray(x.T.copy()), full_matrices=False).Vh).conj().T
    for vectors in (u, wide_v, px.asnumpy(linalg.eigh(px.asarray(h)).eigenvectors)):
        largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
        assert np.all(largest.real > 0)
        assert np.all(np.abs(largest.imag) <= 4 * np.finfo(name).eps)
    r = px.asnumpy(linalg.qr(px.asarray(x)).R)
    assert np.all(np.diagonal(r).imag == 0)
    want = np.linalg.qr(x).R
    assert np.all(np.sign(np.diagonal(r).real) == np.sign(np.diagonal(want).real))
    assert vh.shape == (35, 35)
