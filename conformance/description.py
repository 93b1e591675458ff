"""What a device is and what is declared of it, asked in a child process that may crash or hang."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from phalanx.discovery.declarations import Declarations, Unsupported

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
    """Return what all plugins declare about a device, with what its features imply."""
    from phalanx.discovery.plugins import host
    from phalanx.driver import Feature

    found = [d for d in host().manager().hook.phalanx_conformance(device=device) if d is not None]
    implied = () if device.info.features & Feature.FP64 else NO_FP64
    return Declarations(
        unsupported=implied + tuple(u for d in found for u in d.unsupported),
        expected_failures=tuple(e for d in found for e in d.expected_failures),
        waivers=tuple(w for d in found for w in d.waivers),
        tests=tuple(t for d in found for t in d.tests),
    )


def describe(name: str, *, fault: str = "", limit: float = 120.0) -> Description:
    """Ask a child process for at most ``limit`` seconds; raises for nothing that it does."""
    # -P: with -m alone, Python would import modules from the current directory first.
    command = [sys.executable, "-P", "-m", "phalanx.conformance.description", name, fault]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    try:
        child = subprocess.run(
            command, env=environment, capture_output=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        return Description(name, usable=False, chain=f"{name}: no answer within {limit:g} s")
    lines = child.stdout.decode("utf-8", "replace").splitlines()
    try:
        return Description(**json.loads(lines[-1]))
    except (IndexError, ValueError, TypeError):
        last = child.stderr.decode("utf-8", "replace").strip().splitlines()[-4:]
        chain = f"{name}: the process that asked ended with exit code {child.returncode}"
        return Description(name, usable=False, chain="\n  ".join((chain, *last)))


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
    declared = json.loads(json.dumps(asdict(declarations_of(device)), default=_iso))
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
    print(json.dumps(asdict(describe_here(name))), flush=True)
    os._exit(0)  # a driver may have broken exit handlers; the answer is complete


if __name__ == "__main__":
    main(*sys.argv[1:])
