"""How much of the op table a device serves, which profile that is, and the line that says so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

from phalanx.optable import OPS

if TYPE_CHECKING:
    from phalanx.dispatch.registry import Support

    from .outcome import Outcome

#: By op and way, the dtypes of the overloads, joined by commas: plain data for JSON.
Coverage: TypeAlias = dict[str, dict[str, list[str]]]
Key: TypeAlias = tuple[str, tuple[str, ...]]

NATIVE, DECOMPOSED, UNSUPPORTED, WAIVED, WRONG = WAYS = (
    "native",
    "decomposed",
    "unsupported",
    "waived",
    "wrong",
)
#: A device is of such a profile if it computes nothing in these dtypes.
PROFILES = {
    "no-fp64": ("float64", "complex128"),
    "no-fp16": ("float16",),
    "no-bf16": ("bfloat16",),
    "no-complex": ("complex64", "complex128"),
}
FULL = "full"
#: Ops that move elements and compute nothing: a device may move a dtype that it cannot compute in.
MOVES = ("copy", "where", "gather", "scatter", "compress")


def coverage_of(support: Iterable[Support]) -> Coverage:
    """Return how a device serves each overload; what would run elsewhere is unsupported."""
    found: Coverage = {}
    for s in support:
        how = s.how if s.how in (NATIVE, DECOMPOSED) else UNSUPPORTED
        found.setdefault(s.op, {}).setdefault(how, []).append(",".join(s.dtypes))
    return found


def ways(coverage: Mapping[str, Mapping[str, Iterable[str]]]) -> Iterator[tuple[Key, str]]:
    """Yield each overload with its way."""
    for op, by_way in coverage.items():
        for way, dtypes in by_way.items():
            for text in dtypes:
                yield (op, tuple(text.split(","))), way


def served(coverage: Coverage) -> set[Key]:
    """Return the overloads that the device computes itself."""
    return {key for key, way in ways(coverage) if way != UNSUPPORTED}


def profile_of(coverage: Coverage) -> str:
    """Return ``full``, or what the device leaves out: ``no-fp64``, ``no-fp16 no-complex``, ...

    Its kernels tell: a decomposition may change the bits of a dtype that they do not compute in.
    """
    kernels = [key for key, way in ways(coverage) if way not in (UNSUPPORTED, DECOMPOSED)]
    computed = {d for op, dtypes in kernels if op not in MOVES for d in dtypes}
    return " ".join(p for p, dtypes in PROFILES.items() if not computed & set(dtypes)) or FULL


def outside(profile: str) -> frozenset[str]:
    """Return the dtypes that a profile leaves out."""
    return frozenset(d for part in profile.split() for d in PROFILES.get(part, ()))


def judged(coverage: Coverage, outcomes: Iterable[Outcome]) -> Coverage:
    """Return the coverage with the overloads that needed a waiver or were found wrong."""
    told: dict[Key, str] = {}
    for outcome in outcomes:
        if outcome.op and outcome.wrong:
            told[outcome.op, outcome.dtypes] = WRONG
        elif outcome.op and outcome.waiver:
            told.setdefault((outcome.op, outcome.dtypes), WAIVED)
    found: Coverage = {}
    for key, way in ways(coverage):
        now = way if way == UNSUPPORTED else told.get(key, way)
        found.setdefault(key[0], {}).setdefault(now, []).append(",".join(key[1]))
    return found


def headline(device: str, level: str, profile: str, coverage: Coverage, *, quick: bool) -> str:
    """Return the first line of a certificate: the level, and of how much of the op table."""
    counts = Counter(way for _, way in ways(coverage))
    ops = len({op for op, _ in served(coverage)})
    numbers = ", ".join(f"{counts[way]} {way}" for way in WAYS if counts[way] or way != WRONG)
    run = "quick" if quick else "full"
    return (
        f"{device} is certified for {level} in a {run} run, profile {profile}, with {ops} of "
        f"{len(coverage)} ops; of {sum(counts.values())} overloads {numbers}"
    )


def differences(claimed: Coverage, here: Coverage) -> list[str]:
    """Tell which overloads a device serves in another way than a certificate says."""
    then, now = dict(ways(claimed)), dict(ways(here))
    found = []
    for op, dtypes in sorted({*then, *now}):
        said, is_now = (d.get((op, dtypes), UNSUPPORTED) for d in (then, now))
        if said == is_now or (said in (WAIVED, WRONG) and is_now != UNSUPPORTED):
            continue
        arity = OPS[op].arity if op in OPS else len(dtypes)
        found.append(f"{op}({', '.join(dtypes[:arity])}) is {is_now}, not {said}")
    if not found:
        return []
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return [f"another coverage: {'; '.join(found[:_SHOWN])}{more}"]


_SHOWN = 3
