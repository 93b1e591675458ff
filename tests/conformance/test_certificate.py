"""The certificate and ``phalanx verify``: what a run certifies, and every way to doubt it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from conformance_kit import results
from phalanx.conformance import run
from phalanx.conformance.certificate import (
    CertificateError,
    _headline,
    certificate_of,
    digest,
    read,
)
from phalanx.conformance.coverage import (
    Coverage,
    differences,
    headline,
    judged,
    outside,
    profile_of,
    served,
)
from phalanx.conformance.outcome import Outcome, Verdict
from phalanx.conformance.required import lacking
from phalanx.conformance.results import Results
from phalanx.conformance.run import INTERRUPTED
from phalanx.conformance.settings import Level
from phalanx.conformance.verify_command import verify
from phalanx.optable import OPS

pytestmark = pytest.mark.needs_cpu

ADD = "ops/elementwise[add(float32,float32)->float32]"


@pytest.fixture(scope="module")
def certificate(suite: Callable, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The certificate of cpu:0 for the level runtime."""
    file = tmp_path_factory.mktemp("certificate") / "cpu.json"
    done = suite("--level", "runtime", "-n", "2", "--certificate", str(file))
    assert done.code == 0, done.out + done.err
    assert "certified for: runtime" in done.out
    return file


@pytest.fixture
def forge(certificate: Path, tmp_path: Path) -> Callable[..., Path]:
    """Write the certificate with some fields changed, and a digest that fits."""

    def write(**fields: Any) -> Path:
        content = json.loads(certificate.read_text()) | fields
        content["headline"] = fields.get("headline") or _headline(content)
        file = tmp_path / "forged.json"
        file.write_text(json.dumps(content | {"digest": digest(content)}))
        return file

    return write


def test_it_tells_what_it_is_about(certificate: Path) -> None:
    content = read(certificate)
    assert content["level"] == "runtime"
    assert content["device"] == "cpu:0"
    assert content["identity"]["driver"] == "cpu"
    assert len(content["op_table"]) == 64
    assert content["counts"]["passed"] > 50
    assert sum(content["counts"].values()) == len(content["cases"])


def test_it_holds(phalanx: Callable, certificate: Path) -> None:
    done = phalanx("verify", str(certificate), "--sample", "5", "--json")
    assert done.code == 0, done.err
    assert done.data["holds"]
    assert done.data["cases_run_again"] == 5
    text = phalanx("verify", str(certificate), "--sample", "0")
    assert text.code == 0
    assert "cpu:0 is certified for runtime" in text.out
    assert "0 run again" in text.out


