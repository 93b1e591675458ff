"""Looks at plugins in a child process: one that crashes or hangs is reported and not suffered.

The parent calls ``run``; the child, ``python -P -m phalanx.discovery.probe TASK ARGUMENTS...``,
writes one JSON object per line: ``{"at": ...}`` before every step that may not return,
``{"result": ...}`` at the end, or ``{"setting": ...}`` for a variable with a wrong value.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from phalanx.errors import SettingError

from .guard import Observer

_STDERR_LINES = 6


@dataclass(frozen=True, slots=True)
class Report:
    """What a child told: its ``result``, or the ``failure`` and ``at`` which step it happened."""

    result: Any = None
    failure: str = ""
    at: str = ""
    stderr: str = ""


def run(task: str, *args: str, limit: float, env: Mapping[str, str] | None = None) -> Report:
    """Run a task in a child process for at most ``limit`` seconds; raises for nothing it does.

    Raises:
        SettingError: a variable has a value that is not allowed, which is no plugin's fault.
    """
    # -P: with -m alone, Python would import modules from the current directory first.
    command = [
        sys.executable,
        "-P",
        "-X",
        "faulthandler",
        "-m",
        "phalanx.discovery.probe",
        task,
        *args,
    ]
    environment = dict(os.environ if env is None else env)
    environment["PYTHONPATH"] = os.pathsep.join(entry for entry in sys.path if entry)
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    ) as child:
        timed_out = False
        try:
            out, err = child.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            timed_out = True
            child.kill()
            out, err = child.communicate()
        finally:
            if child.poll() is None:  # Ctrl-C while we waited
                child.kill()
    return _read(out, err, child.returncode, limit if timed_out else None)


def _read(out: bytes, err: bytes, code: int, limit: float | None) -> Report:
    at, result = "", None
    for line in out.decode("utf-8", "replace").splitlines():
        try:
            message = json.loads(line)
        except ValueError:
            continue  # the last line of a child that died while it wrote
        if setting := message.get("setting"):
            raise SettingError(setting["detail"], remedy=setting["remedy"])
        at = message.get("at", at)
        result = message.get("result", result)
    stderr = "\n".join(err.decode("utf-8", "replace").strip().splitlines()[:_STDERR_LINES])
    failure = ""
    if result is None:
        failure = f"no answer within {limit:g} s" if limit is not None else _how_it_ended(code)
    return Report(result, failure, at, stderr)


def _how_it_ended(code: int) -> str:
    if code < 0:
        try:
            return f"crashed with {signal.Signals(-code).name}"
        except ValueError:
            return f"was killed by signal {-code}"
    return f"ended with exit code {code}"


# What follows runs in the child.


def _plugins(observe: Observer, level: str) -> dict[str, Any]:
    """Load the plugins that PHALANX_PLUGINS allows, and diagnose each of their devices."""
    from phalanx.steps import Status

    from .diagnosis import driver_steps, why
    from .plugins import host

    observe("its import")
    plugins = [
        {
            "name": plugin.name,
            "origin": plugin.origin,
            "state": plugin.state.value,
            "reason": plugin.reason,
            "remedy": "; ".join(plugin.remedies),
            "drivers": list(plugin.drivers),
        }
        for plugin in host().plugins()
        if plugin.state.value != "excluded"
    ]
    devices = []
    errors = []
    notes = []
    for name, driver in host().drivers().items():
        observe(f"the library of driver {name!r}")
        steps = driver_steps(driver)
        notes += [step.to_dict() for step in steps if step.remedy and step.status != Status.FAIL]
        if any(step.status is Status.ABSENT for step in steps):
            continue
        observe(f"the listing of the devices of driver {name!r}")
        listing = host().listing(name)
        if listing.error is not None:
            errors.append(_error(name, listing.error))
        errors += [_error(f"{name}:{index}", error) for index, error in listing.broken.items()]
        for device in listing.devices:

            def watch(step: str, where: str = device.name) -> None:
                observe(f"the step {step!r} of {where}")

            found = why(device, observe=watch).to_dict()
            if found["usable"] and level == "short":
                observe(f"a computation on {device.name}")
                found["computed"], found["lacks"] = _compute(device.name)
            devices.append(found)
    _remember_libraries()
    return {"plugins": plugins, "devices": devices, "errors": errors, "notes": notes}


def _remember_libraries() -> None:
    """Take back what was held against a library at its first sight: it did no harm now."""
    library = sys.modules.get("phalanx.abi.library")
    if library is not None:
        from phalanx.abi import first_sight

        first_sight.passed(library.opened_libraries())


def _error(name: str, error: BaseException) -> dict[str, str]:
    from .guard import detail_and_remedy

    detail, remedy = detail_and_remedy(error)
    return {"name": name, "detail": detail, "remedy": remedy}


def _compute(name: str) -> tuple[str, str]:
    """Copy, add and sum on a device; return what went wrong and what has no kernel, or nothing."""
    import numpy as np
    import phalanx as px
    from phalanx.errors import PhalanxError, UnsupportedOpError

    values, whole = np.arange(4099, dtype=np.float32), np.arange(4099, dtype=np.int64)
    trials: tuple[tuple[str, Callable[[], Any], Any], ...] = (
        ("a copy to the device and back", lambda: px.asarray(values, device=name), values),
        ("x + x on float32", lambda: (x := px.asarray(values, device=name)) + x, values + values),
        ("the sum of int64 0..4098", lambda: px.sum(px.asarray(whole, device=name)), whole.sum()),
    )
    lacks = []
    for what, compute, want in trials:
        try:
            found = px.asnumpy(compute())
        except UnsupportedOpError as error:
            lacks.append(f"{what} has no kernel ({error})")
            continue
        except (PhalanxError, RuntimeError, ValueError, TypeError, MemoryError) as error:
            return f"{what}: {type(error).__name__}: {error}", ""
        if not np.array_equal(found, want):
            return f"{what} has wrong values", ""
    return "", "; ".join(lacks)


def _default(observe: Observer) -> dict[str, Any]:
    """Find what the default device and the alias gpu stand for with all plugins together."""
    from phalanx.errors import PhalanxError

    from .devices import get_device, is_available
    from .plugins import host

    observe("the choice of the default device")
    try:
        default, reason = get_device().name, ""
    except PhalanxError as error:
        default, reason = "", str(error)
    return {
        "default": default,
        "reason": reason,
        "gpu": default != "" and is_available("gpu"),
        "conflicts": [_error(name, error) for name, error in host().conflicts().items()],
        "unknown_allowed": list(host().unknown_allowed()),
    }


def _why(observe: Observer, name: str) -> dict[str, Any]:
    from .diagnosis import why

    return why(name, observe=lambda step: observe(f"the step {step!r}")).to_dict()


def _abi(observe: Observer, path: str) -> dict[str, Any]:
    from phalanx.abi.check import check_library

    return check_library(path, observe)


def _abi_trial(observe: Observer, path: str, index: str, trial: str) -> dict[str, Any]:
    from phalanx.abi.trials import run_trial

    return run_trial(path, int(index), trial, observe)


def main(arguments: list[str]) -> int:
    """Run one task; plugins that print must not garble the answer, so stdout goes to stderr."""
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(**message: Any) -> None:
        answer.write(json.dumps(message) + "\n")
        answer.flush()

    def observe(at: str) -> None:
        say(at=at)

    tasks: dict[str, Callable[..., Any]] = {
        "plugins": _plugins,
        "default": _default,
        "why": _why,
        "abi": _abi,
        "abi-trial": _abi_trial,
    }
    from phalanx.abi import first_sight

    # The others tell what any process meets, which never opens what failed at its first sight.
    first_sight.is_sacrificial = arguments[0] in ("plugins", "abi", "abi-trial")
    try:
        say(result=tasks[arguments[0]](observe, *arguments[1:]))
    except SettingError as error:
        say(setting=_error("", error))
    answer.close()
    # A plugin may have left a hanging thread or broken exit handlers; the answer is complete.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
