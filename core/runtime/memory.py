"""Statistics, limits and the explanation of an out-of-memory error."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate
from typing import Any

from phalanx._warm import Device
from phalanx.errors import OutOfMemoryError

#: What forgets the arrays that the core keeps for later, such as the tables of transforms.
_keepers: list[Callable[[], None]] = []


def on_empty_cache(drop: Callable[[], None]) -> None:
    """Let ``empty_cache`` call this before it gives memory back."""
    _keepers.append(drop)


def _device(device: str | Device | None) -> Device:
    from phalanx.discovery.devices import find_device, get_device

    found = get_device() if device is None else find_device(device)
    found.ensure_open()
    return found


def memory_stats(device: str | Device | None = None) -> dict[str, Any]:
    """Return the pool's statistics of a device (default: the current one), sizes in bytes.

    ``requested`` is what callers asked for, ``allocated`` the rounded sizes in use, ``reserved``
    what the driver gave, each with its ``_peak``; ``pending`` waits for streams; ``allocs`` and
    ``frees`` count calls; ``largest_free`` is the largest free block and ``fragmentation`` is
    1 - largest_free / free.

    Examples:
        >>> x = px.zeros(1000)
        >>> px.memory_stats()["requested"] >= x.nbytes
        True
    """
    stats: dict[str, Any] = _device(device).pool.stats()
    return stats


def reset_peak_memory_stats(device: str | Device | None = None) -> None:
    """Set the peaks of ``memory_stats`` to the present values.

    Examples:
        >>> px.reset_peak_memory_stats()
        >>> stats = px.memory_stats()
        >>> stats["requested_peak"] == stats["requested"]
        True
    """
    _device(device).pool.reset_peaks()


def empty_cache(device: str | Device | None = None) -> int:
    """Give cached memory that nobody uses back to the driver; return the bytes given back.

    Tables that are kept between transforms are forgotten as well, those of all devices.

    Examples:
        >>> before = px.memory_stats()["reserved"]
        >>> released = px.empty_cache()
        >>> px.memory_stats()["reserved"] == before - released
        True
    """
    where = _device(device)
    for drop in _keepers:
        drop()
    released: int = where.pool.trim()
    return released


def set_memory_limit(size: int | str | None, device: str | Device | None = None) -> None:
    """Let the pool of a device reserve at most ``size`` bytes; ``None`` removes the limit.

    A text has a unit, as ``"512 MiB"`` or ``"1.5GB"``: powers of 1024 with an i, of 1000 without.

    Raises:
        ValueError: a limit that is not positive, or no number of bytes.

    Examples:
        >>> px.set_memory_limit("512 MiB")
        >>> px.memory_stats()["limit"]
        536870912
        >>> px.set_memory_limit(None)
    """
    limit = parse_size(size) if isinstance(size, str) else size
    if limit is not None and (isinstance(limit, bool) or not hasattr(limit, "__index__")):
        raise TypeError(
            "a memory limit is a number of bytes, a text such as '512 MiB' or None, got "
            f"{type(size).__name__}"
        )
    if limit is not None and limit <= 0:
        raise ValueError(f"a memory limit is a positive number of bytes or None, got {size}")
    _device(device).pool.set_limit(limit or 0)


_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", re.IGNORECASE)


def parse_size(text: str) -> int:
    """Return the bytes that a text such as ``"512 MiB"`` names.

    Raises:
        ValueError: it names none.
    """
    found = _SIZE.fullmatch(text)
    if found is None or (found[3] and not found[2]):
        raise ValueError(
            f"a size is a number with a unit such as '512 MiB' or '1.5GB', got {text!r}"
        )
    power = " kmgt".index(found[2].lower() or " ")
    return int(float(found[1]) * (1024 if found[3] else 1000) ** power)


def format_size(size: float) -> str:
    """Return bytes as a short text with a binary unit."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(size) < 1024 or unit == "TiB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    raise AssertionError


_ROWS = (
    ("requested by callers", "requested"),
    ("allocated in blocks", "allocated"),
    ("reserved from the driver", "reserved"),
)


