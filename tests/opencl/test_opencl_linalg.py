"""``linalg`` under the policy ``error``: the same bits as on the CPU, in any layout."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import phalanx as px
import pytest
from exhaustive import some_of
from phalanx import linalg

FUNCTIONS: dict[str, Callable[[px.Array], Sequence[px.Array]]] = {
    "lu": lambda x: [*linalg.lu(x), *linalg.lu(x[..., :-3])],
    "solve": lambda x: [linalg.solve(x, x[..., 0, :, None] * 2), linalg.inv(x)],
    "det": lambda x: [linalg.det(x), *linalg.slogdet(x)],
    "cholesky": lambda x: [linalg.cholesky(x @ px.conj(x).mT + px.eye(x.shape[-1]))],
    "qr": lambda x: [*linalg.qr(x, mode="complete"), *linalg.qr(x[..., :-3, :])],
    "eig": linalg.eig,
    "eigh": lambda x: linalg.eigh(x + px.conj(x).mT),
    "svd": lambda x: [*linalg.svd(x), *linalg.svd(x[..., 3:])],
    "pinv": lambda x: [linalg.pinv(x), linalg.matrix_norm(x, ord=2), linalg.cond(x)],
}


@pytest.mark.parametrize(
    "dtype", some_of(["float64", "float32", "complex64", "complex128"], ["float32"])
)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_same_as_cpu(device: px.Device, name: str, dtype: str) -> None:
    rng = np.random.default_rng(len(name))
    for shape in ((5, 5), (2, 4, 4), (33, 33)):
        host = rng.standard_normal(shape)
        if dtype[0] == "c":
            host = host + 1j * rng.standard_normal(shape)
        host = host.astype(dtype)
        here, there = px.asarray(host, device=device), px.asarray(host, device="cpu:0")
        with px.device("cpu:0"):
            wanted = [px.asnumpy(part) for part in FUNCTIONS[name](there.mT)]
        for got, want in zip(FUNCTIONS[name](here.mT), wanted, strict=True):
            assert px.asnumpy(got).tobytes() == want.tobytes(), (name, shape)