def test_every_changed_byte_is_seen(certificate: Path, tmp_path: Path) -> None:
    text = certificate.read_bytes()
    places = range(0, len(text), max(1, len(text) // 100))
    file = tmp_path / "changed.json"
    for place in places:
        if text[place : place + 1].isspace():
            continue  # outside of strings, JSON takes any
        changed = bytes([text[place] ^ 1])
        file.write_bytes(text[:place] + changed + text[place + 1 :])
        with pytest.raises(CertificateError):
            read(file)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot be read: No such file"),
        ("", "is no certificate or is cut off"),
        ("{half}", "is no certificate or is cut off"),
        ("\xff", "is no certificate or is cut off"),
        ("[]", "is no certificate of the conformance suite"),
        ('{"kind": "phalanx conformance certificate"}', "lacks headline"),
    ],
)
def test_what_is_no_certificate(
    phalanx: Callable, certificate: Path, tmp_path: Path, content: str | None, words: str
) -> None:
    file = tmp_path / "c.json"
    if content is not None:
        text = certificate.read_text()
        file.write_bytes(content.replace("{half}", text[: len(text) // 2]).encode("latin-1"))
    done = phalanx("verify", str(file))
    assert done.code == 2
    assert words in done.out


def test_a_digest_that_does_not_fit(phalanx: Callable, certificate: Path, tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text(certificate.read_text().replace('"level": "runtime"', '"level": "bitwise"'))
    done = phalanx("verify", str(file), "--json")
    assert done.code == 2
    assert not done.data["holds"]
    assert "its digest does not fit its content" in done.data["problems"][0]


def test_another_version_device_or_format(
    phalanx: Callable, certificate: Path, forge: Callable
) -> None:
    identity = read(certificate)["identity"] | {"name": "Another processor"}
    done = phalanx("verify", str(forge(core="9.9", suite="0", identity=identity)), "--json")
    assert done.code == 1
    first, second, third = done.data["problems"]
    assert first.startswith("another suite: the certificate says 0, here is")
    assert second.startswith("another core: the certificate says 9.9, here is")
    assert third.startswith("another device: its name is")
    assert done.data["cases_run_again"] == 0
    done = phalanx("verify", str(forge(format=1)))
    assert done.code == 2
    assert "has format 1, and this version reads 2" in done.out


def test_other_declarations(phalanx: Callable, certificate: Path, forge: Callable) -> None:
    declared = read(certificate)["declared"] | {"waivers": [{"op": "exp"}]}
    done = phalanx("verify", str(forge(declared=declared)))
    assert done.code == 1
    assert "other declarations: not the same waivers as in the certificate" in done.out


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("coverage", lambda found: found | {"add": {w: 2 * d for w, d in found["add"].items()}}),
        ("coverage", lambda found: found | {"add": {"waived": found["add"]["native"]}}),
        ("coverage", lambda found: found | {"magic": {"unsupported": ["float32,float32"]}}),
        ("counts", lambda found: found | {"passed": 99999}),
        ("worst", lambda found: found | {"add": {"float32,float32,float32": [0.0, 0.5]}}),
        ("worst", lambda found: found | {"add": 3}),
        ("waivers_needed", lambda found: [*found, "runtime/nowhere"]),
        ("device", lambda found: "cuda:0"),
    ],
)
def test_fields_that_do_not_fit_the_cases(
    phalanx: Callable, certificate: Path, forge: Callable, name: str, change: Callable
) -> None:
    content = read(certificate)
    file = forge(**{name: change(content[name])})
    done = phalanx("verify", str(file), "--sample", "0", "--device", "cpu:0")
    assert done.code == 1
    assert f"its field {name} does not fit its cases and its identity" in done.out


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("determinism", "reproducible", "the kernel's class is reproducible, and the certificate "),
        ("waiver", "a reason", "it needs a waiver, and the certificate names none"),
    ],
)
def test_what_a_case_shows_when_it_runs_again(
    certificate: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str, words: str
) -> None:
    case, (verdict, worst, determinism) = next(iter(read(certificate)["cases"].items()))
    outcome = Outcome(case, "runtime", "runtime", Verdict(verdict), worst=worst)
    outcome.determinism = determinism
    setattr(outcome, name, value)
    found = results(Verdict.PASSED)
    found.outcomes = [outcome]
    monkeypatch.setattr(run, "run_suite", lambda *args, **kwargs: found)
    done = CliRunner().invoke(verify, [str(certificate)])
    assert done.exit_code == 1
    assert f"{case}: {words}" in done.stdout


def test_a_device_that_is_gone(phalanx: Callable, forge: Callable) -> None:
    done = phalanx("verify", str(forge(device="nosuch:0")))
    assert done.code == 3
    assert "no installed plugin offers a driver 'nosuch'" in done.err


def test_an_empty_name_is_no_device(phalanx: Callable, certificate: Path) -> None:
    done = phalanx("verify", str(certificate), "--device", "")
    assert done.code == 2
    assert "'' is not a device name" in done.err


def test_a_variable_with_a_wrong_value(phalanx: Callable, certificate: Path) -> None:
    done = phalanx("verify", str(certificate), PHALANX_LOG="loud")
    assert done.code == 3
    assert "PHALANX_LOG='loud'; use debug" in done.err
    assert "Traceback" not in done.err


def test_invented_results_are_seen_when_they_run_again(
    phalanx: Callable, certificate: Path, forge: Callable
) -> None:
    content = read(certificate)
    cases, counts = content["cases"], content["counts"]
    file = forge(
        cases=cases | {ADD: ["passed", 0.25, "bitwise"]},
        counts=counts | {"passed": counts["passed"] + 1},
        worst={"add": {"float32,float32,float32": [0.25, 0.5]}},
    )
    done = phalanx("verify", str(file), "--sample", str(len(cases) + 1))
    assert done.code == 1
    assert f"{ADD}: the worst error is" in done.out
    assert "the certificate says 0.25, though the kernel's class is bitwise" in done.out


