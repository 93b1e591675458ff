"""What a test of the suite works with: the device, random numbers, and a place for its findings."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from phalanx.driver import Feature

from .outcome import Mistake

if TYPE_CHECKING:
    import numpy as np
    from phalanx._warm import Device
    from phalanx.discovery.declarations import Waiver
    from phalanx.dispatch.registry import Support

    from .settings import Settings

#: How many wrong elements of a case are shown.
SHOWN = 5


class Mismatch(AssertionError):
    """A device computed something else than it should have."""


class Case:
    """The fixture ``case``: a test calls `judge` for what it measured; `finish` raises."""

    def __init__(
        self,
        name: str,
        device: Device,
        settings: Settings,
        served: Mapping[tuple[str, tuple[str, ...]], Support],
        waivers: tuple[Waiver, ...] = (),
    ) -> None:
        self.name = name
        self.device = device
        self.settings = settings
        #: How the device serves each overload, by op and dtypes.
        self.served = served
        self.worst = -1.0
        self.bound = -1.0
        self.checks = 0
        self.waiver = ""
        self.mistakes: list[Mistake] = []
        self.notes: dict[str, Any] = {}
        self._wrong = 0
        self._waivers = waivers

    @property
    def quick(self) -> bool:
        """Whether the run should be short: fewer values and layouts, not fewer ops."""
        return self.settings.quick

    @property
    def others(self) -> list[Device]:
        """The other devices of the driver."""
        from phalanx.discovery.devices import devices

        return [d for d in devices(self.device.driver.name) if d is not self.device]

    def has(self, op: str, *dtypes: str) -> bool:
        """Tell whether the device serves an overload itself, by the dtypes of inputs and output."""
        return self.served[op, dtypes].how in ("native", "decomposed")

    def moves(self, *dtypes: str) -> bool:
        """Tell whether the device copies elements of all of these dtypes."""
        return all(self.has("copy", dtype, dtype) for dtype in dtypes)

    @property
    def flushes(self) -> bool:
        """Whether the device says that it may take subnormal numbers as zero."""
        return Feature.SUBNORMALS not in self.device.info.features

    def rng(self, *labels: object) -> np.random.Generator:
        """Return a generator that depends on the run's seed, the case and the labels alone."""
        import numpy as np

        text = ":".join(map(str, (self.name, *labels)))
        return np.random.default_rng([self.settings.seed, zlib.crc32(text.encode())])

    def allowed(self, op: str, dtype: str, bound: float) -> float:
        """Return the bound for an op and a dtype, which a waiver may widen."""
        for waiver in self._waivers:
            if (waiver.op, waiver.dtype) == (op, dtype) and not waiver.is_expired():
                return max(bound, waiver.bound)
        return bound

    def judge(self, op: str, dtype: str, worst: float, bound: float) -> bool:
        """Note an error and its bound; return whether it is within (a NaN error is not).

        ``worst`` and ``bound`` are in ulp, or in parts of a bound of the suite's own (then 1.0).
        """
        self.checks += 1
        worst = math.inf if math.isnan(worst) else float(worst)
        if worst > self.worst or self.bound < 0:
            self.worst, self.bound = worst, bound
        if worst <= bound:
            return True
        if worst <= self.allowed(op, dtype, bound):
            reasons = [w.reason for w in self._waivers if (w.op, w.dtype) == (op, dtype)]
            self.waiver = reasons[0]
            return True
        return False

    def mistake(self, found: Mistake) -> None:
        """Note wrong elements; the test goes on, and `finish` raises."""
        self._wrong += found.wrong
        if len(self.mistakes) < SHOWN:
            self.mistakes.append(found)

    def finish(self) -> None:
        """Raise if something was wrong.

        Raises:
            Mismatch: naming the first mistakes.
        """
        if not self._wrong:
            return
        lines = [f"{self.name} on {self.device}: {self._wrong} wrong elements"]
        for m in self.mistakes:
            ulp = f", {m.ulp:.4g} ulp (bound {m.bound:.4g})" if m.ulp >= 0 else ""
            lines.append(
                f"  layout {m.layout}, index {m.index}: input {m.inputs}, got {m.got}, "
                f"want {m.want}{ulp}; {m.wrong} of {m.size} wrong"
            )
        lines.append(f"  repeat: {self.settings.repeat_command(self.name)}")
        raise Mismatch("\n".join(lines))

    def findings(self) -> dict[str, Any]:
        """Return plain data for the outcome."""
        return {
            "worst": self.worst,
            "bound": self.bound,
            "checks": self.checks,
            "waiver": self.waiver,
            "mistakes": [asdict(m) for m in self.mistakes],
            "notes": self.notes,
        }
