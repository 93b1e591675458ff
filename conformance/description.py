"""What a device is and what is declared of it, asked in a child process that may crash or hang."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from phalanx.discovery.declarations import Declarations, Unsupported
from phalanx.discovery.guard import describe as error_text
from phalanx.discovery.guard import guard
from phalanx.errors import PhalanxError, PluginError

from .coverage import Coverage, coverage_of

if TYPE_CHECKING:
    from phalanx._warm import Device

#: What a device without ``Feature.FP64`` does not compute in; it may move elements of them.
NO_FP64 = tuple(
    Unsupported("the device states no fp64", dtype=d) for d in ("float64", "complex128")
)


@dataclass(frozen=True, slots=True)
class Description:
    """What a report says of a device; ``chain`` is set where it is not usable."""

    device: str
    usable: bool
    chain: str = ""
    identity: dict[str, Any] = field(default_factory=dict)
    declared: dict[str, Any] = field(default_factory=dict)
    native: int = 0
    overloads: int = 0
    coverage: Coverage = field(default_factory=dict)

    @property
    def tests(self) -> tuple[str, ...]:
        """The packages with the vendor's own tests."""
        return tuple(self.declared.get("tests", ()))


def declarations_of(device: Device) -> Declarations:
    """Return what all plugins declare about a device, with what its features imply.

    Raises:
        PluginError: a plugin's hook raises, hangs or returns something else, or the tests that it
            names are not there.
    """
    from phalanx.driver import Feature

    found = list(_declared(device))
    implied = () if device.info.features & Feature.FP64 else NO_FP64
    return Declarations(
        unsupported=implied + tuple(u for d in found for u in d.unsupported),
        expected_failures=tuple(e for d in found for e in d.expected_failures),
        waivers=tuple(w for d in found for w in d.waivers),
        tests=tuple(t for d in found for t in d.tests),
    )


def _declared(device: Device) -> Iterator[Declarations]:
    """Ask one plugin after the other, by name."""
    from phalanx.discovery.plugins import host

    manager = host().manager()
    plugins = {str(manager.get_name(plugin)): plugin for plugin in manager.get_plugins()}
    for name, plugin in sorted(plugins.items()):
        others = [other for other in plugins.values() if other is not plugin]
        hook = manager.subset_hook_caller("phalanx_conformance", others)
        what = f"phalanx_conformance() of plugin {name!r}"
        outcome = guard(partial(hook, device=device), what)
        if outcome.error is not None:
            before = "" if outcome.timed_out else f"{what}: "
            raise PluginError(before + error_text(outcome.error)) from outcome.error
        for declared in outcome.value or ():
            if isinstance(declared, Declarations):
                _need_tests(declared.tests, what)
                yield declared
            elif declared is not None:
                raise PluginError(
                    f"{what} returned {declared!r}",
                    remedy="return a phalanx.vendor.Declarations, or None of other devices",
                )


def _need_tests(modules: tuple[str, ...], what: str) -> None:
    for module in modules:
        outcome = guard(partial(find_spec, module), f"the import of {module}")
        if outcome.value is None:
            because = "" if outcome.error is None else f" ({error_text(outcome.error)})"
            raise PluginError(
                f"{what} names tests in {module!r}, and there is no such module{because}",
                remedy="install it beside the plugin",
            )


def describe(name: str, *, fault: str = "", limit: float = 120.0) -> Description:
    """Ask a child process for at most ``limit`` seconds; raises for nothing that it does."""
    answer, problem = answer_of_child(__name__, name, fault, limit=limit)
    if problem:
        return Description(name, usable=False, chain=f"{name}: {problem}")
    return Description(**answer)


def answer_of_child(module: str, *told: str, limit: float = 120.0) -> tuple[dict[str, Any], str]:
    """Return the object that a module's program prints as its last line, or in words why not."""
    # -P: with -m alone, Python would import modules from the current directory first.
    command = [sys.executable, "-P", "-m", module, *told]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    try:
        child = subprocess.run(
            command, env=environment, capture_output=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        return {}, f"no answer within {limit:g} s"
    lines = child.stdout.decode("utf-8", "replace").splitlines()
    try:
        answer = json.loads(lines[-1])
    except (IndexError, ValueError):
        answer = None
    if isinstance(answer, dict):
        return answer, ""
    last = child.stderr.decode("utf-8", "replace").strip().splitlines()[-4:]
    ended = f"the process that asked ended with exit code {child.returncode}"
    return {}, "\n  ".join((ended, *last))


def describe_here(name: str) -> Description:
    """Ask in this process."""
    from phalanx.discovery.devices import find_device
    from phalanx.discovery.diagnosis import why
    from phalanx.discovery.plugins import host
    from phalanx.dispatch.registry import support
    from phalanx.driver import Capability

    diagnosis = why(name)
    if not diagnosis.usable:
        return Description(name, usable=False, chain=str(diagnosis))
    device = find_device(name)
    info = device.info
    served = list(support(device))
    declared = json.loads(json.dumps(asdict(declarations_of(device)), default=_iso))
    identity = {
        "name": info.name,
        "kind": info.kind.value,
        "vendor": info.vendor,
        "driver": device.driver.name,
        "driver_version": info.driver_version,
        "plugin": host().owner(device.driver.name),
        "uuid": info.uuid.hex(),
        "pci_address": info.pci_address,
        "abi": next((s.detail for s in diagnosis.steps if s.name == "ABI"), ""),
        "capabilities": [c.name for c in Capability if c in device.ensure_open().capabilities],
        "features": [f.name for f in type(info.features) if f in info.features],
        "memory": info.total_memory,
    }
    return Description(
        device.name,
        True,
        "",
        identity,
        declared,
        sum(s.how == "native" for s in served),
        len(served),
        coverage_of(served),
    )


def _iso(value: Any) -> str:
    if isinstance(value, datetime.date):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is not plain data")


def main(name: str, fault: str = "") -> None:
    """Print the description as the last line of stdout."""
    if fault:
        from .faults import register

        register(fault)
    try:
        found = describe_here(name)
    except PhalanxError as error:  # of what a plugin declares, or of a variable
        found = Description(name, usable=False, chain=f"{name}: {error}")
    print(json.dumps(asdict(found)), flush=True)
    os._exit(0)  # a driver may have broken exit handlers; the answer is complete


if __name__ == "__main__":
    main(*sys.argv[1:])
