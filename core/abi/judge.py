"""``phalanx abi-check`` in the parent process: a library may crash or hang, and is told of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from phalanx.discovery import probe


def judge(path: Path, trials: Sequence[str] = (), *, limit: float) -> dict[str, Any]:
    """Look at a library in child processes of ``limit`` seconds each, which take all harm.

    Returns what ``check_library`` does, ``problems`` as objects with ``file``, ``field`` and
    ``detail``. A sound library goes through the ``trials``, names of ``TRIALS``: then ``trials``
    has, by device and trial, ``"ok"``, ``"fail"``, or why there was nothing to try.
    """
    report = probe.run("abi", str(path.absolute()), limit=limit)
    found: dict[str, Any] = report.result or {"path": str(path), "problems": [], "notes": []}
    if report.failure:
        found["problems"].append((report.at or "start", f"{report.failure}{_where(report)}"))
        found["stderr"] = report.stderr
    if trials and not found["problems"]:
        found["trials"] = {
            device["name"]: dict(_try(path, index, trials, found["problems"], limit))
            for index, device in enumerate(found.get("devices", ()))
        }
    file = Path(found["path"]).name
    found["problems"] = [
        {"file": file, "field": field, "detail": detail} for field, detail in found["problems"]
    ]
    return found


def _where(report: probe.Report) -> str:
    return f" at {report.at or 'start'}"


def _try(
    path: Path, index: int, trials: Sequence[str], problems: list[Any], limit: float
) -> Iterator[tuple[str, str]]:
    """Run each trial in a child process of its own; yield its name and how it ended."""
    for name in trials:
        report = probe.run("abi-trial", str(path.absolute()), str(index), name, limit=limit)
        before = len(problems)
        if report.failure:
            problems.append((name, f"{report.failure}{_where(report)}"))
        else:
            problems.extend(report.result["problems"])
        note = report.result["note"] if report.result else None
        yield name, "fail" if len(problems) > before else note or "ok"
