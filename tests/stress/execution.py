"""Runs a program on Phalanx: one Python thread for each of its threads."""

from __future__ import annotations

import contextlib
import math
import queue
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import phalanx as px
from phalanx.discovery.devices import find_device

from . import steps
from .program import HostArray, Program, Step
from .reference import Mismatch, compare
from .semantics import PURE, WRITING, compute

#: Seconds for which a step is tried again while others keep memory short.
_PATIENCE = 60.0


class StoppedError(Exception):
    """Another thread found a fault, so this one ends."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What went wrong: where, and in which words."""

    thread: int
    step: str
    text: str


class Trouble:
    """Trouble that one thread makes on purpose and others may feel: ``with trouble: ...``."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._active = 0
        self._times = 0
        self.told: list[str] = []  # what was felt: the messages, notes by themselves

    def __enter__(self) -> None:
        with self._lock:
            self._active += 1
            self._times += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._active -= 1

    def mark(self) -> int:
        """Return what ``excuses`` needs: taken before the step that may fail."""
        return self._times - self._active

    def excuses(self, mark: int, error: BaseException) -> bool:
        """Tell whether there was any since the mark, and note that somebody felt it."""
        with self._lock:
            if self._times == mark:
                return False
            self.told += [str(error), *getattr(error, "__notes__", ())]
            return True


class Run:
    """What the threads of a program share.

    Args:
        program: what is run.
        shown: what the steps that show a value must show.
        progress: called with thread and place before each step.
        limit: seconds for what must end, as a forked child.
        seconds: after so many all threads end at their next step.
    """

    def __init__(
        self,
        program: Program,
        shown: dict[int, HostArray],
        *,
        progress: Callable[[int, int], None] = lambda _thread, _place: None,
        limit: float = 60.0,
        seconds: float = math.inf,
    ) -> None:
        self.program = program
        self.end = time.monotonic() + seconds
        self.shown = shown
        self.progress = progress
        self.limit = limit
        self.devices = [find_device(t.name) for t in program.devices]
        self.streams: dict[int, px.Stream] = {}
        self.events: dict[int, px.Event] = {}
        for name, device in program.common.items():
            if device >= 0:
                self.streams[name] = px.Stream(self.devices[device])
            else:
                self.events[name] = self.devices[-1 - device].default_stream.record()
        self.channels: dict[tuple[int, int], queue.Queue[px.Array]] = {}
        for step in program.steps:
            if step.kind in ("send", "share"):
                self.channels[step.number, step.args["to"]] = queue.Queue()
        self.stop = threading.Event()
        self.faults: list[Fault] = []
        self.shortage = Trouble()  # of memory
        self.bad_indices = Trouble()
        self.one_at_a_time = threading.Lock()  # for what holds for a whole device
        self.left: list[Any] = []  # streams of threads that ended
        self.counted: list[px.StatisticsAllocator] = []

    def threads(self) -> list[threading.Thread]:
        """Return the threads, not yet started."""
        return [
            threading.Thread(target=Worker(self, n).work, name=f"worker {n}")
            for n in range(self.program.threads)
        ]

    def fault(self, thread: int, step: str, text: str) -> None:
        """Note a fault; all threads end at their next step."""
        self.faults.append(Fault(thread, step, text))
        self.stop.set()


class Worker:
    """One thread: its values, streams, events and exports by their numbers."""

    def __init__(self, run: Run, number: int) -> None:
        self.run = run
        self.number = number
        self.steps = run.program.of_thread(number)
        self.values: dict[int, px.Array] = {}
        self.streams: dict[int, px.Stream] = {}
        self.events: dict[int, px.Event] = {}
        self.exports: dict[int, HostArray] = {}

    def work(self) -> None:
        """Take all steps, or end at the first fault of any thread."""
        number = -1
        try:
            with px.device(self.run.devices[0]):
                for place, step in enumerate(self.steps):
                    self.run.progress(self.number, place)
                    number = step.number
                    self._take(step)
            self.run.progress(self.number, len(self.steps))
        except StoppedError:
            pass
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is a fault
            text = str(error) if isinstance(error, Mismatch) else traceback.format_exc()
            self.run.fault(self.number, number, text)
        finally:
            self.values.clear()

    def _take(self, step: Step) -> None:
        """Take a step, again and again while somebody makes trouble on purpose."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            if time.monotonic() > self.run.end:
                self.run.stop.set()
            if self.run.stop.is_set():
                raise StoppedError
            shortage, indices = self.run.shortage.mark(), self.run.bad_indices.mark()
            try:
                self._do(step)
            except px.OutOfMemoryError as error:
                if not self.run.shortage.excuses(shortage, error) or time.monotonic() > deadline:
                    raise
            except IndexError as error:
                excuses = self.run.bad_indices.excuses
                if step.kind not in steps.WAITING or not excuses(indices, error):
                    raise
            else:
                return
            time.sleep(0.002)

    def _do(self, step: Step) -> None:
        if step.kind in steps.STEPS:
            steps.STEPS[step.kind](self, step)
            return
        operands = tuple(self.values[n] for n in step.inputs)
        with self.on(step), _policy(step):
            found = compute(px, step, operands)
        if step.kind not in WRITING:
            self.values[step.out] = found

    # What the steps use

    def stream(self, name: int) -> px.Stream:
        """Return one of the thread's own or of the common streams."""
        return self.streams[name] if name in self.streams else self.run.streams[name]

    def event(self, name: int) -> px.Event:
        """Return one of the thread's own or of the common events."""
        return self.events[name] if name in self.events else self.run.events[name]

    @contextlib.contextmanager
    def on(self, step: Step) -> Iterator[None]:
        """Enter the streams of a step, one inside the other."""
        with contextlib.ExitStack() as stack:
            for name in step.on:
                stack.enter_context(self.stream(name))
            yield

    def show(self, step: Step, found: HostArray) -> None:
        """Compare what a step shows with the reference."""
        compare(found, self.run.shown[step.number])

    def receive(self, channel: int) -> px.Array:
        """Wait for a value from another thread."""
        waiting = self.run.channels[channel, self.number]
        while True:
            if time.monotonic() > self.run.end:
                self.run.stop.set()
            if self.run.stop.is_set():
                raise StoppedError
            with contextlib.suppress(queue.Empty):
                return waiting.get(timeout=0.1)


def _policy(step: Step) -> contextlib.AbstractContextManager[Any]:
    """Decompositions and transforms run on the host; nothing else may leave its device."""
    if step.kind in PURE and step.kind in ("fft", "ifft", "inv"):
        return px.fallback_policy("allow")
    return contextlib.nullcontext()
