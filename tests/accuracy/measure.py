"""How far results of float32 are from the exact ones, over operands of all magnitudes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import phalanx as px

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]

#: The functions of one operand that NumPy, PyTorch and JAX have too, and between which magnitudes
#: their operands are drawn; a negative first number stands for both signs.
DOMAINS: Mapping[str, tuple[float, float]] = {
    "exp": (-1e-8, 88.0),
    "exp2": (-1e-8, 127.0),
    "expm1": (-1e-8, 88.0),
    "log": (1e-45, 3e38),
    "log2": (1e-45, 3e38),
    "log10": (1e-45, 3e38),
    "log1p": (1e-45, 3e38),
    "sin": (-1e-8, 1e10),
    "cos": (-1e-8, 1e10),
    "tan": (-1e-8, 1e10),
    "asin": (-1e-8, 1.0),
    "acos": (-1e-8, 1.0),
    "atan": (-1e-8, 1e10),
    "sinh": (-1e-8, 89.0),
    "cosh": (-1e-8, 89.0),
    "tanh": (-1e-8, 10.0),
    "asinh": (-1e-8, 3e38),
    "acosh": (1.0, 3e38),
    "atanh": (-1e-8, 1.0),
    "sqrt": (1e-45, 3e38),
}


class Errors(NamedTuple):
    """The largest error in units of the last place, where, and the share not rounded correctly."""

    worst: float
    at: float
    wrong: float


class Library(NamedTuple):
    """A library by name and version, and its functions over arrays of the host."""

    name: str
    apply: Callable[[str, Floats], Floats]


def operands(function: str, count: int, seed: int = 7) -> Floats:
    """Draw operands with logarithms spread evenly, half of them near 1 where that is inside."""
    low, high = DOMAINS[function]
    rng = np.random.default_rng(seed)
    size = np.exp(rng.uniform(np.log(abs(low)), np.log(high), count))
    if abs(low) < 0.5 and high >= 1.0:
        size[::2] = rng.uniform(0.5, min(2.0, high), size[::2].shape)
    sign = rng.choice([-1.0, 1.0], count) if low < 0.0 else 1.0
    return np.asarray(size * sign, np.float32)


def exact(function: str, x: Floats) -> Doubles:
    """Return the function in double, by NumPy: right to a few 2^-53, which no figure here shows."""
    names = {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}
    names |= {f"a{h}": f"arc{h}" for h in ("sinh", "cosh", "tanh")}
    result: Doubles = getattr(np, names.get(function, function))(x.astype(np.float64))
    return result


def errors(got: Floats, want: Doubles, x: Floats) -> Errors:
    """Compare results with exact ones; what overflows or is 0 in float32 is left out."""
    near = want.astype(np.float32)
    kept = np.isfinite(near) & (np.abs(near) >= np.finfo(np.float32).tiny)
    got, want, near, x = got[kept], want[kept], near[kept], x[kept]
    unit = np.exp2(np.floor(np.log2(np.abs(want))) - 23)
    apart = np.abs(got.astype(np.float64) - want) / unit
    apart = np.where(np.isnan(apart), np.inf, apart)
    worst = int(np.argmax(apart))
    return Errors(float(apart[worst]), float(x[worst]), float(np.mean(got != near)))


def libraries(device: str) -> list[Library]:
    """Return Phalanx on a device, and those of the others that are installed."""

    def ours(name: str, x: Floats) -> Floats:
        return np.asarray(px.asnumpy(getattr(px, name)(px.asarray(x, device=device))), np.float32)

    def numpys(name: str, x: Floats) -> Floats:
        return np.asarray(getattr(np, name)(x), np.float32)

    found = [
        Library(f"Phalanx {px.__version__}", ours),
        Library(f"NumPy {version('numpy')}", numpys),
    ]
    for module, title, apply in (("torch", "PyTorch", _torch), ("jax", "JAX", _jax)):
        try:
            import_module(module)
        except ImportError:
            continue
        found.append(Library(f"{title} {version(module).partition('+')[0]}", apply))
    return found


def _torch(name: str, x: Floats) -> Floats:
    torch: Any = import_module("torch")
    return np.asarray(getattr(torch, name)(torch.from_numpy(x)).numpy())


def _jax(name: str, x: Floats) -> Floats:
    jax: Any = import_module("jax.numpy")
    return np.asarray(getattr(jax, name)(x))


def measure(device: str, count: int) -> dict[str, dict[str, Errors]]:
    """Return errors by function and library."""
    rows: dict[str, dict[str, Errors]] = {}
    found = libraries(device)
    with np.errstate(all="ignore"):
        for function in DOMAINS:
            x = operands(function, count)
            want = exact(function, x)
            rows[function] = {lib.name: errors(lib.apply(function, x), want, x) for lib in found}
    return rows
