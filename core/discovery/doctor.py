"""``phalanx doctor``: is this installation in order, and does every device work."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import Any

from phalanx.dispatch.fallback import fallback_policy
from phalanx.errors import SettingError

from . import plugins, probe
from .guard import detail_and_remedy, time_limit
from .loading import allowed, names_of

LEVELS = ("quick", "short")
#: Seconds for each child process.
DEFAULT_LIMIT = 60.0


class Verdict(StrEnum):
    """How a check ended; ``unknown`` if it could not be made.

    ``absent``: something optional is not installed, which is as good as ``ok``.
    """

    OK = "ok"
    ABSENT = "absent"
    WARNING = "warning"
    CRITICAL = "critical"
    UNKNOWN = "unknown"


#: Exit codes, as monitoring systems know them.
EXIT_CODES = {
    Verdict.OK: 0,
    Verdict.ABSENT: 0,
    Verdict.WARNING: 1,
    Verdict.CRITICAL: 2,
    Verdict.UNKNOWN: 3,
}
_GRAVITY = (Verdict.ABSENT, Verdict.OK, Verdict.WARNING, Verdict.UNKNOWN, Verdict.CRITICAL)


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the report."""

    name: str
    verdict: Verdict
    detail: str
    remedy: str = ""

    def to_dict(self) -> dict[str, str]:
        """Return plain data for JSON."""
        return {
            "name": self.name,
            "verdict": self.verdict.value,
            "detail": self.detail,
            "remedy": self.remedy,
        }


def worst(checks: Iterable[Check]) -> Verdict:
    """Return the gravest verdict; critical is graver than unknown."""
    return max((check.verdict for check in checks), key=_GRAVITY.index, default=Verdict.UNKNOWN)


def run_checks(level: str = "quick", limit: float = DEFAULT_LIMIT) -> Iterator[Check]:
    """Yield the checks one by one; plugins run in child processes of ``limit`` seconds each.

    ``"quick"`` opens every device, ``"short"`` also computes on it. A variable with a value that is
    not allowed is the last that is looked at.

    Raises:
        ValueError: for another level.
    """
    if level not in LEVELS:
        raise ValueError(f"unknown level {level!r}; the levels are {', '.join(LEVELS)}")
    yield _system()
    yield from _packages()
    variables = list(_variables())
    yield from variables
    if worst(variables) is Verdict.CRITICAL:
        return  # no plugin is loaded with it, here or elsewhere
    usable = 0
    for name, origins in _installed().items():
        checks = list(_plugin(name, origins, level, limit))
        usable += sum(c.verdict is Verdict.OK and c.name.startswith("device ") for c in checks)
        yield from checks
    yield from _default(limit, usable)


def _system() -> Check:
    detail = (
        f"Python {platform.python_version()} on {platform.platform()}, {os.cpu_count()} processors"
    )
    return Check("system", Verdict.OK, detail)


def _packages() -> Iterator[Check]:
    from importlib import metadata

    versions = []
    for name in ("phalanx", "numpy", "cffi", "pluggy"):
        try:
            versions.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            yield Check(
                "packages", Verdict.WARNING, f"{name} has no metadata", f"pip install {name}"
            )
    yield Check("packages", Verdict.OK, ", ".join(versions))


#: The environment variables that something reads, without PHALANX_; our own tests' aside.
_VARIABLES = (
    *("CACHE_DIR", "CPU_ISA", "DEVICE", "FALLBACK", "GPU", "LOG"),
    *("NUM_THREADS", "PLUGINS", "PLUGIN_TIMEOUT", "PROBE"),
)
_LISTED = ", ".join(f"PHALANX_{name}" for name in _VARIABLES)


def _variables() -> Iterator[Check]:
    present = {k: v for k, v in sorted(os.environ.items()) if k.startswith("PHALANX_")}
    shown = ", ".join(f"{name}={value}" for name, value in present.items())
    try:
        time_limit()
        plugins.log_level()
        fallback_policy()
    except SettingError as error:
        yield Check("variables", Verdict.CRITICAL, *detail_and_remedy(error))
        return
    yield Check("variables", Verdict.OK, shown or "none of PHALANX_* is set")
    names = [name.removeprefix("PHALANX_") for name in present]
    for name in names:
        if name in _VARIABLES or name.startswith("TEST_"):
            continue
        near = get_close_matches(name, _VARIABLES, n=1)
        remedy = f"did you mean PHALANX_{near[0]}?" if near else f"there are {_LISTED}"
        yield Check("variables", Verdict.WARNING, f"nothing reads PHALANX_{name}", remedy)


