"""The results as a JUnit report, which continuous-integration servers read."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as Xml

from .outcome import Outcome, Verdict
from .results import Results, groups_of, versions
from .writing import write_text

#: Characters that XML 1.0 does not allow (specification, section 2.2).
_FORBIDDEN = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF), " ")
_FORBIDDEN |= dict.fromkeys(range(0xD800, 0xE000), "\N{REPLACEMENT CHARACTER}")


def write(results: Results, path: Path) -> None:
    """Write a suite for each group; raises ``OSError``."""
    root = Xml.Element("testsuites", name=f"phalanx conformance {results.description.device}")
    for group in groups_of(results.outcomes):
        outcomes = [o for o in results.outcomes if o.group == group]
        root.append(_suite(results, group, outcomes))
    if results.partial:
        suite = Xml.SubElement(root, "testsuite", name="run", tests="1", errors="1")
        case = Xml.SubElement(suite, "testcase", classname="run", name="complete")
        Xml.SubElement(case, "error", message=_clean(f"partial: {results.partial}"))
    Xml.indent(root)
    head = "<?xml version='1.0' encoding='utf-8'?>\n"
    write_text(path, head + Xml.tostring(root, encoding="unicode"))


def _suite(results: Results, group: str, outcomes: list[Outcome]) -> Xml.Element:
    skipped = (Verdict.UNSUPPORTED, Verdict.EXPECTED, Verdict.INAPPLICABLE)
    suite = Xml.Element(
        "testsuite",
        name=group,
        tests=str(len(outcomes)),
        failures=str(sum(o.failed and o.verdict is not Verdict.CRASHED for o in outcomes)),
        errors=str(sum(o.verdict is Verdict.CRASHED for o in outcomes)),
        skipped=str(sum(o.verdict in skipped for o in outcomes)),
        time=f"{sum(o.seconds for o in outcomes):.3f}",
        timestamp=results.started,
    )
    properties = Xml.SubElement(suite, "properties")
    values = versions() | {
        "device": results.description.device,
        "seed": str(results.settings.seed),
        "partial": results.partial,
    }
    for name, value in values.items():
        Xml.SubElement(properties, "property", name=name, value=_clean(value))
    suite.extend(_case(results, outcome) for outcome in outcomes)
    return suite


def _case(results: Results, outcome: Outcome) -> Xml.Element:
    case = Xml.Element(
        "testcase",
        classname=f"{results.description.device}.{outcome.group}",
        name=outcome.case.partition("/")[2],
        time=f"{outcome.seconds:.6f}",
    )
    text = _clean(f"{outcome.message}\nrepeat: {outcome.repeat}")
    if outcome.failed:
        kind = "error" if outcome.verdict is Verdict.CRASHED else "failure"
        first = _clean(outcome.message.strip().partition("\n")[0])
        Xml.SubElement(case, kind, message=first, type=outcome.verdict.value).text = text
    elif outcome.verdict is not Verdict.PASSED:
        reason = _clean(f"{outcome.verdict.value}: {outcome.reason}")
        Xml.SubElement(case, "skipped", message=reason)
    return case


def _clean(text: str) -> str:
    return text.translate(_FORBIDDEN)
