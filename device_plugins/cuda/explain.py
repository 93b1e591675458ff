"""What ``phalanx why`` tells of CUDA: NVIDIA's driver, its devices, the compiler, the cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from phalanx.device_plugins.cache_folder import default_folder, folder_problem
from phalanx.errors import DeviceError
from phalanx.kernels_cuda import libraries
from phalanx.kernels_cuda.nvrtc import Compiler
from phalanx.vendor import Status, Step

from .api import NoDriverError
from .listing import Listing, check_usable, version_text

Choose: TypeAlias = Callable[[tuple[int, int], tuple[int, int]], Compiler]


def explain(listed: Callable[[], Listing], compiler: Choose) -> tuple[Step, Step]:
    """Return the steps ``ABI`` and ``library``; ``listed`` returns the devices or raises.

    ``compiler`` returns the one for a version of CUDA and a compute capability, or raises.
    """
    abi = Step("ABI", Status.OK, "Python driver on the CUDA driver API")
    try:
        listing = listed()
    except NoDriverError as error:
        return abi, Step("library", Status.ABSENT, error.detail, error.remedy)
    except DeviceError as error:
        return abi, Step("library", Status.FAIL, error.detail, error.remedy)
    return abi, _library(listing, compiler)


def _library(listing: Listing, choose: Choose) -> Step:
    told = [f"the driver knows CUDA {version_text(listing.version)}"]
    problems: list[str] = []
    remedies: list[str] = []
    usable = 0
    for index, found in enumerate(listing.devices):
        try:
            check_usable(found, f"cuda:{index}")
            compiler = choose(listing.version, found.capability)
        except DeviceError as error:
            problems.append(error.detail)
            remedies.append(error.remedy)
        else:
            usable += 1
            told.append(
                f"NVRTC {version_text(compiler.version)} compiles for compute capability "
                f"{version_text(found.capability)}"
            )
    if cannot := folder_problem(default_folder("cuda")):
        problems.append(cannot)
        remedies.append("set PHALANX_CACHE_DIR to a folder that can be written")
    wrong, remedy = libraries.wrong_package(listing.version)
    if wrong:
        problems.append(wrong)
        remedies.append(remedy)
    elif usable:
        told.append(libraries.told())
    status = Status.OK if usable else Status.FAIL
    return Step(
        "library", status, "; ".join((*dict.fromkeys(told), *problems)), "; ".join(remedies)
    )
