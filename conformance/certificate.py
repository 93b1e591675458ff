"""The certificate: what a device was found to do, under a digest, to be checked again."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from .outcome import Outcome
from .results import Results, versions

KIND = "phalanx conformance certificate"
FORMAT = 1
#: What identifies a device; another value of one of them makes it another device or driver.
IDENTITY = ("name", "kind", "vendor", "driver", "driver_version", "plugin", "uuid", "abi")
_FIELDS = {
    "kind": str,
    "format": int,
    "suite": str,
    "core": str,
    "op_table": str,
    "level": str,
    "quick": bool,
    "seed": int,
    "device": str,
    "identity": dict,
    "cases": dict,
    "digest": str,
}


class CertificateError(ValueError):
    """A file is no certificate, or not the one that was written."""


def certificate_of(results: Results) -> dict[str, Any]:
    """Return the certificate of a run.

    Raises:
        CertificateError: the run certifies nothing, with the reason.
    """
    if results.certified is None:
        reason = results.partial or (
            "it was narrowed to some cases" if results.narrowed else "the device passes no level"
        )
        raise CertificateError(f"this run certifies nothing: {reason}")
    content = {
        "kind": KIND,
        "format": FORMAT,
        **versions(),
        "level": results.certified.title,
        "quick": results.settings.quick,
        "seed": results.settings.seed,
        "started": results.started,
        "seconds": round(results.seconds, 3),
        "device": results.description.device,
        "identity": results.description.identity,
        "counts": {verdict.value: n for verdict, n in results.counts().items()},
        "worst": _worst(results.outcomes),
        "fallbacks": results.fallbacks(),
        "declared": results.description.declared,
        "waivers_needed": [o.case for o in results.waived],
        "cases": {o.case: [o.verdict.value, o.worst, o.determinism] for o in results.outcomes},
    }
    return content | {"digest": digest(content)}


def _worst(outcomes: list[Outcome]) -> dict[str, dict[str, list[float]]]:
    """Return the worst error and its bound, by op and overload."""
    found: dict[str, dict[str, list[float]]] = {}
    for outcome in outcomes:
        if outcome.op and outcome.worst >= 0:
            by_dtypes = found.setdefault(outcome.op, {})
            key = ",".join(outcome.dtypes)
            known = by_dtypes.get(key, [-1.0, -1.0])
            by_dtypes[key] = max(known, [outcome.worst, outcome.bound])
    return found


def digest(content: dict[str, Any]) -> str:
    """Return the SHA-256 of all fields but the digest itself, in one canonical text."""
    rest = {key: value for key, value in content.items() if key != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def write(results: Results, path: Path) -> None:
    """Write the certificate of a run; raises ``OSError`` and `CertificateError`."""
    text = json.dumps(certificate_of(results), indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def read(path: Path) -> dict[str, Any]:
    """Return a certificate whose form and digest are right.

    Raises:
        CertificateError: the file cannot be read, is no certificate, or was changed.
    """
    try:
        content = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise CertificateError(f"{path} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise CertificateError(f"{path} is no certificate or is cut off: {error}") from error
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise CertificateError(f"{path} is no certificate of the conformance suite")
    wrong = [key for key, kind in _FIELDS.items() if not isinstance(content.get(key), kind)]
    if wrong:
        raise CertificateError(f"{path} lacks {', '.join(wrong)}, or they are of the wrong type")
    if content["format"] != FORMAT:
        raise CertificateError(
            f"{path} has format {content['format']}, and this version reads {FORMAT}; use the "
            f"version of phalanx that wrote it ({content['core']})"
        )
    if digest(content) != content["digest"]:
        raise CertificateError(f"{path} was changed: its digest does not fit its content")
    return content


def differences(content: dict[str, Any], identity: dict[str, Any]) -> list[str]:
    """Tell in what today's versions and device differ from a certificate's."""
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
    return found
