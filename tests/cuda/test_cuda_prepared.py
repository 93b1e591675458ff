"""Launches on CUDA: parameters in one buffer, and what is prepared for those that come again."""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import phalanx as px
import pytest
from fake_cuda.kit import Card
from fake_cuda.library import FFI
from phalanx.device_plugins.cuda import device as cuda_device
from phalanx.device_plugins.cuda.launch import BoundKernel
from phalanx.errors import DeviceLostError, LaunchError

pytestmark = pytest.mark.needs_cpu


def numbers(card: Card, count: int, seed: int = 0) -> tuple[Any, px.Array]:
    host = np.random.default_rng(seed).integers(-99, 99, count).astype(np.float32)
    return host, px.asarray(host, device=card.device, copy=True)


def watched(card: Card, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ops of launches that go the ordinary way from now on."""
    went: list[str] = []
    ordinary = cuda_device.LaunchEnv.enqueue

    def noted(env: Any, *args: Any) -> None:
        went.append(env._label.op)
        ordinary(env, *args)

    monkeypatch.setattr(cuda_device.LaunchEnv, "enqueue", noted)
    return went


def test_a_launch_that_comes_again_takes_the_short_way(
    card: Card, monkeypatch: pytest.MonkeyPatch
) -> None:
    went = watched(card, monkeypatch)
    for seed in range(5):
        host, x = numbers(card, 33, seed)
        i = px.asarray([3, 1], device=card.device)
        assert (px.asnumpy(x * 2 + x) == host * 3).all()
        assert (px.asnumpy(x[1:] - x[:-1]) == host[1:] - host[:-1]).all()
        assert float(px.sum(x)) == host.sum()
        assert px.asnumpy(px.sort(x)).tolist() == sorted(host)
        assert px.asnumpy(px.take(x, i)).tolist() == [host[3], host[1]]
        if seed == 1:
            went.clear()
    assert went == []


def test_parameters_of_any_alignment(card: Card) -> None:
    """Numbers of 1 to 16 bytes stand in front of a struct of 4-byte ones, whose place they move."""
    for dtype in ("bool", "int8", "int16", "float32", "float64", "complex64", "complex128"):
        host = (np.arange(12).reshape(3, 4) % 2).astype(dtype)
        x = px.asarray(host, device=card.device)
        for _ in range(3):
            made = px.where(x.T == x.T, x.T, host.dtype.type(1).item())
            assert (px.asnumpy(made) == host.T).all()
    assert card.library.said == ""


@pytest.mark.parametrize("missing", [set(), {"cuFuncGetParamInfo"}])
def test_an_older_driver_gets_a_pointer_to_each(
    make_card: Callable[..., Card], missing: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    card = make_card()
    card.library.missing |= missing
    went = watched(card, monkeypatch)
    for _ in range(4):
        host, x = numbers(card, 40)
        assert (px.asnumpy(x + x.T) == 2 * host).all()
        part = px.where(x > 0, x, 1)[::2]  # numbers, and structs of any alignment
        want = np.where(host > 0, host, 1)[::2]
        assert (px.asnumpy(part + part[::-1]) == want + want[::-1]).all()
        assert px.asnumpy(px.sort(x)).tolist() == sorted(host)
    assert went.count("add") == 2  # once contiguous, once strided
    packed = [kernel.name for kernel in card.opened.bound.values() if kernel.packing]
    assert bool(packed) != bool(missing)


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ((b"\0" * 8,), r"takes parameters of \[.*\] bytes, and its recipe gives \[8\]"),
        ((b"\0" * 8,) * 9, r"recipe gives \[8, 8, 8, 8, 8, 8, 8, 8, 8\]"),
        ((b"\0" * 8, b"\0" * 4, b"\0" * 8, b"\0" * 8), r"recipe gives \[8, 4, 8, 8\]"),
    ],
)
def test_a_recipe_that_passes_something_else_is_refused(
    card: Card, args: Sequence[bytes], told: str
) -> None:
    opened = card.opened
    probe = next(kernel for kernel in opened.bound.values() if kernel.name == "probe")
    anew = BoundKernel(probe.raw, probe.name, probe.limit)
    before = card.library.calls["cuLaunchKernel"]
    with pytest.raises(LaunchError, match=told):
        cuda_device.put(opened, opened.default, "", anew, ((1, 1, 1), (1, 1, 1)), args)
    assert card.library.calls["cuLaunchKernel"] == before
    assert anew.packing is None


def test_the_library_takes_no_other_buffer(card: Card) -> None:
    """One that is too short, both ways at once, or none: the fake is as strict as a driver."""
    opened = card.opened
    probe = next(kernel for kernel in opened.bound.values() if kernel.name == "probe")
    room, size = FFI.new("char[]", struct.pack("<4Q", 0, 0, 0, 0)), FFI.new("size_t *", 24)
    ends = [FFI.cast("void *", mark) for mark in (1, 2, 0)]
    extra = FFI.new("void *[]", [ends[0], room, ends[1], size, ends[2]])
    parameters = FFI.new("void *[]", [room + 8 * i for i in range(4)])
    for given in ((FFI.NULL, extra), (parameters, extra), (FFI.NULL, FFI.NULL)):
        with pytest.raises(Exception, match="INVALID_VALUE"):
            opened.context.call(
                "cuLaunchKernel", probe.raw, 1, 1, 1, 1, 1, 1, 0, opened.default.raw, *given
            )


def repeat(card: Card) -> Callable[[], px.Array]:
    """A launch that was prepared."""
    _, x = numbers(card, 20)
    for _ in range(3):
        px.asnumpy(x + x)
    return lambda: x + x


@pytest.mark.parametrize("code", [701, 999])
def test_a_refused_launch_is_told(card: Card, code: int) -> None:
    again = repeat(card)
    card.library.faults["cuLaunchKernel"] = [code]
    kind = LaunchError if code == 701 else DeviceLostError
    with pytest.raises(kind, match=r"add\(float32, float32, float32\).*cuLaunchKernel") as raised:
        again()
    if code == 701:
        assert "groups of" in str(raised.value)
        assert px.asnumpy(again()).shape == (20,)
    else:
        with pytest.raises(DeviceLostError, match="was lost before"):
            again()


@pytest.mark.parametrize("call", ["cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2"])
def test_a_context_that_cannot_be_entered_or_left_is_told(card: Card, call: str) -> None:
    again = repeat(card)
    card.library.faults[call] = [400]
    with pytest.raises(px.DriverCallError, match=rf"launch of add.*{call}"):
        again()
    assert px.asnumpy(again()).shape == (20,)


def test_another_context_of_the_thread_stays_current(card: Card) -> None:
    again = repeat(card)
    pushed = card.library.calls["cuCtxPushCurrent_v2"]
    now, other = FFI.new("CUcontext *"), FFI.cast("CUcontext", 77)
    for current in (other, card.opened.context.raw):
        card.library.cuCtxPushCurrent_v2(current)
        again()
        card.library.cuCtxGetCurrent(now)
        assert now[0] == current
        card.library.cuCtxPopCurrent_v2(now)
    assert card.library.calls["cuCtxPushCurrent_v2"] == pushed + 3  # two of them here
    assert px.asnumpy(again()).shape == (20,)


def test_a_closed_device_launches_nothing(card: Card) -> None:
    opened = card.opened
    kernel = opened.kernel("add", ("float32",) * 3, px.Layout.CONTIGUOUS)
    assert isinstance(kernel, px.Kernel)
    _, x = numbers(card, 8)
    stream = card.device.default_stream
    prepared = opened.prepare(kernel, [x, x], [x], (), stream=stream)
    assert prepared is not None
    del x
    card.device.close()
    with pytest.raises(px.ClosedError):
        prepared(bytes(48), stream)


def test_indices_out_of_range_are_told_each_time(card: Card) -> None:
    """The check behind a prepared launch is that launch's, on somebody else's stream, too."""
    _, x = numbers(card, 10)
    good, bad = (px.asarray(i, device=card.device) for i in ([1, 2, 3], [1, 2, 30]))
    px.synchronize(card.device)
    raw = card.opened.context.get("cuStreamCreateWithPriority", "CUstream", 1, 0)
    foreign = px.Stream.from_handle(card.device, int(FFI.cast("uintptr_t", raw)))
    for stream in (card.device.default_stream, foreign):
        with stream:
            for indices in (good, good, good, bad, good, bad):
                if indices is good:
                    assert px.asnumpy(px.take(x, indices)).shape == (3,)
                else:
                    with pytest.raises(IndexError, match="index 30 at place 2"):
                        px.asnumpy(px.take(x, indices))


def test_threads_on_one_stream_and_on_their_own(card: Card) -> None:
    """One prepared launch in eight threads: places of one are never another's."""
    wrong: list[str] = []
    shared = px.Stream(card.device)

    def work(number: int) -> None:
        host, x = numbers(card, 101, number)
        with shared if number % 2 else px.Stream(card.device):
            for _ in range(10):
                y = px.sum(x * x, keepdims=True) + x
                if (px.asnumpy(y) != (host * host).sum() + host).any():
                    wrong.append(f"thread {number}")

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(240)
    assert not wrong
