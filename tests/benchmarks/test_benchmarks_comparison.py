"""What changed between two runs: net of the machine, and told from noise."""

from __future__ import annotations

import pytest
from bench_kit import BY_NAME, printed, run_of, timed
from phalanx.benchmarks import comparison
from phalanx.benchmarks.measure import Timing
from phalanx.benchmarks.results import Outcome, Run


def sampled(**seconds: list[float]) -> dict[str, Outcome]:
    return {name: Outcome("ok", timing=Timing(1, tuple(t))) for name, t in seconds.items()}


def run(*cases: tuple[str, dict[str, Outcome]]) -> Run:
    return run_of(*((name, 2**16, outcomes) for name, outcomes in cases), peers="numpy torch")


class TestChanges:
    def test_the_machine_is_divided_out(self) -> None:
        old, new = run(("add", timed(cpu=4.0, numpy=2.0))), run(("add", timed(cpu=1.0, numpy=1.0)))
        (found,) = comparison.changes(new, old, "cpu")
        assert (found.then, found.now, found.peer, found.net) == (4.0, 1.0, 2.0, 2.0)
        assert found.is_real

    def test_the_fastest_peer_that_both_have(self) -> None:
        old = run(("add", timed(cpu=1.0, numpy=5.0, torch=None)))
        new = run(("add", timed(cpu=1.0, numpy=5.0, torch=0.1)))
        (found,) = comparison.changes(new, old, "cpu")
        assert (found.peer, found.net) == (1.0, 1.0)
        assert not found.is_real

    def test_without_a_peer_the_times_count(self) -> None:
        (found,) = comparison.changes(
            run(("add", timed(cpu=1.0))), run(("add", timed(cpu=2.0))), "cpu"
        )
        assert (found.peer, found.net, found.is_real) == (None, 2.0, True)

    def test_a_change_within_the_noise_of_the_pairs_is_none(self) -> None:
        calm = [1.0] * 9
        wild = [0.7, 0.8, 0.9, 1.0, 1.2, 1.3, 1.4, 1.5, 1.6]
        old = run(("add", sampled(cpu=calm, numpy=calm)))
        for samples, is_real in ((wild, False), ([1.2] * 9, True), ([1.04] * 9, False)):
            new = run(("add", sampled(cpu=samples, numpy=calm)))
            (found,) = comparison.changes(new, old, "cpu")
            assert found.net == pytest.approx(1.0 / samples[4])
            assert found.is_real == is_real

    def test_a_noise_that_meets_both_is_none(self) -> None:
        wild = [0.7, 0.8, 0.9, 1.0, 1.2, 1.3, 1.4, 1.5, 1.6]
        old = run(("add", sampled(cpu=wild, numpy=wild)))
        new = run(("add", sampled(cpu=[1.1 * t for t in wild], numpy=wild)))
        (found,) = comparison.changes(new, old, "cpu")
        assert found.noise == pytest.approx(1.0)
        assert found.is_real

    def test_what_is_in_one_run_or_was_not_timed_is_left_out(self) -> None:
        old = run(("add", timed(cpu=None, numpy=1.0)), ("sort", timed(cpu=1.0)))
        new = run(("add", timed(cpu=1.0, numpy=1.0)), ("exp", timed(cpu=1.0)))
        assert not list(comparison.changes(new, old, "cpu"))


class TestReport:
    def test_what_is_beyond_noise_comes_first_and_the_worst_of_it(self) -> None:
        names = ["add", "exp", "sort", "sum"]
        old = run(*((name, timed(cpu=1.0, numpy=1.0)) for name in names))
        times = (1.0, 1.5, 3.0, 0.5)
        new = run(
            *((n, timed(cpu=t, numpy=1.0)) for n, t in zip(names, times, strict=True)),
        )
        text = printed(comparison.show_comparison, new, old)
        places = [text.index(word) for word in ("beyond", "sort ", "exp ", "sum ", "within", "add")]
        assert places == sorted(places)
        assert "2 slower, 1 faster, 1 as before" in " ".join(text.split())
        assert max(map(len, text.splitlines())) <= 80

    def test_another_machine_and_other_peers_are_told(self) -> None:
        old, new = (run(("add", timed(cpu=1.0, numpy=1.0))) for _ in range(2))
        old.machine["hardware"] = {"cpu": "Two", "cores": 64}
        old.peers["numpy"] = {"version": "1.9"}
        text = " ".join(printed(comparison.show_comparison, new, old).split())
        assert "another processor: Two, now One" in text
        assert "another number of cores: 64, now 2" in text
        assert "another numpy: 1.9, now 2" in text

    def test_nothing_in_common(self) -> None:
        text = printed(comparison.show_comparison, run(("add", timed(cpu=1.0))), run())
        assert "no case in common" in text

    def test_how_many_cases_are_in_one_run_alone(self) -> None:
        names = sorted(BY_NAME)[:3]
        old = run(*((name, timed(cpu=1.0)) for name in names))
        text = printed(comparison.show_comparison, run((names[0], timed(cpu=1.0))), old)
        assert "Only in this run: 0 cases; only in the former: 2." in text
