"""The suite's side of a `Crew`: it collects the cases once, and forks for each order.

A child puts the order's change in place, runs its cases up to the first failure and ends; whatever
the change does to the process, the next child starts from a clean one. No device is opened before.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from phalanx.conformance.naming import case_name

from .crew import BEFORE, HUNG
from .hook import changed, wrap
from .mutant import Mutant, bodies
from .tracing import Trace

#: Bytes of address space that a child may have: a changed size asks for more than there is.
_MEMORY = 12 << 30
_SESSION = "phalanx-conformance-session"


class Server:
    """The plugin object that takes the place of pytest's loop; orders come as lines of stdin."""

    def __init__(self, answers: int) -> None:
        self._answers = answers
        self._items: dict[str, pytest.Item] = {}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, items: list[pytest.Item]
    ) -> Generator[None, object, object]:
        """Keep all cases; nothing else may look at them, as that opens the device."""
        self._items = {case_name(item.nodeid): item for item in items}
        items[:] = []
        return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Carry out orders until there are no more."""
        bodies()  # which each child needs
        self._tell({"cases": list(self._items)})
        for line in sys.stdin:
            self._carry_out(session, json.loads(line))
        return True

    def _tell(self, answer: dict[str, Any]) -> None:
        os.write(self._answers, (json.dumps(answer) + "\n").encode())

    def _carry_out(self, session: pytest.Session, order: dict[str, Any]) -> None:
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reader)
            try:
                _run(session, order, self._items, writer)
            finally:
                os._exit(1)
        os.close(writer)
        try:
            self._tell(_watched(reader, pid, order, self._tell))
        finally:
            os.close(reader)


def _watched(reader: int, pid: int, order: dict[str, Any], tell: Any) -> dict[str, Any]:
    """Return how a child ended: what it says, or that it died, or was ended because it hung."""
    end = time.monotonic() + order["run_limit"]
    limit: float = order["case_limit"]
    case, ran, rest = "", 0, b""
    answer: dict[str, Any] | None = None
    while answer is None:
        ready, _, _ = select.select([reader], [], [], limit)
        data = os.read(reader, 1 << 16) if ready else b""
        if not data:
            how = "the process died" if ready else f"{HUNG} within {limit:g} s"
            answer = {"case": case or BEFORE, "message": f"{how} in this case"}
        *lines, rest = (rest + data).split(b"\n")
        for told in map(json.loads, lines):
            if "seen" in told:
                tell(told)
            elif "start" not in told:
                answer = told
            elif time.monotonic() < end:
                case, ran = told["start"], ran + 1
            else:
                answer = {"case": "", "message": "", "partial": True}
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return {"ran": ran, "partial": False, **answer}


def _put_in_place(change: dict[str, Any]) -> None:
    """Let the devices of this process use a changed text, or a library of a path."""
    if change["mutant"]:
        mutant = Mutant.from_dict(change["mutant"])
        wrap(lambda right: changed(right, mutant))
    if change["library"]:
        from phalanx import kernels_cpu

        library = Path(change["library"])
        kernels_cpu.__dict__["libraries"] = lambda: {library.name.partition(".")[0]: library}


def _run(
    session: pytest.Session, order: dict[str, Any], items: dict[str, pytest.Item], writer: int
) -> None:
    """Run the cases of an order in this process, and say how it went; never returns in peace."""

    def tell(**answer: Any) -> None:
        os.write(writer, (json.dumps(answer) + "\n").encode())

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nothing, fd)
    ours: Any = session.config.pluginmanager.get_plugin(_SESSION)
    ours.settings = replace(ours.settings, quick=order["quick"])
    _put_in_place(order["change"])
    trace = Trace(Path(order["change"]["library"])) if order["trace"] else None
    chosen = [items[name] for name in order["cases"] or items if name in items]
    try:
        for item, following in zip(chosen, [*chosen[1:], None], strict=True):
            name = case_name(item.nodeid)
            tell(start=name)
            before, begin = len(ours.outcomes), time.perf_counter()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            seconds = round(time.perf_counter() - begin, 4)
            if trace is not None:
                tell(seen=name, seconds=seconds, functions=trace.taken())
            failed = next((o for o in ours.outcomes[before:] if o.failed), None)
            if failed is not None:
                message = failed.message.strip().partition("\n")[0]
                tell(case=failed.case, message=message)
                os._exit(0)
    except BaseException as error:  # noqa: BLE001 - whatever the change has done
        message = ours.lost or f"{type(error).__name__}: {error}"
        tell(case=BEFORE, message=message.partition("\n")[0])
        os._exit(0)
    tell(case="", message="")
    os._exit(0)
