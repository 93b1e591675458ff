"""A shared library with the plugin ABI: opened, negotiated with, checked, and its errors read."""

from __future__ import annotations

import atexit
import functools
import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from phalanx._warm import close_log, deliver_log, open_log
from phalanx.errors import (
    DeviceLostError,
    DriverCallError,
    OutOfMemoryError,
    PhalanxError,
    PluginLoadError,
    UnsupportedOpError,
)
from phalanx.runtime.locks import ForkSafeLock

from . import first_sight
from . import structs as abi
from .build import SYMBOL
from .structs import ABI_MAJOR, ABI_MINOR, ErrorCode, ffi, text

_MALFORMED = ErrorCode.INTERNAL


@dataclass(frozen=True, slots=True)
class NativeError:
    """What a ``phx_error`` said, copied before it was destroyed."""

    code: int
    vendor_code: int
    message: str
    vendor_name: str = ""
    remedy: str = ""

    @property
    def name(self) -> str:
        """The vendor's name of the code, else the ABI's, such as ``PHX_TIMEOUT``."""
        if self.vendor_name:
            return self.vendor_name
        return (
            f"PHX_{ErrorCode(self.code).name}"
            if self.code in set(ErrorCode)
            else f"code {self.code}"
        )

    def __str__(self) -> str:
        vendor = f" {self.vendor_code}" if self.vendor_code else ""
        return f"{self.message or 'the plugin gave no message'} ({self.name}{vendor})"


def take_error(error: Any) -> NativeError:
    """Copy a non-null ``phx_error`` and destroy it: the one place that does."""
    size = int(error.struct_size)
    if size < abi.end_of("phx_error", "code"):
        return NativeError(_MALFORMED, 0, f"an error object with struct_size {size}")
    has = functools.partial(_inside, size)
    taken = NativeError(
        int(error.code),
        int(error.vendor_code) if has("vendor_code") else 0,
        text(error.message) if has("message") else "",
        text(error.vendor_name) if has("vendor_name") else "",
        text(error.remedy) if has("remedy") else "",
    )
    if has("destroy") and error.destroy:
        error.destroy(error)
    return taken


def _inside(size: int, field: str) -> bool:
    return abi.end_of("phx_error", field) <= size


def python_error(  # noqa: PLR0911 - one line per code
    error: NativeError, context: str, *, call: str = "", size: int = 0
) -> Exception:
    """Return the Python exception for a native error: the builtin that a caller would catch.

    ``context`` says what was tried and on which device.
    """
    message, remedy = f"{context}: {error}", error.remedy
    whole = f"{message}; {remedy}" if remedy else message
    match error.code:
        case ErrorCode.UNIMPLEMENTED:
            return UnsupportedOpError(f"{message}; the plugin does not implement it", remedy=remedy)
        case ErrorCode.INVALID_ARGUMENT:
            return ValueError(whole)
        case ErrorCode.OUT_OF_MEMORY:
            return OutOfMemoryError(message, remedy=remedy, size=size)
        case ErrorCode.DEVICE_LOST:
            lost = f"{message}; the device stays unusable in this process"
            return DeviceLostError(lost, remedy=remedy)
        case ErrorCode.TIMEOUT:
            return TimeoutError(whole)
        case ErrorCode.INDEX_OUT_OF_RANGE:
            return IndexError(error.message or whole)
        case ErrorCode.ABI_MISMATCH:
            return PluginLoadError(message, remedy=remedy)
    return DriverCallError(
        message,
        remedy=remedy,
        code=error.vendor_code or error.code,
        name=error.name,
        call=call or context,
    )


class Library:
    """An opened library whose table fits; stays open until the process ends, for its kernels do.

    ``path`` is the file, ``api`` the plugin's ``phx_api``, ``name``, ``vendor``, ``version`` and
    ``license`` what it says of itself.
    """

    def __init__(self, path: Path, handle: Any, host: Any, api: Any) -> None:
        self.path = path
        self.api = api
        self._keep = (handle, host)
        names = [
            name for name, field in ffi().typeof("phx_api").fields if field.type.kind == "function"
        ]
        found = {name: abi.function(api, name) for name in names}
        #: The functions that are there, by name.
        self.functions = {name: pointer for name, pointer in found.items() if pointer is not None}
        self.capabilities = int(api.capabilities)
        self.built_abi = (int(api.built_abi_major), int(api.built_abi_minor))
        info = ffi().new("phx_plugin_info *", {"struct_size": ffi().sizeof("phx_plugin_info")})
        self.call("plugin_info", info)
        self.name = text(info.name)
        self.vendor = text(info.vendor)
        self.version = text(info.version)
        self.license = text(info.license)

    def call(self, function: str, *args: Any, where: str = "", size: int = 0) -> None:
        """Call a function of the table; a native error becomes the Python one.

        Args:
            function: its name.
            args: what it takes, as cffi converts it.
            where: the device or driver that the error names; default: the file.
            size: bytes that were asked for, if they were.

        Raises:
            UnsupportedOpError: if the plugin's capability bits promise that it is null.
        """
        target = self.functions.get(function)
        if target is None:
            raise UnsupportedOpError(f"{where or self.path.name}: the plugin has no {function}")
        error = target(*args)
        deliver_log()
        if error:
            self.fail(error, f"{function} on {where or self.path.name}", function, size)

    def fail(self, error: Any, context: str, call: str = "", size: int = 0) -> NoReturn:
        """Raise the Python error for a native one, which is destroyed."""
        deliver_log()
        raise python_error(take_error(error), context, call=call, size=size)

    @functools.cached_property
    def score(self) -> int:
        """How well the plugin fits this machine; 0 or less: it cannot run here."""
        out = ffi().new("int32_t *")
        self.call("plugin_score", out)
        return int(out[0])

    def __repr__(self) -> str:
        return f"<Library {self.name!r} {self.path}>"


