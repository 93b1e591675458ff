"""The harness of ``phalanx bench``, with a clock that only the contestants move."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import phalanx as px
import pytest
from bench_kit import BY_NAME, printed, run_of, timed
from phalanx.benchmarks import bars, contestants, measure, report, results, workloads
from phalanx.benchmarks.contestants import Contestant, NumpyPeer, PhalanxContestant
from phalanx.benchmarks.measure import Plan, Timing
from phalanx.benchmarks.results import FASTEST, Case, Outcome

NS = 1e-9


class Clock:
    """Stands still unless someone moves it."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Fake(Contestant):
    """Computes with NumPy; each call of ``exp`` moves the clock by the next of ``costs``."""

    family: ClassVar[str] = "fake"

    def __init__(
        self, name: str, clock: Clock, costs: tuple[float, ...], wait: float = 0.0
    ) -> None:
        self.name, self.clock, self.costs, self.wait = name, clock, costs, wait
        self.calls = self.released = 0
        self.log: list[str] = []
        self.xp = SimpleNamespace(exp=self.exp)

    def exp(self, a: Any) -> Any:
        self.clock.now += self.costs[min(self.calls, len(self.costs) - 1)]
        self.calls += 1
        self.log.append(self.name)
        return np.exp(a)

    def array(self, host: Any) -> Any:
        return host.copy()

    def to_numpy(self, result: Any) -> Any:
        return np.asarray(result)

    def about(self) -> dict[str, str]:
        return {"version": "1"}

    def synchronize(self) -> None:
        self.clock.now += self.wait

    def release(self) -> None:
        self.released += 1


def case_of(*fakes: Contestant, clock: Clock, plan: Plan | None = None, **more: Any) -> Case:
    plan = plan or Plan(repeats=4, least_repeats=2, sample_seconds=1e-4, case_seconds=1.0)
    return results.measure_case(
        BY_NAME["exp"], 8, fakes, plan, clock=clock, rest=lambda: None, **more
    )


class TestMeasure:
    def test_a_ratio_is_that_of_the_medians(self) -> None:
        clock = Clock()
        case = case_of(Fake("a", clock, (1000 * NS,)), Fake("b", clock, (2500 * NS,)), clock=clock)
        assert case.seconds("a") == pytest.approx(1000 * NS)
        assert case.ratio("a", "b", ["b"]) == pytest.approx(2.5)
        assert case.ratio("b", "a", ["a"]) == pytest.approx(0.4)

    def test_waiting_for_the_device_is_part_of_the_sample(self) -> None:
        clock = Clock()
        case = case_of(Fake("a", clock, (1e-3,), wait=2e-3), clock=clock)
        assert case.seconds("a") == pytest.approx(3e-3)

    def test_waiting_does_not_count_where_the_host_is_timed(self) -> None:
        clock = Clock()
        work = replace(BY_NAME["exp"], waits=False)
        plan = Plan(2, 2, 1e-4, 1.0)
        case = results.measure_case(
            work, 8, [Fake("a", clock, (1e-3,), wait=2e-3)], plan, clock=clock, rest=lambda: None
        )
        assert case.seconds("a") == pytest.approx(1e-3)

    def test_a_very_long_call_is_not_repeated_to_plan_the_rounds(self) -> None:
        clock = Clock()
        fake = Fake("a", clock, (30.0,))
        case_of(fake, clock=clock, plan=Plan(9, 2, 1e-3, 1.0))
        assert fake.calls == 1 + 1 + 2  # the check, the plan, the rounds

    def test_contestants_take_turns(self) -> None:
        clock, log = Clock(), []
        fakes = [Fake(name, clock, (0.05,)) for name in "abc"]
        for fake in fakes:
            fake.log = log
        case_of(*fakes, clock=clock, plan=Plan(3, 3, 1e-4, 1.0))
        assert "".join(log[-9:]) == "abcabcabc"

    def test_calls_shorter_than_a_sample_are_repeated(self) -> None:
        clock = Clock()
        fake = Fake("a", clock, (1e-6,))
        case = case_of(fake, clock=clock, plan=Plan(2, 2, 1e-3, 1.0))
        timing = case.outcomes["a"].timing
        assert timing is not None
        assert timing.calls >= 1000

    def test_a_long_case_has_fewer_rounds_but_never_less_than_the_least(self) -> None:
        for seconds, rounds in ((1e-2, 21), (1.0, 5), (100.0, 3)):
            clock = Clock()
            case = case_of(Fake("a", clock, (seconds,)), clock=clock, plan=Plan(21, 3, 1e-3, 5.0))
            assert len(case.outcomes["a"].timing.samples) == rounds

    def test_one_slow_sample_does_not_move_the_median(self) -> None:
        clock = Clock()
        costs = (0.05,) * 4 + (5.0,) + (0.05,)
        timing = (
            case_of(Fake("a", clock, costs), clock=clock, plan=Plan(5, 5, 1e-4, 1.0))
            .outcomes["a"]
            .timing
        )
        assert max(timing.samples) == pytest.approx(5.0)
        assert timing.median == pytest.approx(0.05)

    def test_the_share_told_to_the_progress_bar_adds_up(self) -> None:
        clock, shares = Clock(), []
        fakes = [Fake(name, clock, (1e-3,)) for name in "ab"]
        case_of(*fakes, clock=clock, advance=shares.append)
        assert sum(shares) == pytest.approx(1.0)
        assert [fake.released for fake in fakes] == [1, 1]

    def test_autorange_ends_with_a_clock_that_did_not_move(self) -> None:
        ticks = iter([0.0, 0.0, 1.0])
        assert measure.autorange(lambda calls: next(ticks), 0.5) == 100

    def test_autorange_is_not_fooled_by_an_interruption(self) -> None:
        interruptions = iter([0.0, 0.01, 0.02])
        found = measure.autorange(lambda calls: calls * 1e-5 + next(interruptions, 0.0), 1e-3)
        assert 100 <= found <= 200

    def test_spread(self) -> None:
        assert Timing(1, (1.0, 1.0, 1.0)).spread == 0.0
        assert Timing(1, (1.0, 2.0, 3.0)).spread == pytest.approx(0.5)
        assert Timing(1, (1.0,)).spread == 0.0