@pytest.mark.parametrize(
    ("level", "change", "words"),
    [
        ("runtime", lambda cases: dict([*cases.items()][:1]), "cases up to runtime are not in it"),
        ("runtime", lambda cases: dict([*cases.items()][1:]), "1 of the "),
        ("bitwise", lambda cases: cases, "cases up to bitwise are not in it, such as "),
        (
            "runtime",
            lambda cases: cases | {"runtime/invented": ["passed", -1.0, ""]},
            "1 of its cases are none of the suite, such as runtime/invented",
        ),
        (
            "runtime",
            lambda cases: cases | {"runtime/fork": ["failed", -1.0, ""]},
            "runtime/fork: failed, and it says that runtime is passed",
        ),
        (
            "runtime",
            lambda cases: cases | {"runtime/fork": ["expected failure", -1.0, ""]},
            "runtime/fork: expected failure, and it says that runtime is passed",
        ),
        (
            "runtime",
            lambda cases: cases | {"runtime/fork": ["unsupported", -1.0, ""]},
            "runtime needs runtime/fork, which is missing",
        ),
    ],
)
def test_cases_that_do_not_make_the_level(
    phalanx: Callable,
    certificate: Path,
    forge: Callable,
    level: str,
    change: Callable[[dict[str, Any]], dict[str, Any]],
    words: str,
) -> None:
    """A digest can be made anew by anybody: the cases must be those of the level, and passed."""
    file = forge(cases=change(read(certificate)["cases"]), level=level)
    done = phalanx("verify", str(file), "--sample", "0")
    assert done.code == 1
    assert words in done.out


@pytest.mark.parametrize(
    ("partial", "code", "words"),
    [
        (INTERRUPTED, 130, "interrupted: not all cases of the sample were run again"),
        ("pytest ended with 3", 3, "could be run again: pytest ended with 3"),
    ],
)
def test_a_sample_that_did_not_run_says_nothing_of_the_device(
    certificate: Path, monkeypatch: pytest.MonkeyPatch, partial: str, code: int, words: str
) -> None:
    found = results(Verdict.PASSED)
    found.partial = partial
    monkeypatch.setattr(run, "run_suite", lambda *args, **kwargs: found)
    done = CliRunner().invoke(verify, [str(certificate)])
    assert done.exit_code == code
    assert words in done.stderr
    assert "ok" not in done.stdout


# Runs that certify nothing


def test_the_level_is_the_highest_that_passes_whole() -> None:
    assert results(Verdict.PASSED, Verdict.INAPPLICABLE).certified is Level.CORE
    assert results(Verdict.PASSED, level=Level.RUNTIME).certified is Level.RUNTIME
    found = results(Verdict.PASSED)
    found.outcomes[1].verdict = Verdict.FAILED
    assert found.certified is Level.RUNTIME


def test_what_a_level_requires_cannot_be_declared_away() -> None:
    """A device with few ops passes no more than ``core``, whatever cases it declares away."""
    found = results(Verdict.PASSED, level=Level.ARRAY_API)
    found.outcomes.append(Outcome("semantics/views", "semantics", "array-api", Verdict.PASSED))
    assert found.certified is Level.CORE
    assert "exp(float32)" in found.lacking(Level.ARRAY_API)
    content = certificate_of(found)
    assert content["headline"].startswith(
        "acme:0 is certified for core in a full run, profile no-fp64 no-fp16 no-bf16 no-complex, "
        "with 13 of "
    )
    assert json.dumps(content).startswith('{"headline": "acme:0 is certified for core')
    found.outcomes[1].verdict = Verdict.UNSUPPORTED  # a case of ours that is about no overload
    assert found.certified is Level.RUNTIME
    assert found.lacking(Level.CORE) == ["ops/case0"]
    del found.description.coverage["copy"]["native"]
    assert found.certified is None
    assert "copy(bool)" in found.lacking(Level.RUNTIME)


def test_a_vendors_own_case_may_be_declared_away() -> None:
    found = results(Verdict.PASSED)
    found.outcomes.append(Outcome("vendor/x", "vendor", "core", Verdict.UNSUPPORTED))
    assert found.certified is Level.CORE


