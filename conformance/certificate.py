"""The certificate: what a device was found to do, under a digest, and signed if there is a key."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from pathlib import Path
from typing import Any

from . import coverage
from .description import Description
from .outcome import Outcome, Verdict
from .plain_json import parse, read_bounded
from .results import Results, versions
from .settings import Level
from .signing import Signer, holds, is_installed
from .writing import write_text

KIND = "phalanx conformance certificate"
FORMAT = 2
#: What identifies a device; another value of one of them makes it another device or driver.
IDENTITY = (
    *("name", "kind", "vendor", "driver", "driver_version", "plugin", "uuid", "abi"),
    *("capabilities", "features"),
)
_FIELDS = {
    "headline": str,
    "kind": str,
    "format": int,
    "suite": str,
    "core": str,
    "op_table": str,
    "level": str,
    "profile": str,
    "quick": bool,
    "seed": int,
    "device": str,
    "identity": dict,
    "coverage": dict,
    "declared": dict,
    "waivers_needed": list,
    "counts": dict,
    "worst": dict,
    "cases": dict,
    "digest": str,
}
#: What the digest and the signature are not about: themselves.
_SEALS = ("digest", "signature")
_DEVICE = re.compile(r"[a-z][a-z0-9_]*:[0-9]{1,4}")
#: Characters of the name of a case.
_LONGEST = 500


class CertificateError(ValueError):
    """A file is no certificate, or not the one that was written."""


def certificate_of(results: Results, signer: Signer | None = None) -> dict[str, Any]:
    """Return the certificate of a run, signed if there is a signer.

    Raises:
        CertificateError: the run certifies nothing, with the reason.
    """
    if results.certified is None:
        reason = results.partial or (
            "it was narrowed to some cases" if results.narrowed else "the device passes no level"
        )
        raise CertificateError(f"this run certifies nothing: {reason}")
    content = {
        "headline": results.headline,
        "kind": KIND,
        "format": FORMAT,
        **versions(),
        "level": results.certified.title,
        "profile": results.profile,
        "quick": results.settings.quick,
        "seed": results.settings.seed,
        "started": results.started,
        "seconds": round(results.seconds, 3),
        "device": results.description.device,
        "identity": results.description.identity,
        "counts": counts_of(results),
        "coverage": results.coverage,
        "worst": worst_of(results.outcomes),
        "fallbacks": results.fallbacks(),
        "declared": results.description.declared,
        "waivers_needed": [o.case for o in results.waived],
        "cases": {
            o.case: [o.verdict.value, finite(o.worst), o.determinism] for o in results.outcomes
        },
    }
    content |= {"digest": digest(content)}
    return content if signer is None else content | {"signature": signer.sign(sealed(content))}


def finite(worst: float) -> float | None:
    """Return an error as JSON has it, which knows no infinity: then ``None``."""
    return worst if math.isfinite(worst) else None


def counts_of(results: Results) -> dict[str, int]:
    """Return how many cases ended in which way."""
    return {verdict.value: n for verdict, n in results.counts().items()}


def worst_of(outcomes: list[Outcome]) -> dict[str, dict[str, list[float | None]]]:
    """Return the worst error and its bound, by op and overload."""
    found: dict[str, dict[str, list[float]]] = {}
    for outcome in outcomes:
        if outcome.op and outcome.worst >= 0:
            by_dtypes = found.setdefault(outcome.op, {})
            key = ",".join(outcome.dtypes)
            known = by_dtypes.get(key, [-1.0, -1.0])
            by_dtypes[key] = max(known, [outcome.worst, outcome.bound])
    return {
        op: {key: [finite(x) for x in pair] for key, pair in by_dtypes.items()}
        for op, by_dtypes in found.items()
    }


def sealed(content: dict[str, Any]) -> bytes:
    """Return what digest and signature are about: all other fields, in one canonical text."""
    rest = {key: value for key, value in content.items() if key not in _SEALS}
    return json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def digest(content: dict[str, Any]) -> str:
    """Return the SHA-256 of all fields but the digest and the signature."""
    return hashlib.sha256(sealed(content)).hexdigest()


def write(results: Results, path: Path, signer: Signer | None = None) -> None:
    """Write the certificate of a run; raises ``OSError`` and `CertificateError`.

    The headline is in the first line of the file, where people look.
    """
    text = json.dumps(certificate_of(results, signer), indent=1, ensure_ascii=False)
    write_text(path, "{" + text.removeprefix("{\n ") + "\n")


def read(path: Path) -> dict[str, Any]:
    """Return a certificate whose form, headline, digest and signature are right.

    A signature is checked where ``cryptography`` is installed; see `signer_of`.

    Raises:
        CertificateError: the file cannot be read, is no certificate, or was changed.
    """
    try:
        content = parse(read_bounded(path))
    except OSError as error:
        raise CertificateError(f"{path} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        name = os.fsencode(path).decode("utf-8", "backslashreplace")
        raise CertificateError(f"{name} is no certificate or is cut off: {error}") from error
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise CertificateError(f"{path} is no certificate of the conformance suite")
    if type(content.get("format")) is int and content["format"] != FORMAT:
        raise CertificateError(
            f"{path} has format {content['format']}, and this version reads {FORMAT}; use the "
            f"version of phalanx that wrote it ({str(content.get('core'))[:40]})"
        )
    wrong = [key for key, kind in _FIELDS.items() if type(content.get(key)) is not kind]
    wrong = wrong or _misshapen(content)
    if wrong:
        raise CertificateError(f"{path} lacks {', '.join(wrong)}, or they are of the wrong type")
    if digest(content) != content["digest"]:
        raise CertificateError(f"{path} was changed: its digest does not fit its content")
    if content["headline"] != _headline(content):
        raise CertificateError(f"{path} was changed: its headline does not fit its content")
    if signed(content) and is_installed() and not holds(content["signature"], sealed(content)):
        raise CertificateError(f"{path} was changed: its signature does not fit its content")
    return content


def _misshapen(content: dict[str, Any]) -> list[str]:
    """Return the fields whose insides are not those of a certificate."""
    levels = {level.title for level in Level}
    profile = content["profile"].split()
    sound = {
        "device": _DEVICE.fullmatch(content["device"]) is not None,
        "level": content["level"] in levels,
        "profile": profile == [coverage.FULL] or set(profile) <= set(coverage.PROFILES),
        "seed": 0 <= content["seed"] < 1 << 64,
        "identity": all(_is_plain(value) for value in content["identity"].values()),
        "coverage": all(_is_coverage(by_way) for by_way in content["coverage"].values()),
        "cases": all(_is_case(name, found) for name, found in content["cases"].items()),
        "signature": not signed(content) or _is_signature(content["signature"]),
    }
    return [key for key, is_sound in sound.items() if not is_sound]


def _is_plain(value: object) -> bool:
    if isinstance(value, list):
        return all(isinstance(x, str) for x in value)
    return isinstance(value, str | int)


def _is_coverage(by_way: object) -> bool:
    return isinstance(by_way, dict) and all(
        way in coverage.WAYS
        and isinstance(dtypes, list)
        and all(isinstance(text, str) for text in dtypes)
        for way, dtypes in by_way.items()
    )


def _is_case(name: str, found: object) -> bool:
    """A name goes to pytest as an option, so it is short and printable."""
    if not (isinstance(found, list) and len(found) == 3):
        return False
    verdict, worst, determinism = found
    return (
        len(name) <= _LONGEST
        and name.isprintable()
        and verdict in {v.value for v in Verdict}
        and type(worst) in (int, float, type(None))
        and isinstance(determinism, str)
    )


def _is_signature(value: object) -> bool:
    return (
        isinstance(value, dict)
        and set(value) == {"key", "value"}
        and all(isinstance(text, str) and len(text) < _LONGEST for text in value.values())
    )


def _headline(content: dict[str, Any]) -> str:
    return coverage.headline(
        content["device"],
        content["level"],
        content["profile"],
        content["coverage"],
        quick=content["quick"],
    )


def signed(content: dict[str, Any]) -> bool:
    """Tell whether there is a signature."""
    return "signature" in content


def voucher(content: dict[str, Any], trusted: dict[str, str] | None) -> tuple[str, str]:
    """Return in words who vouches for a certificate, and why that does not do, empty if it does.

    Args:
        content: of a certificate that was read.
        trusted: the names of trusted keys by key; ``None`` if nobody asks for one.
    """
    if not signed(content):
        words = "unsigned: nobody vouches for it"
        return words, words if trusted is not None else ""
    key = content["signature"]["key"]
    if trusted is None:
        checked = "" if is_installed() else ", which was not checked (pip install 'phalanx[sign]')"
        return f"signed with {key}{checked}; --trust KEYS tells whether that is a key you know", ""
    if key in trusted:
        return f"signed by {trusted[key]} ({key})", ""
    words = f"signed with {key}, which is none of the trusted keys"
    return words, words


def differences(content: dict[str, Any], description: Description) -> list[str]:
    """Tell in what today's versions and device differ from a certificate's."""
    identity = description.identity
    found = [
        f"another {name}: the certificate says {content[key]}, here is {here}"
        for key, name in (("suite", "suite"), ("core", "core"), ("op_table", "op table"))
        if content[key] != (here := versions()[key])
    ]
    found += [
        f"another device: its {key.replace('_', ' ')} is {identity.get(key, '')!r}, and the "
        f"certificate says {content['identity'].get(key, '')!r}"
        for key in IDENTITY
        if content["identity"].get(key, "") != identity.get(key, "")
    ]
    if (here := coverage.profile_of(description.coverage)) != content["profile"]:
        found.append(f"another profile: the certificate says {content['profile']}, here is {here}")
    names = content["declared"].keys() | description.declared.keys()
    found += [
        f"other declarations: not the same {name.replace('_', ' ')} as in the certificate"
        for name in sorted(names)
        if content["declared"].get(name) != description.declared.get(name)
    ]
    return found + coverage.differences(content["coverage"], description.coverage)
