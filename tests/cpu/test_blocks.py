"""Blocks of the CPU's driver: alignment, contents and return of small and of mapped ones."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import phalanx as px
import pytest
from phalanx.conformance.blocks import read_block, write_block

pytestmark = pytest.mark.needs_cpu
MIB = 1 << 20
SIZES = (1, 4095, MIB, 4 * MIB - 1, 4 * MIB, 4 * MIB + 1, 9 * MIB + 4097)


def test_blocks_of_both_kinds_are_apart(cpu: px.Device) -> None:
    """Each keeps what was written to it, to its last byte, while others come and go."""
    opened = cpu.ensure_open()
    rng = np.random.default_rng(3)
    kept: dict[int, np.ndarray] = {}
    for _ in range(30):
        size = int(rng.choice(SIZES))
        handle, data = opened.alloc(size), rng.integers(0, 256, size, np.uint8)
        assert handle % cpu.info.alignment == 0
        write_block(cpu, handle, data)
        kept[handle] = data
        if len(kept) > 8:
            gone = int(rng.choice(list(kept)))
            assert np.array_equal(read_block(cpu, gone, kept[gone].size), kept.pop(gone))
            opened.free(gone)
    for handle, data in kept.items():
        assert np.array_equal(read_block(cpu, handle, data.size), data)
        opened.free(handle)


def _mapping(address: int) -> str:
    """The line of the process's mappings in which an address lies."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        low, high = (int(end, 16) for end in re.split("[- ]", line, maxsplit=2)[:2])
        if low <= address < high:
            return line
    pytest.fail(f"nothing lies at {address:#x}")


def test_large_blocks_are_no_part_of_the_heap(cpu: px.Device) -> None:
    """They lie on pages of their own, though blocks as large were freed to the heap before."""
    opened = cpu.ensure_open()
    for _ in range(3):  # the C library maps blocks, until it has seen some go
        opened.free(opened.alloc(20 * MIB))
        np.ones(20 * MIB, np.uint8).sum()
    handle = opened.alloc(5 * MIB)
    try:
        assert "[heap]" not in _mapping(handle)
        assert handle % (2 * MIB) == 0
    finally:
        opened.free(handle)
