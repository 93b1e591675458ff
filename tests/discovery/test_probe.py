"""Child processes that look at plugins: what they import, and how they are read."""

from __future__ import annotations

from pathlib import Path

import pytest
from phalanx.conformance import selftest
from phalanx.conformance.description import describe
from phalanx.conformance.settings import Level
from phalanx.discovery import probe

HOSTILE = ("json", "click", "logging", "pluggy", "pytest", "dataclasses", "phalanx")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory: it holds modules with common names that leave a trace if run."""
    trace = f"open({str(tmp_path / 'trace')!r}, 'a').write(__name__)\n"
    for name in HOSTILE:
        (tmp_path / f"{name}.py").write_text(f"{trace}raise SystemExit('not the real {name}')\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


class TestCurrentDirectory:
    """No child imports what lies in the folder in which somebody happens to work."""

    def test_of_the_probe(self, folder: Path) -> None:
        found = probe.run("why", "nobody:0", limit=100)
        assert not (folder / "trace").exists(), found
        assert "nobody" in str(found.result)

    def test_of_the_description(self, folder: Path) -> None:
        found = describe("nobody:0")
        assert not (folder / "trace").exists(), found
        assert "nobody" in found.chain

    def test_of_the_self_test(self, folder: Path) -> None:
        case, message = selftest._run("", Level.RUNTIME, True, 0, "runtime", "--collect-only")
        assert not (folder / "trace").exists(), (case, message)
