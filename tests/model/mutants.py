"""Faulty protocols: each breaks one rule, and the search must find what comes of it.

The docstring of a mutant says what the code would have done wrong.
"""

from __future__ import annotations

from . import faulty_launches, faulty_memory, faulty_timelines
from .mutant_table import MUTANTS

__all__ = ["MUTANTS", "faulty_launches", "faulty_memory", "faulty_timelines"]