@pytest.mark.parametrize(
    ("without", "profile"),
    [
        ((), "full"),
        (("float64", "complex128"), "no-fp64"),
        (("complex64", "complex128"), "no-complex"),
        (("float64", "complex64", "complex128"), "no-fp64 no-complex"),
        (("float16",), "no-fp16"),
        (("complex128",), "full"),
    ],
)
def test_profiles_leave_dtypes_out(without: tuple[str, ...], profile: str) -> None:
    """A profile's dtypes are not required; a device may still move them."""
    found: Coverage = {}
    for row in OPS.values():
        for signature in row.signatures:
            there = row.name == "copy" or not set(signature.dtypes) & set(without)
            ways = found.setdefault(row.name, {})
            ways.setdefault("native" if there else "unsupported", []).append(
                ",".join(signature.dtypes)
            )
    assert profile_of(found) == profile
    lack = lacking(Level.ARRAY_API, served(found), outside(profile))
    assert bool(lack) is (without == ("complex128",))


def test_the_coverage_tells_what_was_waived_or_wrong() -> None:
    claimed: Coverage = {"exp": {"native": ["float32,float32", "float64,float64"]}}
    claimed["sin"] = {"native": ["float32,float32"], "unsupported": ["float64,float64"]}
    two = ("float32", "float32")
    outcomes = [
        Outcome("a", "ops", "core", Verdict.PASSED, op="exp", dtypes=two, waiver="a short table"),
        Outcome("b", "ops", "core", Verdict.EXPECTED, op="sin", dtypes=two),
    ]
    told = judged(claimed, outcomes)
    assert told["exp"] == {"waived": ["float32,float32"], "native": ["float64,float64"]}
    assert told["sin"] == {"wrong": ["float32,float32"], "unsupported": ["float64,float64"]}
    assert headline("d:0", "core", "full", told, quick=True) == (
        "d:0 is certified for core in a quick run, profile full, with 2 of 2 ops; of 4 overloads "
        "1 native, 0 decomposed, 1 unsupported, 1 waived, 1 wrong"
    )
    assert differences(told, claimed) == []
    claimed["exp"] = {"unsupported": ["float32,float32"], "native": ["float64,float64"]}
    assert differences(told, claimed) == [
        "another coverage: exp(float32) is unsupported, not waived"
    ]


def test_another_coverage_is_seen(phalanx: Callable, certificate: Path, forge: Callable) -> None:
    content = read(certificate)
    coverage = content["coverage"] | {"exp": {"unsupported": content["coverage"]["exp"]["native"]}}
    done = phalanx("verify", str(forge(coverage=coverage)), "--json")
    assert done.code == 1
    assert done.data["problems"][0].startswith("another coverage: exp(bfloat16) is native, not")


def test_a_headline_that_says_more_is_seen(phalanx: Callable, forge: Callable) -> None:
    done = phalanx("verify", str(forge(headline="cpu:0 is certified for everything")))
    assert done.code == 2
    assert "its headline does not fit its content" in done.out


def test_the_headline_is_the_first_line(certificate: Path) -> None:
    first = certificate.read_text().partition("\n")[0]
    assert first.startswith('{"headline": "cpu:0 is certified for runtime in a quick run, profile')


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (results(Verdict.FAILED), "the device passes no level"),
        (results(Verdict.EXPECTED), "the device passes no level"),
        (results(), "the device passes no level"),
        (results(Verdict.PASSED, partial="interrupted"), "interrupted"),
    ],
)
def test_a_run_that_certifies_nothing_says_why(found: Results, words: str) -> None:
    with pytest.raises(CertificateError, match=f"this run certifies nothing: {words}"):
        certificate_of(found)


def test_the_command_says_that_there_is_no_certificate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from phalanx.conformance import command

    file, page = tmp_path / "c.json", tmp_path / "report.json"
    writers = command._writers(page, None, None, file)
    assert command._write(results(Verdict.FAILED), writers) == [page]
    assert capsys.readouterr().err == (
        "no certificate written: this run certifies nothing: the device passes no level\n"
    )
    assert not file.exists()
