"""Pages beside an array that nobody may touch."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import phalanx as px
import pytest
from phalanx.conformance.fences import Fenced, can_fence

_TOUCH = """
import ctypes, sys
import numpy as np
import phalanx as px
from phalanx.conformance.fences import Fenced
place, at_end, size = int(sys.argv[1]), sys.argv[2] == "end", int(sys.argv[3])
fenced = Fenced(px.devices("cpu")[0], np.arange(size, dtype=np.uint8), at_end=at_end)
ctypes.string_at(fenced._host.ctypes.data + place, 1)
print("alive")
"""


@pytest.mark.parametrize(
    ("place", "where", "alive"),
    [(99, "end", True), (100, "end", False), (-1, "begin", False), (0, "begin", True)],
)
def test_pages_are_barred(place: int, where: str, alive: bool) -> None:
    command = [sys.executable, "-c", _TOUCH, str(place), where, "100"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout.strip() == "alive") is alive, done.stderr


@pytest.mark.parametrize("at_end", [False, True])
@pytest.mark.parametrize("shape", [(0,), (), (3, 5), (70_000,)])
def test_elements_are_there(shape: tuple[int, ...], at_end: bool) -> None:
    device = px.devices("cpu")[0]
    assert can_fence(device)
    x = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    fenced = Fenced(device, x, at_end=at_end)
    assert np.array_equal(fenced.read(), x)
    assert fenced.array.shape == shape
