"""A process that has collected the suite and runs some of its cases for each change."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from phalanx.conformance.child import HERE, environment

#: The name of a case that stands for what comes before all.
BEFORE = "(before the first case)"
#: How the message of a case begins that does not end.
HUNG = "the process did not end"
_HOOK = "phalanx.conformance.mutants.hook"


@dataclass(frozen=True, slots=True)
class Change:
    """What is put in place of the right kernels: a changed text, or a library by its path."""

    mutant: Mapping[str, Any] | None = None
    library: str = ""


@dataclass(frozen=True, slots=True)
class Order:
    """Cases to run up to the first failure.

    ``case_limit`` is how long each may take, in seconds; after ``run_limit``, none is begun.
    """

    change: Change
    cases: Sequence[str]
    quick: bool
    case_limit: float
    run_limit: float
    trace: bool = False

    def to_json(self) -> str:
        """Return a line."""
        data = {name: getattr(self, name) for name in self.__slots__}
        change = {"mutant": self.change.mutant, "library": self.change.library}
        return json.dumps({**data, "change": change}) + "\n"


@dataclass(frozen=True, slots=True)
class Answer:
    """The first case that failed and its message, empty if none did; how many were run.

    ``partial`` tells that the time for all was over before the last case.
    """

    case: str
    message: str
    ran: int
    partial: bool

    @property
    def hung(self) -> bool:
        """Whether the case did not end in its time."""
        return self.message.startswith(HUNG)


def _plugins(device: str) -> str:
    """Return the plugins of a device and of ``cpu:0``, as in ``PHALANX_PLUGINS``.

    Another's library may handle signals: with PoCL's in the process, a division by zero ends none.
    """
    import phalanx as px
    from phalanx.discovery.plugins import host

    drivers = {device.partition(":")[0], *(one.driver.name for one in px.devices("cpu")[:1])}
    return ",".join(plugin.name for plugin in host().plugins() if drivers & set(plugin.drivers))


class Crew:
    """The suite on a device, collected once; each order is carried out in a process of its own."""

    def __init__(self, device: str, seed: int) -> None:
        self._device, self._seed = device, seed

    def __enter__(self) -> Self:
        """Start the process; blocks until all cases are collected.

        Raises:
            RuntimeError: pytest ends before, with its last line.
        """
        reader, writer = os.pipe()
        self._log = tempfile.TemporaryFile()
        command = [sys.executable, "-P", "-m", "pytest", "--pyargs", str(HERE / "groups")]
        command += ["-c", str(HERE / "pytest.ini"), "-s", "--tb=no", "-p", "no:faulthandler"]
        command += ["-p", "phalanx.conformance.plugin", "-p", _HOOK]
        command += [f"--phalanx-answers={writer}", f"--phalanx-device={self._device}"]
        command += [f"--phalanx-seed={self._seed}", "--phalanx-level=bitwise"]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            # a child forks with what has threads: libraries of linear algebra must not
            env={
                **environment(),
                **{"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
                "PHALANX_PLUGINS": _plugins(self._device),
            },
            pass_fds=(writer,),
        )
        os.close(writer)
        self._answers = os.fdopen(reader, encoding="utf-8")
        try:
            self.cases: list[str] = self._told()["cases"]
        except RuntimeError:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(10 if kind is None else 0.1)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._answers.close()
        self._log.close()

    def run(self, order: Order, seen: Callable[[dict[str, Any]], None] = lambda _: None) -> Answer:
        """Carry out an order; blocks. ``seen`` is called with each case of a traced run."""
        assert self._process.stdin is not None
        self._process.stdin.write(order.to_json().encode())
        self._process.stdin.flush()
        while True:
            told = self._told()
            if "seen" not in told:
                return Answer(told["case"], told["message"], told["ran"], told["partial"])
            seen(told)

    def _told(self) -> dict[str, Any]:
        line = self._answers.readline()
        if not line:
            self._log.seek(0)
            last = self._log.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
            raise RuntimeError(f"the suite did not run; pytest ended: {last}")
        answer: dict[str, Any] = json.loads(line)
        return answer
