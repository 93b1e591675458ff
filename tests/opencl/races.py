"""The kernels for GPUs under Oclgrind, which sees races in local memory and in the device's.

``python -m opencl.races`` from tests/ does the work of `emulated.workloads`, each text in a process
of its own, and that of one text without a barrier, which must be told as a race. Oclgrind is a
package of Debian and others (``apt-get install oclgrind``); where it is not there, that is said,
and nothing is run.

See Price and McIntosh-Smith, Oclgrind: An Extensible OpenCL Device Simulator, IWOCL 2015.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import click
import phalanx as px
from emulated.driver import TRAITS, find
from emulated.workloads import WORKLOADS, differs
from phalanx.device_code.source import template
from phalanx.device_code.table import KernelTable
from phalanx.device_plugins.opencl import OpenCLDriver
from phalanx.device_plugins.opencl.listing import Listing
from phalanx.discovery.plugins import host

LIBRARY = Path("/usr/lib/oclgrind/liboclgrind-rt-icd.so")
#: A text that is short to simulate; its first barrier is taken out.
_MUTANT = "scan_groups.h"
_SECONDS = 1200


class Simulated(OpenCLDriver):
    """Oclgrind's device as a small GPU, so that little data reaches what takes much."""

    name = "races"

    def list_devices(self) -> Listing:
        listing = super().list_devices()
        small = {
            name: getattr(TRAITS, name)
            for name in (
                *("is_cpu", "compute_units", "max_work_group", "most_groups", "local_memory"),
                "forward_progress",
            )
        }
        devices = (replace(d, traits=replace(d.traits, **small)) for d in listing.devices)
        return replace(listing, devices=tuple(devices))


def work(text: str, *, mutant: bool) -> str:
    """Do the work of a text on the simulated device; returns how its results differ."""
    host().register_driver(Simulated())
    opened = px.devices("races")[0].ensure_open()
    opened.table = KernelTable("races:0", opened.traits, find, "phalanx.device_code")
    if mutant:
        whole, text_of = template(text), opened.programs.text
        broken = whole.replace("PHX_BARRIER();", ";", 1)
        opened.programs.text = lambda program: text_of(program).replace(whole, broken)
    with px.fallback_policy("error"):
        return differs(text, "races:0")


def faults(text: str, folder: Path, *, mutant: bool = False) -> str:
    """Do the work in another process; returns what Oclgrind or the comparison says, or nothing."""
    log = folder / "log"
    log.unlink(missing_ok=True)
    (folder / "oclgrind.icd").write_text(f"{LIBRARY}\n", encoding="utf-8")
    environment = {
        **os.environ,
        "OCL_ICD_VENDORS": str(folder),
        "PHALANX_CACHE_DIR": str(folder),
        "OCLGRIND_DATA_RACES": "1",
        "OCLGRIND_MAX_ERRORS": "3",
        # Oclgrind 21.10 does not know all that its own optimiser and inlining make of the texts.
        "OCLGRIND_BUILD_OPTIONS": "-cl-opt-disable -Dalways_inline=noinline",
        "OCLGRIND_LOG": str(log),
    }
    command = [sys.executable, "-m", "opencl.races", "--work", text, *["--mutant"] * mutant]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=_SECONDS
    )
    said = log.read_text(encoding="utf-8") if log.exists() else ""
    return (
        said or done.stdout or (done.stderr.rstrip().rpartition("\n")[2] if done.returncode else "")
    )


@click.command()
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@click.option("--work", "one", hidden=True)
@click.option("--mutant", is_flag=True, hidden=True)
def main(texts: tuple[str, ...], one: str | None, *, mutant: bool) -> None:
    """Simulate the work of all texts, or of some, such as scan_groups.h; ends with 1 at a fault."""
    if one:
        click.echo(work(one, mutant=mutant), nl=False)
        return
    if not LIBRARY.exists():
        click.echo(f"no Oclgrind at {LIBRARY} (apt-get install oclgrind): nothing is simulated")
        return
    failed = False
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        whole = {work: text for text, work in sorted(WORKLOADS.items(), reverse=True)}
        for text in texts or sorted(whole.values()):
            begin = time.monotonic()
            found = faults(text, folder)
            failed = failed or bool(found)
            click.echo(f"{text}: {found or 'no fault'} ({time.monotonic() - begin:.0f} s)")
        if not faults(_MUTANT, folder, mutant=True):
            failed = True
            click.echo(f"{_MUTANT} without a barrier: Oclgrind says nothing")
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
