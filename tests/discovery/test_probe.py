"""Child processes that look at plugins: what they import, and how they are read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from phalanx.conformance import selftest
from phalanx.conformance.description import describe
from phalanx.conformance.settings import Level
from phalanx.discovery import probe
from phalanx.errors import SettingError
from plugin_kit import make_distribution

HOSTILE = ("json", "click", "logging", "pluggy", "pytest", "dataclasses", "phalanx")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory: it holds modules with common names that leave a trace if run."""
    trace = f"open({str(tmp_path / 'trace')!r}, 'a').write(__name__)\n"
    for name in HOSTILE:
        (tmp_path / f"{name}.py").write_text(f"{trace}raise SystemExit('not the real {name}')\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_wrong_variable_is_nobody_s_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHALANX_LOG", "loud")
    with pytest.raises(SettingError, match="PHALANX_LOG='loud'") as caught:
        probe.run("why", "nobody:0", limit=100)
    assert caught.value.remedy == "use debug, info, warning, error or critical"


def test_a_child_that_ends_early(tmp_path: Path) -> None:
    body = "import os\nos._exit(0)"
    make_distribution(tmp_path, "gone", plugins={"gone": "gone_now"}, modules={"gone_now": body})
    environment = {**os.environ, "PHALANX_PLUGINS": "gone"}
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(tmp_path))
        report = probe.run("plugins", "quick", limit=100, env=environment)
    assert (report.failure, report.at) == ("ended with exit code 0", "its import")


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
