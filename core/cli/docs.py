"""``phalanx docs``."""

from __future__ import annotations

from difflib import get_close_matches
from importlib.resources import files

import click

from .output import emit, json_option, plain_errors


@click.command(
    epilog="""\b
Examples:
  phalanx docs                     all pages
  phalanx docs add-a-plugin        one of them, as it stands in docs/add-a-plugin.md
  phalanx docs ops | less

\b
Exit code: 0, or 2 if there is no such page.
"""
)
@click.argument("page", required=False)
@json_option
@plain_errors
def docs(page: str | None, as_json: bool) -> None:
    """List the pages of the documentation, or show PAGE; both work without a network."""
    folder = files("phalanx.docs")
    names = sorted(f.name.removesuffix(".md") for f in folder.iterdir() if f.name.endswith(".md"))
    if page is None:
        titles = {name: _title((folder / f"{name}.md").read_text("utf-8")) for name in names}
        if as_json:
            emit({"folder": str(folder), "pages": titles})
            return
        for name, title in titles.items():
            click.echo(f"{name:22} {title}")
        return
    name = page.removeprefix("docs/").removesuffix(".md")
    if name not in names:
        close = get_close_matches(name, names, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else "; `phalanx docs` lists them"
        raise click.UsageError(f"there is no page {page!r}{hint}")
    text = (folder / f"{name}.md").read_text("utf-8")
    if as_json:
        emit({"page": name, "text": text})
    else:
        click.echo(text, nl=False)


def _title(text: str) -> str:
    return text.partition("\n")[0].lstrip("# ")
