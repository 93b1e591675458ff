"""``phalanx docs``: the pages are part of the installed package."""

from __future__ import annotations

import json

from click.testing import CliRunner, Result
from doc_pages import ROOT
from phalanx.cli.docs import docs

PAGES = {p.stem: p.read_text("utf-8") for p in (ROOT / "docs").glob("*.md")}


def run(*args: str) -> Result:
    return CliRunner().invoke(docs, args)


def test_all_pages_are_listed() -> None:
    lines = run().stdout.splitlines()
    assert [line.split()[0] for line in lines] == sorted(PAGES)
    assert "a-vendors-day          A vendor's day" in lines
    assert set(json.loads(run("--json").stdout)["pages"]) == set(PAGES)


def test_a_page_is_shown_as_it_stands() -> None:
    for name in ("ops", "ops.md", "docs/ops.md"):
        assert run(name).stdout == PAGES["ops"]
    assert json.loads(run("ops", "--json").stdout) == {"page": "ops", "text": PAGES["ops"]}


def test_a_page_that_is_not_there() -> None:
    done = run("add-a-plugn")
    assert done.exit_code == 2
    assert "there is no page 'add-a-plugn'; did you mean 'add-a-plugin'?" in done.stderr
    assert "`phalanx docs` lists them" in run("xyz").stderr
