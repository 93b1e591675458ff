"""What a plugin declares: unsupported, expected failures, waivers, tests of its own."""

from __future__ import annotations

import datetime
import json
import math
import re
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest
from conformance_kit import results
from phalanx.conformance.case import Case
from phalanx.conformance.outcome import Outcome, Verdict
from phalanx.conformance.report_text import show
from phalanx.conformance.settings import Level, Settings
from phalanx.discovery.declarations import Declarations, ExpectedFailure, Unsupported, Waiver

pytestmark = pytest.mark.needs_cpu

#: Of waivers that hold; the tests may run into the next day.
TOMORROW = datetime.date.today() + datetime.timedelta(1)
EXP = "ops/elementwise[exp(float32)->float32]"
ADD = "ops/elementwise[add(float32,float32)->float32]"
OPS = ("--group", "ops", "--dtype", "float32", "-n", "1", "--json")

OWN_TESTS = """
import phalanx as px
import pytest

@pytest.mark.parametrize("n", [1, 2])
def test_adds(device, n):
    x = px.asarray([1.0] * n, dtype=px.float32)
    assert x.device is device
    assert px.asnumpy(x + x).tolist() == [2.0] * n

@pytest.mark.level("runtime")
def test_bound(case):
    case.judge("exp", "float32", 3.0, 2.0)
    case.finish()

def test_fails():
    raise AssertionError("as it does today")

def test_works_again():
    pass

def test_refuses(device):
    px.exp(px.asarray([1.0], dtype=px.float32))
"""


@pytest.fixture(scope="module")
def own(suite: Callable, vendor: Callable) -> dict:
    """A run of a vendor's own tests on the device acme:0, whose only kernel is ``add``."""
    folder = vendor(
        "tests=('acme_tests',), "
        "unsupported=(Unsupported('no unit for exp', case='vendor/acme_tests.refuses'),), "
        "expected_failures=(ExpectedFailure('bug 7', case='vendor/*fails'),"
        " ExpectedFailure('bug 8', case='vendor/*works_again'))",
        OWN_TESTS,
        driver=True,
    )
    done = suite("--device", "acme:0", "--group", "vendor", "-n", "1", "--json", path=folder)
    assert done.code == 1, done.err
    return {o["case"].removeprefix("vendor/acme_tests."): o for o in done.data["outcomes"]}


def test_a_vendors_own_tests_join(own: dict) -> None:
    assert {own[name]["verdict"] for name in ("adds[1]", "adds[2]", "bound")} == {"passed"}
    assert own["adds[1]"]["group"] == "vendor"
    assert own["adds[1]"]["level"] == "core"
    assert own["bound"]["level"] == "runtime"
    assert "--case 'vendor/acme_tests.adds[1]'" in own["adds[1]"]["repeat"]


def test_an_expected_failure_fails_and_an_unexpected_pass_too(own: dict) -> None:
    assert (own["fails"]["verdict"], own["fails"]["reason"]) == ("expected failure", "bug 7")
    again = own["works_again"]
    assert again["verdict"] == "unexpected pass"
    assert (
        again["message"] == "declared as a failure (bug 8), but it passes: remove the declaration"
    )


def test_the_unsupported_is_refused(own: dict) -> None:
    assert own["refuses"]["verdict"] == "unsupported"
    assert own["refuses"]["reason"] == "no unit for exp"


def test_an_op_without_a_kernel_fails_unless_it_is_declared(
    suite: Callable, vendor: Callable
) -> None:
    folder = vendor("unsupported=(Unsupported('no unit for sin', op='sin'),)", driver=True)
    ops = ("--op", "exp", "--op", "sin", "--op", "add")
    done = suite("--device", "acme:0", *ops, *OPS, path=folder)
    verdicts = done.verdicts()
    assert verdicts[ADD] == "passed", done.outcome(ADD)["message"]
    assert verdicts[EXP] == "failed"
    assert "UnsupportedOpError" in done.outcome(EXP)["message"]
    assert verdicts["ops/elementwise[sin(float32)->float32]"] == "unsupported"
    text = suite("--device", "acme:0", *ops, *OPS[:-1], path=folder).out
    assert "unsupported" in text.lower()


def test_the_unsupported_that_works_is_a_failure(suite: Callable, vendor: Callable) -> None:
    folder = vendor("unsupported=(Unsupported('no such unit', op='exp', dtype='float32'),)")
    done = suite("--device", "cpu:0", "--op", "exp", *OPS, path=folder)
    assert done.code == 1
    assert done.outcome(EXP)["verdict"] == "unexpected pass"
    assert "but the device computes it" in done.outcome(EXP)["message"]


