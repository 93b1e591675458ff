"""The history: what it finds, and that nothing in it is lost, whatever lies in the file."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from bench_kit import run_of, timed
from phalanx.benchmarks import history
from phalanx.benchmarks.history import History, HistoryError

KIND = {"cpu": "One", "cores": "2"}


def data(date: str, kind: dict[str, str] = KIND, suite: str = "host") -> dict[str, Any]:
    run = run_of(("add", 2**16, timed(cpu=1.0, numpy=2.0)), peers="numpy")
    run.machine["date"], run.suite = date, suite
    return {"kind": kind, **run.to_dict()}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "history.jsonl"


def add_many(path: Path, name: str, count: int) -> None:
    kept = History(path)
    for number in range(count):
        kept.append(data(f"{name}-{number}") | {"filler": name * 100_000})


class TestFind:
    def of(self, path: Path, *dates: str) -> History:
        for date in dates:
            History(path).append(data(date))
        return History(path)

    def test_last_and_before_it(self, path: Path) -> None:
        kept = self.of(path, "2026-01-01", "2026-01-02", "2026-01-03")
        for wish, date in (("last", 3), ("last~0", 3), ("last~1", 2), ("last~2", 1)):
            assert kept.find(wish, KIND).date == f"2026-01-0{date}"
        assert kept.find("last", KIND).runs[0].cases[0].workload == "add"

    def test_the_last_of_a_date(self, path: Path) -> None:
        kept = self.of(path, "2026-01-01T08", "2026-01-01T09", "2026-02-01T10")
        assert kept.find("2026-01", KIND).date == "2026-01-01T09"

    @pytest.mark.parametrize(
        ("wish", "hint"),
        [
            ("last~3", "has 3 such runs"),
            ("last~999999", "has 3 such runs"),
            ("2027", "2026-01-01 to"),
        ],
    )
    def test_what_is_not_there(self, path: Path, wish: str, hint: str) -> None:
        kept = self.of(path, "2026-01-01", "2026-01-02", "2026-01-03")
        with pytest.raises(HistoryError, match=hint):
            kept.find(wish, KIND)

    def test_an_absent_or_empty_file_has_no_run(self, path: Path) -> None:
        with pytest.raises(HistoryError, match="it is empty"):
            History(path).find("last", KIND)
        History(path).check()
        with pytest.raises(HistoryError, match="it is empty"):
            History(path).find("last", KIND)

    def test_runs_of_other_machines_and_of_programs_do_not_count(self, path: Path) -> None:
        History(path).append(data("2026-01-01", {"cpu": "Two"}))
        with pytest.raises(HistoryError, match="of other machines"):
            History(path).find("last", KIND)
        History(path).append(data("2026-01-02", suite="programs"))
        History(path).append(data("2026-01-03"))
        kept = History(path)
        assert kept.find("last", KIND, lambda e: e.is_of_programs).date == "2026-01-02"
        assert kept.find("last", KIND, lambda e: not e.is_of_programs).date == "2026-01-03"
        assert [entry.date for entry in kept.of(KIND)] == ["2026-01-02", "2026-01-03"]


class TestAppend:
    def test_a_line_that_is_not_whole_is_told_and_kept(self, path: Path) -> None:
        History(path).append(data("2026-01-01"))
        whole = path.read_bytes()
        path.write_bytes(whole + whole[:100])
        kept = History(path)
        assert list(kept.damaged) == [2]
        kept.append(data("2026-01-03"))
        again = History(path)
        assert [entry.date for entry in again.entries] == ["2026-01-01", "2026-01-03"]
        assert [entry.line for entry in again.entries] == [1, 3]
        assert path.read_bytes().startswith(whole + whole[:100] + b"\n")

    @pytest.mark.parametrize(
        "line",
        [
            b"not json",
            b"[1]",
            b'"text"',
            b"{}",
            b'{"schema": "phalanx-bench/9"}',
            b"\xff\xfe\x00",
            b"[" * 100_000,
            json.dumps(data("x") | {"kind": ["a"]}).encode(),
            json.dumps(data("x") | {"cases": [{}]}).encode(),
            json.dumps(data("x") | {"limits": {"copy": 3}}).encode(),
            json.dumps(data("x") | {"further": 1}).encode(),
        ],
        ids=range(11),
    )
    def test_a_foreign_line_is_told_and_the_others_are_read(self, path: Path, line: bytes) -> None:
        History(path).append(data("2026-01-01"))
        path.write_bytes(path.read_bytes() + line + b"\n\n")
        History(path).append(data("2026-01-02"))
        kept = History(path)
        assert list(kept.damaged) == [2]
        assert kept.damaged[2]
        assert len(kept.entries) == 2
        assert line in path.read_bytes()

    def test_a_full_disk_leaves_the_file_as_it_was(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        History(path).append(data("2026-01-01"))
        before = path.read_bytes()
        write = os.write

        def half(file: int, text: Any) -> int:
            if len(text) < 200:
                raise OSError(errno.ENOSPC, "No space left on device")
            return write(file, text[: len(text) // 2])

        monkeypatch.setattr(os, "write", half)
        with pytest.raises(HistoryError, match="No space left on device; write --history FILE"):
            History(path).append(data("2026-01-02"))
        monkeypatch.undo()
        assert path.read_bytes() == before

    def test_a_place_that_cannot_be_written(self, tmp_path: Path) -> None:
        (tmp_path / "folder").mkdir()
        kept = History(tmp_path / "folder" / "history")
        (tmp_path / "folder").rmdir()
        (tmp_path / "folder").write_text("")
        with pytest.raises(HistoryError, match=r"cannot be written: .*exists; write --history"):
            kept.check()

    def test_a_folder_is_no_history(self, tmp_path: Path) -> None:
        with pytest.raises(HistoryError, match="cannot be read: Is a directory"):
            History(tmp_path)

    def test_runs_side_by_side_do_not_mix_their_lines(self, path: Path) -> None:
        context = multiprocessing.get_context("spawn")
        workers = [context.Process(target=add_many, args=(path, name, 5)) for name in "abc"]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(60)
        kept = History(path)
        assert not kept.damaged
        assert sorted(entry.date for entry in kept.entries) == [
            f"{name}-{number}" for name in "abc" for number in range(5)
        ]


class TestDefaultPath:
    def test_each_kind_has_its_own(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        pytest.importorskip("platformdirs")
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
        one = history.default_path({"cpu": "A/B (R) 3.0", "cores": "2"})
        assert one.name.startswith("a-b-r-3-0-2-")
        assert one.suffix == ".jsonl"
        assert one.parent.parts[-2:] == ("phalanx", "bench")
        assert one != history.default_path({"cpu": "A/B (R) 3.0", "cores": "2", "isa": "x"})

    def test_without_platformdirs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "platformdirs", None)
        with pytest.raises(HistoryError, match="--no-history"):
            history.default_path(KIND)


def test_samples_are_rounded_and_nothing_else() -> None:
    found = history.rounded({"a": [{"samples": (1.23456789e-6,), "median": 1.23456789e-6}]})
    assert found == {"a": [{"samples": [1.235e-6], "median": 1.23456789e-6}]}
