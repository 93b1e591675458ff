"""Signatures on certificates: Ed25519 (RFC 8032) through the package ``cryptography``, offline.

A secret key is a PEM file in PKCS 8; its public half is one line of text, ``NAME ed25519:BASE64``,
and a file of trusted keys is such lines and comments with ``#``.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .plain_json import HostileFileError, read_bounded

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

#: What a key's file may have in bytes.
_MOST_BYTES = 1 << 16
_NAME = re.compile(r"[\w.@+-]{1,64}")
_PUBLIC = re.compile(r"(?P<name>\S+)\s+ed25519:(?P<key>[A-Za-z0-9+/]{43}=)")
#: Signed before the text, so that a signature of something else is none of a certificate.
_CONTEXT = b"phalanx conformance certificate\n"
_SECRET_MODE = 0o600


class SigningError(ValueError):
    """A key cannot be used, with the reason."""


@dataclass(frozen=True, slots=True)
class Signer:
    """A secret key that was read."""

    key: Ed25519PrivateKey

    def sign(self, text: bytes) -> dict[str, str]:
        """Return what stands in a certificate as ``signature``."""
        public = _encode(self.key.public_key().public_bytes_raw())
        return {"key": f"ed25519:{public}", "value": _encode(self.key.sign(_CONTEXT + text))}


def is_installed() -> bool:
    """Tell whether signatures can be made and checked here."""
    from importlib.util import find_spec

    return find_spec("cryptography") is not None


def need_extra() -> None:
    """Raise `SigningError` with what to install where the library is missing."""
    if not is_installed():
        raise SigningError("signatures need cryptography; pip install 'phalanx[sign]'")


def make_key(path: Path, name: str) -> Path:
    """Write a new secret key that only its owner can read, and the public half beside it.

    Returns:
        where the public half is: the path with ``.pub`` after it.

    Raises:
        SigningError: the name is no name, a file is there already, or ``cryptography`` is missing.
        OSError: a file cannot be written; then none is left behind.
    """
    need_extra()
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    if not _NAME.fullmatch(name):
        raise SigningError(
            f"the name {name!r} has other characters than letters, digits and . _ @ + -, or more "
            "than 64; give another one with --name"
        )
    public = path.with_name(f"{path.name}.pub")
    key = Ed25519PrivateKey.generate()
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    line = f"{name} ed25519:{_encode(key.public_key().public_bytes_raw())}\n"
    _write_new(path, secret, _SECRET_MODE)
    try:
        _write_new(public, line.encode(), 0o644)
    except (OSError, SigningError):
        path.unlink()
        raise
    return public


def _write_new(path: Path, data: bytes, mode: int) -> None:
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    except FileExistsError as error:
        raise SigningError(
            f"{path} is there already, and a key is never overwritten; choose another place"
        ) from error
    try:
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(handle)
    except OSError:
        path.unlink()
        raise


def read_key(path: Path) -> Signer:
    """Return the secret key of a file.

    Raises:
        SigningError: the file cannot be read, holds no such key, or others can read it.
    """
    need_extra()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    data = _read(path)
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise SigningError(f"others can read the key {path} (mode {mode:o}); chmod 600 it")
    try:
        key = serialization.load_pem_private_key(data, None)
    except TypeError as error:
        raise SigningError(f"the key {path} is encrypted; only plain ones are read") from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise SigningError(f"{path} is no secret key; `phalanx keygen` makes one") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise SigningError(f"{path} is no Ed25519 key; `phalanx keygen` makes one")
    return Signer(key)


def read_trusted(paths: tuple[Path, ...]) -> dict[str, str]:
    """Return the names of trusted keys, by key (``ed25519:BASE64``).

    Raises:
        SigningError: a file cannot be read, or a line is no public key.
    """
    need_extra()
    found: dict[str, str] = {}
    for path in paths:
        try:
            lines = _read(path).decode("utf-8").splitlines()
        except UnicodeDecodeError as error:
            raise SigningError(f"{path} is not in UTF-8") from error
        for number, text in enumerate(lines, 1):
            line = text.partition("#")[0].strip()
            if not line:
                continue
            match = _PUBLIC.fullmatch(line)
            if match is None or not _NAME.fullmatch(match["name"]):
                raise SigningError(
                    f"{path}, line {number} is no public key: NAME ed25519:BASE64, as in the .pub "
                    "files of `phalanx keygen`"
                )
            found[f"ed25519:{match['key']}"] = match["name"]
    if not found:
        raise SigningError(f"no key in {', '.join(map(str, paths))}")
    return found


def holds(signature: Mapping[str, Any], text: bytes) -> bool:
    """Tell whether a certificate's signature is one of its key on its text; needs the extra."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        public = base64.b64decode(signature["key"].removeprefix("ed25519:"), validate=True)
        value = base64.b64decode(signature["value"], validate=True)
        Ed25519PublicKey.from_public_bytes(public).verify(value, _CONTEXT + text)
    except (InvalidSignature, ValueError, binascii.Error):
        return False
    return True


def _read(path: Path) -> bytes:
    try:
        return read_bounded(path, _MOST_BYTES)
    except OSError as error:
        raise SigningError(f"{path} cannot be read: {error.strerror or error}") from error
    except (HostileFileError, ValueError) as error:
        raise SigningError(f"{path} holds no key: {error}") from error


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode()