@pytest.mark.parametrize(
    ("day", "verdict"), [(TOMORROW, "passed"), (TOMORROW.replace(2001), "failed")]
)
def test_a_waiver_widens_a_bound_until_its_day(
    suite: Callable, vendor: Callable, tmp_path: Path, day: datetime.date, verdict: str
) -> None:
    """The faulty device is three ulp off."""
    folder = vendor(f"waivers=(Waiver('exp', 'float32', 4.0, 'a short table', {day!r}),)")
    fault = ("--fault", "exp-off-by-three-ulp", "--op", "exp")
    report = tmp_path / "report.json"
    text = suite(*fault, *OPS, str(report), path=folder).out
    data = json.loads(report.read_text())
    (found,) = (o for o in data["outcomes"] if o["case"] == EXP)
    assert found["verdict"] == verdict
    assert found["waiver"] == ("a short table" if verdict == "passed" else "")
    assert data["waivers"] == ([EXP] if verdict == "passed" else [])
    assert f"waivers: 1 declared, {int(verdict == 'passed')} needed" in text
    assert f"exp(float32) up to 4 until {day}" in text
    assert ("(expired): a short table" in text) is (verdict == "failed")


def test_declarations_are_checked_when_they_are_made() -> None:
    with pytest.raises(ValueError, match="needs a reason"):
        Unsupported(" ", op="exp")
    with pytest.raises(ValueError, match="needs an op, a dtype or a case"):
        ExpectedFailure("all is broken")
    with pytest.raises(ValueError, match="needs a bound above 0"):
        Waiver("exp", "float32", 0.0, "why not", TOMORROW)
    assert Waiver("exp", "float32", 2.0, "x", TOMORROW).is_expired(TOMORROW + datetime.timedelta(1))


def test_a_pattern_matches_op_dtype_and_case() -> None:
    exp = Unsupported("no", op="exp*", dtype="complex*")
    assert exp.matches("ops/a", "expm1", ("complex64", "complex64"))
    assert not exp.matches("ops/a", "expm1", ("float32", "float32"))
    assert not exp.matches("runtime/a")
    assert Unsupported("no", case="runtime/*").matches("runtime/a")


@pytest.mark.parametrize(
    "case", [ADD, "runtime/full[float64]", "interop/asarray[a-b]", "vendor/x.y[[1]]"]
)
def test_the_name_of_a_case_matches_itself_alone(case: str) -> None:
    """Brackets are no classes of characters there."""
    pattern = Unsupported("no", case=case)
    assert pattern.matches(case, "add", ("float32",))
    assert not pattern.matches(f"{case[: case.index('[')]}f", "add", ("float32",))
    assert Unsupported("no", case=f"{case[:-2]}?]").matches(case, "add", ("float32",))


def test_declarations_that_no_case_fits_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    found = results(Verdict.PASSED, level=Level.ARRAY_API)
    found.outcomes.append(
        Outcome("ops/x[sin]", "ops", "core", Verdict.PASSED, op="sin", dtypes=("float32",))
    )
    found.description.declared.update(
        unsupported=[
            asdict(Unsupported("no unit", op="sin")),
            asdict(Unsupported("no unit", op="sinn")),
        ],
        expected_failures=[asdict(ExpectedFailure("bug 7", case="ops/old"))],
    )
    unused = [
        "Unsupported(op='sinn', dtype='*', case='*'): no unit",
        "ExpectedFailure(op='*', dtype='*', case='ops/old'): bug 7",
    ]
    assert found.unused() == unused
    assert found.to_dict()["unused_declarations"] == unused
    show(found, [])
    out = capsys.readouterr().out
    assert f"unused no case fits the declaration {unused[0]}" in out
    found.partial = "interrupted"
    assert found.unused() == []


def test_a_waiver_saves_only_its_op_and_dtype() -> None:
    waiver = Waiver("exp", "float32", 3.0, "a short table", TOMORROW)
    case = Case("ops/x", None, Settings("d:0"), {}, (waiver,))  # type: ignore[arg-type]
    assert case.judge("exp", "float32", 2.5, 2.0)
    assert case.waiver == "a short table"
    assert not case.judge("exp", "float32", 3.5, 2.0)
    assert not case.judge("exp", "float64", 2.5, 2.0)
    assert not case.judge("exp", "float32", float("nan"), 2.0)
    assert (case.worst, case.bound, case.checks) == (float("inf"), 2.0, 4)


def test_tests_that_do_not_import_are_told(suite: Callable, vendor: Callable) -> None:
    folder: Path = vendor("tests=('acme_tests',)", "import no_such_module")
    done = suite("--device", "cpu:0", "--group", "vendor", "-n", "1", path=folder)
    assert done.code == 1
    assert "acme_tests.py cannot be collected" in done.out
    assert "No module named 'no_such_module'" in done.out


