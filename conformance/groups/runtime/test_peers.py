"""Copies between two devices of a driver."""

from __future__ import annotations

import gc

import numpy as np
import phalanx as px
import pytest
from phalanx.conformance.blocks import check_bytes
from phalanx.conformance.case import Case
from phalanx.conformance.groups.runtime.busy import chain

#: Bytes that windows onto another device's memory do not hold.
_LARGE = (17 << 20) + 67


def _need_another(case: Case) -> None:
    if not case.others:
        pytest.skip("the driver has one device")


def test_from_another_device(case: Case) -> None:
    """Slices of some and of many bytes go from and to another device of the driver."""
    _need_another(case)
    data = case.rng().integers(0, 256, (3 << 20) + 67, np.uint8)
    for first, second in ((case.others[0], case.device), (case.device, case.others[0])):
        there = px.asarray(data, device=first)
        for part in (slice(None), slice(1001, None), slice(5, 70), slice(3, None, 7)):
            for stream in (second.default_stream, px.Stream(second)):
                with stream:
                    here = there[part].to_device(second)
                stream.synchronize()
                check_bytes(np.asarray(px.asnumpy(here)), data[part], f"{part} from {first}")


def test_much_from_another_device(case: Case) -> None:
    """More than windows onto another device's memory hold goes from and to it."""
    _need_another(case)
    size = min(case.device.info.max_allocation // 2, _LARGE)
    data = case.rng().integers(0, 256, size, np.uint8)
    for first, second in ((case.others[0], case.device), (case.device, case.others[0])):
        here = px.asarray(data, device=first)[5:].to_device(second)
        check_bytes(np.asarray(px.asnumpy(here)), data[5:], f"{size} bytes from {first}")


def test_from_another_device_opened_again(case: Case) -> None:
    """What comes from another device is what lies there, also when it was closed since."""
    _need_another(case)
    other, data = case.others[0], case.rng().integers(0, 256, 70_001, np.uint8)
    for number in range(3):
        want = data + np.uint8(number)
        there = px.asarray(want, device=other)
        here = there.to_device(case.device)
        check_bytes(np.asarray(px.asnumpy(here)), want, f"from {other}, time {number}")
        back = here.to_device(other)
        check_bytes(np.asarray(px.asnumpy(back)), want, f"to {other}, time {number}")
        del there, back
        gc.collect()
        other.close()
        other.ensure_open()


def test_from_another_device_behind_work(case: Case) -> None:
    """What comes from another device does not overwrite what queued work has still to read."""
    _need_another(case)
    for first, second in ((case.others[0], case.device), (case.device, case.others[0])):
        for size in (1 << 10, 1 << 18):
            there = px.ones(size, dtype=px.float32, device=first)
            with px.device(second):
                fives = px.full(size, 5, dtype=px.float32)
                result = chain(px.zeros(1 << 18, dtype=px.float32), 40)[:size] + fives
                del fives  # so that the copy may be given its block
                here = there.to_device(second)
                assert (px.asnumpy(result) == 45).all(), f"a copy from {first} came too early"
                assert (px.asnumpy(here) == 1).all(), f"a copy from {first} was overwritten"
