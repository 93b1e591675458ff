"""All that is timed against libraries of the host, in the order of the table."""

from __future__ import annotations

from .element_workloads import ELEMENT_WORKLOADS
from .matrix_workloads import MATRIX_WORKLOADS
from .search_workloads import SEARCH_WORKLOADS
from .workloads import WORKLOADS, Workload

HOST_WORKLOADS: tuple[Workload, ...] = (
    *WORKLOADS,
    *MATRIX_WORKLOADS,
    *ELEMENT_WORKLOADS,
    *SEARCH_WORKLOADS,
)
