from typing import final

from phalanx.device_code.recording import Recording
from phalanx.vendor import Kernel, Stream

from .device import OpenCLDevice

@final
class Runtime:
    def __init__(self, path: str) -> None: ...

@final
class Event:
    @property
    def command_execution_status(self) -> int: ...

@final
class PreparedLaunch:
    def __init__(
        self, device: OpenCLDevice, label: Kernel, recording: Recording, runtime: Runtime
    ) -> None: ...
    def __call__(self, places: bytes, stream: Stream) -> None: ...
