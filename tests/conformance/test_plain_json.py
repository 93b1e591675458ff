"""Files of strangers: each is refused with a reason, in bounded time and memory."""

from __future__ import annotations

import json
import os
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from conformance_kit import results
from phalanx.conformance.certificate import CertificateError, certificate_of, digest, read
from phalanx.conformance.outcome import Verdict
from phalanx.conformance.plain_json import MOST_BYTES, MOST_PARTS, HostileFileError, parse

#: Seconds and bytes that a refusal may take, on a busy machine.
_SECONDS, _BYTES = 10.0, 50 * MOST_BYTES


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"[" * 150_000 + b"]" * 150_000, "nested too deeply"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested too deeply"),
        (b"[" + b"[]," * MOST_PARTS + b"[]]", "objects and lists"),
        (b"[NaN]", "the number NaN"),
        (b"[-Infinity]", "the number -Infinity"),
        (b"[1e999]", "1e999 is too large"),
        (b"[" + b"9" * 5_000_000 + b"]", "is too long"),
        (b"[1" + b"0" * 30 + b"]", "is too long"),
        (b'{"a": 1, "b": 2, "a": 3}', "the key 'a' twice"),
        (b'{"a": 1, "\\u0061": 3}', "the key 'a' twice"),
        ('{"a": 1}'.encode("utf-16"), "not in UTF-8"),
        (b'{"a": "\xe9"}', "not in UTF-8"),
        (b'\xef\xbb\xbf{"a": 1}', "byte order mark"),
        (b'{"a": "\\ud800"}', "half of a surrogate pair"),
        (b'{"\\udfff": 1}', "half of a surrogate pair"),
    ],
    ids=lambda x: x if isinstance(x, str) else repr(x[:8]),
)
def test_hostile_text(data: bytes, words: str) -> None:
    tracemalloc.start()
    begin = time.perf_counter()
    try:
        with pytest.raises(HostileFileError, match=words):
            parse(data)
        assert time.perf_counter() - begin < _SECONDS
        assert tracemalloc.get_traced_memory()[1] < _BYTES
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("data", [b"", b"{", b"[1,]", b"{'a': 1}", b'["\x01"]', b"[1] [2]"])
def test_what_is_no_json(data: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse(data)


def test_plain_json_comes_as_it_is() -> None:
    value = {"a": [1, -2.5, None, True, "\U0001f600"], "\u00e9": {}}
    for ascii_only in (True, False):
        assert parse(json.dumps(value, ensure_ascii=ascii_only).encode()) == value


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda p: p.mkdir(), "cannot be read: Is a directory|no regular file"),
        (os.mkfifo, "no regular file"),
        (lambda p: p.symlink_to("/dev/zero"), "no regular file"),
        (lambda p: p.symlink_to(p.name), "cannot be read: Too many levels"),
        (lambda p: p.symlink_to("nowhere"), "cannot be read: No such file"),
        (lambda p: p.write_bytes(b" " * (MOST_BYTES + 1)), "more than 8388608 bytes"),
        (lambda p: (p.touch(), os.truncate(p, 1 << 40)), "more than 8388608 bytes"),
    ],
    ids=["folder", "pipe", "device", "loop", "dangling", "large", "terabyte"],
)
def test_hostile_paths(tmp_path: Path, make: Callable[[Path], object], words: str) -> None:
    path = tmp_path / "c.json"
    make(path)
    with pytest.raises(CertificateError, match=words):
        read(path)


def test_a_path_with_a_null_byte() -> None:
    with pytest.raises(CertificateError, match="null byte"):
        read(Path("a\0b"))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("device", "../../etc/passwd"),
        ("device", "--help"),
        ("device", "cpu:99999999999"),
        ("level", "everything"),
        ("profile", "no-nothing"),
        ("seed", -1),
        ("seed", 1 << 70),
        ("seed", True),
        ("quick", 1),
        ("identity", {"name": {"deep": []}}),
        ("coverage", {"exp": ["native"]}),
        ("coverage", {"exp": {"magic": []}}),
        ("coverage", {"exp": {"native": [["float32"]]}}),
        ("cases", {"ops/x": "passed"}),
        ("cases", {"ops/x": ["perfect", 0.0, ""]}),
        ("cases", {"ops/x": ["passed", "0", ""]}),
        ("cases", {"ops/x": ["passed", True, ""]}),
        ("cases", {"ops/\x1b[2J": ["passed", 0.0, ""]}),
        ("cases", {"ops/" + "x" * 600: ["passed", 0.0, ""]}),
    ],
)
def test_a_field_of_another_shape(tmp_path: Path, field: str, value: object) -> None:
    """A digest that fits does not make it a certificate."""
    content = certificate_of(results(Verdict.PASSED)) | {field: value}
    path = tmp_path / "c.json"
    path.write_text(json.dumps(content | {"digest": digest(content)}))
    with pytest.raises(CertificateError, match=f"lacks {field}, or they are of the wrong type"):
        read(path)


def test_what_steers_a_terminal_is_not_printed() -> None:
    from phalanx.conformance.verify_command import _visible

    assert _visible("a\x1b[2Jb\u202ec") == "a\ufffd[2Jb\ufffdc"