class TestNoisyRaces:
    PLAN = Plan(8, 8, 1e-4, 100.0)

    def race(self, *noisy: bool) -> tuple[Case, Fake]:
        """Race one whose samples differ widely in some races."""
        clock = Clock()
        costs = [0.5]  # the check
        for is_noisy in noisy:  # three calls plan the eight samples
            costs += [0.5] * 3 + ([0.5, 1.0] * 4 if is_noisy else [0.5] * 8)
        fake = Fake("a", clock, tuple(costs))
        case = case_of(fake, clock=clock, plan=self.PLAN)
        assert fake.calls == 1 + 11 * case.races
        return case, fake

    def test_a_calm_race_is_not_repeated(self) -> None:
        assert self.race(False)[0].races == 1

    def test_a_noisy_one_is_repeated_until_it_is_calm(self) -> None:
        case, _ = self.race(True, True, False, True)
        assert case.races == 3
        assert case.spread == 0.0

    def test_a_race_of_more_than_a_minute_is_not_repeated(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(results, "_LONG_RACE", 5.0)
        case, _ = self.race(True, False)
        assert case.races == 1
        assert case.spread > measure.NOISY

    def test_at_most_five_times(self) -> None:
        case, _ = self.race(*[True] * 9)
        assert case.races == 5
        assert case.spread > measure.NOISY

    def test_the_number_of_races_stands_in_the_row(self) -> None:
        run = run_of(("add", 2**20, timed(cpu=1.0, numpy=2.0)), peers="numpy")
        run.cases[0] = replace(run.cases[0], races=3)
        text = printed(report.show, [run])
        assert "2^20x3" in text
        assert "x3: raced three times" in " ".join(text.split())
        run.cases[0] = replace(run.cases[0], races=1)
        assert "raced" not in printed(report.show, [run])


class TestWhatIsNotTimed:
    def broken(self, clock: Clock, error: BaseException, after: int = 0) -> Fake:
        fake = Fake("bad", clock, (1e-3,))
        good = fake.exp

        def exp(a: Any) -> Any:
            if fake.calls >= after:
                raise error
            return good(a)

        fake.xp = SimpleNamespace(exp=exp)
        return fake

    @pytest.mark.parametrize(
        ("error", "status"),
        [
            (px.UnsupportedOpError("exp(float32): no kernel"), "unsupported"),
            (NotImplementedError("exp"), "unsupported"),
            (px.LaunchError("lost"), "failed"),
            (MemoryError("full"), "failed"),
            (RuntimeError("other"), "failed"),
        ],
    )
    def test_an_error_is_an_outcome_with_its_reason(self, error: Exception, status: str) -> None:
        clock = Clock()
        case = case_of(self.broken(clock, error), Fake("good", clock, (1e-3,)), clock=clock)
        assert case.outcomes["bad"].status == status
        assert type(error).__name__ in case.outcomes["bad"].reason
        assert str(error) in case.outcomes["bad"].reason
        assert case.outcomes["good"].status == "ok"
        assert case.ratio("bad", "good", ["good"]) is None

    def test_who_fails_while_timed_leaves_the_race(self) -> None:
        clock = Clock()
        bad = self.broken(clock, MemoryError("full"), after=3)
        case = case_of(Fake("good", clock, (1e-3,)), bad, clock=clock)
        assert case.outcomes["bad"] == Outcome("failed", "MemoryError: full")
        assert len(case.outcomes["good"].timing.samples) == 4

    def test_an_interrupt_ends_the_run(self) -> None:
        clock = Clock()
        with pytest.raises(KeyboardInterrupt):
            case_of(self.broken(clock, KeyboardInterrupt(), after=3), clock=clock)

    def test_wrong_values_are_not_timed(self) -> None:
        clock = Clock()
        fake = Fake("a", clock, (1e-3,))
        fake.xp = SimpleNamespace(
            exp=lambda a: np.where(np.arange(8) == 5, 7, np.exp(a)).astype(np.float32)
        )
        outcome = case_of(fake, clock=clock).outcomes["a"]
        assert outcome.status == "wrong"
        assert "7.0" in outcome.reason
        assert "[5]" in outcome.reason
        assert fake.calls == 0

    def test_what_is_wrong(self) -> None:
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        assert measure.fault(x, x) == ""
        assert measure.fault(x * np.float32(1 + 1e-6), x) == ""
        assert "shape (6,)" in measure.fault(x.ravel(), x)
        assert "dtype float64" in measure.fault(x.astype(np.float64), x)
        assert "at [1, 2]" in measure.fault(np.where(x == 5, np.nan, x).astype(np.float32), x)
        assert measure.fault(x + 1, x, has_values=False) == ""
        assert measure.fault(np.full(2, np.nan), np.full(2, np.nan)) == ""


class TestWorkloads:
    @pytest.mark.parametrize("work", workloads.WORKLOADS, ids=lambda work: work.name)
    def test_each_computes_its_meaning_with_numpy(self, work: workloads.Workload) -> None:
        size = 16 if work.is_matrix else max(work.limits[0], min(2048, work.limits[1]))
        operands = work.operands(size, np.random.default_rng(3))
        assert max((x.size for x in operands), default=size) == work.elements(size)
        got = measure.prepare(work, NumpyPeer(), operands, Clock()).once()
        assert got.dtype == np.float32
        a, b, c = (*operands, None, None, None)[:3]
        meaning = {
            "dispatch add": lambda: a + b,
            "dispatch sum": lambda: a[0],
            "allocate": lambda: got,
            "add": lambda: np.add(a, b),
            "exp": lambda: np.exp(a.astype(float)),
            "sum": lambda: a.astype(float).sum(),
            "mean rows": lambda: a.astype(float).mean(1),
            "softmax rows": lambda: (
                np.exp(a.astype(float)) / np.exp(a.astype(float)).sum(1)[:, None]
            ),
            "strided add": lambda: (a + b)[::2],
            "broadcast add": lambda: np.stack([row + b for row in a]),
            "where": lambda: np.array([y if m else z for m, y, z in zip(a, b, c, strict=True)]),
            "mask": lambda: np.array([y for m, y in zip(a, b, strict=True) if m]),
            "sort": lambda: np.array(sorted(a.tolist())),
            "matmul": lambda: np.einsum("ij,jk->ik", a.astype(float), b.astype(float)),
        }
        np.testing.assert_allclose(got, meaning[work.name](), rtol=1e-5)

    def test_the_default_sizes_exist(self) -> None:
        for work in workloads.WORKLOADS:
            assert all(work.accepts(size) for size in (*work.sizes, *work.quick_sizes))

    def test_choice(self) -> None:
        everything = workloads.chosen()
        assert len(everything) == 10 * 4 + 3 + 3
        assert {size for _, size in workloads.chosen(["matmul"])} == {64, 512, 2048}
        assert {work.name for work, _ in workloads.chosen(["SUM", "sort"])} == {
            "dispatch sum",
            "sum",
            "sort",
        }
        assert [(w.name, n) for w, n in workloads.chosen(["mean"], [1000, 4096])] == [
            ("mean rows", 4096)
        ]
        assert workloads.chosen(["nothing"]) == []
        assert all(case in everything for case in workloads.chosen(quick=True))

    @pytest.mark.parametrize(
        ("size", "text"),
        [(1, "1"), (1024, "1024"), (2048, "2048"), (2**20, "2^20"), (5000, "5000")],
    )
    def test_sizes_are_shown_as_powers(self, size: int, text: str) -> None:
        assert workloads.size_text(size) == text


class TestRatiosAndBars:
    def test_the_fastest_peer_counts(self) -> None:
        (case,) = run_of(("add", 2**16, timed(cpu=2.0, numpy=3.0, torch=1.0))).cases
        assert case.ratio("cpu", FASTEST, ["numpy", "torch"]) == 0.5
        assert case.ratio("cpu", FASTEST, ["numpy"]) == 1.5
        assert case.ratio("cpu", "absent", []) is None

    def test_bars(self) -> None:
        run = run_of(
            ("dispatch add", 1, timed(cpu=1.0, numpy=1.9, torch=9.0)),
            ("exp", 512, timed(cpu=9.0, numpy=1.0, torch=1.0)),
            ("exp", 1024, timed(cpu=9.0, numpy=9.9, torch=9.9)),
            ("add", 2**16, timed(cpu=1.0, numpy=4.0, torch=9.0)),
            ("sort", 2**20, timed(cpu=1.0, numpy=9.0, torch=0.5)),
            ("matmul", 2048, timed(cpu=1.0, numpy=1.25, torch=8.0)),
        )
        found = {verdict.bar.text: verdict for verdict in bars.judge(run)}
        dispatch, each, mean, sort, matmul = found.values()
        assert (dispatch.is_met, dispatch.got) == (False, 1.9)
        assert (each.is_met, each.got, each.missed) == (False, 0.5, (("sort", 2**20),))
        assert mean.got == pytest.approx((4.0 * 0.5 * 1.25) ** (1 / 3))
        assert not mean.is_met
        assert (sort.is_met, sort.got) == (False, 0.5)
        assert (matmul.is_met, matmul.got) == (True, 1.25)

    def test_what_was_not_timed_misses_its_bar(self) -> None:
        run = run_of(
            ("add", 2**16, timed(cpu=None, numpy=1.0, torch=1.0)),
            ("exp", 2**16, timed(cpu=1.0, numpy=2.0, torch=3.0)),
        )
        each, mean = bars.judge(run)[:2]
        for verdict in (each, mean):
            assert not verdict.is_met
            assert verdict.missed == (("add", 2**16),)

    def test_no_verdict_without_the_peer_or_for_another_kind(self) -> None:
        run = run_of(("dispatch add", 1, timed(cpu=1.0, torch=2.0)), peers="torch")
        assert bars.judge(run) == []
        run = run_of(("dispatch add", 1, timed(cpu=1.0, numpy=2.1)), peers="numpy")
        assert [verdict.is_met for verdict in bars.judge(run)] == [True]
        run.devices["cpu"]["kind"] = "gpu"
        assert bars.judge(run) == []


class TestPeers:
    def test_a_missing_peer_has_a_reason(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def absent() -> Contestant:
            raise ImportError("No module named 'torch'")

        monkeypatch.setitem(contestants.PEERS, "torch", (absent, "pip install torch"))
        present, missing = contestants.open_peers(["numpy", "torch"])
        assert [peer.name for peer in present] == ["numpy"]
        assert missing == {"torch": "No module named 'torch'; pip install torch"}

    def test_phalanx_times_no_fallback(self, device: px.Device) -> None:
        runner = PhalanxContestant(device.name)
        before = px.get_device(), px.fallback_policy()
        with px.fallback_policy("allow"), runner.scope():
            assert px.fallback_policy() == "error"
            assert px.empty(3).device is device
        assert (px.get_device(), px.fallback_policy()) == before
        assert runner.about()["version"] == px.__version__

    def test_settle_ends(self) -> None:
        assert measure.settle(limit=0.01) is None
