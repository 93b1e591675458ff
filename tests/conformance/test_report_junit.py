"""The JUnit report: what continuous-integration servers count, and text that XML cannot hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

from phalanx.conformance.description import Description
from phalanx.conformance.outcome import Outcome, Verdict
from phalanx.conformance.report_junit import write
from phalanx.conformance.results import Results
from phalanx.conformance.settings import Settings


def report(path: Path, *outcomes: Outcome, **fields: Any) -> Xml.Element:
    description = Description("acme:0", usable=True, identity={"name": "Acme"})
    write(Results(Settings("acme:0"), description, list(outcomes), **fields), path)
    return Xml.parse(path).getroot()


def outcome(case: str, verdict: Verdict, **fields: Any) -> Outcome:
    return Outcome(case, case.partition("/")[0], "core", verdict, **fields)


def test_counts_and_kinds(tmp_path: Path) -> None:
    root = report(
        tmp_path / "r.xml",
        outcome("ops/a", Verdict.PASSED, seconds=0.5),
        outcome("ops/b", Verdict.FAILED, message="wrong\nelement", repeat="phalanx again"),
        outcome("ops/c", Verdict.UNEXPECTED, message="it passes"),
        outcome("ops/d", Verdict.CRASHED, message="died"),
        outcome("ops/e", Verdict.UNSUPPORTED, reason="no such unit"),
        outcome("ops/f", Verdict.EXPECTED, reason="bug 7"),
        outcome("runtime/g", Verdict.INAPPLICABLE, reason="one stream"),
    )
    ops, runtime = root.findall("testsuite")
    assert {k: ops.get(k) for k in ("tests", "failures", "errors", "skipped", "time")} == {
        "tests": "6", "failures": "2", "errors": "1", "skipped": "2", "time": "0.500",
    }  # fmt: skip
    assert runtime.get("skipped") == "1"
    cases = {case.get("name"): case for case in root.iter("testcase")}
    assert list(cases["a"]) == []
    assert cases["b"].get("classname") == "acme:0.ops"
    (failure,) = cases["b"]
    assert (failure.tag, failure.get("message")) == ("failure", "wrong")
    assert failure.text == "wrong\nelement\nrepeat: phalanx again"
    assert cases["d"][0].tag == "error"
    assert cases["e"][0].get("message") == "unsupported: no such unit"
    assert cases["f"][0].get("message") == "expected failure: bug 7"
    properties = {p.get("name"): p.get("value") for p in ops.iter("property")}
    assert properties["device"] == "acme:0"
    assert properties["seed"] == "20"


def test_a_partial_run_is_an_error(tmp_path: Path) -> None:
    root = report(tmp_path / "r.xml", outcome("ops/a", Verdict.PASSED), partial="interrupted")
    (error,) = root.iter("error")
    assert error.get("message") == "partial: interrupted"


def test_any_text_makes_sound_xml(tmp_path: Path) -> None:
    text = "".join(map(chr, range(256))) + "]]> & <b> \ud800 \ufffe"
    root = report(tmp_path / "r.xml", outcome("ops/a[<&>]", Verdict.FAILED, message=text))
    (failure,) = root.iter("failure")
    assert "]]> & <b>" in failure.text
    assert next(root.iter("testcase")).get("name") == "a[<&>]"
