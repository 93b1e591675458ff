"""Devices that lie: the sound driver with one realistic fault each, to test the suite.

A fault is a class or a function with a decorator, in the file of its kind; its name is that of the
class or function, its summary the docstring.
"""

from __future__ import annotations

from difflib import get_close_matches

from . import (
    arithmetic,
    capabilities,
    circumstances,
    claims,
    complexes,
    conversions,
    counters,
    edges,
    eigenvalues,
    events,
    extents,
    factors,
    grids,
    habits,
    launches,
    lifetimes,
    long_rows,
    memory,
    mixups,
    networks,
    ordering,
    owners,
    pages,
    places,
    prepared,
    products,
    queues,
    randomness,
    reductions,
    scalars,
    segments,
    shortcuts,
    special,
    statements,
    stopping,
    threads,
    transforms,
    usual,
    waits,
)
from .device import SoundDriver
from .fault import FAULTS, NONE, Fault
from .unusual import UNUSUAL, Unusual, declare

__all__ = ["FAULTS", "NONE", "UNUSUAL", "Fault", "SoundDriver", "Unusual", "register"]
#: The files whose import fills ``FAULTS``.
_KINDS = (
    *(arithmetic, capabilities, circumstances, claims, complexes, conversions, counters),
    *(edges, eigenvalues, events),
    *(extents, factors, grids, habits, launches, lifetimes, long_rows, memory, mixups, networks),
    *(ordering, owners, pages, places, prepared, products),
    *(queues, randomness, reductions),
    *(
        scalars,
        segments,
        shortcuts,
        special,
        statements,
        stopping,
        threads,
        transforms,
        usual,
        waits,
    ),
)


def register(name: str) -> None:
    """Add the devices ``faulty:0`` and ``faulty:1`` with a fault to this process.

    ``"none"`` stands for the sound device, the names in ``UNUSUAL`` for those that are sound and
    unusual. ``unregister_driver("faulty")`` takes it back.

    Raises:
        ValueError: no such fault, with close matches.
        DeviceError: there is no ``cpu:0``, whose kernels compute.
    """
    from phalanx.discovery.devices import find_device
    from phalanx.discovery.plugins import host

    if name != NONE and name not in FAULTS and name not in UNUSUAL:
        close = get_close_matches(name, (*FAULTS, *UNUSUAL), 3)
        hint = f"did you mean {', '.join(close)}?" if close else f"use {NONE} or a key of FAULTS"
        raise ValueError(f"unknown fault {name!r}; {hint}")
    cpu = find_device("cpu:0")
    cpu.ensure_open()  # before the devices of the new driver are listed
    if name in UNUSUAL:
        declare(UNUSUAL[name])
        host().register_driver(UNUSUAL[name].build(cpu))
        return
    build = SoundDriver if name == NONE else FAULTS[name].build
    host().register_driver(build(cpu))
