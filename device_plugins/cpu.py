"""The driver ``cpu``: the best library of ``phalanx.kernels_cpu`` that this processor runs."""

from __future__ import annotations

import os
from collections.abc import Sequence

from phalanx import hookimpl, kernels_cpu
from phalanx.abi.library import Library, open_library
from phalanx.errors import DeviceError, PhalanxError, PluginLoadError
from phalanx.kernels_cpu import lapack
from phalanx.vendor import Array, Driver, Kernel, Layout, Operand, Stream

from .native import NativeDevice, NativeDriver

_PREFIX = "_cpu_"


def _installed() -> dict[str, str]:
    """Return the paths of the libraries by instruction set."""
    found = kernels_cpu.libraries()
    return {name.removeprefix(_PREFIX): str(path) for name, path in found.items()}


def _selected() -> dict[str, str]:
    """Return the paths of the libraries to try by instruction set; ``PHALANX_CPU_ISA`` limits them.

    Raises:
        DeviceError: if the variable names one that is not installed.
        PluginLoadError: if none is installed.
    """
    installed = _installed()
    if not installed:
        raise PluginLoadError(
            "phalanx.kernels_cpu has no library: the package was not built",
            remedy="install it with `pip install .` (a C compiler is needed)",
        )
    text = os.environ.get("PHALANX_CPU_ISA", "")
    names = [part.strip() for part in text.split(",") if part.strip()]
    unknown = [name for name in names if name not in installed]
    if unknown or (text.strip() and not names):
        wrong = f"{', '.join(unknown)} is not installed" if unknown else "it names nothing"
        raise DeviceError(
            f"PHALANX_CPU_ISA={text!r}: {wrong}",
            remedy=f"choose from {', '.join(installed)}, or unset it",
        )
    return {name: path for name, path in installed.items() if not names or name in names}


def best_library() -> Library:
    """Return the library with the highest score on this processor.

    Raises:
        DeviceError: if none runs here, with the reason of each.
    """
    candidates = _selected()
    runnable: list[Library] = []
    reasons = []
    for name, path in candidates.items():
        try:
            library = open_library(path, trusted=True)  # of our own wheel
            score = library.score
        except PhalanxError as error:
            reasons.append(f"{name}: {error}")
            continue
        if score > 0:
            runnable.append(library)
        else:
            reasons.append(f"{name}: the processor lacks these instructions")
    if not runnable:
        forced = os.environ.get("PHALANX_CPU_ISA", "").strip()
        others = ", ".join(name for name in _installed() if name not in candidates)
        remedy = "reinstall phalanx from source"
        if forced:
            choice = f", or choose from {others}" if others else ""
            remedy = f"unset PHALANX_CPU_ISA, which is {forced!r}{choice}"
        raise DeviceError(f"no CPU library runs here ({'; '.join(reasons)})", remedy=remedy)
    return max(runnable, key=lambda library: library.score)


class CpuDevice(NativeDevice):
    """The host, with SciPy's LAPACK beside the kernels of the library."""

    def alternatives(self, op: str, dtypes: tuple[str, ...], layout: Layout) -> Sequence[Kernel]:
        """Return the further rows of the kernel table for a key, then LAPACK's."""
        return (*super().alternatives(op, dtypes, layout), *lapack.kernels_of(op, dtypes))

    def launch(
        self,
        kernel: Kernel,
        inputs: Sequence[Operand],
        outputs: Sequence[Array],
        params: tuple[int, ...],
        *,
        stream: Stream,
    ) -> None:
        """Run a kernel of LAPACK behind what its stream has to do; blocks."""
        del params  # these ops have none
        self.stream_synchronize(stream.handle)
        lapack.launch(kernel, inputs, outputs)


@hookimpl
def phalanx_drivers() -> tuple[Driver, ...]:
    """Offer the driver ``cpu``; its library is opened when a device is first asked for."""
    return (NativeDriver("cpu", best_library, CpuDevice),)