def memory_summary(device: str | Device | None = None) -> str:
    """Return a table of the pool's state and a line per segment, for people to read.

    Examples:
        >>> print(px.memory_summary("cpu:0"))
        Memory of cpu:0 ...
                                           now        peak
        requested by callers ...
    """
    where = _device(device)
    stats = where.pool.stats()
    limit = format_size(stats["limit"]) if stats["limit"] else "none"
    lines = [f"Memory of {where} ({where.info.name})", f"{'':26}{'now':>12}{'peak':>12}"]
    for label, key in _ROWS:
        now, peak = format_size(stats[key]), format_size(stats[f"{key}_peak"])
        lines.append(f"{label:26}{now:>12}{peak:>12}")
    lines += [
        f"{'free in the pool':26}{format_size(stats['free']):>12}",
        f"{'largest free block':26}{format_size(stats['largest_free']):>12}",
        f"{'waiting for streams':26}{format_size(stats['pending']):>12}",
        f"limit {limit}; fragmentation {stats['fragmentation']:.0%}; "
        f"{stats['allocs']} allocations, {stats['frees']} releases, "
        f"{stats['misses']} misses, {stats['retries']} retries",
    ]
    return "\n".join(lines + _segment_lines(where))


_MAP_WIDTH = 48
_MAP_SIGNS = {"used": "#", "queued": "#", "pending": "?", "free": "."}


def _segment_lines(device: Device, most: int = 12) -> list[str]:
    """One map line per segment: ``#`` used, ``?`` waiting for a stream, ``.`` free."""
    segments: dict[int, list[dict[str, Any]]] = {}
    for block in device.pool.snapshot():
        segments.setdefault(block["segment"], []).append(block)
    lines = []
    for number, blocks in list(segments.items())[:most]:
        starts = list(accumulate((b["size"] for b in blocks), initial=0))  # without what has none
        size = starts.pop()
        signs = []
        for column in range(_MAP_WIDTH):
            at = bisect_right(starts, size * column // _MAP_WIDTH) - 1
            signs.append(_MAP_SIGNS[blocks[at]["state"]])
        lines.append(f"segment {number:<4}{format_size(size):>11} [{''.join(signs)}]")
    if len(segments) > most:
        lines.append(f"and {len(segments) - most} more segments")
    return lines


def out_of_memory(device: Device, size: int, verdict: str) -> OutOfMemoryError:
    """Return the error for a request that no remedy could serve, with verdict and advice."""
    stats = device.pool.stats()
    free, total = device.ensure_open().memory_info()
    verdict = verdict or _verdict(size, stats, free, total)
    advice = {
        "limit": f"the limit of {format_size(stats['limit'])} is in force; raise it with "
        f"phalanx.set_memory_limit(size, '{device}')",
        "fragmented": "enough is free in the pool, but not in one piece; free large arrays first "
        "or allocate the largest arrays early",
        "pending": "memory waits for streams that are still working; synchronize them",
        "foreign": "other processes or libraries hold the device's memory",
        "genuine": "the device has no room for it; use smaller batches or free arrays",
    }[verdict]
    message = (
        f"{device} cannot allocate {format_size(size)} ({size} bytes): {verdict}: {advice}.\n"
        f"device: {_free_of(free, total)}; pool: "
        f"{format_size(stats['allocated'])} allocated, {format_size(stats['reserved'])} reserved, "
        f"largest free block {format_size(stats['largest_free'])}, "
        f"{format_size(stats['pending'])} waiting for streams, "
        f"fragmentation {stats['fragmentation']:.0%}"
    )
    return OutOfMemoryError(
        "\n".join([message, *_segment_lines(device, 4)]), size=size, verdict=verdict
    )


def _free_of(free: int, total: int) -> str:
    if total == 0:
        return "its driver does not tell how much is free"
    return f"{format_size(free)} of {format_size(total)} free"


def _verdict(size: int, stats: dict[str, Any], free: int, total: int) -> str:
    if stats["pending"] >= size:
        return "pending"
    if stats["free"] >= size > stats["largest_free"]:
        return "fragmented"
    if total and size <= total and total - free - stats["reserved"] > total // 2:
        return "foreign"
    return "genuine"
