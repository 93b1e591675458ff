"""The HTML report, in a real browser: Chromium, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from phalanx.conformance.description import Description
from phalanx.conformance.outcome import Outcome, Verdict
from phalanx.conformance.report_html import heat_map, write
from phalanx.conformance.results import Results
from phalanx.conformance.settings import Settings

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("there is no chromium", allow_module_level=True)

FAILED = "ops/elementwise[maximum(float32,float32)->float32]"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def report(suite: Callable, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a device that fails some cases."""
    file = tmp_path_factory.mktemp("html") / "report.html"
    ops = ("add", "exp", "maximum", "sum")
    args = [word for op in ops for word in ("--op", op)]
    done = suite("--fault", "nan-lost-in-maximum", "--group", "ops", *args, "--html", str(file))
    assert done.code == 1, done.err
    return file


@pytest.fixture
def open_page(browser: Any, report: Path) -> Iterator[Callable[..., Any]]:
    """Open a page, and hold at the end that it asked for nothing and complained of nothing."""
    contexts, requests, complaints = [], [], []

    def open_it(file: Path = report, **options: Any) -> Any:
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda r: requests.append(r.url))
        page.on("console", lambda m: complaints.append(m.text))
        page.on("pageerror", lambda e: complaints.append(str(e)))
        page.goto(file.as_uri())
        return page

    yield open_it
    for context in contexts:
        context.close()
    assert [url for url in requests if not url.startswith("file:")] == []
    assert len(requests) == len(contexts)
    assert complaints == []


def focused(page: Any) -> tuple[str, int]:
    """The op and the column of the focused cell of the heat map."""
    return tuple(
        page.evaluate(
            "[document.activeElement.parentNode.cells[0].textContent, "
            "document.activeElement.cellIndex]"
        )
    )


def test_it_tells_what_failed(open_page: Callable) -> None:
    page = open_page()
    assert page.title() == "faulty:0: not certified · Phalanx conformance"
    assert page.locator("header .badge").inner_text().startswith("2 failed")
    first = page.locator("details", has_text=FAILED)
    assert first.get_attribute("open") is not None
    for text in ("0.0, nan", "nan", f"--case '{FAILED}' --seed 20"):
        assert text in first.inner_text()
    cell = page.locator("#heat tr", has=page.locator("th", has_text="maximum")).locator("td.failed")
    assert cell.count() == 2
    assert cell.first.get_attribute("title") == "maximum on float32: 1 of 2 cases failed"


def test_the_keyboard_moves_in_the_heat_map(open_page: Callable) -> None:
    page = open_page()
    stops = page.locator("#heat [tabindex='0']")
    assert stops.count() == 1  # one stop on the way of the tabulator
    stops.focus()
    assert focused(page)[0] == "add"
    start = focused(page)[1]
    page.keyboard.press("ArrowRight")
    assert focused(page) == ("add", start + 1)
    page.keyboard.press("ArrowDown")
    assert focused(page) == ("maximum", start + 1)
    assert page.locator("#told").inner_text().startswith("maximum on ")
    page.keyboard.press("End")
    end = focused(page)
    page.keyboard.press("ArrowRight")
    assert focused(page) == end
    page.keyboard.press("Home")
    assert focused(page)[1] < end[1]
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowUp")
    assert focused(page)[0] == "add"
    assert page.locator("#heat [tabindex='0']").count() == 1


def test_the_keyboard_reaches_all_that_opens(open_page: Callable) -> None:
    page = open_page()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "To the failures"
    page.keyboard.press("Enter")
    page.wait_for_url("**#failures")  # the browser tells where it is a moment later
    summary = page.locator("summary").first
    summary.focus()
    page.keyboard.press("Enter")
    assert page.locator("details").first.get_attribute("open") is None


def test_dark_mode_has_other_colours_and_contrast(open_page: Callable) -> None:
    def colours(page: Any) -> tuple[list[int], list[int]]:
        script = "s => getComputedStyle(document.body)[s].match(/\\d+/g).slice(0, 3).map(Number)"
        return tuple(page.evaluate(script, name) for name in ("color", "backgroundColor"))

    light = colours(open_page(color_scheme="light"))
    dark = colours(open_page(color_scheme="dark"))
    assert sum(light[0]) < 200 < 600 < sum(light[1])
    assert sum(dark[1]) < 200 < 600 < sum(dark[0])


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_no_width_makes_the_page_scroll_sideways(open_page: Callable, width: int) -> None:
    page = open_page(viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    narrow = page.locator(".scroll").last
    assert narrow.evaluate("e => e.getBoundingClientRect().right") <= width


def test_the_lists_and_any_text(open_page: Callable, tmp_path: Path) -> None:
    name = "ops/elementwise[{}({})->{}]".format
    kinds = [("add", Verdict.UNSUPPORTED), ("exp", Verdict.EXPECTED), ("sum", Verdict.INAPPLICABLE)]
    outcomes = [
        Outcome(name(op, "int8", "int8"), "ops", "core", verdict, op, ("int8", "int8", "int8"),
                reason=f"because of <{op}>")
        for op, verdict in kinds
    ]  # fmt: skip
    evil = "</pre><script>console.log('ran')</script>"
    outcomes.append(Outcome("vendor/x", "vendor", "core", Verdict.FAILED, message=evil))
    waiver = {"op": "exp", "dtype": "float32", "bound": 4.0, "reason": "a table of 8 bits"}
    declared = {"waivers": [waiver | {"expires": "2001-02-03"}]}
    description = Description("acme:0", True, identity={"name": "<Acme>"}, declared=declared)
    file = tmp_path / "lists.html"
    results = Results(Settings("acme:0"), description, outcomes, partial="interrupted")
    write(results, file)
    text = open_page(file).locator("main").inner_text()
    for words in ("<Acme>", "partial", "interrupted", "a table of 8 bits", "2001-02-03 (expired)",
                  "because of <add>", "because of <exp>", "because of <sum>", evil):  # fmt: skip
        assert words in text


def test_the_heat_map_shows_the_worst_against_the_bound() -> None:
    def outcome(dtype: str, worst: float, bound: float, **fields: Any) -> Outcome:
        case = f"ops/e[exp({dtype})->{dtype}]"
        return Outcome(case, "ops", "core", Verdict.PASSED, "exp", (dtype, dtype), worst=worst,
                       bound=bound, **fields)  # fmt: skip

    ((op, cells),) = heat_map(
        [
            outcome("float16", 0.499, 0.5001),
            outcome("float32", 1.0, 4.0),
            outcome("float32", 3.0, 4.0),
            outcome("float64", -1.0, -1.0),
            outcome("complex64", 5.0, 4.0, waiver="known"),
        ]
    )
    assert op == "exp"
    assert [(c.state, c.text) for c in cells if c] == [
        ("rounded", "0.50"), ("measured", "3.00"), ("exact", "="), ("waived", "w"),
    ]  # fmt: skip
    assert cells[1].title == "exp on float32: worst error 3 ulp of 4 allowed"
    assert cells[1].heat == 7  # (3 - 0.5) / (4 - 0.5)
