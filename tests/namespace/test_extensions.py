"""``linalg`` and ``fft`` beside NumPy."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import phalanx as px
import pytest
from numpy_check import run

A = np.arange(24.0).reshape(2, 3, 4)
M = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]])
CASES: dict[str, Callable[..., Any]] = {
    "cholesky": lambda xp, m: [xp.linalg.cholesky(m)],
    "det inv": lambda xp, m: [xp.linalg.det(m), xp.linalg.inv(m), *xp.linalg.slogdet(m)],
    "eigh": lambda xp, m: [xp.linalg.eigh(m).eigenvalues, xp.linalg.eigvalsh(m)],
    "solve": lambda xp, m: [xp.linalg.solve(m, m[0]), xp.linalg.solve(m, m)],
    "norms": lambda xp, m: [
        xp.linalg.matrix_norm(m),
        xp.linalg.vector_norm(m),
        xp.linalg.vector_norm(m, axis=1, ord=1),
    ],
    "svd": lambda xp, m: [
        xp.linalg.svd(m).S,
        xp.linalg.svdvals(m),
        xp.linalg.matrix_rank(m),
        xp.linalg.pinv(m),
    ],
    "products": lambda xp, m: [
        xp.linalg.outer(m[0], m[1]),
        xp.linalg.cross(m[0], m[1]),
        xp.linalg.matrix_power(m, 3),
        xp.linalg.matrix_power(m, -1),
    ],
    "diagonals": lambda xp, m: [
        xp.linalg.diagonal(m),
        xp.linalg.diagonal(m, offset=1),
        xp.linalg.trace(m),
    ],
    "qr": lambda xp, m: [xp.abs(xp.linalg.qr(m).R)],
    "fft": lambda xp, m: [
        xp.fft.fft(m),
        xp.fft.ifft(m, axis=0),
        xp.fft.rfft(m, n=4),
        xp.fft.irfft(m + 0j),
        xp.fft.hfft(m + 0j),
        xp.fft.ihfft(m),
    ],
    "fftn": lambda xp, m: [
        xp.fft.fftn(m),
        xp.fft.ifftn(m, axes=(0,)),
        xp.fft.rfftn(m),
        xp.fft.irfftn(m + 0j, axes=(0, 1)),
        xp.fft.fft2(m),
        xp.fft.ifft2(m, s=(2, 5)),
        xp.fft.rfft2(m, axes=(1, 0)),
        xp.fft.irfft2(m + 0j),
    ],
    "fft helpers": lambda xp, m: [
        xp.fft.fftfreq(5, d=0.5),
        xp.fft.rfftfreq(4),
        xp.fft.fftshift(m),
        xp.fft.ifftshift(m, axes=0),
    ],
}


@pytest.mark.parametrize("name", CASES)
def test_against_numpy(device: px.Device, name: str) -> None:
    with px.fallback_policy("allow"):
        run(CASES[name], M)
    px.fallback_report(reset=True)


def test_extensions_load_on_use() -> None:
    assert px.linalg is sys.modules["phalanx.linalg"]
    assert px.fft is sys.modules["phalanx.fft"]


def test_errors(drivers: object) -> None:
    with px.device("fakehost:0"):
        x = px.asarray(A)
        with pytest.raises(ValueError, match=r"square|last two"):
            px.linalg.inv(x)
        with pytest.raises(TypeError, match="list"):
            px.linalg.inv([1])  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="float16"):
            px.linalg.inv(px.ones((2, 2), dtype=px.float16))
        with pytest.raises(px.DeviceMismatchError):
            px.linalg.solve(px.asarray(M), px.asarray(M, device="fakehost:1"))
