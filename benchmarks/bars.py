"""What is demanded of the ratios, as data, and how a run fares against it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .composed_functions import COMPOSED
from .functions import FUNCTION_SIZES, FUNCTIONS
from .opencl_peers import ARRAY, HAND_WRITTEN
from .ratios import geometric_mean
from .results import FASTEST, Case, Run

#: From so many elements up the work counts, below it the dispatch.
LARGE = 2**16
_OVERHEAD = ("dispatch add", "dispatch sum", "allocate")
_FUNCTIONS = frozenset(work.name for work in (*FUNCTIONS, *COMPOSED))


def is_large(case: Case) -> bool:
    """Tell whether a case counts for the geometric mean."""
    return case.elements >= LARGE and case.workload not in _OVERHEAD


def _is_small_function(case: Case) -> bool:
    return case.workload in _FUNCTIONS and case.size in FUNCTION_SIZES[:2]


def _is_workload(case: Case) -> bool:
    is_function = case.workload in _FUNCTIONS and case.size in FUNCTION_SIZES
    return case.elements >= 2**10 and not is_function and case.workload not in _OVERHEAD


def _is_matmul_2048(case: Case) -> bool:
    return case.workload == "matmul" and case.size == 2048


@dataclass(frozen=True, slots=True)
class Bar:
    """A least ratio over a peer, in each case or in the geometric mean.

    It holds on devices of a ``kind`` and of a ``driver``, empty for all.
    """

    text: str
    peer: str
    least: float
    applies: Callable[[Case], bool]
    in_the_mean: bool = False
    kind: str = "cpu"
    driver: str = ""

    def holds_on(self, about: dict[str, str]) -> bool:
        """Tell whether a device is meant, of which this is told."""
        drivers = ("", about.get("driver", "").partition(" ")[0])
        return self.kind in ("", about.get("kind")) and self.driver in drivers


#: The bars for two cores.
BARS = (
    Bar("dispatch of a + b", "numpy", 2.0, lambda case: case.workload == "dispatch add"),
    Bar("each workload from 2^10 up", FASTEST, 1.0, _is_workload),
    Bar("geometric mean from 2^16 up", FASTEST, 2.5, is_large, in_the_mean=True),
    Bar("each sort", FASTEST, 1.3, lambda case: case.workload == "sort"),
    Bar("float32 matmul 2048", "numpy", 1.2, _is_matmul_2048),
    Bar("each function up to 100", "numpy", 1.0, _is_small_function),
)
#: The bars for OpenCL devices; the hand-written matrix product is the naive one.
OPENCL_BARS = (
    Bar("launch of a + b", ARRAY, 1.0, lambda case: case.workload == "launch add", kind=""),
    Bar(
        "each from 2^16 up",
        HAND_WRITTEN,
        0.95,
        lambda case: case.elements >= LARGE and case.workload != "matmul",
        kind="",
    ),
    Bar("float32 matmul 2048", HAND_WRITTEN, 3.0, _is_matmul_2048, kind=""),
)
#: The bars for cards of a data centre.
CUDA_BARS = (
    Bar("launch of a + b", FASTEST, 2.0, lambda case: case.workload == "launch add", kind=""),
    Bar("each at 2^28", FASTEST, 1.0, lambda case: case.size == 2**28, kind=""),
    Bar(
        "float32 matmul 8192",
        FASTEST,
        0.6,
        lambda case: case.workload == "matmul" and case.size == 8192,
        kind="",
    ),
)
#: The bars for whole programs.
PROGRAM_BARS = (
    Bar("each program", "numpy", 1.0 / 1.1, lambda _: True, driver="cpu"),
    Bar("each program", "numpy", 1.0 / 3.0, lambda _: True, driver="opencl"),
)
_BARS = {"host": BARS, "opencl": OPENCL_BARS, "cuda": CUDA_BARS, "programs": PROGRAM_BARS}


@dataclass(frozen=True, slots=True)
class Verdict:
    """A bar judged on one device: ``got`` is the lowest ratio or the mean, ``None`` if not timed.

    ``missed`` are the cases below the bar, or without a timing of the device.
    """

    bar: Bar
    device: str
    got: float | None
    missed: tuple[tuple[str, int], ...]

    @property
    def is_met(self) -> bool:
        """Whether every case or the mean reaches the bar."""
        return self.got is not None and self.got >= self.bar.least and not self.missed

    def to_dict(self) -> dict[str, object]:
        """Return plain data."""
        return {
            "bar": self.bar.text,
            "device": self.device,
            "peer": self.bar.peer,
            "least": self.bar.least,
            "got": self.got,
            "met": self.is_met,
            "missed": [list(place) for place in self.missed],
        }


def judge(run: Run) -> list[Verdict]:
    """Judge every bar that the cases of a run can answer; needs the bar's peer."""
    verdicts = []
    for device, about in run.devices.items():
        for bar in _BARS[run.suite]:
            cases = [case for case in run.cases if bar.applies(case)]
            has_peer = bar.peer in run.peers or (bar.peer == FASTEST and run.peers)
            if cases and has_peer and bar.holds_on(about):
                verdicts.append(_judge(bar, device, cases, list(run.peers)))
    return verdicts


def _judge(bar: Bar, device: str, cases: list[Case], peers: list[str]) -> Verdict:
    ratios = {(c.workload, c.size): c.ratio(device, bar.peer, peers) for c in cases}
    known = [ratio for ratio in ratios.values() if ratio is not None]
    untimed = {(c.workload, c.size) for c in cases if c.seconds(device) is None}
    if bar.in_the_mean:
        return Verdict(bar, device, geometric_mean(known), tuple(sorted(untimed)))
    low = {place for place, ratio in ratios.items() if ratio is not None and ratio < bar.least}
    return Verdict(bar, device, min(known, default=None), tuple(sorted(low | untimed)))


def means(run: Run) -> dict[str, dict[str, float | None]]:
    """Return the geometric means of the large cases by device, then by peer and ``FASTEST``.

    Of programs all count.
    """
    peers = list(run.peers)
    cases = [case for case in run.cases if run.suite == "programs" or is_large(case)]
    return {
        device: {
            peer: geometric_mean(
                ratio for c in cases if (ratio := c.ratio(device, peer, peers)) is not None
            )
            for peer in (*peers, FASTEST)
        }
        for device in run.devices
    }