_lock = ForkSafeLock()
_open: dict[tuple[str, int, int], Library] = {}


def open_library(path: str | os.PathLike[str], *, trusted: bool = False) -> Library:
    """Open a plugin's library, negotiate and check its tables; a second call returns the same one.

    A library that was never seen is opened by a child process first, unless it is ``trusted``:
    `first_sight`.

    Raises:
        PluginLoadError: with the path, and the loader's text or every fault of the tables; or it
            crashed or hung at its first sight.
    """
    file = Path(path).absolute()
    try:
        key = _key(file)
        if key in _open:
            return _open[key]
        if not trusted:
            first_sight.check(file)
            key = _key(file)
    except OSError as error:
        raise PluginLoadError(f"cannot load {file}: {error.strerror or error}") from error
    with _lock:
        if key not in _open:
            _open[key] = _load(file)
        return _open[key]


def _key(file: Path) -> tuple[str, int, int]:
    status = file.stat()
    return str(file), status.st_ino, status.st_mtime_ns


def opened_libraries() -> tuple[Path, ...]:
    """Return the files of the libraries that are open in this process."""
    with _lock:
        return tuple(library.path for library in _open.values())


def load_table(path: Path) -> tuple[Any, Any, Any]:
    """Open a library and call its entry symbol; return the library, the host table and its table.

    Raises:
        PluginLoadError: if it does not load, lacks the symbol or answers with an error.
    """
    try:
        handle = ffi().dlopen(str(path), ffi().RTLD_NOW | ffi().RTLD_LOCAL)
    except UnicodeEncodeError as error:  # cffi takes no bytes
        raise PluginLoadError(
            f"cannot load {path}: its name is not UTF-8", remedy="give it another"
        ) from error
    except OSError as error:
        raise PluginLoadError(f"cannot load {path}: {error}") from error
    try:
        entry = getattr(handle, SYMBOL)
    except (AttributeError, ffi().error) as error:  # parsed here, or by the build
        raise PluginLoadError(
            f"{path} exports no symbol {SYMBOL}: it is not a Phalanx plugin, or hides its symbols"
        ) from error
    host = _host_table(path.name.partition(".")[0])
    out = ffi().new("const phx_api **")
    failure = entry(ABI_MAJOR, ABI_MINOR, host, out)
    deliver_log()
    if failure:
        raise PluginLoadError(
            f"{path} refuses this host (ABI {ABI_MAJOR}.{ABI_MINOR}): {take_error(failure)}"
        )
    return handle, host, out[0]


def _load(path: Path) -> Library:
    handle, host, api = load_table(path)
    if problems := abi.check_api(api):
        lines = "\n  ".join(map(str, problems))
        raise PluginLoadError(f"{path} does not keep to the plugin ABI:\n  {lines}")
    try:
        return Library(path, handle, host, api)
    except (PhalanxError, ValueError, OSError, LookupError) as error:
        raise PluginLoadError(f"{path} does not start: {error}") from error


_tables: list[Any] = []
_loggers: dict[int, logging.Logger] = {}


def _host_table(name: str) -> Any:
    """Return the services for one plugin; kept for ever, since it may call them at any time."""
    types = ffi()
    log, now_ns = _services()
    logger = logging.getLogger(f"phalanx.{name.lstrip('_')}")
    context = types.new("char[1]")  # only its address counts
    table = types.new(
        "phx_host *",
        {
            "struct_size": types.sizeof("phx_host"),
            "abi_major": ABI_MAJOR,
            "abi_minor": ABI_MINOR,
            "context": context,
            "log": types.cast("void (*)(void *, int32_t, phx_str)", log),
            "now_ns": types.cast("uint64_t (*)(void *)", now_ns),
        },
    )
    _loggers[int(types.cast("uintptr_t", context))] = logger
    _tables.append((context, table))
    return table


@functools.cache
def _services() -> tuple[int, int]:
    """Return the addresses of ``log`` and ``now_ns``, in C: a thread of a plugin may call them."""
    addresses = open_log(_receive)
    atexit.register(close_log)
    return addresses


def _receive(context: int, level: int, message: str) -> None:
    """Log a message of a plugin; one with a context that was never given out is logged too."""
    logger = _loggers.get(context) or logging.getLogger("phalanx.plugins")
    logger.log(min(max(level, 0), logging.CRITICAL), "%s", message)