# Declarations that are wrong


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Unsupported("x", op=3), "Unsupported.op is a text, got 3"),
        (lambda: ExpectedFailure(None, op="add"), "ExpectedFailure.reason is a text, got None"),
        (lambda: Waiver("exp", None, 2.0, "x", TOMORROW), "Waiver.dtype is a text, got None"),
        (lambda: Waiver("exp", "float32", "2", "x", TOMORROW), "needs a bound above 0, got '2'"),
        (
            lambda: Waiver("exp", "float32", math.inf, "x", TOMORROW),
            "needs a bound above 0, got inf",
        ),
        (
            lambda: Waiver("exp", "float32", 2.0, "x", "2031-01-01"),
            "expires on a datetime.date, got '2031-01-01'",
        ),
        (
            lambda: Waiver("exp", "float32", 2.0, "x", datetime.datetime(2031, 1, 1)),
            "expires on a datetime.date, got datetime.datetime(2031, 1, 1",
        ),
        (
            lambda: Declarations(unsupported=(Waiver("exp", "float32", 2.0, "x", TOMORROW),)),
            "Declarations.unsupported has objects of type Unsupported, got Waiver(",
        ),
        (lambda: Declarations(waivers="x"), "Declarations.waivers is a tuple, got 'x'"),
        (lambda: Declarations(tests="acme_tests"), "Declarations.tests is a tuple"),
        (lambda: Declarations(tests=(3,)), "Declarations.tests has objects of type str, got 3"),
        (lambda: Declarations(tests=("-k", "x")), "names modules, and '-k' is none"),
        (lambda: Declarations(tests=("--collect-only",)), "'--collect-only' is none"),
        (lambda: Declarations(tests=("tests/own",)), "'tests/own' is none"),
        (lambda: Declarations(tests=("",)), "'' is none"),
    ],
)
def test_what_is_no_declaration(make: Callable[[], object], words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(words)):
        make()


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        ("'hello'", "returned 'hello'; return a phalanx.vendor.Declarations, or None"),
        ("Declarations", "returned <class"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        (
            "Declarations(tests=('-k', 'order'))",
            "Declarations.tests names modules, and '-k' is none",
        ),
        ("Declarations(tests=('no_such.module',))", "there is no such module"),
        ("__import__('time').sleep(60)", "did not finish within 10 s"),
    ],
)
def test_a_hook_that_declares_nonsense_ends_the_run(
    suite: Callable, vendor: Callable, returned: str, words: str
) -> None:
    """It is told with the plugin's name before the first case."""
    folder = vendor(f") if device is None else ({returned}")
    done = suite("--group", "interop", path=folder, PHALANX_PLUGIN_TIMEOUT="10")
    assert done.code == 3
    assert "phalanx_conformance() of plugin 'acme_checks" in done.err
    assert words in " ".join(done.err.split())
    assert "Traceback" not in done.err


def test_a_vendors_conftest_leaves_out_no_case(suite: Callable, vendor: Callable) -> None:
    folder = vendor("tests=('acme_own',)")
    own = folder / "acme_own"
    own.mkdir()
    (own / "__init__.py").touch()
    (own / "conftest.py").write_text(
        "def pytest_collection_modifyitems(items):\n    del items[1:]\n"
    )
    (own / "test_own.py").write_text("def test_a(): pass\ndef test_b(): pass\ndef test_c(): pass\n")
    done = suite("--group", "vendor", "-n", "1", "--json", path=folder)
    assert done.code == 0, done.err
    assert done.verdicts() == dict.fromkeys(
        ("vendor/own.a", "vendor/own.b", "vendor/own.c"), "passed"
    )


def test_two_cases_of_one_name_are_told(suite: Callable, vendor: Callable) -> None:
    """In a report and a certificate they would be one."""
    folder = vendor("tests=('acme_a', 'acme_b')")
    for package in ("acme_a", "acme_b"):
        (folder / package).mkdir()
        (folder / package / "__init__.py").touch()
        (folder / package / "test_same.py").write_text("def test_x(): pass\n")
    done = suite("--group", "vendor", "-n", "1", path=folder)
    assert done.code == 2, done.err
    assert "two cases are called vendor/same.x" in done.err
    assert "rename one of the files" in done.err


def test_own_ops_may_be_named_as_those_of_the_table_are(suite: Callable, vendor: Callable) -> None:
    body = "import pytest\n@pytest.mark.parametrize('s', ['own(float32)->float32'])\n"
    folder = vendor("tests=('acme_tests',)", f"{body}def test_own(s): pass\n")
    done = suite("--group", "vendor", "-n", "1", "--json", path=folder)
    assert done.code == 0, done.err
    assert done.verdicts() == {"vendor/acme_tests.own[own(float32)->float32]": "passed"}
