"""The drawings and the page: what they say, and that they load nothing and break on nothing."""

from __future__ import annotations

import re
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from bench_kit import run_of, timed
from phalanx.benchmarks import chart, page
from phalanx.benchmarks.chart import Axis, Bar, Point
from phalanx.benchmarks.history import Entry
from phalanx.benchmarks.limits import Cost, Limits
from phalanx.benchmarks.measure import Timing
from phalanx.benchmarks.results import Outcome, Run

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def some_run() -> Run:
    return run_of(
        ("add", 2**16, timed(cpu=1.0, numpy=4.0, torch=2.0)),
        ("add", 2**20, timed(cpu=1.0, numpy=0.5, torch=2.0)),
        ("exp", 2**20, timed(cpu=1.0, numpy=1.0, torch=None)),
        ("sort", 2**20, timed(cpu=None, numpy=1.0, torch=1.0)),
    )


def written(run: Run, former: Sequence[Entry] = ()) -> str:
    text = page.write_page([run], lambda _: former)
    ET.fromstring(
        text.replace("<!doctype html>", "").replace(
            '<meta charset="utf-8"><meta name="viewport" content="width=device-width, '
            'initial-scale=1">',
            "",
        )
    )  # each element is closed
    return text


class TestAxis:
    def test_the_places_are_those_of_logarithms(self) -> None:
        axis = Axis(0.25, 4.0)
        assert [axis.place(x) for x in (0.25, 0.5, 1.0, 4.0)] == pytest.approx([0, 25, 50, 100])
        assert [axis.place(x) for x in (1e-9, 1e9)] == pytest.approx([0, 100])

    def test_it_holds_one_and_all_values(self) -> None:
        assert Axis.around([]) == Axis(0.5, 2.0)
        axis = Axis.around([0.01, 300.0, 0.0])
        assert axis.low < 0.01
        assert axis.high > 300.0

    @pytest.mark.parametrize("high", [2.0, 7.0, 100.0, 1e6])
    def test_one_is_a_tick_and_there_are_few(self, high: float) -> None:
        ticks = Axis(0.3, high).ticks(6)
        assert 1.0 in ticks
        assert len(ticks) <= 7
        assert all(0.3 <= tick <= high for tick in ticks)

    @pytest.mark.parametrize(("value", "text"), [(4.0, "4"), (1.0, "1"), (0.25, "1/4")])
    def test_ticks_below_one_are_fractions(self, value: float, text: str) -> None:
        assert chart.tick_text(value) == text


@pytest.mark.parametrize(
    ("ratio", "text"), [(0.999, "0.99"), (1.0, "1.00"), (12.38, "12.3"), (1234.5, "1234")]
)
def test_ratios_are_cut(ratio: float, text: str) -> None:
    assert chart.ratio_text(ratio) == text


class TestDrawings:
    @pytest.mark.parametrize(
        ("ratio", "interval", "verdict"),
        [(2.0, (1.5, 3.0), "ahead"), (0.5, (0.4, 0.9), "behind"), (1.1, (0.9, 1.2), "even")],
    )
    def test_the_colour_says_who_is_ahead(
        self, ratio: float, interval: tuple[float, float], verdict: str
    ) -> None:
        text = chart.bars([Bar("a<b", ratio, interval, 'say "hi"')], "one & all")
        assert f'class="bar {verdict}"' in text
        assert "a&lt;b" in text
        assert "<title>say &quot;hi&quot;</title>" in text
        left, width = map(
            float, re.findall(r'<rect x="([\d.]+)%" y="\d+" width="([\d.]+)%"', text)[0]
        )
        one = Axis.around([ratio, *interval]).place(1.0)
        assert (left if ratio > 1.0 else left + width) == pytest.approx(one, abs=0.02)
        ET.fromstring(text)

    def test_lines_rise_with_their_values(self) -> None:
        points = [Point(0.0, 0.5, "a"), Point(50.0, 1.0, "b"), Point(100.0, 4.0, "c")]
        text = chart.lines([points], 100, "label", ("first", "last"), 10.0)
        levels = [float(y) for y in re.findall(r'cy="([\d.]+)"', text)]
        assert levels == sorted(levels, reverse=True)
        assert text.count('class="line line-0"') == 2
        ET.fromstring(text)


