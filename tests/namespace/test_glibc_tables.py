"""glibc's tables of accurate results (``math/auto-libm-test-out-*``), where somebody has them.

They belong to glibc and are not part of this package: `GLIBC_TABLES` names the folder
``math`` of its sources, for example of ``git clone --depth 1 https://sourceware.org/git/glibc.git``.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import phalanx as px
import pytest
from exhaustive import some_of
from phalanx.namespace.public import public_function

from .test_numpy_tables import Rows, distance

FOLDER = Path(os.environ.get("GLIBC_TABLES", ""))
NAMES = (
    *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh"),
    *("erf", "erfc", "exp", "exp2", "expm1", "hypot", "lgamma", "log", "log10", "log1p"),
    *("log2", "pow", "sin", "sinh", "sqrt", "tan", "tanh"),
)
FORMATS = {"binary32": "float32", "binary64": "float64"}
SPECIAL = {"plus_infty": "inf", "minus_infty": "-inf", "qnan_value": "nan"}


def read(text: str) -> dict[str, tuple[list[list[float]], list[float]]]:
    """Return operands and results to nearest by dtype.

    A row is ``= exp2 tonearest binary32 0x1p+0 : 0x1p+1 : inexact-ok``; behind the result of lgamma
    stands the sign of gamma.
    """
    found: dict[str, tuple[list[list[float]], list[float]]] = {}
    for line in text.splitlines():
        fields = line.split()
        if fields[:1] != ["="] or fields[2] != "tonearest" or fields[3] not in FORMATS:
            continue
        end = fields.index(":")
        values = [float.fromhex(SPECIAL.get(f, f)) for f in (*fields[4:end], fields[end + 1])]
        operands, results = found.setdefault(FORMATS[fields[3]], ([], []))
        operands.append(values[:-1])
        results.append(values[-1])
    return found


def rows(name: str) -> Rows:
    """The table of a function as arrays, operands (n, arity)."""
    path = FOLDER / f"auto-libm-test-out-{name}"
    if not os.environ.get("GLIBC_TABLES") or not path.is_file():
        pytest.skip("GLIBC_TABLES names no folder `math` of glibc's sources with this table")
    return {
        dtype: (np.array(operands, dtype), np.array(results, dtype))
        for dtype, (operands, results) in read(path.read_text("utf-8")).items()
    }


@pytest.mark.parametrize(
    "device", some_of(["cpu:0", "opencl:0", "opencl:1"], ["cpu:0", "opencl:1"])
)
@pytest.mark.parametrize("name", NAMES)
def test_the_rows_of_a_function(name: str, device: str) -> None:
    """float32 of one operand is what the table has; all else at most one step from it."""
    tables = rows(name)
    if not px.is_available(device):
        pytest.skip(f"there is no {device}; `phalanx why {device}` says why")
    for dtype, (operands, want) in tables.items():
        columns = [px.asarray(np.ascontiguousarray(c), device=device) for c in operands.T]
        got = px.asnumpy(public_function(name)(*columns))
        apart = distance(got, want)
        if name == "lgamma":  # beside its zeros below 0 the absolute error is bounded
            with np.errstate(invalid="ignore"):
                near = (operands[:, 0] < 0) & (np.abs(got - want) < 2.0**-52)
            apart = np.where(near, 0, apart)
        worst = int(np.argmax(apart))
        most = 0 if dtype == "float32" and len(columns) == 1 else 1
        assert apart[worst] <= most, (
            f"{name} of {dtype} {[float(v).hex() for v in operands[worst]]}: {got[worst]!r}, the "
            f"table has {want[worst]!r}; {np.count_nonzero(apart > most)} of {len(want)} rows"
        )


def test_a_table_is_read() -> None:
    text = (
        "hypot 1 2\n= hypot downward binary64 0x1p+0 0x1p+1 : 0x2.3c6ef372fe94ep+0 : inexact-ok\n"
        "= hypot tonearest binary64 0x1p+0 0x1p+1 : 0x2.3c6ef372fe95p+0 : inexact-ok\n"
        "= hypot tonearest intel96 0x1p+0 0x1p+1 : 0x2.3c6ef372fe94f83p+0 : inexact-ok\n"
        "= lgamma tonearest binary32 0x0p+0 : plus_infty 1 : divbyzero errno-erange\n"
    )
    assert read(text) == {
        "float64": ([[1.0, 2.0]], [5**0.5]),
        "float32": ([[0.0]], [float("inf")]),
    }
