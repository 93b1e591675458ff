"""Runs programs, each in a process of its own, and tells how they ended."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from .child import Job, Progress
from .lineage import lineage
from .program import Program, Traits, label

_TESTS = Path(__file__).resolve().parents[1]
#: Steps of each thread that are told of a fault.
_TOLD = 6
#: Steps that a wrong value depends on, the last ones.
_TOLD_OF_VALUE = 20
#: Seconds beyond the limit, after which a child that could not even end itself is killed.
_GRACE = 30.0
_STACK_LINES = 120

#: What the programs use; others cost a compilation for each of their ops.
_DTYPES = ("bool", "int8", "int32", "int64", "uint8", "uint32", "uint64", "float32", "float64")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a program ended.

    Attributes:
        job: what was run.
        verdict: ``"ok"``, ``"wrong"`` (a value, an error, a leak), ``"crash"`` or ``"hang"``.
        detail: what was wrong, with stacks where there are any.
        steps: how many steps were taken.
        last: the last steps of each thread, if it was not ok.
        delays: whether the core was built with random delays.
    """

    job: Job
    verdict: str
    seconds: float
    detail: str = ""
    steps: Counter[str] = field(default_factory=Counter)
    last: tuple[str, ...] = ()
    delays: bool = False

    @property
    def repeat(self) -> str:
        """The command that runs the program again."""
        job = self.job
        devices = ",".join(traits.name for traits in job.devices)
        command = [".venv/bin/python", "-m", "stress", "--seed", str(job.seed)]
        command += ["--device", devices, "--rounds", "1", "--threads", str(job.threads)]
        command += ["--operations", str(job.operations)]
        for name in job.without:
            command += ["--without", name]
        return f"PYTHONPATH=tests {shlex.join(command)} --repeat 20"


def list_devices() -> list[Traits]:
    """Return the devices that can be opened, found in a process of their own.

    Raises:
        RuntimeError: the process failed.
    """
    listing = Path(__file__).with_name("listing.py")
    found = subprocess.run(
        [sys.executable, str(listing)], capture_output=True, text=True, check=False
    )
    if found.returncode:
        raise RuntimeError(f"the devices cannot be listed: {found.stderr.strip()}")
    return [
        Traits(name, tuple(d for d in _DTYPES if d in dtypes), on_host, inline)
        for name, dtypes, on_host, inline in json.loads(found.stdout)
    ]


def run_job(job: Job, observe: Callable[[int], None] = lambda _: None) -> Outcome:
    """Run a program in a child; blocks until it ends or is ended.

    Args:
        job: what to run; its folder is a temporary one.
        observe: called now and then with the number of steps taken so far.
    """
    begin = time.monotonic()
    program = job.program()
    with tempfile.TemporaryDirectory(prefix="phalanx-stress-") as name:
        folder = Path(name)
        progress = Progress(folder, job.threads)
        with (folder / "said").open("wb") as said:
            child = subprocess.Popen(
                [sys.executable, "-m", "stress.child", replace(job, folder=name).to_json()],
                stdout=said,
                stderr=subprocess.STDOUT,
                env=_environment(job),
            )
            code = _wait(child, progress, job.limit, observe)
        verdict, detail, delays = _judge(program, code, folder, job.limit)
        places = progress.places()
    seconds = time.monotonic() - begin
    taken = Counter(
        label(step) for n, place in enumerate(places) for step in program.of_thread(n)[:place]
    )
    if verdict == "ok":
        return Outcome(job, verdict, seconds, "", taken, delays=delays)
    return Outcome(job, verdict, seconds, detail, taken, _last(program, places), delays)


def _environment(job: Job) -> dict[str, str]:
    kept = dict(os.environ)
    kept["PYTHONPATH"] = os.pathsep.join(filter(None, [str(_TESTS), kept.get("PYTHONPATH", "")]))
    if all(traits.name.startswith("cpu:") for traits in job.devices):
        kept["PHALANX_PLUGINS"] = "cpu"  # no other runtime's threads where children are forked
    return kept


def _wait(
    child: subprocess.Popen[bytes], progress: Progress, limit: float, observe: Callable[[int], None]
) -> int:
    """Wait for the child; it is killed if it neither moves on nor ends itself."""
    last, since = -1, time.monotonic()
    try:
        while child.poll() is None:
            done = sum(progress.places())
            observe(done)
            if done != last:
                last, since = done, time.monotonic()
            if time.monotonic() - since > limit + _GRACE:
                child.kill()
            time.sleep(0.1)
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()
    return int(child.returncode)


def _judge(program: Program, code: int, folder: Path, limit: float) -> tuple[str, str, bool]:
    """Return the verdict, what was wrong, and whether the core has delays."""
    stacks = (folder / "stacks").read_text("utf-8", "replace") if code else ""
    said = (folder / "said").read_text("utf-8", "replace").strip()
    if stacks.startswith("Timeout"):
        return "hang", _join(f"no thread took a step for {limit:g} s", stacks, said), False
    if code < 0:
        killed = signal.Signals(-code).name
        verdict = "hang" if -code == signal.SIGKILL else "crash"
        return verdict, _join(f"the process was ended by {killed}", stacks, said), False
    result = folder / "result"
    if not result.exists():
        return "crash", _join(f"the process ended with {code} in the middle", stacks, said), False
    data = json.loads(result.read_text("utf-8"))
    if not data["faults"] and code == 0:
        return "ok", "", data["delays"]
    texts = [_told(program, **fault) for fault in data["faults"]]
    return "wrong", _join(*texts, said), data["delays"]


def _told(program: Program, thread: int, step: int, text: str) -> str:
    """Return a fault in words, with the steps that its value depends on."""
    at = next((s for s in program.steps if s.number == step), None)
    if at is None:
        return f"after the last step: {text}"
    lines = [f"thread {thread}, {at}", text]
    if at.inputs:
        before = lineage(program, at)[:-1]
        lines += ["where its value came from:"]
        lines += [f"  thread {s.thread} {s}" for s in before[-_TOLD_OF_VALUE:]]
    return "\n".join(lines)


def _join(*parts: str) -> str:
    lines = "\n".join(part.strip() for part in parts if part.strip()).splitlines()
    if len(lines) > _STACK_LINES:
        lines = [*lines[:_STACK_LINES], f"... and {len(lines) - _STACK_LINES} more lines"]
    return "\n".join(lines)


def _last(program: Program, places: list[int]) -> tuple[str, ...]:
    lines = []
    for thread, place in enumerate(places):
        steps = program.of_thread(thread)
        lines.append(f"thread {thread}, {place} of {len(steps)} steps taken, the last ones:")
        first = max(0, place - _TOLD + 1)
        lines += [f"  {step}" for step in steps[first : place + 1]]
    return tuple(lines)
