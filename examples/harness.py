"""What the programs share: their form, a run on every device, and a table that compares them."""

from __future__ import annotations

import argparse
import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from statistics import median
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import phalanx as px
from rich.console import Console
from rich.markup import escape
from rich.table import Table

#: The module of an array library, and its arrays: a program takes those of any library.
Namespace: TypeAlias = Any
Array: TypeAlias = Any
HostArray: TypeAlias = npt.NDArray[Any]
Data: TypeAlias = dict[str, HostArray]

#: The device whose bits the others must have.
REFERENCE = "cpu:0"


@dataclass(frozen=True, slots=True)
class Program:
    """A program that any array library can run.

    ``load`` reads the data on the host. ``compute`` takes a namespace of the standard and the data
    by name, as arrays of this namespace, and returns arrays; it leaves the data as they are.
    ``tell`` makes a line for people of the data and the results. The devices of Phalanx must agree
    in every bit; another library may be off by the relative and the absolute ``tolerance``.
    """

    title: str
    load: Callable[..., Data]
    compute: Callable[..., tuple[Array, ...]]
    tell: Callable[..., str]
    tolerance: tuple[float, float] = (1e-4, 1e-4)

    def data(self) -> Data:
        """Return what ``load`` returns.

        Raises:
            ImportError: a package that brings the data is missing; names the extra that has it.
        """
        try:
            return self.load()
        except ImportError as error:
            raise ImportError(
                f'{error}; the data of the examples come with: pip install "phalanx[demo]"'
            ) from error


@dataclass(frozen=True, slots=True)
class Run:
    """What a program gave on one device or with NumPy, and the median of its times in seconds."""

    name: str
    seconds: float
    results: tuple[HostArray, ...]
    fallbacks: int = 0

    @property
    def digest(self) -> str:
        """The SHA-256 of the results: of dtypes, shapes and bytes."""
        return digest(self.results)


def find(name: str) -> Program:
    """Return the program of a module of this package."""
    found: Program = import_module(f"phalanx.examples.{name}").PROGRAM
    return found


def digest(results: Sequence[HostArray]) -> str:
    """Return the SHA-256 of arrays in hexadecimal digits: of their dtypes, shapes and bytes."""
    made = hashlib.sha256()
    for result in results:
        made.update(f"{result.dtype.str}{result.shape}".encode())
        made.update(result.tobytes())
    return made.hexdigest()


def run_on(program: Program, data: Data, device: str, repeats: int = 3) -> Run:
    """Run a program on one device: once to compile what it needs, then ``repeats`` times."""
    with px.device(device) as found:
        px.fallback_report(reset=True)
        arrays = {name: px.asarray(values, copy=True) for name, values in data.items()}
        seconds, results = _timed(lambda: program.compute(px, **arrays), found.synchronize, repeats)
        moved = sum(entry.calls for entry in px.fallback_report())
        return Run(found.name, seconds, tuple(px.asnumpy(x) for x in results), moved)


def run_numpy(program: Program, data: Data, repeats: int = 3) -> Run:
    """Run a program with NumPy, in the same way."""
    seconds, results = _timed(lambda: program.compute(np, **data), lambda: None, repeats)
    return Run("numpy", seconds, tuple(np.asarray(x) for x in results))


def _timed(
    once: Callable[[], tuple[Array, ...]], wait: Callable[[], None], repeats: int
) -> tuple[float, tuple[Array, ...]]:
    results = once()
    wait()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        results = once()
        wait()
        times.append(time.perf_counter() - begin)
    return median(times), results


def agree(program: Program, got: Sequence[HostArray], want: Sequence[HostArray]) -> bool:
    """Tell whether results have the dtypes and shapes of others, and their values about."""
    rtol, atol = program.tolerance
    return len(got) == len(want) and all(
        (a.dtype, a.shape) == (b.dtype, b.shape) and np.allclose(a, b, rtol, atol, equal_nan=True)
        for a, b in zip(got, want, strict=False)
    )


def show(program: Program, runs: Sequence[Run], host: Run, console: Console) -> None:
    """Print a row per device: the ratio is NumPy's time by the device's."""
    table = Table(title=program.title, title_justify="left")
    for header in ("device", "seconds", "/ numpy", "SHA-256", "bits", "fallbacks"):
        table.add_column(header, justify="left" if header == "device" else "right", no_wrap=True)
    for run in runs:
        same = run.digest == runs[0].digest
        bits = f"as {runs[0].name}" if same else "[bold red]differ[/]"
        ratio = f"{host.seconds / run.seconds:.2f}"
        row = (f"{run.seconds:.4f}", ratio, run.digest[:12], bits, str(run.fallbacks))
        table.add_row(escape(run.name), *row)
    table.add_row("numpy", f"{host.seconds:.4f}", "1.00", "", "", "")
    console.print(table)


def main(program: Program, argv: Sequence[str] | None = None) -> int:
    """Run a program on the devices that the command line names, and compare.

    Returns the exit code: 0; 1 if a device fails, or if bits differ between devices or values from
    NumPy's.
    """
    parser = argparse.ArgumentParser(
        description=program.title,
        epilog="Exit code: 0; 1 if a device fails, if the devices' bits differ or if NumPy has "
        "other values; 2 for wrong usage, or where a device or a package is missing.",
    )
    parser.add_argument(
        "--device",
        action="append",
        metavar="NAME",
        help=f"run here, compared with {REFERENCE}; may be given again (default: every device)",
    )
    parser.add_argument(
        "--repeats", type=int, default=3, metavar="N", help="timed runs of each (default: 3)"
    )
    options = parser.parse_args(argv)
    if options.repeats < 1:
        parser.error("--repeats must be at least 1")
    try:
        names = chosen_devices(options.device or ())
        data = program.data()
    except (px.DeviceError, ImportError) as error:
        parser.exit(2, f"{error}\n")
    console = Console(highlight=False)
    host = run_numpy(program, data, options.repeats)
    runs, failures = [], []
    for name in names:
        try:
            runs.append(run_on(program, data, name, options.repeats))
        except px.PhalanxError as error:
            failures.append(f"{name}: {error}")
    show(program, runs, host, console)
    console.print(escape(program.tell(data, *(runs[0] if runs else host).results)))
    wrong = [run.name for run in runs if not agree(program, run.results, host.results)]
    if wrong:
        failures.append(f"NumPy computes other values than {', '.join(wrong)}")
    for failure in failures:
        console.print(f"[red]{escape(failure)}[/]")
    return 1 if failures or len({run.digest for run in runs}) > 1 else 0


def chosen_devices(names: Sequence[str]) -> list[str]:
    """Return the devices of these names, or all without one; first the one to compare with.

    Raises:
        DeviceNotFoundError: there is none of a name.
    """
    every = [device.name for device in px.devices()]
    found = [name for name in every if name == REFERENCE]
    for name in names or every:
        with px.device(name) as device:
            found.append(device.name)
    return list(dict.fromkeys(found))
