"""The error tree. Each error is also the builtin that a caller would catch.

::

    PhalanxError
    ├── PluginError
    │   ├── PluginLoadError (ImportError)      a plugin or its library does not load
    │   └── PluginConflictError                two plugins claim one driver name
    ├── DeviceError
    │   ├── DeviceNotFoundError (LookupError)  no such device, with what was found instead
    │   ├── DriverCallError (RuntimeError)     a native call failed: code, name, call
    │   ├── OutOfMemoryError (MemoryError)     with the verdict and the block map's summary
    │   ├── DeviceLostError (RuntimeError)     the device does not answer any more
    │   └── DeviceMismatchError (ValueError)   arrays of two devices in one call
    ├── KernelError
    │   ├── UnsupportedOpError (NotImplementedError)  no kernel, and the policy forbids a fallback
    │   ├── CompileError (RuntimeError)        with the compiler's log and the source
    │   └── LaunchError (RuntimeError)         a kernel reported a failure
    ├── SettingError (ValueError)          an environment variable has a value that is not allowed
    ├── FallbackWarning (RuntimeWarning)       an op ran on another device (policy "warn")
    └── ClosedError (ValueError)               use after close()
"""

from __future__ import annotations


class PhalanxError(Exception):
    """Base of every error that Phalanx raises on its own account.

    The text is ``detail``, and ``remedy`` behind a semicolon where there is one.

    Attributes:
        detail: what is wrong.
        remedy: what to do about it, empty if nothing can be said.
    """

    def __init__(self, detail: str = "", *, remedy: str = "") -> None:
        super().__init__(f"{detail}; {remedy}" if remedy else detail)
        self.detail = detail
        self.remedy = remedy


class PluginError(PhalanxError):
    """A plugin broke; other plugins go on."""


class PluginLoadError(PluginError, ImportError):
    """A plugin does not import or its library does not load or fit the ABI."""


class PluginConflictError(PluginError):
    """Two plugins offer a driver of the same name."""


class DeviceError(PhalanxError):
    """A device is missing, failed or was misused."""


class DeviceNotFoundError(DeviceError, LookupError):
    """No device has this name; the message lists what was found and why nothing else was."""


class DriverCallError(DeviceError, RuntimeError):
    """A native call failed.

    Attributes:
        code: the driver's native error code.
        name: the code's name, such as ``CL_OUT_OF_RESOURCES``.
        call: the call that failed.
    """

    def __init__(
        self, detail: str, *, remedy: str = "", code: int = 0, name: str = "", call: str = ""
    ) -> None:
        super().__init__(detail, remedy=remedy)
        self.code = code
        self.name = name
        self.call = call


class OutOfMemoryError(DeviceError, MemoryError):
    """A device has no memory for a request.

    Attributes:
        size: bytes asked for.
        verdict: ``"genuine"``, ``"fragmented"``, ``"pending"``, ``"limit"`` or ``"foreign"``.
    """

    def __init__(
        self, detail: str, *, remedy: str = "", size: int = 0, verdict: str = "genuine"
    ) -> None:
        super().__init__(detail, remedy=remedy)
        self.size = size
        self.verdict = verdict


class DeviceLostError(DeviceError, RuntimeError):
    """The device stopped answering; it stays unusable in this process."""


class DeviceMismatchError(DeviceError, ValueError):
    """Arrays of different devices met in one call."""


class KernelError(PhalanxError):
    """A kernel is missing, does not compile or failed."""


class UnsupportedOpError(KernelError, NotImplementedError):
    """A device has no kernel for an op, and no fallback is allowed."""


class CompileError(KernelError, RuntimeError):
    """A kernel's source does not compile.

    Attributes:
        log: the compiler's output.
        source: the numbered source text.
    """

    def __init__(self, detail: str, *, remedy: str = "", log: str = "", source: str = "") -> None:
        super().__init__(detail, remedy=remedy)
        self.log = log
        self.source = source


class LaunchError(KernelError, RuntimeError):
    """A launch failed; for an asynchronous failure the message names the launch that caused it."""


class SettingError(PhalanxError, ValueError):
    """An environment variable has a value that is not allowed."""


class FallbackWarning(PhalanxError, RuntimeWarning):
    """An op ran on another device than its operands'."""


class ClosedError(PhalanxError, ValueError):
    """A closed object was used."""
