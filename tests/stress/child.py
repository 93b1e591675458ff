"""The process in which one program runs: ``python -m stress.child JOB``, a line of JSON.

It leaves in the job's folder: ``progress`` (the place of each thread in its steps, eight bytes
each), ``stacks`` (if it crashed or hung) and ``result`` (if it came to an end).
"""

from __future__ import annotations

import dataclasses
import faulthandler
import gc
import json
import math
import mmap
import struct
import sys
import threading
import time
from pathlib import Path
from typing import Any

from .generator import generate
from .program import Program, Step, Traits
from .reference import interpret

_PLACE = struct.Struct("=q")


@dataclasses.dataclass(frozen=True, slots=True)
class Job:
    """One program: which one, where it runs, and how long a pause counts as hanging.

    After ``seconds`` it ends in the middle.

    ``sabotage`` is for the tests: the kind of a step that is put into the middle.
    """

    seed: int
    devices: tuple[Traits, ...]
    threads: int = 8
    operations: int = 4000
    without: tuple[str, ...] = ()
    limit: float = 60.0
    seconds: float = math.inf
    folder: str = ""
    sabotage: str = ""

    def to_json(self) -> str:
        """Return the job as a line."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Job:
        """Return the job of a line."""
        data = json.loads(text)
        for device in data["devices"]:
            device["dtypes"] = tuple(device["dtypes"])
        data["devices"] = tuple(Traits(**device) for device in data["devices"])
        return cls(**{**data, "without": tuple(data["without"])})

    def program(self) -> Program:
        """Return the program of the job, always the same one."""
        made = generate(
            self.seed,
            self.devices,
            threads=self.threads,
            operations=self.operations,
            without=self.without,
        )
        if not self.sabotage:
            return made
        at = len(made.steps) // 2
        extra = Step(-1, made.steps[at].thread, self.sabotage)
        return dataclasses.replace(made, steps=(*made.steps[:at], extra, *made.steps[at:]))


class Progress:
    """The place of each thread in its steps, in a file that survives the process."""

    def __init__(self, folder: Path, threads: int) -> None:
        path = folder / "progress"
        if not path.exists():
            path.write_bytes(bytes(_PLACE.size * threads))
        self._threads = threads
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), _PLACE.size * threads)

    def note(self, thread: int, place: int) -> None:
        """Write a place."""
        _PLACE.pack_into(self._map, thread * _PLACE.size, place)

    def places(self) -> list[int]:
        """Return all places."""
        return [_PLACE.unpack_from(self._map, n * _PLACE.size)[0] for n in range(self._threads)]


def main() -> int:
    """Run the program; return 0 if all was well."""
    job = Job.from_json(sys.argv[1])
    folder = Path(job.folder)
    with (folder / "stacks").open("w") as stacks:
        faulthandler.enable(stacks)
        faulthandler.dump_traceback_later(job.limit, exit=True, file=stacks)
        result = run(job, Progress(folder, job.threads), stacks)
        (folder / "result").write_text(json.dumps(result), "utf-8")
        faulthandler.cancel_dump_traceback_later()
    return 1 if result["faults"] else 0


def run(job: Job, progress: Progress, stacks: Any) -> dict[str, Any]:
    """Run the program in this process, and watch its threads; return what is to be told of it."""
    import phalanx as px
    from phalanx import _warm
    from phalanx.discovery.devices import find_device

    from . import forked
    from .execution import Run

    program = job.program()
    shown = interpret(program)
    devices = [find_device(t.name) for t in program.devices]
    for device in devices:
        device.ensure_open()
    before = [px.memory_stats(device)["requested"] for device in devices]
    forked.prepare()
    started = Run(program, shown, progress=progress.note, limit=job.limit / 3, seconds=job.seconds)
    _watch(started.threads(), progress, job.limit, stacks)
    if not started.faults:
        _clean_up(started, before)
    return {
        "faults": [dataclasses.asdict(fault) for fault in started.faults],
        "delays": bool(getattr(_warm, "has_delays", False)),
    }


def _watch(threads: list[threading.Thread], progress: Progress, limit: float, stacks: Any) -> None:
    """Start threads and wait for them; dump all stacks and end the process if none moves on."""
    for thread in threads:
        thread.daemon = True
        thread.start()
    last: list[int] = []
    while any(thread.is_alive() for thread in threads):
        places = progress.places()
        if places != last:
            faulthandler.dump_traceback_later(limit, exit=True, file=stacks)
            last = places
        time.sleep(0.05)


def _clean_up(run: Any, before: list[int]) -> None:
    """Drop what is left; then all memory must have come back, and all counts must add up."""
    import phalanx as px

    devices = run.devices
    run.streams.clear()
    run.events.clear()
    run.left.clear()
    run.channels.clear()
    gc.collect()
    for device, requested in zip(devices, before, strict=True):
        px.synchronize(device)
        px.empty_cache(device)  # the tables of transforms
        now = px.memory_stats(device)["requested"]
        if now != requested:
            run.fault(-1, -1, f"{now - requested} bytes of {device} did not come back")
    for counting in run.counted:
        counts = counting.statistics
        if counts.used or counts.allocations != counts.releases:
            run.fault(-1, -1, f"the counts of a StatisticsAllocator do not add up: {counts}")


if __name__ == "__main__":
    sys.exit(main())
