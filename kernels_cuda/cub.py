"""Sorts of long rows by CUB, as CuPy's module for Thrust has it.

Keys are the unsigned integers of core/device_code/sort.h. Thrust's stable sorts of such are CUB's
radix sort (CCCL 3.1, thrust/system/cuda/detail/sort.h). Equal keys have equal bits, and places of
equal keys stay in order: there is one result, that of the kernels of class ``bitwise``. The class
is ``reproducible`` all the same, as the mode that asks for NVIDIA's libraries is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from phalanx.device_code.dtypes import ITEMSIZE
from phalanx.device_code.recipe import Program, Traits
from phalanx.device_code.sort import LARGE_KEY, PACKED, SMALL_KEY, Form, Sorting
from phalanx.vendor import Array, Kernel, Layout

from .libraries import LibraryRecipe, provider, run_or_else
from .sessions import OnStream

if TYPE_CHECKING:
    from phalanx.device_code.env import Env


def kernels_of(op: str, dtypes: tuple[str, ...], traits: Traits) -> tuple[Kernel, ...]:
    """Return the kernel for an op, or none; imports nothing. Short keys are for our own sort."""
    made_by = provider("thrust")
    if op not in ("sort", "argsort") or ITEMSIZE[dtypes[0]] < 4 or not made_by:
        return ()
    return (_kernel(op, dtypes, traits, made_by),)


@cache
def _kernel(op: str, dtypes: tuple[str, ...], traits: Traits, made_by: str) -> Kernel:
    sorting = CubSorting(dtypes[0], traits, arg=op == "argsort")
    (first,) = sorting.recipe().programs
    lanes = sorting.most_lanes(sorting.form(1))
    programs = dict.fromkeys((first, sorting.decoder(first, 1, lanes, wide=False)))
    return Kernel(
        op,
        dtypes,
        Layout.ANY,
        name=f"cub_{op}",
        determinism="reproducible",
        error_bound=0.0,
        provider=made_by,
        handle=LibraryRecipe(tuple(programs), sorting.launch, "reproducible", 0.0),
    )


class CubSorting(Sorting):
    """Sorts one dtype: keys become codes, which CUB sorts row after row."""

    def launch(
        self, env: Env, inputs: Sequence[Any], outputs: Sequence[Array], params: tuple[int, ...]
    ) -> None:
        """Enqueue one call; short rows go to the device's own kernel."""
        n = outputs[0].shape[-1]
        is_long = self.digits_from <= n < 2**32
        if is_long and run_or_else(env, "thrust", lambda *_: None):
            super().launch(env, inputs, outputs, params)
        else:
            env.run("argsort" if self.arg else "sort", inputs, outputs, params)

    def form(self, n: int) -> Form:
        """Return what rows are sorted as: keys alone, of which CUB tells the places."""
        del n
        return SMALL_KEY if self.bits <= 32 else LARGE_KEY

    def sorted(
        self, env: Env, program: Program, form: Form, codes: Array, sizes: tuple[int, int, int]
    ) -> Array:
        """Sort rows of codes in place; returns them, or the places that they came from."""
        del program
        rows, n, _ = sizes
        places = env.scratch(rows * n, "uint64") if self.arg else codes

        dtype = np.dtype(form.dtype)  # CuPy compares it with NumPy's: a name is equal to none

        def calls(thrust: Any, on: OnStream) -> None:
            with on.working(env):
                for row in range(rows):
                    key, place = (_address(x) + row * n * x.itemsize for x in (codes, places))
                    if self.arg:
                        thrust.argsort(dtype, place, key, 0, (n,))
                    else:
                        thrust.sort(dtype, key, 0, (n,))

        run_or_else(env, "thrust", calls)
        return places

    def decoder(self, program: Program, rank: int, group: int, *, wide: bool) -> Program:
        """Return the program that makes results of keys, or of places: codes without a key."""
        return self.program(PACKED, rank, group, wide=wide) if self.arg else program


def _address(x: Array) -> int:
    return x.buffer.handle + x.offset
