"""Installs an example plugin offline, certifies its device and verifies the certificate.

``certify_example.py [--level LEVEL] [--full] [NAME ...]``: default `simchip`, level `core`, quick.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from certify import install

PLUGINS = Path(__file__).resolve().parents[2] / "examples" / "plugins"
_SAMPLE = "20"  # cases that `phalanx verify` runs again


def certify(name: str, level: str, *, full: bool) -> int:
    """Certify the first device of an example; return how many of the commands failed."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        site, paper = Path(place) / "site", Path(place) / "certificate.json"
        package = shutil.copytree(PLUGINS / name, Path(place) / name)  # a build leaves files
        install(package, site)
        environment = {**os.environ, "PYTHONPATH": str(site)}
        environment.pop("PHALANX_PLUGINS", None)
        suite = ["conformance", "--device", f"{name}:0", "--level", level]
        suite += ["--certificate", str(paper), *(() if full else ("--quick",))]
        failed = 0
        for command in (["why", f"{name}:0"], suite, ["verify", str(paper), "--sample", _SAMPLE]):
            run = [sys.executable, "-m", "phalanx", *command]
            # not from here: the package's folder has its name
            failed += subprocess.run(run, env=environment, cwd=place, check=False).returncode != 0
    print(f"{name}: {level} after {time.monotonic() - begin:.0f} s", flush=True)
    return failed


def main() -> int:
    """Certify one example after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", default=["simchip"])
    parser.add_argument("--level", default="core", help="default: core")
    parser.add_argument("--full", action="store_true", help="all values, not the quick run's")
    options = parser.parse_args()
    failed = [certify(n, options.level, full=options.full) for n in options.names or ["simchip"]]
    return 1 if any(failed) else 0


if __name__ == "__main__":
    sys.exit(main())
