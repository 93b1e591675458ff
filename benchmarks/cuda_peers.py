"""The peers of a CUDA device: CuPy and PyTorch on the same card.

Both keep memory of their own in pools of their own, and are imported when they are opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from .contestants import Contestant, open_on
from .workloads import HostArray

if TYPE_CHECKING:
    from phalanx import Device

CUPY, TORCH = "cupy", "torch-cuda"
_REMEDIES = {
    CUPY: 'pip install "phalanx[cuda12]" or "phalanx[cuda13]"',
    TORCH: "install a build of PyTorch for CUDA (https://pytorch.org/get-started)",
}


class CupyPeer(Contestant):
    """CuPy with its memory pool, on its default stream."""

    name = CUPY
    family = "cupy"

    def __init__(self, device: Device) -> None:
        """Choose the card of a CUDA device.

        Raises:
            ImportError: CuPy is not installed.
        """
        self.xp: Any = import_module("cupy")
        self._card = self.xp.cuda.Device(device.index)

    def array(self, host: HostArray) -> Any:
        """Copy to the card."""
        return self.xp.asarray(host)

    def to_numpy(self, result: Any) -> HostArray:
        """Copy to the host."""
        return np.asarray(self.xp.asnumpy(result))

    def about(self) -> dict[str, str]:
        """Return the versions of CuPy and of its CUDA."""
        runtime = self.xp.cuda.runtime.runtimeGetVersion()
        return {"version": self.xp.__version__, "cuda": str(runtime)}

    def synchronize(self) -> None:
        """Wait for the card."""
        self._card.synchronize()

    def release(self) -> None:
        """Empty the pool."""
        self.xp.get_default_memory_pool().free_all_blocks()

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Make the card current."""
        with self._card:
            yield


class TorchCudaPeer(Contestant):
    """PyTorch on the card, in plain float32: its products may not be rounded to TF32."""

    name = TORCH
    family = "torch"

    def __init__(self, device: Device) -> None:
        """Choose the card of a CUDA device.

        Raises:
            ImportError: PyTorch is not installed, or not for CUDA.
        """
        self.xp: Any = import_module("torch")
        if not self.xp.cuda.is_available():
            raise ImportError("this PyTorch finds no CUDA device")
        self.xp.backends.cuda.matmul.allow_tf32 = False
        self._card = f"cuda:{device.index}"

    def array(self, host: HostArray) -> Any:
        """Copy to the card."""
        return self.xp.tensor(host, device=self._card)

    def to_numpy(self, result: Any) -> HostArray:
        """Copy to the host."""
        return np.asarray(result.cpu().numpy())

    def about(self) -> dict[str, str]:
        """Return the versions of PyTorch and of its CUDA."""
        return {"version": self.xp.__version__, "cuda": str(self.xp.version.cuda)}

    def synchronize(self) -> None:
        """Wait for the card."""
        self.xp.cuda.synchronize(self._card)

    def release(self) -> None:
        """Empty the pool."""
        self.xp.cuda.empty_cache()


#: The peers of each CUDA device by name.
CUDA_PEERS: dict[str, Callable[[Device], Contestant]] = {CUPY: CupyPeer, TORCH: TorchCudaPeer}


def open_cuda_peers(
    device: Device, names: Sequence[str]
) -> tuple[list[Contestant], dict[str, str]]:
    """Return the peers on a CUDA device, and for each that is missing the reason with remedy."""
    return open_on(device, CUDA_PEERS, names, _REMEDIES)


def why_no_card() -> str:
    """Return why there is no CUDA device to measure, with where to look."""
    return "there is no CUDA device; `phalanx why cuda:0` says why"
