"""Factorizations in NumPy, for the reference driver: LAPACK's where the op's form allows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

HostArray = npt.NDArray[Any]


def compute(op: str, inputs: Sequence[HostArray], out: HostArray, params: tuple[int, ...]) -> None:
    """Run an op on stacks (b, m, n)."""
    assert all(x.ndim == 3 for x in (*inputs, out))
    assert all(x.shape[0] == out.shape[0] for x in inputs)
    for number in range(out.shape[0]):
        matrices = [np.array(x[number]) for x in inputs]
        if op == "triangular_solve":
            out[number] = _triangular_solve(*matrices, unit=bool(params[0]))
        else:
            out[number] = _FACTORS[op](*matrices)


def _cholesky(x: HostArray) -> HostArray:
    assert x.shape[0] == x.shape[1]
    made = np.tril(x)
    for j in range(len(x)):
        pivot = made[j, j].real
        made[j, j] = np.sqrt(pivot) if pivot > 0 else np.nan
        made[j + 1 :, j] /= made[j, j]
        made[j + 1 :, j + 1 :] -= np.tril(np.outer(made[j + 1 :, j], made[j + 1 :, j].conj()))
    return made


def _lu(x: HostArray) -> HostArray:
    m, n = x.shape
    made = np.concatenate([x, np.arange(m, dtype=x.dtype)[:, None]], axis=1)
    for j in range(min(m, n)):
        size = np.abs(made[j:, j].real) + np.abs(made[j:, j].imag)
        row = j + int(np.argmax(np.where(np.isnan(size), -1, size)))
        made[[j, row]] = made[[row, j]]
        if made[j, j] != 0:
            made[j + 1 :, j] /= made[j, j]
        made[j + 1 :, j + 1 : n] -= np.outer(made[j + 1 :, j], made[j, j + 1 : n])
    return made


def _triangular_solve(lower: HostArray, x: HostArray, *, unit: bool) -> HostArray:
    made = x.copy()
    for i in range(len(x)):
        made[i] -= lower[i, :i] @ made[:i]
        if not unit:
            made[i] /= lower[i, i]
    return made


def _householder(x: HostArray) -> HostArray:
    m, n = x.shape
    made, t = x.copy(), np.zeros((n, n), x.dtype)
    for j in range(min(m, n)):
        alpha, rest = made[j, j], made[j + 1 :, j].copy()
        made[j + 1 :, j] = 0
        if not rest.any() and alpha.imag == 0:
            continue
        size = max(abs(alpha), np.abs(rest).max(initial=0))
        alpha, rest = alpha / size, rest / size
        beta = -np.copysign(np.linalg.norm(np.append(alpha, rest)), alpha.real)
        tau = (beta - alpha) / beta
        v = np.concatenate([np.ones(1, x.dtype), rest / (alpha - beta)])
        made[j, j], made[j + 1 :, j] = size * beta, v[1:]
        made[j:, j + 1 :] -= np.outer(v, np.conj(tau) * (v.conj() @ made[j:, j + 1 :]))
        t[:j, j] = -tau * (t[:j, :j] @ (made[j:, :j].conj().T @ v))
        t[j, j] = tau
    return np.concatenate([made, t])


def _jacobi(x: HostArray) -> HostArray:
    n = x.shape[1]
    if not np.isfinite(x).all():
        return np.full((len(x) + n + 1, n), np.nan, x.dtype)
    v = np.linalg.svd(x).Vh.conj().T
    return np.concatenate([x @ v, v, np.ones((1, n), x.dtype)])


def _eigh(x: HostArray) -> HostArray:
    n = len(x)
    if not np.isfinite(np.tril(x)).all():
        return np.full((n + 2, n), np.nan, x.dtype)
    values, vectors = np.linalg.eigh(x)
    return np.concatenate([vectors.T, values[None].astype(x.dtype), np.ones((1, n), x.dtype)])


def _schur(x: HostArray) -> HostArray:
    """A Schur form from the eigenvectors: Q of their QR, T = Q^H x Q."""
    if x.dtype.kind != "c":
        return _real_schur(x)
    n = len(x)
    q = np.linalg.qr(np.linalg.eig(x).eigenvectors).Q
    t = np.triu(q.conj().T @ x @ q)
    y = np.eye(n, dtype=x.dtype)
    least = max(np.finfo(x.dtype).eps * np.abs(t).max(), np.finfo(x.dtype).tiny)
    for k in range(n):
        for i in range(k - 1, -1, -1):
            apart = t[i, i] - t[k, k]
            y[i, k] = -(t[i, i + 1 : k + 1] @ y[i + 1 : k + 1, k])
            y[i, k] /= apart if abs(apart) >= least else least
            y[i : k + 1, k] /= max(1, abs(y[i, k]))
    return np.concatenate([t, q, y, np.ones((1, n), x.dtype)])


def _real_schur(x: HostArray) -> HostArray:
    """The same of the vectors' real and imaginary parts; equal numbers on a block's diagonal."""
    n = len(x)
    values, vectors = np.linalg.eig(x)
    q = np.linalg.qr(np.where(values.imag < 0, vectors.imag, vectors.real)).Q
    t = q.T @ x @ q
    pairs = np.flatnonzero(values.imag > 0).tolist()
    for k in pairs:
        two = slice(k, k + 2)
        angle = np.arctan2(t[k + 1, k + 1] - t[k, k], t[k, k + 1] + t[k + 1, k]) / 2
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]], x.dtype)
        t[:, two], q[:, two] = t[:, two] @ turn, q[:, two] @ turn
        t[two] = turn.T @ t[two]
        t[k, k] = t[k + 1, k + 1] = (t[k, k] + t[k + 1, k + 1]) / 2
    lower = [k + 1 for k in pairs]
    below = t[lower, pairs]
    t = np.triu(t)
    t[lower, pairs] = below
    y = np.zeros_like(t)
    for k in range(n):
        if k in pairs:
            gap = np.sqrt(-t[k, k + 1] * t[k + 1, k])
            y[:, k : k + 2] = _parts(
                t, k, t[k, k] + 1j * gap, np.array([1, 1j * gap / t[k, k + 1]])
            )
        elif k - 1 not in pairs:
            y[:, k] = _parts(t, k, t[k, k], np.ones(1, x.dtype))[:, 0]
    return np.concatenate([t, q, y, np.ones((1, n), x.dtype)])


def _parts(t: HostArray, k: int, value: complex, own: HostArray) -> HostArray:
    """The real and imaginary parts of an eigenvector of t whose rows from k on are ``own``."""
    right = -t[:k, k : k + len(own)] @ own
    made = np.zeros(len(t), np.result_type(t, 1j))
    made[k : k + len(own)] = own
    made[:k] = np.linalg.lstsq(t[:k, :k] - value * np.eye(k), right, rcond=None)[0]
    return np.stack([made.real, made.imag], axis=1)


_FACTORS = {
    "cholesky": _cholesky,
    "lu": _lu,
    "householder": _householder,
    "jacobi": _jacobi,
    "eigh": _eigh,
    "schur": _schur,
}
