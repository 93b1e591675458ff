"""What is done on a machine with a card, in the order of what one wants to know first."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import phalanx as px

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
#: Folders of tests that run on any device; each is a step of its own.
_FOLDERS = ("arrays", "namespace", "dispatch", "runtime", "threads")


@dataclass(frozen=True)
class Step:
    """A command, and what it proves. ``needs`` are modules without which it is left out."""

    name: str
    about: str
    command: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()
    needs: tuple[str, ...] = ()

    def missing(self) -> list[str]:
        """Return the modules that are not installed."""
        return [name for name in self.needs if find_spec(name) is None]


def steps(device: str, folder: Path, *, quick: bool) -> Iterator[Step]:
    """Yield the steps for a device; what they write goes into a folder."""
    phalanx = (sys.executable, "-m", "phalanx")
    short = ("--quick",) if quick else ()
    yield Step("why", "the device is usable", (*phalanx, "why", device))
    workers = str(max(1, min(16, (os.cpu_count() or 1) - 1)))  # what they compile takes most time
    suite = (
        "pytest",
        "phalanx.conformance",
        "hypothesis",
        "jinja2",
        "ml_dtypes",
        "mpmath",
        "xdist",
    )
    for name in dict.fromkeys((device, *_same_card(device))):
        out = str(folder / f"conformance-{name.replace(':', '-')}.json")
        yield Step(
            f"conformance {name}",
            "the bits are those of cpu:0",
            (
                *phalanx,
                "conformance",
                "--device",
                name,
                "--level",
                "bitwise",
                "--workers",
                workers,
                "--json",
                out,
                *short,
            ),
            needs=suite,
        )
    for each in _FOLDERS:
        yield Step(
            f"tests/{each}",
            "the tests of the core, on this device",
            (sys.executable, "-m", "pytest", "-q", "--import-mode=importlib", str(TESTS / each)),
            (("PHALANX_TEST_DEVICES", device),),
            needs=("pytest", "hypothesis"),
        )
    yield Step(
        "libraries",
        "NVIDIA's libraries are right and repeat their bits; sorts have ours",
        (sys.executable, "-m", "gpu.libraries", device),
        (("PYTHONPATH", str(TESTS)),),
        needs=("cupy",),
    )
    stress = (sys.executable, "-m", "stress", "--minutes", "0.5" if quick else "2")
    yield Step(
        "stress",
        "random programs of eight threads",
        (*stress, "--device", device),
        (("PYTHONPATH", str(TESTS)),),
    )
    yield Step(
        "digits",
        "a network is trained to the same weights",
        (
            *(sys.executable, str(ROOT / "examples" / "digits.py"), "--device", device),
            *("--plot", str(folder / "digits.png")),
        ),
        needs=("sklearn", "matplotlib"),
    )
    bench = (*phalanx, "bench", "--device", device, "--json", str(folder / "bench.json"))
    yield Step("bench", "speed against CuPy and PyTorch", (*bench, *short))
    yield Step(
        "roofline",
        "how far each kernel is from the memory's rate",
        (sys.executable, "-m", "gpu.roofline", str(folder / "bench.json")),
        (("PYTHONPATH", str(TESTS)),),
        needs=("matplotlib",),
    )


def _same_card(device: str) -> list[str]:
    """Return the devices of other drivers on the same hardware, by its UUID."""
    uuid = px.devices(device.partition(":")[0])[int(device.partition(":")[2])].info.uuid
    if not uuid:
        return []
    return [each.name for each in px.devices() if each.info.uuid == uuid and each.name != device]
