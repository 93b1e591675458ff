"""Certificates signed through Sigstore: by a job of CI, beside a service of one's own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conformance_kit import results
from phalanx.conformance.certificate import write
from phalanx.conformance.keyless import bundle_of, check, sign
from phalanx.conformance.outcome import Verdict
from phalanx.conformance.settings import Level
from phalanx.conformance.signing import SigningError

pytest.importorskip("sigstore", reason="phalanx[sigstore] is not installed")

from sigstore_kit import Sigstore, token

ISSUER = "https://ci.example.com"
IDENTITY = "https://ci.example.com/acme/plugin/ci.yml@refs/heads/main"


@pytest.fixture
def service() -> Iterator[Sigstore]:
    with Sigstore() as running:
        yield running


@pytest.fixture
def instance(service: Sigstore, tmp_path: Path) -> Path:
    """The file that describes the service."""
    file = tmp_path / "instance.json"
    file.write_text(json.dumps(service.configuration()))
    return file


@pytest.fixture
def _job(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process is a job of a GitLab runner, which gives tokens by variables."""
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    monkeypatch.setenv("GITLAB_CI", "true")
    monkeypatch.setenv("SIGSTORE_ID_TOKEN", token(IDENTITY, ISSUER))


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    file = tmp_path / "acme.json"
    write(results(Verdict.PASSED, level=Level.CORE), file)
    return file


@pytest.fixture
def bundle(certificate: Path, instance: Path, _job: None) -> Path:
    return sign(certificate, instance)


def test_who_signed(certificate: Path, bundle: Path, instance: Path) -> None:
    assert bundle == bundle_of(certificate)
    check(certificate.read_bytes(), bundle, IDENTITY, ISSUER, instance)


@pytest.mark.parametrize(
    ("identity", "issuer"),
    [(IDENTITY + "2", ISSUER), (IDENTITY, ISSUER + "/"), (ISSUER, IDENTITY), ("", ISSUER)],
)
def test_somebody_else(
    certificate: Path, bundle: Path, instance: Path, identity: str, issuer: str
) -> None:
    with pytest.raises(SigningError, match="does not vouch for it"):
        check(certificate.read_bytes(), bundle, identity, issuer, instance)


def test_another_text(certificate: Path, bundle: Path, instance: Path) -> None:
    with pytest.raises(SigningError, match="does not vouch for it"):
        check(certificate.read_bytes() + b"\n", bundle, IDENTITY, ISSUER, instance)


