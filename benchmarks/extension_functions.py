"""Every function of the extensions ``linalg`` and ``fft``, on few elements.

On so few the ratio tells what the calls around the kernels cost.
"""

from __future__ import annotations

import numpy as np

from .functions import FUNCTION_SIZES, Table, timed_functions
from .workloads import HostArray, Operands, Workload


def _positive_definite(n: int, rng: np.random.Generator) -> HostArray:
    """Make a symmetric matrix, by Gershgorin's circles with eigenvalues from 1 to 3.

    So its determinant is finite in float32, whatever its order.
    """
    side = int(n**0.5)
    half = rng.uniform(-0.5, 0.5, (side, side)) / side
    return np.asarray(2.0 * np.eye(side) + half + half.T, dtype=np.float32)


def _matrix(n: int, rng: np.random.Generator) -> Operands:
    return (_positive_definite(n, rng),)


def _matrix_and_right_side(n: int, rng: np.random.Generator) -> Operands:
    matrix = _positive_definite(n, rng)
    return matrix, rng.random(matrix.shape[:1], dtype=np.float32)


def _two_short(n: int, rng: np.random.Generator) -> Operands:
    """Two vectors whose outer product has ``n`` elements."""
    side = int(n**0.5)
    return rng.random(side, dtype=np.float32), rng.random(side, dtype=np.float32)


def _triples(n: int, rng: np.random.Generator) -> Operands:
    shape = (max(n // 3, 1), 3)
    return rng.random(shape, dtype=np.float32), rng.random(shape, dtype=np.float32)


def _real(n: int, rng: np.random.Generator) -> Operands:
    """So small that the roundings of a transform, which grow with its norm, are below 1e-5."""
    return (rng.uniform(-0.02, 0.02, n).astype(np.float32),)


def _complex(n: int, rng: np.random.Generator) -> Operands:
    return ((_real(n, rng)[0] + 1j * _real(n, rng)[0]).astype(np.complex64),)


def _square(n: int, rng: np.random.Generator) -> Operands:
    side = int(n**0.5)
    return tuple(x[: side * side].reshape(side, side) for x in _complex(n, rng))


def _of_linalg(names: str) -> tuple[str, ...]:
    return tuple(f"xp.linalg.{name}" for name in names.split())


_LINALG: Table = (
    (
        _matrix,
        (
            *_of_linalg("cholesky(a) det(a) diagonal(a) eigvalsh(a) inv(a) pinv(a) svdvals(a)"),
            *_of_linalg("eigh(a)[0] slogdet(a)[1] svd(a)[1] matrix_norm(a) matrix_power(a,3)"),
            "xp.linalg.matrix_rank(a)",
            "xp.linalg.cond(a)",
            # NumPy's are real where all are.
            *(
                (f"xp.linalg.{call}", f"xp.linalg.{call}", f"xp.linalg.{call}.astype(xp.complex64)")
                for call in ("eig(a)[0]", "eigvals(a)")
            ),
            ("xp.linalg.qr(a)[1]",),
            ("xp.linalg.trace(a)", "xp.trace(a)"),
        ),
    ),
    (_matrix_and_right_side, ("xp.linalg.solve(a, b)", "xp.linalg.lstsq(a, b)[0]")),
    (_two_short, (("xp.linalg.outer(a, b)", "xp.outer(a, b)"),)),
    (_triples, ("xp.linalg.cross(a, b)",)),
    (_real, ("xp.linalg.vector_norm(a)",)),
)
_DOUBLE = "dtype=xp.float64"
_FFT: Table = (
    (
        _complex,
        (
            *(f"xp.fft.{way}fft{axes}(a)" for way in ("", "i", "ir") for axes in ("", "n")),
            *(f"xp.fft.{name}(a)" for name in ("hfft", "fftshift", "ifftshift")),
        ),
    ),
    (_square, tuple(f"xp.fft.{name}(a)" for name in ("fft2", "ifft2", "irfft2"))),
    (
        _real,
        (
            "xp.fft.rfft2(xp.reshape(a, (10, -1)))",
            *(f"xp.fft.{name}(a)" for name in ("rfft", "rfftn", "ihfft")),
            *(
                (f"xp.fft.{name}(a.shape[0])", f"xp.fft.{name}(a.shape[0], {_DOUBLE})")
                for name in ("fftfreq", "rfftfreq")
            ),
        ),
    ),
)

#: Functions that are those of the main namespace under another name.
ALIASES = frozenset({"matmul", "matrix_transpose", "tensordot", "vecdot"})
#: One element alone has no inverse of a real transform.
EXTENSIONS: tuple[Workload, ...] = (
    *timed_functions(_LINALG, FUNCTION_SIZES, without_values=("linalg.eig", "linalg.eigvals")),
    *timed_functions(_FFT, FUNCTION_SIZES[1:]),
)
