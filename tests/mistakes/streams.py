"""Streams, events, memory and the settings of a process."""

from __future__ import annotations

import phalanx as px

from .kit import Mistake

MISTAKES = (
    Mistake(
        "px.Stream(0)",
        TypeError,
        "a device is a string such as 'cpu:0' or a Device, not 0; say of which kind, as in 'gpu:0'",
    ),
    Mistake(
        "px.Event(device).synchronize()",
        ValueError,
        "the event was never recorded: call stream.record() or event.record()",
    ),
    Mistake(
        "px.Event(device).elapsed_time(px.Event(device))",
        ValueError,
        "an event is not recorded or not passed: call synchronize() first",
    ),
    Mistake(
        "st = px.Stream(device); st.close(); st.record()",
        px.ClosedError,
        "this stream of {device} is closed; make a new Stream",
    ),
    Mistake(
        "st = px.Stream(device); st.close(); st.synchronize()",
        px.ClosedError,
        "this stream of {device} is closed; make a new Stream",
    ),
    Mistake(
        "st = px.Stream(device); st.__exit__(None, None, None)",
        RuntimeError,
        "a `with` block of a stream of {device} ends where it is not the current one: leave "
        "it in the thread or task that entered it, inner blocks first",
    ),
    Mistake(
        'px.Event("fake:0").record(px.Stream(device))',
        px.DeviceMismatchError,
        "an event of fake:0 cannot be recorded in a stream of {device}",
    ),
    Mistake(
        "px.Stream(device).synchronize(-1)",
        ValueError,
        "a timeout is a number of seconds from 0 up or None, not -1",
    ),
    Mistake(
        "px.synchronize(device, timeout=-1)",
        ValueError,
        "a timeout is a number of seconds from 0 up or None, not -1",
    ),
    Mistake(
        'px.synchronize(device, timeout="1")',
        TypeError,
        "a timeout is a number of seconds from 0 up or None, not '1'",
    ),
    Mistake(
        'px.synchronize(timeout=float("nan"))',
        ValueError,
        "a timeout is a number of seconds from 0 up or None, not nan",
    ),
    Mistake(
        'px.hazards("off")',
        ValueError,
        'unknown hazard mode \'off\'; use "auto" or "manual"',
    ),
    Mistake(
        'px.fallback_policy("never")',
        ValueError,
        'unknown fallback policy \'never\'; use "error", "warn" or "allow"',
    ),
    Mistake(
        "px.use_deterministic_algorithms(True)",
        ValueError,
        'unknown mode True; use "bitwise", "reproducible" or None',
    ),
    Mistake(
        'px.set_memory_limit("1XB", device)',
        ValueError,
        "a size is a number with a unit such as '512 MiB' or '1.5GB', got '1XB'",
    ),
    Mistake(
        'px.set_memory_limit("", device)',
        ValueError,
        "a size is a number with a unit such as '512 MiB' or '1.5GB', got ''",
    ),
    Mistake(
        "px.set_memory_limit(-5, device)",
        ValueError,
        "a memory limit is a positive number of bytes or None, got -5",
    ),
    Mistake(
        "px.set_memory_limit(1.5, device)",
        TypeError,
        "a memory limit is a number of bytes, a text such as '512 MiB' or None, got float",
    ),
    Mistake(
        'px.set_memory_limit(device, "1GB")',
        TypeError,
        "a memory limit is a number of bytes, a text such as '512 MiB' or None, got Device",
    ),
    Mistake(
        'px.set_allocator("pool", device)',
        TypeError,
        "an allocator is a phalanx.Allocator or None, got str",
    ),
    Mistake(
        "px.LimitAllocator(device.pool, 0)",
        ValueError,
        "a limit is a positive number of bytes, got 0",
    ),
    Mistake(
        'px.LimitAllocator(device.pool, "1GB")',
        TypeError,
        "a limit is a number of bytes, got '1GB'",
    ),
    Mistake(
        "px.FaultInjectionAllocator(device.pool, first=0)",
        ValueError,
        "first counts from 1 and every from 0, got 0 and 0",
    ),
    Mistake(
        "px.memory_stats(x)",
        TypeError,
        "a device is a string such as 'cpu:0' or a Device, not an array (Array); write x.device",
    ),
    Mistake('px.kernels(op="exq")', ValueError, "no op 'exq' in the op table; did you mean exp?"),
)
