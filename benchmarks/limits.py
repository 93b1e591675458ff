"""What the machine can do at most, measured: the rate of a copy, and of multiply-adds.

No array library takes part. ``machine_limits.c`` is compiled for this processor and run with the
threads that the run uses. A case needs at least the time to move its operands and its result once
at the rate of a copy of as many bytes, or that of its multiplications and additions; its share of
the limit is that time by the one it took. Hennessy and Patterson, Computer Architecture, 6th
edition, section 4.3, call it the roofline.
"""

from __future__ import annotations

import math
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SOURCE = Path(__file__).with_name("machine_limits.c")
_FLAGS = ("-O3", "-march=native", "-ffp-contract=fast", "-pthread")
#: Seconds for the compiler and for the measurement, which takes about two.
_PATIENCE = 60.0


class NoLimitsError(Exception):
    """The limits cannot be measured; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a case cannot do without: ``moved`` bytes, ``flops`` of a dtype (0 where few)."""

    moved: int
    flops: float = 0.0
    dtype: str = "float32"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"bytes": self.moved, "flops": self.flops, "dtype": self.dtype}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Cost:
        """Read plain data; raises ``KeyError``, ``TypeError`` or ``ValueError`` on others."""
        return cls(int(data["bytes"]), float(data["flops"]), str(data["dtype"]))


@dataclass(frozen=True, slots=True)
class Limits:
    """What so many threads reach together.

    ``copy`` are bytes that are read or written, ascending, each with the best rate in bytes per
    second; ``fma`` are multiplications and additions per second by dtype.
    """

    threads: int
    copy: tuple[tuple[int, float], ...]
    fma: Mapping[str, float]

    def or_better(self, other: Limits) -> Limits:
        """Return the higher rate of two measurements of one machine: noise only lowers them."""
        known = dict(other.copy)
        copy = tuple((moved, max(rate, known.get(moved, 0.0))) for moved, rate in self.copy)
        fma = {name: max(rate, other.fma.get(name, 0.0)) for name, rate in self.fma.items()}
        return Limits(self.threads, copy, fma)

    def rate(self, moved: int) -> float:
        """Return the rate in bytes per second of a copy that moves so many bytes.

        Between two measured sizes it lies on the line between them in logarithms.
        """
        below = [point for point in self.copy if point[0] <= moved]
        above = [point for point in self.copy if point[0] > moved]
        if not below or not above:
            return (below[-1:] or above[:1])[0][1]
        (low, slow), (high, fast) = below[-1], above[0]
        part = math.log(moved / low) / math.log(high / low)
        return math.exp((1.0 - part) * math.log(slow) + part * math.log(fast))

    def seconds(self, cost: Cost) -> float | None:
        """Return the least seconds of a cost, ``None`` below the smallest measured copy."""
        if cost.moved < self.copy[0][0]:
            return None
        arithmetic = cost.flops / self.fma[cost.dtype] if cost.dtype in self.fma else 0.0
        return max(cost.moved / self.rate(cost.moved), arithmetic)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        copy = [{"bytes": moved, "rate": rate} for moved, rate in self.copy]
        return {"threads": self.threads, "copy": copy, "fma": dict(self.fma)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Limits:
        """Read plain data; raises ``KeyError``, ``TypeError`` or ``ValueError`` on others."""
        copy = tuple((int(point["bytes"]), float(point["rate"])) for point in data["copy"])
        fma = {str(name): float(rate) for name, rate in data["fma"].items()}
        if not copy or min(rate for _, rate in copy) <= 0.0 or min(fma.values(), default=1) <= 0.0:
            raise ValueError("limits must be positive rates")
        return cls(int(data["threads"]), copy, fma)


def measure_limits(threads: int) -> Limits:
    """Compile and run ``machine_limits.c``; takes about three seconds and 256 MiB.

    Raises:
        NoLimitsError: there is no C compiler, or the program does not run.
    """
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    found = shutil.which(compiler) or shutil.which("cc")
    if found is None:
        raise NoLimitsError(f"no C compiler ({compiler}) is on the path; install one")
    with tempfile.TemporaryDirectory(prefix="phalanx-bench-") as folder:
        program = str(Path(folder, "limits"))
        _run([found, *_FLAGS, str(_SOURCE), "-o", program])
        return _parse(threads, _run([program, str(threads)]))


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoLimitsError(f"{Path(command[0]).name}: {error}") from error
    if done.returncode:
        told = " ".join(done.stderr.split())[:300]
        raise NoLimitsError(f"{Path(command[0]).name} ended with {done.returncode}: {told}")
    return done.stdout


def _parse(threads: int, text: str) -> Limits:
    copy: list[tuple[int, float]] = []
    fma: dict[str, float] = {}
    try:
        for line in text.splitlines():
            what, of, rate = line.split()
            if what == "copy":
                copy.append((int(of), float(rate)))
            else:
                fma[of] = float(rate)
    except ValueError as error:
        raise NoLimitsError(f"the measurement printed {text[:100]!r}") from error
    if not copy or not fma:
        raise NoLimitsError(f"the measurement printed {text[:100]!r}")
    # Fewer bytes can be no slower, but for noise: their rate is the best of theirs and of more.
    rates = [max(rate for _, rate in copy[place:]) for place in range(len(copy))]
    rising = tuple((moved, best) for (moved, _), best in zip(copy, rates, strict=True))
    return Limits(threads, rising, fma)
