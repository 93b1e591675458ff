"""The command ``python -m proof``."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click
import phalanx as px
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from .blocks import BLOCK, DTYPES, Finding, Subject, check_block, unary_ops
from .state import State
from .table import markdown, write

_EXAMPLES = """
\b
Examples:
  make proof
  make proof ARGS='--function sin --function cos'
  make proof ARGS='--device opencl:0 --dtype float16'
  make proof ARGS='--function log --dtype float32 --range 0x3f000000:0x40000000'
  make proof ARGS='--write docs/numerics.md'
"""
#: Seconds between two writes of the state.
_PAUSE = 5.0


class _Range(click.ParamType[tuple[int, int]]):
    name = "BEGIN:END"

    def convert(self, value: object, _param: object, _ctx: object) -> tuple[int, int]:
        begin, _, end = str(value).partition(":")
        try:
            return int(begin, 0), int(end, 0)
        except ValueError:
            self.fail(f"{value!r} is not two numbers such as 0x3f000000:0x40000000")


@click.command(epilog=_EXAMPLES)
@click.option("--function", "names", multiple=True, metavar="NAME", help="May be repeated.")
@click.option("--dtype", "dtypes", multiple=True, type=click.Choice(DTYPES))
@click.option("--device", default="cpu:0", show_default=True)
@click.option(
    "--range",
    "part",
    type=_Range(),
    help="Only inputs whose bits are in it; not kept, and not part of the table.",
)
@click.option("--jobs", type=click.IntRange(1), default=os.cpu_count(), show_default=True)
@click.option(
    "--state",
    "path",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("out/proof.json"),
    show_default=True,
    help="Where to go on, and what is found.",
)
@click.option("--restart", is_flag=True, help="Forget what the state has.")
@click.option(
    "--write", "page", type=click.Path(exists=True, path_type=Path), help="Put the table there."
)
def proof(
    names: tuple[str, ...],
    dtypes: tuple[str, ...],
    device: str,
    part: tuple[int, int] | None,
    jobs: int,
    path: Path,
    restart: bool,
    page: Path | None,
) -> None:
    """Check that functions of one operand are correctly rounded, on all their inputs.

    Goes on where it was interrupted, if the installed kernels are the same. Ends with 1 if any
    result is wrong; the inputs are printed and kept in the state.
    """
    console = Console()
    known = unary_ops()
    if unknown := set(names) - set(known):
        raise click.BadParameter(f"{', '.join(sorted(unknown))}; choose from {', '.join(known)}")
    try:
        with px.device(device) as found:
            found.ensure_open()
    except px.PhalanxError as error:
        raise click.BadParameter(str(error)) from error
    subjects = [Subject(n, d, device) for n in names or known for d in dtypes or DTYPES]
    if part is not None:
        sys.exit(_check_part(console, subjects, part, jobs))
    try:
        state = State(path, restart=restart)
    except ValueError as error:
        raise click.ClickException(f"{error}; --restart begins anew") from error
    try:
        _check_all(console, subjects, state, jobs)
    except KeyboardInterrupt:
        console.print(f"interrupted; the same command goes on ({path})")
        sys.exit(130)
    finally:
        state.save()
    table = markdown(state, device, known)
    console.print(table, markup=False)
    if page is not None:
        write(page, table)
    sys.exit(1 if _tell_wrong(console, subjects, state) else 0)


def _blocks(begin: int, end: int) -> Iterator[tuple[int, int]]:
    for at in range(begin, end, BLOCK):
        yield at, min(at + BLOCK, end)


def _findings(
    pool: ThreadPoolExecutor, subject: Subject, begin: int, end: int
) -> Iterator[Finding]:
    """Yield what the blocks give, in their order."""
    return pool.map(lambda block: check_block(subject, *block), _blocks(begin, end))


def _check_all(console: Console, subjects: list[Subject], state: State, jobs: int) -> None:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>5.1f} %"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    pool = ThreadPoolExecutor(jobs)
    try:
        with Progress(*columns, console=console) as bar:
            total = bar.add_task("all", total=sum(s.inputs for s in subjects))
            saved = time.monotonic()
            for subject in subjects:
                row = state.of(subject)
                bar.update(total, advance=row.checked, description=str(subject))
                for finding in _findings(pool, subject, row.checked, subject.inputs):
                    bar.update(total, advance=finding.end - row.checked)
                    row.add(finding)
                    if time.monotonic() > saved + _PAUSE:
                        state.save()
                        saved = time.monotonic()
                state.save()
    finally:
        pool.shutdown(cancel_futures=True)


def _check_part(console: Console, subjects: list[Subject], part: tuple[int, int], jobs: int) -> int:
    status = 0
    with ThreadPoolExecutor(jobs) as pool:
        for subject in subjects:
            begin, end = part
            if not 0 <= begin < end <= subject.inputs:
                raise click.BadParameter(f"{subject} has the inputs 0 to {subject.inputs:#x}")
            findings = list(_findings(pool, subject, begin, end))
            wrong = [bits for finding in findings for bits in finding.wrong]
            decided = sum(finding.decided for finding in findings)
            shown = ", ".join(f"{bits:#x}" for bits in wrong) or "none"
            counts = f"{end - begin:,} inputs, {decided:,} in doubt"
            console.print(f"{subject}: {counts}, wrong: {shown}")
            status |= bool(wrong)
    return status


def _tell_wrong(console: Console, subjects: list[Subject], state: State) -> bool:
    wrong = [(subject, row) for subject in subjects if (row := state.of(subject)).wrong]
    for subject, row in wrong:
        shown = ", ".join(f"{bits:#x}" for bits in row.wrong[:20])
        console.print(f"{subject}: {len(row.wrong):,} wrong: {shown}")
    return bool(wrong)
