"""``phalanx new-plugin``."""

from __future__ import annotations

from pathlib import Path

import click
from rich.markup import escape

from .output import console, emit, fail, json_option, noise_to_stderr

_STEPS = {
    "c": "read src/{module}/{name}.c: each comment says which call of yours takes its line's place",
    "python": "read src/{module}/driver.py: each comment names the call of yours that goes there",
    "dialect": "read src/{module}/dialect.hpp and compiler.py: your compiler's words and its call",
}


@click.command(
    "new-plugin",
    epilog="""\b
Examples:
  phalanx new-plugin acme --python            ./acme-phalanx, a driver in Python
  phalanx new-plugin acme --c --into /tmp     a C library with the ABI of phalanx.h
  phalanx new-plugin acme --dialect           the kernel texts of Phalanx, your compiler

\b
Exit code: 0, or 1 if the folder cannot be written, 2 for wrong usage: a name that cannot be, or
a folder that exists.
""",
)
@click.argument("name")
@click.option("--c", "form", flag_value="c", help="A shared library with the ABI of phalanx.h.")
@click.option("--python", "form", flag_value="python", help="A driver in Python.")
@click.option(
    "--dialect",
    "form",
    flag_value="dialect",
    help="A dialect of C: a kernel for every op, through your compiler.",
)
@click.option(
    "--into",
    type=click.Path(exists=True, file_okay=False, writable=True, path_type=Path),
    default=Path(),
    help="Where the new folder goes. Default: here.",
)
@json_option
def new_plugin(name: str, form: str | None, into: Path, as_json: bool) -> None:
    """Write a package for the driver NAME: a simulated device that works, with tests and CI.

    The package passes the conformance suite as it comes. Then the calls of the simulator give way
    to those of your runtime, one by one, and its tests say what broke.
    """
    from phalanx.scaffold import FORMS, check_name, write

    if form is None:
        fail("say what the driver is written in: --c, --python or --dialect", 2)
    try:
        with noise_to_stderr():
            check_name(name)
        target = write(name, FORMS[form], into)
    except (ValueError, FileExistsError) as error:
        fail(str(error), 2)
    except OSError as error:
        fail(f"{error.filename or into} cannot be written: {error.strerror or error}", 1)
    files = sorted(p.relative_to(target).as_posix() for p in target.rglob("*") if p.is_file())
    if as_json:
        emit({"folder": str(target), "form": form, "level": FORMS[form].level, "files": files})
        return
    out = console()
    for file in files:
        out.print(escape(f"  {target / file}"), soft_wrap=True)
    out.print(f"{len(files)} files: {FORMS[form].summary}")
    _next_steps(name, form, target)


def _next_steps(name: str, form: str, target: Path) -> None:
    own = _STEPS[form].format(module=f"{name}_phalanx", name=name)
    steps = (
        (f"cd '{target}' && pip install -e '.[test]'", ""),
        (f"phalanx why {name}:0", "the device is there"),
        (f"phalanx conformance --quick --level runtime --device {name}:0", "it passes"),
        (own, ""),
    )
    out = console()
    out.print("\nNext:")
    for number, (step, result) in enumerate(steps, 1):
        out.print(
            escape(f"  {number}. {step}" + (f"   # {result}" if result else "")), soft_wrap=True
        )
