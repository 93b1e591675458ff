"""``phalanx keygen``."""

from __future__ import annotations

from pathlib import Path

import click
from phalanx.cli.output import fail

_USAGE = 2

_EPILOG = """\b
Examples:
  phalanx keygen acme.key --name acme-ci
  phalanx conformance -d acme:0 --certificate acme.json --sign acme.key
  cat *.pub > trusted-keys
  phalanx verify acme.json --trust trusted-keys

\b
Exit code: 0 the keys are written, 2 they are not: a file is there already, or has no place.
"""


@click.command(epilog=_EPILOG)
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--name", metavar="NAME", help="Who signs with it. Default: the file's name.")
def keygen(file: Path, name: str | None) -> None:
    """Make a key to sign certificates with: a secret FILE, and FILE.pub to give away."""
    from .signing import SigningError, make_key

    try:
        public = make_key(file, file.stem if name is None else name)
    except SigningError as error:
        fail(str(error), _USAGE)
    except (OSError, ValueError) as error:
        fail(f"{file} cannot be written: {getattr(error, 'strerror', '') or error}", _USAGE)
    click.echo(f"{file}: the secret key; keep it where only the signer can read it")
    click.echo(f"{public}: the public key; give it to those who check with --trust")