def _installed() -> dict[str, list[str]]:
    """Return the distributions of each plugin name; nothing is imported."""
    found: dict[str, list[str]] = {}
    for entry in plugins.entry_points():
        origin = f"{entry.dist.name} {entry.dist.version}" if entry.dist else "unknown distribution"
        found.setdefault(entry.name, []).append(origin)
    return found


def _plugin(name: str, origins: list[str], level: str, limit: float) -> Iterator[Check]:
    label, origin = f"plugin {name}", " and ".join(origins)
    names = allowed()
    known = {n for o in origins for n in names_of(name, o.rpartition(" ")[0])}
    if names is not None and not names & known:
        yield Check(label, Verdict.OK, f"{origin}: left out by PHALANX_PLUGINS")
        return
    environment = {**os.environ, "PHALANX_PLUGINS": ",".join(known & (names or {name}))}
    report = probe.run("plugins", level, limit=limit, env=environment)
    if report.failure:
        tail = f" | {' | '.join(report.stderr.splitlines())}" if report.stderr else ""
        yield Check(
            label,
            Verdict.CRITICAL if report.at else Verdict.UNKNOWN,
            f"{origin}: {report.failure} at {report.at or 'start'}{tail}",
            f"leave it out through PHALANX_PLUGINS and report it to the maker of {origins[0]}",
        )
        return
    yield from _from_report(label, report.result, level)


def _from_report(label: str, result: dict[str, Any], level: str) -> Iterator[Check]:
    absent = [note for note in result["notes"] if note["status"] == "absent"]
    for plugin in result["plugins"]:
        if plugin["reason"]:
            distribution = plugin["origin"].partition(" ")[0]
            remedy = plugin["remedy"] or f"update or uninstall {distribution}"
            yield Check(label, Verdict.WARNING, f"{plugin['origin']}: {plugin['reason']}", remedy)
        elif not absent:
            drivers = ", ".join(plugin["drivers"]) or "none"
            yield Check(label, Verdict.OK, f"{plugin['origin']}: drivers: {drivers}")
    for note in absent:
        yield Check(label, Verdict.ABSENT, f"not set up: {note['detail']}", note["remedy"])
    for note in result["notes"]:
        if note not in absent:
            detail = f"{note['name']}: {note['detail']}"
            yield Check(label, Verdict.WARNING, detail, note["remedy"])
    for error in result["errors"]:
        detail = f"{error['name']}: {error['detail']}"
        yield Check(label, Verdict.WARNING, detail, error["remedy"])
    for device in result["devices"]:
        yield _device(device, level)


def _device(device: dict[str, Any], level: str) -> Check:
    label = f"device {device['name']}"
    failed = [step for step in device["steps"] if step["status"] == "fail"]
    if failed:
        step = failed[0]
        return Check(label, Verdict.CRITICAL, f"{step['name']}: {step['detail']}", step["remedy"])
    if device.get("lacks"):
        remedy = "programs that need it run it elsewhere, if `phalanx.fallback_policy` allows it"
        return Check(label, Verdict.WARNING, f"not all was tried: {device['lacks']}", remedy)
    if device.get("computed"):
        remedy = "do not trust its results; update the plugin or the vendor's driver"
        return Check(label, Verdict.CRITICAL, device["computed"], remedy)
    about = next(s["detail"] for s in device["steps"] if s["name"] == "device")
    done = "opened, copies and computes" if level == "short" else "opened"
    return Check(label, Verdict.OK, f"{about}: {done}")


def _default(limit: float, usable: int) -> Iterator[Check]:
    report = probe.run("default", limit=limit)
    if report.failure:
        detail = f"{report.failure} at {report.at or 'start'}"
        yield Check("default device", Verdict.CRITICAL if report.at else Verdict.UNKNOWN, detail)
        return
    result = report.result
    for conflict in result["conflicts"]:
        yield Check("conflict", Verdict.WARNING, conflict["detail"], conflict["remedy"])
    for name in result["unknown_allowed"]:
        detail = f"PHALANX_PLUGINS names {name!r}, and no installed plugin is called so"
        yield Check("variables", Verdict.WARNING, detail, "correct or unset PHALANX_PLUGINS")
    if not result["default"]:
        first = result["reason"].partition("\n")[0]
        wanted = os.environ.get("PHALANX_DEVICE", "").strip() or "cpu"
        remedy = f"`phalanx why {wanted}` shows every step"
        yield Check("default device", Verdict.CRITICAL, first, remedy)
    elif not usable:
        detail = f"{result['default']} is listed, and no device passed its check"
        yield Check("default device", Verdict.CRITICAL, detail)
    else:
        yield Check("default device", Verdict.OK, result["default"])
