"""`eig` of real matrices: real values or exact conjugates, small residuals, LAPACK's values."""

from __future__ import annotations

from typing import Any

import numpy as np
import phalanx as px
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

Matrix = np.ndarray[Any, np.dtype[Any]]
_RNG = np.random.default_rng(20261125)
_TURN = np.array([[0.0, 1.0], [-1.0, 0.0]])


def _graded(n: int) -> Matrix:
    return _RNG.standard_normal((n, n)) * 10.0 ** -np.arange(n)[:, None]


MATRICES: dict[str, Matrix] = {
    **{f"random {n}": _RNG.standard_normal((n, n)) for n in (1, 2, 3, 4, 7, 40)},
    "zeros": np.zeros((5, 5)),
    "Jordan block": 2 * np.eye(12) + np.eye(12, k=1),
    "equal pairs": np.kron(np.eye(4), _TURN),
    "defective pairs": np.kron(np.eye(4), _TURN) + np.eye(8, k=2),
    "cyclic permutation": np.roll(np.eye(9), 1, axis=0),
    "companion": np.eye(11, k=-1) - np.outer(np.eye(11)[0], np.poly(np.arange(1.0, 12))[1:]),
    "Toeplitz": np.triu(np.tril(np.ones((20, 20)), 3)) - np.eye(20, k=-1),
    "graded": _graded(10),
    "whole numbers": _RNG.integers(-1, 2, (30, 30)).astype(np.float64),
    "badly scaled": _RNG.standard_normal((8, 8)) * 10.0 ** np.subtract.outer(range(8), range(8)),
    "huge": _RNG.standard_normal((6, 6)) * 2.0**120,
    "tiny": _RNG.standard_normal((6, 6)) * 2.0**-100,
}


def _values_and_vectors(a: Matrix, device: str = "cpu:0") -> tuple[Matrix, Matrix]:
    values, vectors = (px.asnumpy(x) for x in px.linalg.eig(px.asarray(a, device=device)))
    alone = px.asnumpy(px.linalg.eigvals(px.asarray(a, device=device)))
    assert alone.tobytes() == values.tobytes()
    return values, vectors


def _check(a: Matrix, values: Matrix, vectors: Matrix) -> None:
    """Pairs and what is real are exact; A V = V w as well as a backward stable method has it."""
    n, k = len(a), 0
    while k < n:
        if values[k].imag == 0:
            assert not vectors[:, k].imag.any()
            k += 1
            continue
        assert values[k].imag > 0
        assert values[k + 1] == values[k].conj()
        assert np.array_equal(vectors[:, k + 1], vectors[:, k].conj())
        k += 2
    eps = float(np.finfo(a.dtype).eps)
    size = max(float(np.abs(a).max()), float(np.finfo(a.dtype).tiny))
    wide, over = vectors.astype(np.complex128), a.astype(np.float64) / size
    residual = np.abs(over @ wide - wide * (values.astype(np.complex128) / size)).max()
    assert residual <= 8 * n * eps * max(1.0, float(np.linalg.norm(over)))
    assert np.allclose(np.linalg.norm(wide, axis=0), 1, rtol=0, atol=8 * eps)
    tallest = wide[np.abs(wide).argmax(axis=0), np.arange(n)]
    assert (tallest.real > 0).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", MATRICES)
def test_pairs_and_residuals(name: str, dtype: str) -> None:
    a = MATRICES[name].astype(dtype)
    _check(a, *_values_and_vectors(a))


@pytest.mark.parametrize("n", [2, 3, 7, 40])
def test_values_are_those_of_lapack(n: int) -> None:
    a = _RNG.standard_normal((n, n))
    values = _values_and_vectors(a)[0]
    want = np.linalg.eigvals(a)
    distances = np.abs(values[:, None] - want)
    assert distances.min(axis=1).max() < 1e-11
    assert distances.min(axis=0).max() < 1e-11
    assert (values.imag == 0).sum() == (want.imag == 0).sum()


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 7).flatmap(
        lambda n: arrays(np.float64, (n, n), elements=st.floats(-100, 100, allow_subnormal=False))
    )
)
def test_any_matrix(a: Matrix) -> None:
    _check(a, *_values_and_vectors(a))


def test_stacks_are_worked_on_one_by_one() -> None:
    stack = _RNG.standard_normal((2, 3, 6, 6))
    values, vectors = _values_and_vectors(stack)
    for at in np.ndindex(2, 3):
        alone = _values_and_vectors(stack[at])
        assert alone[0].tobytes() == values[at].tobytes()
        assert alone[1].tobytes() == vectors[at].tobytes()
    assert px.linalg.eigvals(px.asarray(stack.swapaxes(-1, -2))).shape == (2, 3, 6)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3, 3), (2, 0, 0)])
def test_no_elements(shape: tuple[int, ...]) -> None:
    values, vectors = px.linalg.eig(px.zeros(shape, dtype=px.float32))
    assert values.dtype == vectors.dtype == px.complex64
    assert values.shape == shape[:-1]
    assert vectors.shape == shape


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused(value: float) -> None:
    a = np.eye(3)
    a[2, 0] = value
    with pytest.raises(
        ValueError, match=r"eigvals of shape \(3, 3\): elements are NaN or infinite"
    ):
        px.linalg.eigvals(px.asarray(a))


def test_a_real_filter_has_symmetric_poles() -> None:
    """Roots of a real polynomial: what SciPy's filters ask of them."""
    roots = px.asnumpy(px.linalg.eigvals(px.asarray(MATRICES["companion"].copy())))
    assert np.array_equal(np.sort_complex(roots), np.sort_complex(roots.conj()))


@pytest.mark.parametrize("name", ["random 7", "Toeplitz"])
def test_every_device_keeps_pairs(device: px.Device, name: str) -> None:
    _check(MATRICES[name], *_values_and_vectors(MATRICES[name], device.name))
