"""Running sums and products where a work-item is a core."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phalanx.device_code.recipe import Recipe, Traits, divide_up, round_up
from phalanx.device_code.rows import Plan
from phalanx.device_code.scan import Scanner, recipe
from phalanx.optable.structured import SCAN_BLOCK as BLOCK

from .cores import GRAIN, items, serial, template

if TYPE_CHECKING:
    from phalanx.device_code.env import Env
    from phalanx.vendor import Array, Layout

#: Tasks that a core takes side by side; CHAINS in scan_serial.cl.
_CHAINS = 4


def find(op: str, dtypes: tuple[str, ...], layout: Layout, traits: Traits) -> Recipe | None:
    """Return the recipe of a scan where work-items are cores."""
    del layout  # there is one for all strides
    return recipe(op, dtypes[0], traits, _SerialScanner) if serial(traits) else None


class _SerialScanner(Scanner):
    def source(self) -> str:
        """Return the kernels."""
        return template("scan_serial.cl")

    def run(self, env: Env, plan: Plan, x: Array, y: Array) -> None:
        """Enqueue the kernels for rows as planned."""
        cores = items(self.traits)
        blocks, cols = plan.blocks(BLOCK), plan.near.extent
        program = self.row_program if plan.by_row else self.column_program
        kernel = env.kernel(program, "scan_rows" if plan.by_row else "scan_columns")
        tiles = 1 if plan.by_row else divide_up(cols, self.width)
        wide = 1 if plan.by_row else min(self.width, cols)
        chains = _CHAINS if plan.by_row else 1
        span = blocks
        if plan.outer * tiles < cores:  # too few for all cores: rows are cut
            wanted = divide_up(blocks * plan.outer * tiles, cores * chains)
            span = min(blocks, max(wanted, divide_up(GRAIN, BLOCK * wide)))
        spans = divide_up(blocks, span)
        tasks = plan.outer * spans * tiles
        size = min(plan.n, span * BLOCK) * wide
        per = max(divide_up(tasks, cores), divide_up(GRAIN, size + 16))
        per = round_up(per, chains)
        packed = plan.pack(blocks, tiles, tasks, per, span, spans)
        count = (divide_up(tasks, per),)
        part = y
        if spans > 1:
            part = env.scratch(plan.rows * blocks, self.scratch)
            env.enqueue(kernel, count, (1,), x, y, part, packed, 1)
            part = self.carries(env, part, plan.rows, blocks)
        env.enqueue(kernel, count, (1,), x, y, part, packed, 0)
