"""The certificate and ``phalanx verify``: what a run certifies, and every way to doubt it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from phalanx.conformance.certificate import CertificateError, certificate_of, digest, read
from phalanx.conformance.description import Description
from phalanx.conformance.outcome import Outcome, Verdict
from phalanx.conformance.results import Results
from phalanx.conformance.settings import Level, Settings

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
        ('{"kind": "phalanx conformance certificate"}', "lacks format"),
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
    done = phalanx("verify", str(forge(format=2)))
    assert done.code == 2
    assert "has format 2, and this version reads 1" in done.out


def test_a_device_that_is_gone(phalanx: Callable, forge: Callable) -> None:
    done = phalanx("verify", str(forge(device="nosuch:0")))
    assert done.code == 3
    assert "no installed plugin offers a driver 'nosuch'" in done.err


def test_invented_results_are_seen_when_they_run_again(phalanx: Callable, forge: Callable) -> None:
    file = forge(cases={ADD: ["passed", 0.25, "bitwise"]})
    done = phalanx("verify", str(file), "--sample", "9")
    assert done.code == 1
    assert f"{ADD}: the worst error is" in done.out
    assert "the certificate says 0.25, though the kernel's class is bitwise" in done.out


def test_invented_cases_are_seen_when_they_run_again(phalanx: Callable, forge: Callable) -> None:
    done = phalanx("verify", str(forge(cases={"runtime/invented": ["passed", -1.0, ""]})))
    assert done.code == 1
    assert "unknown case 'runtime/invented'" in done.out


# Runs that certify nothing


def results(*verdicts: Verdict, level: Level = Level.CORE, **fields: Any) -> Results:
    outcomes = [
        Outcome(f"ops/case{i}", "ops", lv, verdict)
        for i, verdict in enumerate(verdicts)
        for lv in ("runtime", "core")
    ]
    description = Description("acme:0", usable=True, identity={"name": "Acme"})
    return Results(Settings("acme:0", level), description, outcomes, **fields)


def test_the_level_is_the_highest_that_passes_whole() -> None:
    assert results(Verdict.PASSED, Verdict.INAPPLICABLE).certified is Level.CORE
    assert results(Verdict.PASSED, level=Level.RUNTIME).certified is Level.RUNTIME
    found = results(Verdict.PASSED)
    found.outcomes[1].verdict = Verdict.FAILED
    assert found.certified is Level.RUNTIME


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
