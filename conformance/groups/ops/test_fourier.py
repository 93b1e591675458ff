"""Fourier transforms: every radix, alone and behind others, in every layout."""

from __future__ import annotations

import numpy as np
import pytest
from phalanx.conformance.calls import complex_rows
from phalanx.conformance.case import Case
from phalanx.conformance.groups.ops.structured_check import NAMES, Check
from phalanx.conformance.overloads import Overload, overloads
from phalanx.conformance.reference.fourier import packed, scale_bits, table, unit_roots
from phalanx.optable import Structure

_ALL = overloads(Structure.FOURIER)
_RADICES = (1, 2, 3, 4, 5, 7, 8, 11, 13, 17, 19, 97, 251)
#: Passes behind others, each radix with twiddles once.
_CHAINS = (
    *((2, 2), (3, 3), (5, 4), (7, 8), (3, 5), (5, 7), (11, 2), (3, 11), (97, 3)),
    *((5, 3, 2), (7, 5, 3, 8), (4, 4, 8), (3, 2, 2, 2, 2, 2, 2, 2, 2), (13, 11, 4)),
)


@pytest.mark.parametrize("overload", [o for o in _ALL if o.op == "fft"], ids=str)
def test_transform(case: Case, overload: Overload) -> None:
    """There and back, cut off and not, rows and columns, scaled and not."""
    check = Check(case, overload)
    rng = case.rng()
    chains = [*((r,) for r in _RADICES), *_CHAINS]
    for number, radices in enumerate(chains):
        n = int(np.prod(radices))
        _run(check, rng, radices, n, NAMES[number % len(NAMES)], number % 2)
        _run(check, rng, radices, max(1, n - 2), "contiguous", 1 - number % 2)
    for name in NAMES:
        _run(check, rng, (5, 8), 40, name, 0)
        _run(check, rng, (11,), 11, name, 1)
    _run(check, rng, (4, 4), 0, "contiguous", 0)
    _run(check, rng, (8, 8, 8) if case.quick else (4, 8, 8, 8), 500, "contiguous", 0)
    case.finish()


def _run(
    check: Check,
    rng: np.random.Generator,
    radices: tuple[int, ...],
    given: int,
    layout: str,
    inverse: int,
) -> None:
    n = int(np.prod(radices))
    args = (complex_rows(rng, (2, 3, given), check.name), table(radices, check.name))
    scale = (1.0, 1.0 / n)[inverse]
    params = (inverse, scale_bits(scale, check.name), *packed(radices))
    label = f"of {given} as {' x '.join(map(str, radices))}"
    check.run(label, args, params, (layout, "contiguous"), layout)


@pytest.mark.parametrize("overload", [o for o in _ALL if o.op != "fft"], ids=str)
def test_pairs(case: Case, overload: Overload) -> None:
    """Rows of all lengths and layouts, also with fewer numbers than half a row has."""
    check = Check(case, overload)
    rng = case.rng()
    back = overload.op == "fft_to_pairs"
    for number, m in enumerate((1, 2, 3, 4, 8, 33, 500)):
        roots = unit_roots(np.arange(m + 1), 2 * m).astype(check.name)
        params = () if back else (scale_bits(0.5 if number % 2 else 0.125, check.name),)
        for given in {m + 1, max(1, m - 1)} if back else {m}:
            args = (complex_rows(rng, (3, 2, given), check.name), roots)
            for layout in (NAMES[number % len(NAMES)], "contiguous"):
                check.run(f"{given} of {m}", args, params, (layout, "contiguous"), layout)
    case.finish()
