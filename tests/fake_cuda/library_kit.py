"""What tests of NVIDIA's libraries need: stand-ins for all on one card."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_kit import generator

from .cupy_cuda import FakeCufft, FakeCupyCuda, FakeThrust
from .kit import Card
from .numeric import FakeCublas, FakeCusolver

DTYPES = ("float32", "float64", "complex64", "complex128")
EPS = {name: float(np.finfo(name).eps) for name in DTYPES}


class Here:
    """A card, and what stands for the libraries."""

    def __init__(self, card: Card) -> None:
        self.card = card
        self.cuda = FakeCupyCuda(card.library)
        self.cublas = FakeCublas(card.library, self.cuda)
        self.cusolver = FakeCusolver(card.library, self.cuda)
        self.cufft = FakeCufft(card.library, self.cuda)
        self.thrust = FakeThrust(card.library, self.cuda)

    def load(self, name: str) -> Any:
        """What the package has for a library."""
        return getattr(self, name)

    def why(self) -> str:
        """What ``phalanx why`` says of the card."""
        return " ".join(step.detail for step in self.card.driver.explain())


def drawn(name: str, *shape: int) -> np.ndarray[Any, Any]:
    """Normal numbers."""
    rng = generator("libraries", name, shape)
    x = rng.standard_normal(shape)
    return (x + (1j * rng.standard_normal(shape) if name[0] == "c" else 0)).astype(name)


def close(found: Any, want: Any, name: str, n: int) -> None:
    """Compare with a tolerance for n sums."""
    error = float(np.abs(np.asarray(found) - want).max(initial=0))
    assert error <= 30 * max(n, 1) * EPS[name], error
