"""NumPy's own table of accurate results, which its wheel ships (``_core/tests/data``)."""

from __future__ import annotations

import csv
from pathlib import Path

import mpmath
import numpy as np
import numpy.typing as npt
import phalanx as px
import pytest
from exhaustive import some_of

TABLES = sorted((Path(np.__file__).parent / "_core/tests/data").glob("umath-validation-set-*.csv"))
#: The most that a result of float64 may differ from the table's, in units of the last place.
MOST = 1

Rows = dict[str, tuple[npt.NDArray[np.generic], npt.NDArray[np.generic]]]


def read(path: Path) -> Rows:
    """Return operands and results of a table by dtype; the fields are bits."""
    lines = [r for r in path.read_text("utf-8").splitlines() if r and r[0] not in "#$"]
    bits: dict[str, list[tuple[int, int]]] = {}
    for row in csv.DictReader(lines):
        name = row["dtype"].removeprefix("np.")
        bits.setdefault(name, []).append((int(row["input"], 16), int(row["output"], 16)))
    found = {}
    for name, pairs in bits.items():
        words = np.array(pairs, f"u{np.dtype(name).itemsize}").T
        found[name] = (words[0].copy().view(name), words[1].copy().view(name))
    return found


def distance(a: npt.NDArray[np.generic], b: npt.NDArray[np.generic]) -> npt.NDArray[np.int64]:
    """How many numbers of the dtype lie between: 0 for equal ones and for two NaN."""
    signed = np.int32 if a.itemsize == 4 else np.int64
    x, y = (v.view(signed).astype(object) for v in (a, b))
    least = int(np.iinfo(signed).min)
    apart = [
        abs(p - q if min(p, q) >= 0 or max(p, q) < 0 else p + q - least)
        for p, q in zip(x, y, strict=True)
    ]
    return np.where(np.isnan(a) & np.isnan(b), 0, np.array(apart, dtype=object)).astype(np.int64)  # type: ignore[call-overload]


def is_nearer(name: str, operand: float, one: float, other: float) -> bool:
    """Whether the function is nearer to one number than to another."""
    with mpmath.workprec(200):
        exact = mpmath.log(operand, 10) if name == "log10" else getattr(mpmath, name)(operand)
        return bool(abs(exact - one) < abs(exact - other))


@pytest.mark.parametrize(
    "device", some_of(["cpu:0", "opencl:0", "opencl:1"], ["cpu:0", "opencl:1"])
)
@pytest.mark.parametrize("path", TABLES, ids=lambda p: p.stem.rpartition("-")[2])
def test_the_rows_of_a_function(path: Path, device: str) -> None:
    """float32 is what the table has, or nearer: of two rows of log the table is not the nearest."""
    if not px.is_available(device):
        pytest.skip(f"there is no {device}; `phalanx why {device}` says why")
    name = path.stem.rpartition("-")[2].replace("arc", "a")
    for dtype, (operands, want) in read(path).items():
        got = px.asnumpy(getattr(px, name)(px.asarray(operands, device=device)))
        assert got.dtype == want.dtype
        apart = distance(got, want)
        assert apart.max() <= MOST, (name, dtype, float(operands[np.argmax(apart)]).hex())
        for i in np.flatnonzero(apart) if dtype == "float32" else ():
            x, ours, theirs = (float(v[i]) for v in (operands, got, want))
            assert is_nearer(name, x, ours, theirs), (name, x.hex(), ours.hex(), theirs.hex())


def test_the_tables_are_there() -> None:
    rows = sum(len(want) for path in TABLES for _, want in read(path).values())
    assert len(TABLES) >= 20
    assert rows > 20_000
