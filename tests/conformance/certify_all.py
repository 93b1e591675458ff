"""Run the quick conformance suite on every device of this machine; end with 1 if one fails.

Every device must be certified for ``bitwise``, the level at which its bits are those of ``cpu:0``;
so must ``emulated:0``, which runs the kernels for GPUs, and ``cudafake:0``, which runs them by the
driver of CUDA. A name as argument takes that device alone; what begins with a dash, and what is
behind it, goes to `phalanx conformance`, such as ``emulated:0 --dtype float32``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import phalanx as px

_PLUGINS = {"emulated": "emulated.plugin", "cudafake": "fake_cuda.plugin"}
_TESTS = str(Path(__file__).parents[1])


def main() -> int:
    """Certify one device after the other."""
    sys.path.append(_TESTS)
    from plugin_kit import make_distribution

    given = sys.argv[1:]
    first = next((at for at, word in enumerate(given) if word.startswith("-")), len(given))
    names = given[:first] or [*(device.name for device in px.devices()), "emulated:0", "cudafake:0"]
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        make_distribution(Path(folder), "emulated", plugins=_PLUGINS)
        path = os.pathsep.join((folder, _TESTS))
        for name in names:
            command = [sys.executable, "-m", "phalanx", "conformance", "--quick"]
            command += ["--level", "bitwise", "--device", name, *given[first:]]
            environment = {**os.environ, "PYTHONPATH": path}
            if subprocess.run(command, env=environment, check=False).returncode:
                failed.append(name)
    if failed:
        print(f"not certified: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
