"""Why a device is usable or not: the chain from installed package to working kernel, as data."""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phalanx.dispatch.registry import kernels
from phalanx.driver import Capability, DeviceKind, Driver, Feature
from phalanx.errors import CompileError, DeviceNotFoundError
from phalanx.steps import Status, Step

from . import aliases
from .devices import find_device
from .guard import Observer, detail_and_remedy, guard, ignore
from .loading import Plugin, PluginState
from .plugins import host
from .requirements import UnmetRequirementError

if TYPE_CHECKING:
    from phalanx._warm import Device

    from .aliases import DeviceName

#: The chain, in order: a step is looked at only if those before it did not fail.
CHAIN = ("installed", "importable", "ABI", "library", "device", "capability")
_PACKAGE = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The reason chain of one device string.

    ``device`` is the device that the name stands for, empty if there is none. ``others`` are the
    chains of the drivers that could have served an alias and did not.
    """

    name: str
    device: str
    steps: tuple[Step, ...]
    others: tuple[Diagnosis, ...] = field(default_factory=tuple)

    @property
    def usable(self) -> bool:
        """Whether the device was found, opened and has kernels or can make some."""
        return bool(self.device) and all(step.status != Status.FAIL for step in self.steps)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON; ``from_dict`` reads it back."""
        return {
            "name": self.name,
            "device": self.device,
            "usable": self.usable,
            "steps": [step.to_dict() for step in self.steps],
            "others": [other.to_dict() for other in self.others],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Diagnosis:
        """Return the diagnosis that ``to_dict`` wrote."""
        steps = tuple(
            Step(s["name"], Status(s["status"]), s["detail"], s["remedy"]) for s in data["steps"]
        )
        others = tuple(cls.from_dict(other) for other in data["others"])
        return cls(data["name"], data["device"], steps, others)

    def __str__(self) -> str:
        return "\n".join(self.lines(80))

    def lines(self, width: int) -> list[str]:
        """Return the chain for people: the verdict, then the steps, in so many columns."""
        verdict = "usable" if self.usable else "not usable"
        alias = f" is {self.device}" if self.device not in ("", self.name) else ""
        lines = [f"{self.name}{alias}: {verdict}"]
        lines += [line for step in self.steps for line in _step_lines(step, width)]
        for other in self.others:
            lines += ["", f"{other.name}:"]
            lines += [line for step in other.steps for line in _step_lines(step, width)]
        return lines


def _step_lines(step: Step, width: int) -> list[str]:
    import textwrap

    head = f"  {step.name:<10}  {step.status.value:<7}  "
    margin = " " * len(head)
    width = max(width, len(head) + 20)
    lines = textwrap.wrap(step.detail, width, initial_indent=head, subsequent_indent=margin)
    if step.remedy:
        lines += textwrap.wrap(
            f"-> {step.remedy}", width, initial_indent=margin, subsequent_indent=f"{margin}   "
        )
    return lines or [head.rstrip()]


def why(name: str | Device, *, observe: Observer = ignore) -> Diagnosis:
    """Tell, step by step, why a device is usable or not. Opens the device; runs nothing on it.

    ``observe`` is called with each step's name before the step is looked at, so that a caller who
    watches from outside knows where a driver crashed or hung.

    Raises:
        TypeError: if it is neither a string nor a Device.
        DeviceNotFoundError: if the string is not a well-formed device name.
    """
    parsed = aliases.parse(name if isinstance(name, str) else find_device(name).name)
    observe("installed")
    if (kind := aliases.alias_kind(parsed.base)) is not None:
        return _why_alias(parsed, kind, observe)
    return _chain(parsed, observe)


def _why_alias(name: DeviceName, kind: DeviceKind, observe: Observer) -> Diagnosis:
    try:
        device = aliases.resolve(name)
    except DeviceNotFoundError:
        step = Step("device", Status.FAIL, aliases.why_missing(name), _alias_remedy(kind))
        bases = dict.fromkeys(host().drivers())
        bases |= {p.name: None for p in host().plugins() if p.error is not None}
        others = tuple(_kindred(base, observe) for base in bases)
        return Diagnosis(str(name), "", (step,), others)
    found = _chain(aliases.parse(device.name), observe)
    return replace(found, name=str(name))


def _alias_remedy(kind: DeviceKind) -> str:
    remedy = "install the plugin of the hardware's vendor"
    return f"{remedy}, or set PHALANX_GPU" if kind is DeviceKind.GPU else remedy


def _kindred(base: str, observe: Observer) -> Diagnosis:
    """Tell what a driver has instead of the device that an alias asks for."""
    steps = _up_to_devices(base, observe)
    if not _ended(steps):
        kinds = ", ".join(f"{d.name} ({d.kind.value})" for d in host().listing(base).devices)
        steps.append(Step("device", Status.SKIPPED, f"what it has: {kinds}"))
    return Diagnosis(base, "", _pad(steps))


def _chain(name: DeviceName, observe: Observer) -> Diagnosis:
    steps = _up_to_devices(name.base, observe)
    device = None
    if not _ended(steps):
        listing = host().listing(name.base)
        device = next((d for d in listing.devices if d.index == name.index), None)
        steps.append(_device_step(name, device))
        if device is not None:
            observe("capability")
            steps.append(_capability_step(device))
    return Diagnosis(str(name), device.name if device else "", _pad(steps))


def _pad(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Complete the chain: what was not looked at is unknown."""
    seen = {step.name: step for step in steps}
    return tuple(seen.get(name) or Step(name, Status.UNKNOWN, "not reached") for name in CHAIN)


def _up_to_devices(base: str, observe: Observer) -> list[Step]:
    """Look at the plugin and at what the driver tells of itself, until a step ends the chain."""
    plugs = host()
    observe("importable")
    steps = _plugin_steps(base)
    if base not in plugs.drivers() or _ended(steps):
        return steps
    observe("library")
    steps += driver_steps(plugs.drivers()[base])
    if _ended(steps):
        return steps
    observe("device")
    listing = plugs.listing(base)
    if listing.error is not None:
        steps.append(_failed("device", listing.error))
    elif not listing.devices and not listing.broken:
        steps.append(Step("device", Status.FAIL, "the driver works and found no device"))
    return steps


def _ended(steps: Iterable[Step]) -> bool:
    return any(step.status in (Status.FAIL, Status.ABSENT) for step in steps)


def _plugin_steps(base: str) -> list[Step]:
    plugs = host()
    owner = plugs.owner(base)
    if base in plugs.drivers():
        plugin = next((p for p in plugs.plugins() if base in p.drivers), None)
        source = f"plugin {plugin.name!r} of {plugin.origin}" if plugin else owner
        module = plugin.value if plugin else "registered with register_driver"
        return [Step("installed", Status.OK, source), Step("importable", Status.OK, module)]
    if base in plugs.conflicts():
        return [_failed("installed", plugs.conflicts()[base])]
    plugin = next((p for p in plugs.plugins() if p.name == base), None)
    if plugin is None:
        detail = f"no installed plugin offers a driver {base!r}"
        return [Step("installed", Status.FAIL, detail, aliases.how_to_install(base))]
    installed = f"plugin {plugin.name!r} of {plugin.origin}"
    if plugin.error is not None and (remedy := _why_not_imported(plugin)):
        detail, _ = detail_and_remedy(plugin.error)
        return [Step("installed", Status.FAIL, f"{installed}; {detail}", remedy)]
    steps = [Step("installed", Status.OK, installed)]
    if plugin.error is not None and not _is_hook_error(plugin.error):
        _, remedy = detail_and_remedy(plugin.error)
        remedy = remedy or _where_raised(plugin)
        return [*steps, Step("importable", Status.FAIL, plugin.reason, remedy)]
    steps.append(Step("importable", Status.OK, plugin.value))
    reason = plugin.reason or f"it offers the drivers {plugin.drivers}, and no {base!r}"
    return [
        *steps,
        Step("ABI", Status.FAIL, reason, f"report it to the maker of {plugin.distribution}"),
    ]


def _why_not_imported(plugin: Plugin) -> str:
    """Return what helps a plugin that was not even imported; empty if it was."""
    if plugin.state is PluginState.EXCLUDED:
        return "add it to PHALANX_PLUGINS, or unset the variable"
    return plugin.error.remedy if isinstance(plugin.error, UnmetRequirementError) else ""


def _where_raised(plugin: Plugin) -> str:
    """Name the line that raised, be it in the import or in a hook, and what shows more."""
    error, module = plugin.error, plugin.value.partition(":")[0]
    frames = traceback.extract_tb(error.__traceback__ if error else None)
    own = [f for f in frames if not f.filename.startswith((str(_PACKAGE), "<frozen"))]
    if own and not isinstance(error, SyntaxError):
        place = f"raised at {own[-1].filename}, line {own[-1].lineno}, in {own[-1].name}"
        if own[-1].name != "<module>":
            return place
        return f"{place}; python -c 'import {module}' shows the way there"
    return f"python -c 'import {module}' shows the whole traceback"


def _is_hook_error(error: BaseException) -> bool:
    return type(error).__name__ == "PluginValidationError"


def _failed(name: str, error: BaseException) -> Step:
    detail, remedy = detail_and_remedy(error)
    if isinstance(error, CompileError) and not remedy:
        remedy = "update the compiler, which comes with the device's driver or runtime"
    return Step(name, Status.FAIL, detail, remedy)


def driver_steps(driver: Driver) -> list[Step]:
    """Return what a driver tells of itself; never raises for what it does."""
    outcome = guard(lambda: tuple(driver.explain()), f"driver {driver.name!r}: explain()")
    if outcome.error is not None:
        return [_failed("library", outcome.error)]
    return list(outcome.value or ())


def missing_part(driver: Driver) -> Step | None:
    """Return the step that tells of something optional that is not installed, None if all is."""
    return next((step for step in driver_steps(driver) if step.status is Status.ABSENT), None)


def _device_step(name: DeviceName, device: Device | None) -> Step:
    if device is None:
        detail = aliases.why_missing(name)
        return Step("device", Status.FAIL, detail, "`phalanx devices` lists what there is")
    info = device.info
    size = f", {size_text(info.total_memory)}" if info.total_memory > 0 else ""
    return Step("device", Status.OK, f"{info.name} ({info.kind.value}{size})")


def _capability_step(device: Device) -> Step:
    def work() -> str:
        device.ensure_open()
        return "; ".join([_kernels(device), *_flags(device)])

    outcome = guard(work, f"the opening of {device.name}")
    if outcome.error is not None:
        return _failed("capability", outcome.error)
    return Step("capability", Status.OK, outcome.value or "")


def _kernels(device: Device) -> str:
    """Count the kernels; where they are compiled at first use, compile one to see that it works."""
    found = kernels(device=device)
    if not found:
        return "no kernels"
    compiled = device.ensure_open().compile_ahead(found[0])
    return f"{len(found)} kernels{' ready' if compiled is None else ', compiled at first use'}"


def size_text(size: int) -> str:
    """Return a number of bytes for people."""
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"


def feature_names(device: Device) -> list[str]:
    """Return what the hardware can do, as lower-case names of ``Feature``."""
    return [f.name.lower() for f in Feature if f in device.info.features and f.name]


def _flags(device: Device) -> list[str]:
    capable = [
        c.name.lower() for c in Capability if c in device.ensure_open().capabilities and c.name
    ]
    return [
        f"features: {', '.join(feature_names(device)) or 'none'}",
        f"driver: {', '.join(capable) or 'synchronous'}",
    ]
