"""The pytest plugin that puts changed kernels in the place of the right ones, or notes programs.

It is loaded by the self-test alone, with one option: ``--phalanx-answers`` is a descriptor where
a `Server` answers orders, ``--phalanx-programs`` the folder where the programs of each case are
noted.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from phalanx.device_code.dialect import Dialect
    from phalanx.device_code.recipe import Program, Traits

    from .mutant import Mutant

    Text = Callable[[Program, Dialect, Traits], str]
#: The files of a folder of programs that list them, and the cases that were run.
LIST, CASES = "programs.jsonl", "cases.txt"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("phalanx-mutants", "Phalanx conformance suite: mutants")
    group.addoption("--phalanx-answers", metavar="DESCRIPTOR", default="")
    group.addoption("--phalanx-programs", metavar="FOLDER", default="")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Start to serve, or to note; behind the suite's own, so that the server sees cases first."""
    answers, folder = (config.getoption(f"phalanx_{name}") for name in ("answers", "programs"))
    if answers:
        from .serving import Server

        config.pluginmanager.register(Server(int(answers)), "phalanx-mutants-server")
    if folder:
        wrap(lambda right: noted(right, Path(folder)))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Note the cases."""
    folder = config.getoption("phalanx_programs")
    if folder:
        path = Path(folder, CASES)
        path.write_text("".join(f"{item.nodeid}\n" for item in items), "utf-8")


def wrap(around: Callable[[Text], Text]) -> None:
    """Put something around what makes all texts of programs."""
    from phalanx.device_code import programs, source

    # The one name through which every store of programs makes its texts.
    programs.__dict__["full_text"] = around(source.full_text)


def changed(right: Text, mutant: Mutant) -> Text:
    """Return what makes texts with the change of a mutant."""

    def text(program: Program, dialect: Dialect, traits: Traits) -> str:
        return mutant.applied(right(program, dialect, traits))

    return text


def noted(right: Text, folder: Path) -> Text:
    """Return what makes texts and notes each with the case that needed it.

    A text lies in two files, as many programs begin alike; the list has one line for each program.
    """

    def keep(text: str) -> str:
        name = hashlib.sha256(text.encode()).hexdigest()[:24]
        path = folder / name
        if not path.exists():
            path.write_text(text, "utf-8")
        return name

    def text(program: Program, dialect: Dialect, traits: Traits) -> str:
        whole = right(program, dialect, traits)
        node = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
        head = whole.removesuffix(program.source)
        line = {"node": node, "head": keep(head), "source": keep(program.source)}
        with (folder / LIST).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        return whole

    return text
