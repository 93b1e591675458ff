"""The guard: a plugin's code runs on a thread of its own, and whatever it does is an outcome.

Whatever a plugin raises is caught here.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from phalanx.errors import DeviceError, PhalanxError, PluginError, PluginLoadError, SettingError

T = TypeVar("T")
#: Is told each step before it is taken.
Observer = Callable[[str], None]

_in_guard = threading.local()
#: Errors whose texts say what they are.
_PLAIN = (DeviceError, PluginError, SettingError)


def ignore(at: str) -> None:
    """Observe nothing."""
    del at


@dataclass(slots=True)
class Outcome(Generic[T]):
    """What a guarded call returned or raised."""

    value: T | None = None
    error: BaseException | None = None
    timed_out: bool = False


def describe(error: BaseException) -> str:
    """Return one line for an error: its text, with the type where that adds something."""
    try:
        text = " ".join(str(error).split())
    except Exception:  # noqa: BLE001 - a plugin's own __str__ may be broken too
        text = ""
    kind = type(error).__name__
    if isinstance(error, _PLAIN) and text:
        return text
    return f"{kind}: {text}" if text else kind


def detail_and_remedy(error: BaseException) -> tuple[str, str]:
    """Return one line each for what is wrong and what to do about it, as far as the error says."""
    remedy = getattr(error, "remedy", "")
    if not isinstance(error, PhalanxError) or not remedy:
        return describe(error), ""
    kind = "" if isinstance(error, _PLAIN) else f"{type(error).__name__}: "
    return kind + " ".join(error.detail.split()), " ".join(remedy.split())


def time_limit() -> float:
    """Return the seconds that a plugin has for each step: ``PHALANX_PLUGIN_TIMEOUT``, else 30.

    Raises:
        SettingError: if the variable is not a positive number.
    """
    text = os.environ.get("PHALANX_PLUGIN_TIMEOUT", "").strip() or "30"
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds <= threading.TIMEOUT_MAX:
        raise SettingError(
            f"PHALANX_PLUGIN_TIMEOUT={text!r} is not a positive number of seconds",
            remedy="set it to 30, for example, or unset it",
        )
    return seconds


def guard(work: Callable[[], T], what: str, limit: float | None = None) -> Outcome[T]:
    """Run a plugin's code on a thread of its own and return what came of it, whatever that is.

    A call that takes longer than ``limit`` seconds (default: ``time_limit()``) is left behind on
    its daemon thread and reported. ``KeyboardInterrupt`` alone goes through.
    """
    limit = time_limit() if limit is None else limit
    outcome: Outcome[T] = Outcome()

    def body() -> None:
        _in_guard.what = what
        try:
            outcome.value = work()
        except BaseException as error:  # noqa: BLE001 - sys.exit() too must not end the program
            outcome.error = error

    thread = threading.Thread(target=body, name=f"phalanx {what}", daemon=True)
    thread.start()
    thread.join(limit)
    if thread.is_alive():
        late = PluginLoadError(
            f"{what} did not finish within {limit:g} s",
            remedy="a larger PHALANX_PLUGIN_TIMEOUT (seconds) gives it more time",
        )
        return Outcome(error=late, timed_out=True)
    if isinstance(outcome.error, KeyboardInterrupt):
        raise outcome.error
    return outcome


def guarded_work() -> str:
    """Return what the guard runs on this thread, empty outside of it."""
    return getattr(_in_guard, "what", "")