class TestPage:
    def test_it_tells_who_is_ahead(self) -> None:
        text = written(some_run())
        assert '<b class="ahead">1</b><span>rows ahead' in text
        assert '<b class="behind">1</b><span>rows behind' in text
        assert '<b class="even">1</b><span>rows even' in text
        assert "lowest: add 2^20" in text
        assert "<td>unsupported</td>" in text
        assert "<p>sort 2^20: cpu unsupported: no kernel</p>" in text
        assert "<p>exp 2^20: torch unsupported: no kernel</p>" in text

    def test_it_loads_nothing(self) -> None:
        text = written(some_run())
        assert not re.search(r"https?:|<script|<link|@import|url\(|src=", text)

    def test_names_cannot_write_on_the_page(self) -> None:
        run = some_run()
        bad = "<script>alert(1)</script>&\"'"
        run.cases = [replace(case, workload=bad + case.workload) for case in run.cases]
        run.machine["hardware"]["cpu"] = run.missing[bad] = bad
        run.peers[bad] = {"version": bad}
        run.cases = [
            replace(case, outcomes={**case.outcomes, bad: Outcome("failed", bad)})
            for case in run.cases
        ]
        assert "<script" not in written(run)

    def test_over_size_only_where_there_are_several(self) -> None:
        text = written(some_run())
        assert text.count("<figcaption>") == 1
        assert "<figcaption>add</figcaption>" in text
        run = some_run()
        del run.cases[0]
        assert "Over size" not in written(run)

    def test_the_share_of_the_limit_and_the_races(self) -> None:
        run = some_run()
        run.limits = Limits(2, ((2**10, 1e6), (2**24, 1e6)), {"float32": 1e9})
        run.cases[0] = replace(run.cases[0], races=4, cost=Cost(370_000))
        assert "<td>37 %</td><td>4</td>" in written(run)
        assert "1 GFLOP/s float32" in written(run)

    @pytest.mark.parametrize("peers", ["", "numpy"])
    def test_a_run_without_ratios_or_rows(self, peers: str) -> None:
        assert "No row was timed" in written(run_of(peers=peers))
        run = run_of(("add", 2**16, timed(cpu=1.0, numpy=None)), peers=peers)
        assert "No row was timed" in written(run)

    def test_small_rows_alone_have_no_mean(self) -> None:
        text = written(run_of(("add", 1024, timed(cpu=1.0, numpy=2.0)), peers="numpy"))
        assert '<b class="">-</b><span>geometric mean' in text


def entry(date: str, *cases: tuple[str, int, float]) -> Entry:
    run = run_of(*((w, n, timed(cpu=1.0, numpy=ratio)) for w, n, ratio in cases), peers="numpy")
    run.machine["date"] = date
    return Entry(1, date, {}, [run])


class TestHistory:
    ROWS = (("add", 2**16, 2.0), ("exp", 2**16, 8.0), ("sort", 2**16, 1.0))

    def history(self, *former: Entry) -> tuple[list[tuple[str, float]], int]:
        now = entry("2026-02-01", *self.ROWS).runs[0]
        return page.history_of(page.View(now, "cpu"), former)

    def test_the_mean_is_of_the_rows_that_all_share(self) -> None:
        old = entry("2026-01-01", ("add", 2**16, 1.0), ("exp", 2**16, 4.0), ("sum", 2**16, 99.0))
        found, rows = self.history(old)
        assert rows == 2
        assert found == [("2026-01-01", pytest.approx(2.0)), ("2026-02-01", pytest.approx(4.0))]

    def test_runs_of_few_rows_do_not_count(self) -> None:
        found, rows = self.history(entry("2026-01-01", ("add", 2**16, 1.0)))
        assert [date for date, _ in found] == ["2026-02-01"]
        assert rows == 3

    def test_this_run_counts_once(self) -> None:
        found, _ = self.history(entry("2026-01-01", *self.ROWS), entry("2026-02-01", *self.ROWS))
        assert [date for date, _ in found] == ["2026-01-01", "2026-02-01"]

    def test_it_is_drawn_if_there_is_one(self) -> None:
        run = entry("2026-02-01", *self.ROWS).runs[0]
        assert "History" not in written(run)
        assert "in 2 runs" in written(run, [entry("2026-01-01", *self.ROWS)])


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium")
@pytest.mark.parametrize("width", [320, 1200])
def test_the_page_is_no_wider_than_the_screen(tmp_path: Path, width: int) -> None:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    run = some_run()
    wild = timed(cpu=1.0, numpy=1e4, torch=1e-4)
    wild["cpu"] = Outcome("ok", timing=Timing(1, (1e-3, 1.0)))
    run.cases.append(replace(run.cases[0], workload="a long name here", outcomes=wild))
    path = tmp_path / "page.html"
    path.write_text(written(run), encoding="utf-8")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        shown = browser.new_page(viewport={"width": width, "height": 700})
        shown.goto(path.as_uri())
        shown.locator("summary").click()
        assert shown.evaluate("document.documentElement.scrollWidth") <= width
        browser.close()
