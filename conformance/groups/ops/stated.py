"""The error bounds that a device's own kernels of an overload state."""

from __future__ import annotations

import phalanx as px
from phalanx.conformance.case import Case
from phalanx.conformance.overloads import Overload
from phalanx.dispatch.registry import ask_for_kernel, layouts_of


def stated_bounds(case: Case, overload: Overload) -> list[float]:
    """Return them in ulp, of all layouts that differ; a kernel that states none is left out."""
    asked = (
        ask_for_kernel(case.device, overload.op, overload.dtypes, layout)
        for layout in layouts_of(overload.op)
    )
    return [k.error_bound for k in asked if isinstance(k, px.Kernel) and k.error_bound >= 0]
