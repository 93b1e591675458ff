"""What a plugin's package says that it needs of Phalanx, held against it before anything is loaded.

That is its dependency (``Requires-Dist``) on ``phalanx``: the versions of the package, and the ABI
and the op table as extras that every Phalanx has for the versions which it knows, such as
``phalanx[abi-1.0,op-table-1.0]>=0.1``.
"""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from phalanx.errors import PluginLoadError
from phalanx.version import ABI, OP_TABLE, __version__

if TYPE_CHECKING:
    from importlib.metadata import Distribution

_VERSIONS = {"abi": ABI, "op-table": OP_TABLE}
_LABELS = {"abi": "the plugin ABI", "op-table": "the op table"}
#: A dependency on us: extras, versions, marker (PEP 508).
_OURS = re.compile(
    r"\s*phalanx\s*(?:\[(?P<extras>[^\]]*)\])?\s*(?P<versions>[^;]*)(?P<marker>;.*)?", re.I
)
_CLAUSE = re.compile(r"(~=|==|!=|<=|>=|<|>)\s*v?(\d+(?:\.\d+)*)(\.\*)?(?![\w.*])")
_EXTRA = re.compile(r"(abi|op-table)-(\d+)-(\d+)")
_Release = tuple[int, ...]


class UnmetRequirementError(PluginLoadError):
    """A plugin needs another Phalanx than this one."""


def provided() -> tuple[str, ...]:
    """Return the extras that stand for what this Phalanx knows, as pyproject.toml names them."""
    return tuple(
        f"{word}-{major}.{known}"
        for word, (major, minor) in _VERSIONS.items()
        for known in range(minor + 1)
    )


def unmet(distribution: Distribution) -> UnmetRequirementError | None:
    """Return why a plugin's distribution does not fit this Phalanx, ``None`` if it does.

    A requirement with a marker, such as that of an extra, and what is not understood hold.
    """
    name = distribution.name
    reasons = [] if name == "phalanx" else list(_reasons(distribution.requires or ()))
    if not reasons:
        return None
    return UnmetRequirementError(
        f"{name} {distribution.version} needs {' and '.join(reasons)}",
        remedy=f"upgrade phalanx (pip install -U phalanx), or install a release of {name} that "
        f"fits phalanx {__version__}",
    )


def _reasons(requirements: Iterable[str]) -> Iterator[str]:
    for text in requirements:
        found = _OURS.fullmatch(text)
        if found is None or found["marker"]:
            continue
        versions = found["versions"].strip().strip("()").strip()
        if any(not _holds(clause) for clause in versions.split(",")):
            yield f"phalanx {versions}, and this is {__version__}"
        for extra in (found["extras"] or "").split(","):
            yield from _missing(re.sub(r"[-_.]+", "-", extra.strip()).lower())


def _missing(extra: str) -> Iterator[str]:
    found = _EXTRA.fullmatch(extra)
    if found is None:
        return
    wanted = int(found[2]), int(found[3])
    major, minor = _VERSIONS[found[1]]
    if wanted[0] != major or wanted[1] > minor:
        yield (
            f"version {wanted[0]}.{wanted[1]} of {_LABELS[found[1]]}, and this phalanx has "
            f"{major}.{minor}"
        )


_COMPARISONS: dict[str, Callable[[_Release, _Release], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}


def _holds(clause: str) -> bool:
    """Return whether our release keeps to a clause such as ``>=0.1`` (PEP 440).

    Pre-releases count as their releases.
    """
    found = _CLAUSE.fullmatch(clause.strip())
    if found is None:
        return True
    sign, wanted, prefix = found[1], _release(found[2]), bool(found[3])
    ours = _release(__version__)
    if sign == "~=":  # at least this, in the series of all numbers but the last
        series = wanted[:-1]
        return _padded(ours, wanted, operator.ge) and ours[: len(series)] == series
    if prefix:
        ours = (*ours, *[0] * len(wanted))[: len(wanted)]
    return _padded(ours, wanted, _COMPARISONS[sign])


def _release(version: str) -> _Release:
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def _padded(
    ours: _Release, wanted: _Release, compare: Callable[[_Release, _Release], bool]
) -> bool:
    pairs = list(itertools.zip_longest(ours, wanted, fillvalue=0))
    return compare(tuple(a for a, _ in pairs), tuple(b for _, b in pairs))
