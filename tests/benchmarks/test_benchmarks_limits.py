"""The machine's limits: their measurement, what a cost takes at least, and what goes wrong."""

from __future__ import annotations

import shutil
import subprocess
from typing import Any

import pytest
from phalanx.benchmarks import limits
from phalanx.benchmarks.limits import Cost, Limits, NoLimitsError

MADE = Limits(2, ((1000, 100.0), (100_000, 1.0)), {"float32": 50.0})


class TestLimits:
    @pytest.mark.parametrize(
        ("moved", "rate"), [(10, 100.0), (1000, 100.0), (10_000, 10.0), (100_000, 1.0), (1e9, 1.0)]
    )
    def test_the_rate_lies_between_those_measured(self, moved: int, rate: float) -> None:
        assert MADE.rate(int(moved)) == pytest.approx(rate)

    def test_the_slower_of_memory_and_arithmetic_counts(self) -> None:
        assert MADE.seconds(Cost(100_000)) == pytest.approx(100_000.0)
        assert MADE.seconds(Cost(1000, flops=5000.0)) == pytest.approx(100.0)
        assert MADE.seconds(Cost(1000, flops=5000.0, dtype="int8")) == pytest.approx(10.0)

    def test_few_bytes_have_no_limit(self) -> None:
        assert MADE.seconds(Cost(999, flops=1e9)) is None

    def test_noise_only_lowers_rates(self) -> None:
        other = Limits(2, ((1000, 90.0), (100_000, 3.0)), {"float32": 60.0, "float64": 1.0})
        assert MADE.or_better(other) == Limits(
            2, ((1000, 100.0), (100_000, 3.0)), {"float32": 60.0}
        )

    def test_there_and_back(self) -> None:
        assert Limits.from_dict(MADE.to_dict()) == MADE
        assert Cost.from_dict(Cost(3, 4.0, "int8").to_dict()) == Cost(3, 4.0, "int8")

    @pytest.mark.parametrize(
        "change",
        [
            {"copy": []},
            {"copy": [{"bytes": 1, "rate": 0.0}]},
            {"copy": [{"bytes": 1}]},
            {"fma": {"float32": -1.0}},
            {"threads": "many"},
        ],
    )
    def test_other_data_are_refused(self, change: dict[str, Any]) -> None:
        with pytest.raises((KeyError, TypeError, ValueError)):
            Limits.from_dict(MADE.to_dict() | change)


class TestMeasurement:
    @pytest.mark.skipif(not shutil.which("cc"), reason="there is no C compiler")
    def test_this_machine_has_limits(self) -> None:
        found = limits.measure_limits(1)
        assert found.threads == 1
        assert [moved for moved, _ in found.copy] == [4**k for k in range(9, 15)]
        rates = [rate for _, rate in found.copy]
        assert rates == sorted(rates, reverse=True)
        assert rates[-1] > 1e6
        assert set(found.fma) == {"float32", "float64"}
        assert min(found.fma.values()) > 1e6

    def test_no_compiler(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(shutil, "which", lambda _: None)
        with pytest.raises(NoLimitsError, match="install one"):
            limits.measure_limits(1)

    @pytest.mark.skipif(not shutil.which("cc"), reason="there is no C compiler")
    def test_too_many_threads(self) -> None:
        with pytest.raises(NoLimitsError, match="between 1 and 1024"):
            limits.measure_limits(10**6)

    @pytest.mark.parametrize("text", ["", "copy", "copy big 1.0", "copy 8 1.0\n"])
    def test_a_program_that_prints_something_else(
        self, monkeypatch: pytest.MonkeyPatch, text: str
    ) -> None:
        monkeypatch.setattr(limits, "_run", lambda _: text)
        with pytest.raises(NoLimitsError, match="printed"):
            limits.measure_limits(1)

    def test_a_program_that_hangs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def hang(command: list[str], **_: Any) -> None:
            raise subprocess.TimeoutExpired(command, 60.0)

        monkeypatch.setattr(shutil, "which", lambda name: name)
        monkeypatch.setattr(subprocess, "run", hang)
        with pytest.raises(NoLimitsError, match="timed out after 60"):
            limits.measure_limits(1)
