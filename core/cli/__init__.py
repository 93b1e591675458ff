"""The command ``phalanx``. Nothing here is imported by ``import phalanx``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; exits the process."""
    from . import standard_streams

    standard_streams.prepare()
    try:
        import click  # noqa: F401
        import rich  # noqa: F401
    except ImportError as error:
        sys.exit(f"the command line needs click and rich ({error}); pip install click rich")
    from .app import cli

    try:
        cli(prog_name="phalanx")
    finally:
        standard_streams.finish()


__all__ = ["main"]
