"""Signatures on certificates: keys, ``--sign``, ``--trust``, and every way to doubt one."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conformance_kit import results
from phalanx.conformance import signing
from phalanx.conformance.certificate import (
    CertificateError,
    certificate_of,
    digest,
    read,
    voucher,
    write,
)
from phalanx.conformance.outcome import Verdict
from phalanx.conformance.results import Results
from phalanx.conformance.settings import Level
from phalanx.conformance.signing import SigningError, make_key, read_key, read_trusted

pytest.importorskip("cryptography", reason="phalanx[sign] is not installed")


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """A new secret key; its public half has the name acme-ci."""
    make_key(tmp_path / "acme.key", "acme-ci")
    return tmp_path / "acme.key"


@pytest.fixture
def passed() -> Results:
    return results(Verdict.PASSED, level=Level.CORE)


@pytest.fixture
def signed(key: Path, passed: Results, tmp_path: Path) -> Path:
    """A certificate that is signed."""
    file = tmp_path / "acme.json"
    write(passed, file, read_key(key))
    return file


def test_a_new_key_is_its_owners_alone(phalanx: Callable, tmp_path: Path) -> None:
    file = tmp_path / "my.key"
    done = phalanx("keygen", str(file))
    assert done.code == 0, done.err
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert (tmp_path / "my.key.pub").read_text().startswith("my ed25519:")
    before = file.read_bytes()
    again = phalanx("keygen", str(file))
    assert again.code == 2
    assert "is there already, and a key is never overwritten" in again.err
    assert file.read_bytes() == before


def test_a_key_that_has_no_place_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.key.pub").write_text("of somebody else")
    with pytest.raises(SigningError, match="is there already"):
        make_key(tmp_path / "a.key", "a")
    assert not (tmp_path / "a.key").exists()
    assert (tmp_path / "a.key.pub").read_text() == "of somebody else"
    with pytest.raises(FileNotFoundError):
        make_key(tmp_path / "no" / "folder", "a")
    for name in ("two words", "", "a\n", "x" * 65):
        with pytest.raises(SigningError, match="other characters"):
            make_key(tmp_path / "b.key", name)
    assert not (tmp_path / "b.key").exists()


def test_who_vouches(key: Path, signed: Path, tmp_path: Path) -> None:
    content = read(signed)
    trusted = read_trusted((key.with_name("acme.key.pub"),))
    words, doubt = voucher(content, trusted)
    assert words.startswith("signed by acme-ci (ed25519:")
    assert doubt == ""
    words, doubt = voucher(content, None)
    assert "--trust KEYS tells whether that is a key you know" in words
    assert doubt == ""
    other = make_key(tmp_path / "other.key", "other")
    _, doubt = voucher(content, read_trusted((other,)))
    assert "which is none of the trusted keys" in doubt


def test_the_unsigned_is_called_unsigned(key: Path, passed: Results) -> None:
    content = certificate_of(passed)
    assert voucher(content, None) == ("unsigned: nobody vouches for it", "")
    trusted = read_trusted((key.with_name("acme.key.pub"),))
    assert voucher(content, trusted)[1] == "unsigned: nobody vouches for it"


def test_a_signature_is_of_this_text_and_key(signed: Path, key: Path, tmp_path: Path) -> None:
    """Another content with a digest that fits, another signature, another key: all are seen."""
    content = json.loads(signed.read_text())
    make_key(tmp_path / "other.key", "other")
    other = read_key(tmp_path / "other.key").sign(b"another text")
    own = content["signature"]
    changes: list[dict[str, Any]] = [
        {"seed": 21},
        {"signature": own | {"key": other["key"]}},
        {"signature": own | {"value": other["value"]}},
        {"signature": own | {"value": "AAAA"}},
        {"signature": own | {"key": "ed25519:" + "A" * 43 + "="}},
        {"signature": own | {"key": "rsa:" + own["key"]}},
    ]
    for change in changes:
        forged = content | change
        signed.write_text(json.dumps(forged | {"digest": digest(forged)}))
        with pytest.raises(CertificateError, match="its signature does not fit"):
            read(signed)
    for wrong in (None, {}, {"key": 1, "value": 2}, own | {"more": ""}):
        signed.write_text(json.dumps(content | {"signature": wrong}))
        with pytest.raises(CertificateError, match="lacks signature"):
            read(signed)


def test_verify_names_who_vouches(
    suite: Callable, phalanx: Callable, key: Path, tmp_path: Path
) -> None:
    """From the run to the voucher, as a vendor does it."""
    file = tmp_path / "cpu.json"
    options = ("--level", "runtime", "-n", "2", "--certificate", str(file), "--sign", str(key))
    done = suite(*options)
    assert done.code == 0, done.out + done.err
    keys = tmp_path / "keys"
    keys.write_text(f"# those we know\n\n{key.with_name('acme.key.pub').read_text()}")
    done = phalanx("verify", str(file), "--sample", "0", "--trust", str(keys))
    assert done.code == 0, done.out + done.err
    assert "signed by acme-ci" in done.out
    content = json.loads(file.read_text())
    del content["signature"]
    file.write_text(json.dumps(content))
    done = phalanx("verify", str(file), "--sample", "0", "--trust", str(keys), "--json")
    assert done.code == 1
    assert done.data["problems"] == ["unsigned: nobody vouches for it"]
    done = phalanx("verify", str(file), "--sample", "0")
    assert done.code == 0
    assert "unsigned: nobody vouches for it" in done.out


# Files that are no keys


def test_what_is_no_secret_key(key: Path, tmp_path: Path) -> None:
    from cryptography.hazmat.primitives import serialization as pem
    from cryptography.hazmat.primitives.asymmetric import x25519

    file = tmp_path / "x.key"

    def said() -> str:
        with pytest.raises(SigningError) as caught:
            read_key(file)
        return str(caught.value)

    assert "cannot be read: No such file" in said()
    file.write_bytes(b"not a key")
    file.chmod(0o600)
    assert "is no secret key" in said()
    form = (pem.Encoding.PEM, pem.PrivateFormat.PKCS8)
    file.write_bytes(x25519.X25519PrivateKey.generate().private_bytes(*form, pem.NoEncryption()))
    assert "is no Ed25519 key" in said()
    secret = read_key(key).key
    file.write_bytes(secret.private_bytes(*form, pem.BestAvailableEncryption(b"word")))
    assert "is encrypted" in said()
    file.write_bytes(key.read_bytes())
    file.chmod(0o640)
    assert "others can read the key" in said()
    file.unlink()
    os.mkfifo(file)
    assert "it is no regular file" in said()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "no key in"),
        (b"# nothing\n", "no key in"),
        (b"acme-ci ed25519:short\n", "line 1 is no public key"),
        (b"# x\nssh-ed25519 AAAA\n", "line 2 is no public key"),
        (b"\xff\xfe", "is not in UTF-8"),
        (b"x" * 70_000, "has more than 65536 bytes"),
    ],
)
def test_what_are_no_trusted_keys(tmp_path: Path, text: bytes, words: str) -> None:
    file = tmp_path / "keys"
    file.write_bytes(text)
    with pytest.raises(SigningError, match=words):
        read_trusted((file,))


def test_a_key_that_cannot_be_used_is_told_before_the_run(
    usage: Callable, key: Path, tmp_path: Path
) -> None:
    done = usage("--sign", str(tmp_path / "none"), "--certificate", str(tmp_path / "c.json"))
    assert done.exit_code == 2
    assert "cannot be read: No such file" in done.output
    done = usage("--sign", str(key))
    assert done.exit_code == 2
    assert "give --certificate FILE, too" in done.output


def test_without_the_library_a_signature_is_not_claimed_to_be_checked(
    signed: Path, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from phalanx.conformance import certificate

    for module in (signing, certificate):
        monkeypatch.setattr(module, "is_installed", lambda: False)
    words, doubt = voucher(read(signed), None)
    assert "which was not checked (pip install 'phalanx[sign]')" in words
    assert doubt == ""
    for call in (read_key, lambda path: read_trusted((path,)), lambda path: make_key(path, "a")):
        with pytest.raises(SigningError, match=r"pip install 'phalanx\[sign\]'"):
            call(key)
