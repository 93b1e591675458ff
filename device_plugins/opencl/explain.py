"""What ``phalanx why`` tells of OpenCL: pyopencl, the runtimes, the folder of compiled programs."""

from __future__ import annotations

from collections.abc import Callable

from phalanx.device_plugins.cache_folder import default_folder, folder_problem
from phalanx.errors import DeviceError
from phalanx.vendor import Status, Step

from .listing import Listing, NotInstalledError, import_pyopencl


def explain(listed: Callable[[], Listing]) -> tuple[Step, Step]:
    """Return the steps ``ABI`` and ``library``; ``listed`` returns the devices or raises."""
    abi = Step("ABI", Status.SKIPPED, "Python driver")
    try:
        cl = import_pyopencl()
        abi = Step("ABI", Status.OK, f"Python driver on pyopencl {cl.VERSION_TEXT}")
        return abi, _library(listed())
    except NotInstalledError as error:
        return abi, _ended(Status.ABSENT, error)
    except DeviceError as error:
        return abi, _ended(Status.FAIL, error)


def _ended(status: Status, error: DeviceError) -> Step:
    return Step("library", status, error.detail, error.remedy)


def _library(listing: Listing) -> Step:
    problems, remedies = list(listing.problems), []
    if problems:
        remedies.append("reinstall or remove that runtime, the other devices are not affected")
    if problem := folder_problem(default_folder("opencl")):
        problems.append(problem)
        remedies.append("set PHALANX_CACHE_DIR to a folder that can be written")
    found = f"platforms: {', '.join(listing.platforms)}"
    return Step("library", Status.OK, "; ".join((found, *problems)), "; ".join(remedies))
