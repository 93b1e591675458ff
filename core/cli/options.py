"""What several commands are asked: a time limit, a device, a path."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from phalanx._warm import Device

F = TypeVar("F", bound=Callable[..., Any])

#: Seconds; the timers of the system take no number however large.
_YEAR = 365 * 86400


class Seconds(click.FloatRange):
    """A time limit: above 0, at most a year."""

    def __init__(self) -> None:
        super().__init__(min=0, min_open=True, max=_YEAR)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Refuse NaN besides, which is in no range and outside of none."""
        seconds = float(super().convert(value, param, ctx))
        if math.isnan(seconds):
            self.fail(f"{value!r} is not a number of seconds.", param, ctx)
        return seconds


class NamedPath(click.Path):
    """A path that is not empty: an empty one would be the current folder."""

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        """Refuse what a variable that is not set leaves."""
        if value == "":
            self.fail("an empty path.", param, ctx)
        return super().convert(value, param, ctx)


def timeout_option(default: float) -> Callable[[F], F]:
    """Return the option for the time limit of each child process."""
    return click.option(
        "--timeout",
        type=Seconds(),
        default=default,
        show_default=True,
        metavar="SECONDS",
        help="Time limit of each child process.",
    )


def device_option(command: F) -> F:
    """Add the option for the device that a command is about; `chosen_device` finds it."""
    return click.option(
        "--device", "-d", "name", metavar="DEVICE", help="Default: the current device."
    )(command)


def chosen_device(name: str | None) -> Device:
    """Return the device of ``--device``, without it the current one.

    Raises:
        DeviceNotFoundError: there is none of that name, which may be empty.
    """
    from phalanx.discovery.devices import find_device, get_device

    return get_device() if name is None else find_device(name)
