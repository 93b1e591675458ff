"""The table of a run, and its JSON form."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from bench_kit import printed, run_of, timed
from phalanx.benchmarks import report, results
from phalanx.benchmarks.limits import Cost, Limits
from phalanx.benchmarks.results import Run


class TestReport:
    def test_a_table_of_eighty_columns(self) -> None:
        text = printed(
            report.show,
            [
                run_of(
                    ("add", 2**16, timed(cpu=1.0e-3, numpy=4.567e-3, torch=0.999e-3)),
                    ("add", 2**20, timed(cpu=None, numpy=1.23e-7, torch=12.0)),
                )
            ],
        )
        assert max(map(len, text.splitlines())) <= 80
        for word in (
            "1.00 ms",
            "4.57 ms",
            "4.56",
            "! 0.99",
            "unsupported",
            "123 ns",
            "12 s",
            "no kernel",
            "missed",
        ):
            assert word in text, word

    @pytest.mark.parametrize(
        ("seconds", "text"),
        [
            (None, "-"),
            (1.234e-9, "1.23 ns"),
            (9.996e-7, "1.00 µs"),
            (0.0123, "12.3 ms"),
            (0.9999, "1 s"),
            (75.3, "75.3 s"),
        ],
    )
    def test_times(self, seconds: float | None, text: str) -> None:
        assert report.seconds_text(seconds) == text

    def test_a_busy_machine_is_told(self) -> None:
        run = run_of(("add", 2**16, timed(cpu=1.0, numpy=2.0)), peers="numpy")
        run.machine["hardware"]["load"] = 0.4
        assert "busy" not in printed(report.show, [run])
        run.machine["hardware"]["load"] = 1.5
        assert "busy (load 1.5)" in printed(report.show, [run])

    def test_many_peers_still_fit(self) -> None:
        peers = {f"peer{i}": 2.0 for i in range(4)}
        text = printed(
            report.show, [run_of(("add", 2**16, timed(cpu=1.0, **peers)), peers=" ".join(peers))]
        )
        assert max(map(len, text.splitlines())) <= 80
        assert text.count("2.00") >= 5

    def test_a_missing_peer_is_named_with_the_remedy(self) -> None:
        run = run_of(("add", 2**16, timed(cpu=1.0, numpy=2.0)), peers="numpy")
        run.missing["torch"] = "No module named 'torch'; pip install torch"
        text = printed(report.show, [run])
        assert "torch is missing: No module named 'torch'; pip install torch" in text
        assert "/ best" not in text

    def test_the_share_of_the_limit(self) -> None:
        run = run_of(("add", 2**20, timed(cpu=1.0, numpy=2.0)), peers="numpy")
        run.limits = Limits(2, ((2**18, 1e6), (2**24, 1e6)), {"float32": 1e9})
        run.cases[0] = replace(run.cases[0], cost=Cost(370_000))
        text = printed(report.show, [run])
        assert "37 %" in text
        assert "limits: copy 0.0 GB/s beyond the caches, 1 GFLOP/s float32, threads 2" in text
        assert max(map(len, text.splitlines())) <= 80
        (case,) = json.loads(json.dumps(run.to_dict()))["cases"]
        assert case["shares"] == {"cpu": pytest.approx(0.37), "numpy": pytest.approx(0.185)}
        assert results.from_dict(run.to_dict()) == run

    def test_all_columns_fit_with_two_peers(self) -> None:
        run = run_of(("broadcast add", 2**20, timed(cpu=0.123, numpy=0.124, torch=0.125)))
        run.limits = Limits(2, ((2**10, 1e6), (2**24, 1e6)), {"float32": 1e9})
        run.cases[0] = replace(run.cases[0], workload="a" * 16, races=5, cost=Cost(123_000))
        text = printed(report.show, [run])
        assert "a" * 16 in text
        assert " 2^20x5 " in text
        assert " 100 % \n" in text
        assert max(map(len, text.splitlines())) <= 80

    def test_a_long_table_ends_with_its_lowest_rows(self) -> None:
        rows = [("add", 2**20 + i, timed(cpu=1.0, numpy=1.0 + i)) for i in range(31)]
        text = printed(report.show, [run_of(*rows, peers="numpy")])
        below = text[text.index("Lowest ratios of cpu") :]
        assert below.count(" add ") == 10
        assert below.index("1048577") < below.index("1048578") < below.index("1048585")
        assert "Lowest" not in printed(report.show, [run_of(*rows[:30], peers="numpy")])

    def test_without_limits_there_is_no_column(self) -> None:
        run = run_of(("add", 2**20, timed(cpu=1.0, numpy=2.0)), peers="numpy")
        assert "Limit" not in printed(report.show, [run])


class TestJson:
    def run(self) -> Run:
        return run_of(
            ("add", 2**16, timed(cpu=1.0, numpy=4.0, torch=2.0)),
            ("sort", 2**16, timed(cpu=None, numpy=1.0, torch=1.0)),
        )

    def test_there_and_back(self) -> None:
        run = self.run()
        data = json.loads(json.dumps(run.to_dict()))
        assert data["schema"] == "phalanx-bench/1"
        first, second = data["cases"]
        assert first["ratios"] == {"cpu": {"numpy": 4.0, "torch": 2.0, "fastest": 2.0}}
        assert first["outcomes"]["cpu"]["samples"] == [1.0, 1.0]
        assert second["outcomes"]["cpu"] == {"status": "unsupported", "reason": "no kernel"}
        assert second["ratios"]["cpu"]["fastest"] is None
        assert results.from_dict(data) == run

    @pytest.mark.parametrize(
        "data",
        [
            None,
            [],
            {},
            {"schema": "phalanx-bench/0"},
            {"schema": "phalanx-bench/1"},
            {"schema": "phalanx-bench/1", "cases": 3},
        ],
    )
    def test_other_data_are_refused(self, data: Any) -> None:
        with pytest.raises(ValueError, match="phalanx bench --json"):
            results.from_dict(data)
