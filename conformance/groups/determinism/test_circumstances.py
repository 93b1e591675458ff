"""The bits of a kernel do not depend on what else is true of the device when it is launched."""

from __future__ import annotations

import gc
import itertools
import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress

import numpy as np
import phalanx as px
import pytest
from phalanx._warm import Device
from phalanx.conformance.calls import Call, calls
from phalanx.conformance.case import Case
from phalanx.conformance.groups.determinism.same import PROMISES, class_of, same
from phalanx.conformance.groups.runtime.busy import busy, take_wrongly, takes
from phalanx.conformance.layouts import HostArray
from phalanx.conformance.outcome import Mistake
from phalanx.conformance.overloads import Overload, overloads
from phalanx.conformance.reference.formats import host_dtype
from phalanx.dispatch.registry import Support, support
from phalanx.driver import Capability, Feature
from phalanx.namespace.public import public_function
from phalanx.optable import Structure

Run = Callable[[], HostArray]
#: How a run is made where something is so.
Around = Callable[[Run], HostArray]
_OTHERS = [structure for structure in Structure if structure is not Structure.ELEMENTWISE]
_WITH_TABLES = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "atan", "asin"),
    *("tanh", "sinh", "cbrt", "erf", "lgamma", "sigmoid"),
)
#: Streams that there are at once, and the part of the memory that is left when there is little.
_STREAMS, _LEFT = 9, 0.3


@pytest.mark.parametrize("structure", _OTHERS, ids=lambda structure: structure.name.lower())
def test_circumstances(case: Case, structure: Structure) -> None:
    """Each kernel gives the bits of its first run, behind whichever other it is launched."""
    rng = case.rng()
    runs: list[tuple[Call, Run, HostArray]] = []
    for overload in _chosen(structure, rng) if case.quick else overloads(structure):
        if class_of(case, overload) in PROMISES:
            for call in _some(overload, rng):
                run = call.prepare(case.device)
                runs.append((call, run, run()))
    if not runs:
        pytest.skip("no kernel promises anything")
    for what, circumstance in circumstances(case):
        with circumstance as around:
            for number in rng.permutation(len(runs)):
                call, run, first = runs[number]
                same(case, call, first, around(run), f"{call.overload} {what}")
                case.checks += 1
    case.finish()


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_queued_chains(case: Case, name: str) -> None:
    """An op behind another in the queue, whose result it takes, has the bits of one alone."""
    ops = ("multiply", "add", "subtract", "divide")
    served = [case.served[op, (name, name, name)] for op in ops]
    if not all(found.how == "native" and found.determinism in PROMISES for found in served):
        pytest.skip("some of the ops have no kernel of their own that promises its bits")
    rng, device = case.rng(), case.device
    hosts = [rng.standard_normal(5003).astype(host_dtype(name)) for _ in range(3)]
    x, y, z = (px.asarray(host, device=device) for host in hosts)
    pairs = list(itertools.product(map(public_function, ops), repeat=2))
    want = []
    for f, g in pairs:
        made = px.asarray(px.asnumpy(f(x, y)), device=device)  # nothing knows what made it
        want.append([px.asnumpy(v) for v in (g(made, z), g(z, made), g(made, made))])
    stream = px.Stream(device)
    if device.has_streams:
        stream.wait(busy(case, 0.1, asks=False).record())
    got = []
    with stream:
        for f, g in pairs:
            chained = g(f(x, y), z), g(z, f(x, y))
            made = f(x, y)
            got.append((*chained, g(made, made)))
    stream.synchronize()
    for (f, g), found, right in zip(pairs, got, want, strict=True):
        case.checks += 1
        if any(px.asnumpy(a).tobytes() != b.tobytes() for a, b in zip(found, right, strict=True)):
            told = f"{g.__name__} straight behind {f.__name__}"
            case.mistake(Mistake(told, "", "", "other bits", "those of each op alone"))
    case.finish()


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_two_devices(case: Case, name: str) -> None:
    """Functions that need tables have the bits of one device on another one of the driver, too."""
    if not case.others:
        pytest.skip("the driver has one device")
    rng, asked = case.rng(), {(o.op, o.dtypes) for o in overloads(Structure.ELEMENTWISE)}
    classes = {(s.op, s.dtypes): s for s in support(case.others[0])}
    for op in _WITH_TABLES:
        key = op, (name, name)
        if key not in asked or not all(_is_bitwise(s) for s in (case.served[key], classes[key])):
            continue
        host = rng.uniform(0.1, 20, 3001).astype(name)
        found = [
            px.asnumpy(public_function(op)(px.asarray(host, device=d)))
            for d in (case.device, case.others[0])
        ]
        case.checks += 1
        if found[0].tobytes() != found[1].tobytes():
            told = f"{op} of {name} on {case.others[0]}"
            case.mistake(Mistake(told, "", "", "other bits", f"those on {case.device}"))
    case.finish()


