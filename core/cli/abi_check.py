"""``phalanx abi-check``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.markup import escape

from .options import NamedPath, timeout_option
from .output import coloured, console, emit, fail, json_option, plain_errors

if TYPE_CHECKING:
    from rich.console import Console

_MOST_SHOWN = 20


@click.command(
    "abi-check",
    epilog="""\b
Examples:
  phalanx abi-check ./libacme.so
  phalanx abi-check ./libacme.so --run
  phalanx abi-check ./libacme.so --json
  phalanx abi-check ./libacme.so --harness harness     a program in C for sanitizers, Valgrind

\b
Exit code: 0 if the library keeps to the ABI, 1 if not, 2 for wrong usage.
""",
)
@click.argument("library", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--run",
    is_flag=True,
    help="Also try memory, copies, fills, launches, streams and threads on every device.",
)
@click.option(
    "--harness",
    type=NamedPath(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write a program in C that runs the library without Python into DIR, and check nothing.",
)
@json_option
@timeout_option(60.0)
@plain_errors
def abi_check(
    library: Path, run: bool, harness: Path | None, as_json: bool, timeout: float
) -> None:
    """Check the shared library LIBRARY of a plugin against the C ABI of phalanx.h.

    Checks versions, struct sizes, required functions, capability bits, error objects, device
    descriptions and every row of the kernel tables, and with --run what the calls do. The library
    is opened in child processes only: what crashes or hangs there is one more problem.
    """
    if harness is not None:
        _write_harness(harness, library, as_json)
        return
    from phalanx.abi.judge import judge
    from phalanx.abi.trials import TRIALS

    found = judge(library, tuple(TRIALS) if run else (), limit=timeout)
    if as_json:
        emit(found | {"ok": not found["problems"]})
    else:
        _show(found)
    raise SystemExit(1 if found["problems"] else 0)


def _write_harness(folder: Path, library: Path, as_json: bool) -> None:
    from phalanx.abi.harness import commands, write

    try:
        files = [str(path) for path in write(folder)]
    except FileExistsError as error:
        fail(str(error), 2)
    except OSError as error:
        fail(f"{error.filename or folder} cannot be written: {error.strerror or error}", 1)
    lines = commands(library.absolute())
    if as_json:
        emit({"files": files, "commands": lines})
        return
    out = console()
    out.print(f"{', '.join(files)}. In that folder:", soft_wrap=True)
    for what, line in lines.items():
        out.print(escape(f"  {what:<18} {line}"), soft_wrap=True)
    out.print("The sanitizers see more if the plugin is built with the same -fsanitize.")


def _show(found: dict[str, Any]) -> None:
    out = console()
    out.print(f"[bold]{escape(found['path'])}[/]", soft_wrap=True)
    plugin = found.get("plugin")
    if plugin:
        about = ", ".join(part for part in (plugin["vendor"], plugin["license"]) if part)
        out.print(escape(f"  plugin        {plugin['name']} {plugin['version']} ({about})"))
    if "abi" in found:
        out.print(f"  built for     ABI {found['abi']}")
        out.print(f"  capabilities  {', '.join(found['capabilities']).lower() or 'tier sync only'}")
    if "score" in found:
        here = "" if found["score"] > 0 else " (it cannot run on this machine)"
        out.print(f"  score         {found['score']}{here}")
    for device in found.get("devices", ()):
        line = f"  {device['name']:<12}  {device.get('hardware', '?')}, {device['kernels']} kernels"
        out.print(escape(line))
        _show_unknown(out, device.get("unknown_kernels", []))
        trials = found.get("trials", {}).get(device["name"], {})
        for trial, result in trials.items():
            told = coloured(result) if result in ("ok", "fail") else escape(f"not tried: {result}")
            out.print(f"    {trial:<10}  {told}")
    for note in found.get("notes", ()):
        out.print(escape(f"  note: {note}"), soft_wrap=True)
    problems = found["problems"]
    if not problems:
        out.print(f"{coloured('ok')}: it keeps to the ABI")
        return
    out.print(f"{coloured('fail')}: {len(problems)} problem{'' if len(problems) == 1 else 's'}")
    for problem in problems:
        where = f"{problem['file']}: {problem['field']}: " if problem["field"] else ""
        out.print(escape(f"  - {where}{problem['detail']}"), soft_wrap=True)
    for line in found.get("stderr", "").splitlines():
        out.print(f"    {escape(line)}", soft_wrap=True)


def _show_unknown(out: Console, rows: list[str]) -> None:
    """List the kernels that only a newer host can call."""
    if rows:
        shown = f"{len(rows)} kernels are beyond this host, which leaves them out"
        out.print(f"    note: {shown}:", soft_wrap=True)
    for row in rows[:_MOST_SHOWN]:
        out.print(escape(f"      {row}"), soft_wrap=True)
    if len(rows) > _MOST_SHOWN:
        out.print(f"      and {len(rows) - _MOST_SHOWN} more, which --json lists")
