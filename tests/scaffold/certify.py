"""Makes each package of ``phalanx new-plugin``, installs it offline, certifies it, says how long.

``certify.py [--level LEVEL] [FORM ...]``: the packages' own tests, which certify for `runtime`, or
a quick run up to a level. Ends with 1 if one fails or takes longer than a vendor shall wait: five
minutes from the command to `runtime`, ten to all else.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from phalanx.scaffold import FORMS

_OFFLINE = ("--no-index", "--no-deps", "--no-build-isolation", "--quiet")
_PATIENCE = {"runtime": 300.0, "": 600.0}  # seconds


def install(package: Path, site: Path) -> None:
    """Build a package and install it into a folder; nothing is fetched."""
    command = [sys.executable, "-m", "pip", "install", *_OFFLINE, "--target", str(site)]
    subprocess.run([*command, str(package)], check=True)


def certify(form: str, level: str) -> str:
    """Go a vendor's way with a form; return what went wrong."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        folder, site = Path(place), Path(place) / "site"
        phalanx = [sys.executable, "-m", "phalanx"]
        made = [*phalanx, "new-plugin", "acme", f"--{form}", "--into", place]
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL)
        package = folder / "acme-phalanx"
        install(package, site)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        if level != "runtime":
            command = [*phalanx, "conformance", "--quick", "--level", level, "--device", "acme:0"]
            command += ["--certificate", str(folder / "certificate.json")]
        environment = {**os.environ, "PYTHONPATH": str(site)}
        environment.pop("PHALANX_PLUGINS", None)
        done = subprocess.run(command, cwd=package, env=environment, check=False)
    seconds = time.monotonic() - begin
    print(f"--{form}: {level} after {seconds:.0f} s", flush=True)
    limit = _PATIENCE.get(level, _PATIENCE[""])
    if done.returncode:
        return f"--{form} fails at {level}"
    return f"--{form} takes {seconds:.0f} s to {level}" if seconds > limit else ""


def main() -> int:
    """Certify one form after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("forms", nargs="*", metavar="FORM", help=f"of {', '.join(FORMS)}")
    parser.add_argument("--level", default="runtime", help="default: runtime")
    options = parser.parse_args()
    problems = [certify(form, options.level) for form in options.forms or FORMS]
    print("\n".join(filter(None, problems)), end="")
    return 1 if any(problems) else 0


if __name__ == "__main__":
    sys.exit(main())
