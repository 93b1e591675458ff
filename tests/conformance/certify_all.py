"""Run the quick conformance suite on every device of this machine; end with 1 if one fails.

Every device must be certified for ``bitwise``, the level at which its bits are those of ``cpu:0``.
"""

from __future__ import annotations

import subprocess
import sys

import phalanx as px


def main() -> int:
    """Certify one device after the other."""
    failed = []
    for device in px.devices():
        command = [sys.executable, "-m", "phalanx", "conformance", "--quick", "--level", "bitwise"]
        if subprocess.run([*command, "--device", device.name], check=False).returncode:
            failed.append(device.name)
    if failed:
        print(f"not certified: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