def test_another_instance(certificate: Path, bundle: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    with Sigstore() as stranger:
        other.write_text(json.dumps(stranger.configuration()))
    with pytest.raises(SigningError, match="does not vouch for it"):
        check(certificate.read_bytes(), bundle, IDENTITY, ISSUER, other)


@pytest.mark.parametrize("text", ["", "{}", "[", '{"mediaType": 1}', "[" * 100_000, "\ufeff{}"])
def test_no_bundle(certificate: Path, bundle: Path, instance: Path, text: str) -> None:
    bundle.write_text(text)
    with pytest.raises(SigningError, match="does not vouch for it"):
        check(certificate.read_bytes(), bundle, IDENTITY, ISSUER, instance)


def test_every_part_of_a_bundle_counts(certificate: Path, bundle: Path, instance: Path) -> None:
    """What a forger changes, leaves out or takes from elsewhere is seen."""
    whole = json.loads(bundle.read_text())
    entry = whole["verificationMaterial"]["tlogEntries"][0]
    for where, value in (
        ((entry, "canonicalizedBody"), "AAAA"),
        ((entry, "integratedTime"), "1"),
        ((entry["inclusionProof"], "rootHash"), "AAAA"),
        ((entry["inclusionProof"]["checkpoint"], "envelope"), "here\n1\nAAAA\n\n"),
        ((whole["messageSignature"], "signature"), "AAAA"),
        ((whole["verificationMaterial"], "tlogEntries"), []),
    ):
        place, key = where
        before, place[key] = place[key], value
        bundle.write_text(json.dumps(whole))
        with pytest.raises(SigningError, match="does not vouch for it"):
            check(certificate.read_bytes(), bundle, IDENTITY, ISSUER, instance)
        place[key] = before
    bundle.write_text(json.dumps(whole))
    check(certificate.read_bytes(), bundle, IDENTITY, ISSUER, instance)


def test_files_that_cannot_be_read(certificate: Path, instance: Path, tmp_path: Path) -> None:
    data, missing = certificate.read_bytes(), tmp_path / "missing"
    with pytest.raises(SigningError, match=r"is not there; its bundle is missing"):
        check(data, missing, IDENTITY, ISSUER, instance)
    missing.write_bytes(b" " * ((1 << 20) + 1))
    with pytest.raises(SigningError, match="has more than"):
        check(data, missing, IDENTITY, ISSUER, instance)
    for text in ("", "{}", "[]", '{"mediaType": "x"}'):
        missing.write_text(text)
        with pytest.raises(SigningError, match="is no client trust configuration"):
            check(data, missing, IDENTITY, ISSUER, missing)


@pytest.mark.parametrize("part", ["mediaType", "tlogs", "certificateAuthorities", "ctlogs"])
def test_an_instance_of_which_a_part_is_missing(
    certificate: Path, bundle: Path, instance: Path, part: str
) -> None:
    text = json.loads(instance.read_text())
    text["trustedRoot"][part] = "of tomorrow" if part == "mediaType" else []
    instance.write_text(json.dumps(text))
    with pytest.raises(SigningError, match=r"does not vouch for it|is no client trust"):
        check(certificate.read_bytes(), bundle, IDENTITY, ISSUER, instance)


@pytest.mark.usefixtures("_job")
def test_a_service_that_is_down(certificate: Path, instance: Path) -> None:
    text = json.loads(instance.read_text())
    for service in text["signingConfig"]["caUrls"]:
        service["url"] = "http://127.0.0.1:9"
    instance.write_text(json.dumps(text))
    with pytest.raises(SigningError, match="Sigstore did not sign"):
        sign(certificate, instance)
    assert not bundle_of(certificate).exists()


@pytest.mark.usefixtures("_job")
def test_the_commands(phalanx: Callable, instance: Path, tmp_path: Path) -> None:
    file = tmp_path / "cpu.json"
    own = ("--sigstore-config", str(instance))
    run = ("conformance", "-d", "cpu:0", "--level", "runtime", "--quick", "-n", "2")
    done = phalanx(*run, "--certificate", str(file), "--sigstore", *own)
    assert done.code == 0, done.out + done.err
    assert f"{bundle_of(file).name}" in done.out
    asked = ("verify", str(file), "--sample", "1", "--issuer", ISSUER, *own, "--identity")
    held = phalanx(*asked, IDENTITY)
    assert held.code == 0, held.out + held.err
    assert f"signed by {IDENTITY} ({ISSUER}), through Sigstore" in " ".join(held.out.split())
    doubted = phalanx(*asked, IDENTITY + "2")
    assert doubted.code == 1
    assert "does not vouch for it" in doubted.out
    plain = phalanx("verify", str(file), "--sample", "0")
    assert plain.code == 0, plain.out + plain.err
    assert "--identity and --issuer check that" in " ".join(plain.out.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("conformance", "--sigstore"), "give --certificate FILE, too"),
        (("conformance", "--sigstore-config", "x"), "belongs to --sigstore"),
        (("conformance", "--sigstore", "--certificate", "c"), "no identity of a CI job was found"),
        (("verify", "x", "--identity", "a"), "--identity and --issuer belong together"),
        (("verify", "x", "--issuer", "a"), "--identity and --issuer belong together"),
        (("verify", "x", "--offline"), "belong to --identity"),
    ],
)
def test_wrong_usage(
    phalanx: Callable, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], words: str
) -> None:
    for name in ("GITHUB_ACTIONS", "GITLAB_CI", "BUILDKITE", "CIRCLECI"):
        monkeypatch.delenv(name, raising=False)
    done = phalanx(*arguments)
    assert done.code == 2
    assert words in " ".join(done.err.split())
