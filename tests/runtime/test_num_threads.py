"""How many threads a kernel uses: ``core/runtime/threads.py``, and the CPU's pool behind it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import phalanx as px
import pytest

CPU = "cpu:0"
pytestmark = pytest.mark.skipif(not px.is_available(CPU), reason="there is no cpu:0")


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    before = px.get_num_threads(CPU)
    yield
    px.set_num_threads(before, CPU)


def threads_of_process() -> set[str]:
    return {path.name for path in Path("/proc/self/task").iterdir()}


def times(names: set[str]) -> dict[str, int]:
    """Ticks that threads have run so far, by their number."""
    found = {}
    for name in names:
        fields = Path(f"/proc/self/task/{name}/stat").read_text().rpartition(") ")[2].split()
        found[name] = int(fields[11]) + int(fields[12])
    return found


def test_what_is_set_is_there() -> None:
    assert px.set_num_threads(3, CPU) == 3
    assert px.get_num_threads(CPU) == 3
    cores = px.set_num_threads(0, CPU)
    assert 1 <= cores == px.get_num_threads(CPU)
    assert px.set_num_threads(10**9, CPU) <= 2**16  # what the device takes at most


def test_the_current_device_is_meant() -> None:
    with px.device(CPU):
        assert px.set_num_threads(2) == 2
        assert px.get_num_threads() == 2


def test_results_do_not_depend_on_it() -> None:
    rng = np.random.default_rng(5)
    x = px.asarray(rng.standard_normal((700, 700)).astype("f4"), device=CPU)
    keys = px.asarray(rng.integers(0, 1000, 300_000), device=CPU)
    found = set()
    for count in (1, 2, 5, 3, 1):
        px.set_num_threads(count, CPU)
        results = (x @ x.T, px.exp(x), px.softmax(x), px.cumulative_sum(x.ravel()), px.sort(keys),
                   px.nonzero(keys > 500)[0], px.sum(x), px.unique_values(keys))  # fmt: skip
        found.add(b"".join(px.asnumpy(result).tobytes() for result in results))
    assert len(found) == 1


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are told by /proc")
def test_one_thread_leaves_the_workers_alone() -> None:
    x = px.zeros((2000, 2000), dtype=px.float32, device=CPU)
    px.set_num_threads(4, CPU)
    px.exp(x)  # the workers are there now
    px.set_num_threads(1, CPU)
    workers = threads_of_process() - {str(threading.get_native_id())}
    before = times(workers)
    for _ in range(60):
        px.exp(x)
    after = times(workers & threads_of_process())
    assert sum(after[name] - before[name] for name in after) <= 2  # ticks: they went to sleep


def test_it_changes_while_others_compute() -> None:
    x = px.asarray(np.arange(400_000, dtype="f4") / 9, device=CPU)
    want = px.asnumpy(px.sort(px.sin(x)))
    wrong: list[Any] = []
    done = threading.Event()

    def compute() -> None:
        while not done.is_set():
            if not np.array_equal(px.asnumpy(px.sort(px.sin(x))), want):
                wrong.append(1)

    others = [threading.Thread(target=compute) for _ in range(2)]
    for thread in others:
        thread.start()
    for count in (1, 4, 2, 7, 1, 3) * 20:
        px.set_num_threads(count, CPU)
        px.exp(x)
    done.set()
    for thread in others:
        thread.join()
    assert not wrong


def test_a_device_that_does_not_tell(fake: px.Device) -> None:
    with pytest.raises(px.UnsupportedOpError, match=f"{fake} does not tell how many threads"):
        px.get_num_threads(fake)
    with pytest.raises(px.UnsupportedOpError, match="does not tell"):
        px.set_num_threads(2, fake)


@pytest.mark.parametrize("count", [1.5, "2", None, True])
def test_no_int(count: Any) -> None:
    with pytest.raises(TypeError, match="set_num_threads takes an int, got"):
        px.set_num_threads(count, CPU)


def test_less_than_none() -> None:
    with pytest.raises(ValueError, match="one thread per usable core, got -1"):
        px.set_num_threads(-1, CPU)
