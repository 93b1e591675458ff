"""Which kernels an open device has: a recipe for each op that it was asked for, made once."""

from __future__ import annotations

from typing import TypeAlias

from phalanx.errors import UnsupportedOpError
from phalanx.optable import OPS, Structure
from phalanx.vendor import Kernel, Layout, Refusal

from . import refusal
from .recipe import Find, Recipe, Traits

_Key: TypeAlias = "tuple[str, tuple[str, ...], Layout]"


class KernelTable:
    """The answers of one device to `OpenDevice.kernel` and `Env.recipe`. Safe from any thread.

    ``device`` names it in errors, ``traits`` are as the self-test found them, ``find`` makes the
    recipes, and ``provider`` is the package that they are from.
    """

    def __init__(self, device: str, traits: Traits, find: Find, provider: str) -> None:
        self._device = device
        self._traits = traits
        self._find = find
        self._provider = provider
        self._recipes: dict[_Key, Recipe | None] = {}
        self._kernels: dict[_Key, Kernel | Refusal] = {}

    def kernel(self, op: str, dtypes: tuple[str, ...], layout: Layout) -> Kernel | Refusal:
        """Return the kernel for an op, with the recipe as its ``handle``, or why there is none."""
        key = _key(op, dtypes, layout)
        found = self._kernels.get(key)
        if found is None:
            found = self._kernels.setdefault(key, self._answer(key))
        return found

    def _answer(self, key: _Key) -> Kernel | Refusal:
        op, dtypes, layout = key
        recipe = self._found(key)
        if recipe is None:
            return Refusal(refusal(op, dtypes, self._traits))
        return Kernel(
            op,
            dtypes,
            layout,
            determinism=recipe.determinism,
            error_bound=recipe.error_bound,
            provider=self._provider,
            handle=recipe,
        )

    def recipe(self, op: str, dtypes: tuple[str, ...], layout: Layout) -> Recipe:
        """Return how the device computes an op.

        Raises:
            UnsupportedOpError: it does not, with the reason.
        """
        recipe = self._found(_key(op, dtypes, layout))
        if recipe is None:
            reason = refusal(op, dtypes, self._traits) or "there is no such kernel"
            raise UnsupportedOpError(f"{op}({', '.join(dtypes)}) on {self._device}: {reason}")
        return recipe

    def _found(self, key: _Key) -> Recipe | None:
        if key not in self._recipes:
            # Threads that ask at once get one recipe, as its programs are known by themselves.
            self._recipes.setdefault(key, self._find(*key, self._traits))
        return self._recipes[key]


def _key(op: str, dtypes: tuple[str, ...], layout: Layout) -> _Key:
    if op in OPS and OPS[op].structure is not Structure.ELEMENTWISE:
        layout = Layout.ANY
    return op, dtypes, layout
