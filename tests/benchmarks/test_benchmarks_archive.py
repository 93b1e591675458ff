"""Former runs from the command line: keep, list, show, compare; the devices are fake."""

from __future__ import annotations

import json
import re
from pathlib import Path

import phalanx as px
import pytest
from click.testing import CliRunner, Result
from doc_pages import ROOT
from phalanx.benchmarks import command, history, limits
from phalanx.benchmarks.history import HistoryError
from phalanx.benchmarks.limits import NoLimitsError
from phalanx.benchmarks.measure import Plan

RUN = ("--quick", "-d", "fake:0", "--peer", "numpy", "-k", "dispatch add")


def bench(*args: str) -> Result:
    return CliRunner().invoke(
        command.bench, args, catch_exceptions=False, prog_name="phalanx bench"
    )


def told(done: Result) -> str:
    return " ".join(done.output.replace("│", " ").split())


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch, fake: px.Device) -> None:
    monkeypatch.setattr(command, "_QUICK", Plan(2, 2, 1e-6, 0.01, attempts=1))


class TestKeep:
    def test_each_run_adds_a_line_that_can_be_compared(self, own_history: Path) -> None:
        assert bench(*RUN).exit_code == 0
        done = bench(*RUN, "--compare", "last")
        assert done.exit_code == 0, done.output
        assert "against the run of" in told(done)
        lines = own_history.read_text().splitlines()
        assert len(lines) == 2
        kind = json.loads(lines[0])["kind"]
        assert {"cpu", "cores", "isa", "numpy", "torch"} == set(kind)

    def test_no_history(self, own_history: Path) -> None:
        assert bench(*RUN, "--no-history").exit_code == 0
        assert not own_history.exists()

    def test_a_file_of_ones_own(self, own_history: Path, tmp_path: Path) -> None:
        path = tmp_path / "own" / "history"
        assert bench(*RUN, "--history", str(path)).exit_code == 0
        assert len(path.read_text().splitlines()) == 1
        assert not own_history.exists()

    def test_a_run_without_cases_is_not_kept(self, own_history: Path) -> None:
        assert bench(*RUN[:-1], "softmax", "--size", "1024").exit_code == 0
        before = own_history.read_text()
        assert bench("-d", "fake:0", "-k", "launch").exit_code == 0
        assert own_history.read_text() == before

    def test_one_that_cannot_be_written_is_told_before_anything_is_measured(
        self, tmp_path: Path
    ) -> None:
        (tmp_path / "file").write_text("")
        done = bench(*RUN, "--history", str(tmp_path / "file" / "x"))
        assert done.exit_code == 1
        assert "write --history FILE" in told(done)
        assert "Speed of" not in done.output

    def test_without_a_folder_of_its_own_the_run_goes_on(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def absent(_: object) -> Path:
            raise HistoryError("no folder")

        monkeypatch.setattr(history, "default_path", absent)
        done = bench(*RUN)
        assert done.exit_code == 0
        assert "no history is kept: no folder" in told(done)
        done = bench(*RUN, "--compare", "last")
        assert done.exit_code == 2
        assert "no folder" in told(done)

    def test_damaged_lines_are_told_and_stay(self, own_history: Path) -> None:
        bench(*RUN)
        own_history.write_text(own_history.read_text() + "{half a li")
        done = bench(*RUN, "--compare", "last")
        assert done.exit_code == 0
        assert "line 2 is not read" in told(done)
        assert "{half a li\n" in own_history.read_text()
        assert len(own_history.read_text().splitlines()) == 3

    def test_json_alone_prints_json_only(self, own_history: Path) -> None:
        own_history.parent.mkdir()
        own_history.write_text("{half a li")
        done = bench(*RUN, "--json", "--compare", "last")
        assert done.exit_code == 2
        done = bench(*RUN, "--json")
        assert done.exit_code == 0
        assert json.loads(done.stdout)["cases"]


class TestCompare:
    def test_the_last_run_of_the_same_device_counts(self) -> None:
        bench(*RUN)
        bench("--quick", "-d", "fakehost:0", *RUN[3:])
        done = bench(*RUN, "--compare", "last")
        assert "fake:0 against the run of" in told(done)

    def test_nothing_in_common_is_told(self, tmp_path: Path) -> None:
        path = tmp_path / "run.json"
        bench("--quick", "-d", "fakehost:0", *RUN[3:], "--json", str(path))
        for wish, why in (("last", "no such run"), (str(path), "no rows of these devices")):
            done = bench(*RUN, "--no-history", "--compare", wish)
            assert done.exit_code == 0
            assert "nothing to compare" in told(done)
            assert why in told(done)
            assert "Speed of fake:0" in done.output


class TestList:
    def test_the_runs_of_this_machine(self, own_history: Path) -> None:
        bench(*RUN)
        bench(*RUN)
        line = json.loads(own_history.read_text().splitlines()[0])
        with own_history.open("a") as file:
            file.write(json.dumps(line | {"kind": {"cpu": "Two"}}) + "\n")
        done = bench("--list")
        assert done.exit_code == 0
        for word in ("last~1", "last ", "host fake:0", "other kinds of machines in this file: 1"):
            assert word in done.output, word

    def test_an_empty_history(self) -> None:
        done = bench("--list")
        assert done.exit_code == 0
        assert done.output.rstrip().endswith(": 0")

    def test_a_folder(self, tmp_path: Path) -> None:
        done = bench("--list", "--history", str(tmp_path))
        assert done.exit_code == 2
        assert "is a directory" in told(done)


class TestShow:
    def test_a_former_run_against_another(self, own_history: Path, tmp_path: Path) -> None:
        for _ in range(2):
            bench(*RUN)
        before = own_history.read_text()
        path = tmp_path / "page" / "bench.html"
        done = bench("--show", "last", "--compare", "last~1", "--html", str(path))
        assert done.exit_code == 0, done.output
        assert "Speed of fake:0" in done.output
        assert "against the run of" in told(done)
        assert own_history.read_text() == before
        assert "<!doctype html>" in path.read_text()

    def test_a_file(self, tmp_path: Path) -> None:
        path = tmp_path / "run.json"
        bench(*RUN, "--json", str(path))
        done = bench("--show", str(path), "--json")
        assert done.exit_code == 0
        assert json.loads(done.stdout) == json.loads(path.read_text())

    def test_the_page_of_another_machines_run_has_no_history_of_this(self, tmp_path: Path) -> None:
        path, page = tmp_path / "run.json", tmp_path / "page.html"
        bench(*RUN, "--json", str(path))
        data = json.loads(path.read_text()) | {"date": "2026-01-01T08:00:00+00:00"}
        path.write_text(json.dumps(data))
        bench("--show", str(path), "--html", str(page))
        assert "<h3>History</h3>" in page.read_text()
        data["hardware"]["cpu"] = "Two"
        path.write_text(json.dumps(data))
        assert bench("--show", str(path), "--html", str(page)).exit_code == 0
        assert "<h3>History</h3>" not in page.read_text()

    @pytest.mark.parametrize(
        ("args", "hint"),
        [
            (("--show", "nothing"), "nothing does not exist; write a file of --json, `last`"),
            (("--show", "last"), "no such run: it is empty"),
            (("--show", "last", "-k", "add"), "measures nothing, leave out --workload"),
            (("--list", "--quick", "--show", "last"), "leave out --quick, --show"),
            (("--compare", "last~"), "does not exist"),
            (("--compare", "2026-13"), "no such run"),
        ],
    )
    def test_wrong_usage(self, args: tuple[str, ...], hint: str) -> None:
        done = bench(*args)
        assert done.exit_code == 2
        assert hint in told(done)

    def test_a_page_that_cannot_be_written(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        done = bench(*RUN, "--html", str(tmp_path / "file" / "x.html"))
        assert done.exit_code == 1
        assert "x.html" in told(done)


def test_a_machine_without_a_compiler_has_no_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(_: int) -> None:
        raise NoLimitsError("no C compiler (cc) is on the path; install one")

    monkeypatch.setattr(limits, "measure_limits", absent)
    done = bench(*RUN[:2], "fakehost:0", *RUN[3:])
    assert done.exit_code == 0
    assert "the machine's limit is missing: no C compiler (cc)" in told(done)


def test_the_documentation_has_every_option() -> None:
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    for parameter in command.bench.params:
        names = parameter.opts
        assert any(re.search(rf"{name}\b", page) for name in names), names


def test_the_help_has_examples() -> None:
    done = bench("--help")
    for text in ("--compare last", "--list", "--show new.json --html bench.html"):
        assert f"phalanx bench {text}" in done.output
