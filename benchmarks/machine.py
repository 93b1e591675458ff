"""The computer and the packages that a run depends on."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from .contestants import PEERS, usable_cores

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_CORES = Path("/proc/cpuinfo")
#: Sets of vector instructions, the widest first, each with the flags that Linux shows for them.
_VECTORS = {
    "avx512": {"avx512f", "avx512bw", "avx512dq", "avx512vl"},
    "avx2": {"avx2", "fma"},
}
_VARIABLES = ("PHALANX_", "OMP_", "OPENBLAS_", "MKL_", "GOMP_", "KMP_")


def describe(peers: list[str]) -> dict[str, Any]:
    """Return date, versions and hardware as plain data."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "packages": _packages(["phalanx", "cffi", "click", "numpy", "pluggy", "rich", *peers]),
        "hardware": {
            "cpu": _cpu_name(),
            "cores": usable_cores(),
            "caches": _caches(),
            "memory": _memory(),
            "load": round(os.getloadavg()[0], 2),
        },
        "system": {
            "python": platform.python_version(),
            "compiler": platform.python_compiler(),
            "platform": platform.platform(),
            "variables": {k: v for k, v in sorted(os.environ.items()) if k.startswith(_VARIABLES)},
        },
    }


def machine_kind() -> dict[str, str]:
    """Return what must be the same for times to be comparable, as text by name.

    Processor, cores of this process, instruction set, and the peers' versions, whether they take
    part or not; empty where one is not installed.
    """
    kind = {"cpu": _cpu_name(), "cores": str(usable_cores()), "isa": _instruction_set()}
    return kind | _packages(list(PEERS))


def _packages(names: list[str]) -> dict[str, str]:
    found = {}
    for name in sorted(set(names)):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = ""
    return found


def _cpu_name() -> str:
    return _of_first_core("model name") or platform.processor() or platform.machine()


def _instruction_set() -> str:
    """Return the machine's name with the widest vectors: ``x86_64 avx512``."""
    flags = set(_of_first_core("flags").split())
    wide = next((text for text, needed in _VECTORS.items() if needed <= flags), "")
    return f"{platform.machine()} {wide}".strip()


def _of_first_core(what: str) -> str:
    """Return a line of the first core in the system's list, empty if there is none."""
    try:
        lines = _CORES.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    found = (line.partition(":")[2].strip() for line in lines if line.startswith(what))
    return next(found, "")


def _caches() -> dict[str, str]:
    """Return the sizes of the caches of one core by name: ``L1d``, ``L2``, ``L3``."""
    found = {}
    for folder in sorted(_CACHES.glob("index*")):
        try:
            kind = (folder / "type").read_text().strip()
            level = (folder / "level").read_text().strip()
            size = (folder / "size").read_text().strip()
        except OSError:
            continue
        suffix = {"Data": "d", "Instruction": "i"}.get(kind, "")
        found[f"L{level}{suffix}"] = size
    return found


def _memory() -> int:
    """Return the bytes of main memory, 0 if unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return 0
