"""Reads JSON from a file that a stranger may have written: in bounded time and memory."""

from __future__ import annotations

import json
import math
import os
import stat
from collections import Counter
from pathlib import Path
from typing import Any, NoReturn

#: Bytes of a file; a certificate of all cases has about one million.
MOST_BYTES = 8 << 20
#: Objects and lists in it; a certificate has one for each case and about as many besides.
MOST_PARTS = 200_000


class HostileFileError(ValueError):
    """A file that is not read further, with the reason."""


def read_bounded(path: Path, most: int = MOST_BYTES) -> bytes:
    """Return the bytes of a regular file of at most ``most`` bytes.

    Raises:
        HostileFileError: it is a folder, a pipe, a device, or too large.
        OSError: it cannot be opened or read.
        ValueError: the path has a null byte.
    """
    # Without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise HostileFileError("it is no regular file")
        data = file.read(most + 1)
    if len(data) > most:
        raise HostileFileError(f"it has more than {most} bytes")
    return data


def parse(data: bytes) -> Any:
    """Return the value of a JSON text in UTF-8 (RFC 8259), stricter than Python reads it.

    Raises:
        HostileFileError: another encoding, too many parts or too deep, a key twice, a number that
            is not finite or too long, half of a surrogate pair.
        ValueError: it is no JSON.
    """
    if data.count(b"{") + data.count(b"[") > MOST_PARTS:
        raise HostileFileError(f"it has more than {MOST_PARTS} objects and lists")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise HostileFileError("it is not in UTF-8") from error
    if text.startswith("\ufeff"):
        raise HostileFileError("it begins with a byte order mark")
    try:
        value = json.loads(
            text,
            object_pairs_hook=_once,
            parse_constant=_not_finite,
            parse_float=_finite,
            parse_int=_whole,
        )
        if "\\" in text:  # surrogates cannot come in any other way
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError as error:
        raise HostileFileError("it is nested too deeply") from error
    except UnicodeEncodeError as error:
        raise HostileFileError("a string has half of a surrogate pair") from error
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        (twice, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        raise HostileFileError(f"it has the key {twice[:40]!r} twice")
    return found


def _not_finite(name: str) -> NoReturn:
    raise HostileFileError(f"it has the number {name}")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise HostileFileError(f"the number {text[:40]} is too large")
    return value


def _whole(text: str) -> int:
    if len(text) > _DIGITS:
        raise HostileFileError(f"the number {text[:40]}... is too long")
    return int(text)


#: More than any 64-bit number has.
_DIGITS = 24