def _is_bitwise(served: Support) -> bool:
    return served.how == "native" and served.determinism == PROMISES[0]


def _chosen(structure: Structure, rng: np.random.Generator) -> list[Overload]:
    """Return those of float32, and of each op another one: a device may compile at first use."""
    by_op: dict[str, list[Overload]] = {}
    for overload in overloads(structure):
        by_op.setdefault(overload.op, []).append(overload)
    chosen = []
    for some in by_op.values():
        other = some[int(rng.integers(len(some)))]
        chosen += [o for o in some if o is other or o.inputs[0] == "float32"]
    return chosen


def _some(overload: Overload, rng: np.random.Generator) -> list[Call]:
    """Return the call with the most elements, whose order shows most, and one by chance."""
    every = list(calls(overload, rng, quick=True))
    largest = max(every, key=lambda call: sum(x.size for x in call.inputs) + math.prod(call.shape))
    return [largest, every[int(rng.integers(len(every)))]]


def circumstances(case: Case) -> Iterator[tuple[str, AbstractContextManager[Around]]]:
    """Yield what may be so when a kernel is launched, in words, and how a run is made then."""
    yield "from another thread", _another_thread()
    yield f"on the last of {_STREAMS} streams", _last_of_streams(case)
    for priority in (-1, 1):
        yield f"on a stream of priority {priority}", _of_priority(case, priority)
    yield "beside other work", _beside_work(case)
    if takes(case):
        yield "behind a failure", _behind_a_failure(case)
    if case.others:
        yield "with another device opened, or closed, since", _opened_or_closed(case.others[0])
    opened = case.device.ensure_open()
    if Feature.UNIFIED_MEMORY not in case.device.info.features and opened.memory_info()[1]:
        yield f"with {_LEFT:.0%} of the memory left", _little_memory(case)
    if Capability.THREADS in opened.capabilities:
        for count in (1, 3):
            yield f"with the number of threads set to {count}", _threads(case, count)


@contextmanager
def _another_thread() -> Iterator[Around]:
    with ThreadPoolExecutor(1) as threads:
        yield lambda run: threads.submit(run).result()


@contextmanager
def _last_of_streams(case: Case) -> Iterator[Around]:
    with ExitStack() as stack:
        streams = [px.Stream(case.device) for _ in range(_STREAMS)]
        for stream in streams:
            stack.callback(stream.close)

        def around(run: Run) -> HostArray:
            with streams[-1]:
                return run()

        yield around


@contextmanager
def _of_priority(case: Case, priority: int) -> Iterator[Around]:
    stream = px.Stream(case.device, priority=priority)

    def around(run: Run) -> HostArray:
        with stream:
            return run()

    yield around
    stream.close()


@contextmanager
def _beside_work(case: Case) -> Iterator[Around]:
    other = px.Stream(case.device)
    with other:
        load = px.ones(1 << 18, dtype=px.float32)

    def around(run: Run) -> HostArray:
        with other:
            for _ in range(3):
                px.multiply(load, 1.0)
        return run()

    yield around
    other.close()


@contextmanager
def _behind_a_failure(case: Case) -> Iterator[Around]:
    stream = px.Stream(case.device)
    take_wrongly(case, stream)
    with suppress(IndexError):
        stream.synchronize()
    yield lambda run: run()
    stream.close()


@contextmanager
def _opened_or_closed(other: Device) -> Iterator[Around]:
    """Close another device if it is open, else open it; nothing lies on it, or it stays open."""
    if was_open := other.is_open:
        gc.collect()
        other.close()
    else:
        other.ensure_open()
    try:
        yield lambda run: run()
    finally:
        if was_open:
            other.ensure_open()
        else:
            other.close()


@contextmanager
def _little_memory(case: Case) -> Iterator[Around]:
    opened, held = case.device.ensure_open(), []
    free, total = opened.memory_info()
    try:
        with suppress(px.OutOfMemoryError):
            while (size := min(case.device.info.max_allocation, free - int(total * _LEFT))) > 0:
                held.append(opened.alloc(size))
                free -= size
        yield lambda run: run()
    finally:
        for handle in held:
            opened.free(handle)


@contextmanager
def _threads(case: Case, count: int) -> Iterator[Around]:
    opened = case.device.ensure_open()
    before = opened.threads()
    opened.threads(count)
    try:
        yield lambda run: run()
    finally:
        opened.threads(before)
