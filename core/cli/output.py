"""What all commands share: options, JSON, tables, and errors without a traceback."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn, TypeVar

import click
from phalanx.errors import DeviceNotFoundError, PhalanxError, SettingError
from rich.console import Console
from rich.markup import escape
from rich.table import Table

_UNWRAPPED = 10_000  # columns

F = TypeVar("F", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print machine-readable JSON.")
COLOURS = {
    "ok": "green",
    "warning": "yellow",
    "critical": "bold red",
    "fail": "bold red",
    "skipped": "dim",
    "absent": "dim",
    "unknown": "magenta",
    "native": "green",
    "decomposed": "cyan",
    "fallback": "yellow",
    "unsupported": "bold red",
}


def console() -> Console:
    """Return a console on today's stdout; where that is no terminal, lines do not wrap."""
    terminal = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Console(highlight=False, width=None if terminal else _UNWRAPPED)


@contextmanager
def noise_to_stderr() -> Iterator[None]:
    """Send what plugins print to stderr: our stdout may be read by a program."""
    sys.stdout.flush()
    saved = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(saved, 1)
        os.close(saved)


def emit(data: Any) -> None:
    """Print JSON."""
    click.echo(json.dumps(data, indent=2, ensure_ascii=False))


def coloured(word: str) -> str:
    """Return a status word in its colour, as rich markup."""
    colour = COLOURS.get(word)
    return f"[{colour}]{escape(word)}[/]" if colour else escape(word)


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, fold: int) -> Table:
    """Return a table whose column ``fold`` takes what width is left; cells are rich markup."""
    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for place, header in enumerate(headers):
        wide = place == fold
        made.add_column(header, overflow="fold", no_wrap=not wide, ratio=1 if wide else None)
    for row in rows:
        made.add_row(*row)
    return made


def fail(message: str, code: int) -> NoReturn:
    """Print an error to stderr and end with an exit code."""
    click.echo(f"Error: {message}", err=True)
    raise SystemExit(code)


def plain_errors(command: F) -> F:
    """Turn our errors into a message and an exit code: 2 for a wrong name or setting, else 1."""

    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except (DeviceNotFoundError, SettingError) as error:
            fail(str(error), 2)
        except PhalanxError as error:
            fail(str(error), 1)

    return wrapped  # type: ignore[return-value]
