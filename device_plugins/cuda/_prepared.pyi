from typing import final

from phalanx.device_code.recording import Recording
from phalanx.vendor import Kernel, Stream

from .device import CudaDevice

CALLS: tuple[str, ...]

@final
class Runtime:
    def __init__(self, launch: int, current: int, push: int, pop: int, context: int) -> None: ...

@final
class PreparedLaunch:
    def __init__(self, device: CudaDevice, label: Kernel, recording: Recording) -> None: ...
    def __call__(self, places: bytes, stream: Stream) -> None: ...
