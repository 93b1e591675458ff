"""Let a photograph live by the rules of Conway's Game of Life.

    python examples/life.py --device opencl:0

What is darker than the middle brightness begins alive; the board is a torus. The portrait of
Grace Hopper ships inside matplotlib.
"""

from __future__ import annotations

import numpy as np
from phalanx.examples.harness import Array, Data, HostArray, Namespace, Program, main


def load() -> Data:
    """Return a board (600, 512) of uint8, where 1 is alive."""
    from matplotlib import cbook, image

    portrait = image.imread(cbook.get_sample_data("grace_hopper.jpg", asfileobj=False))
    brightness = portrait.mean(axis=-1)
    return {"board": (brightness < np.median(brightness)).astype(np.uint8)}


def compute(xp: Namespace, board: Array, generations: int = 100) -> tuple[Array]:
    """Return the board after some generations."""
    for _ in range(generations):
        column = board + xp.roll(board, 1, axis=0) + xp.roll(board, -1, axis=0)
        block = column + xp.roll(column, 1, axis=1) + xp.roll(column, -1, axis=1)
        # The block of nine counts the cell itself: it lives on with two or three neighbours.
        alive = (block == 3) | ((block == 4) & (board == 1))
        board = xp.astype(alive, board.dtype)
    return (board,)


def tell(data: Data, board: HostArray) -> str:
    """Say how many cells lived, and live."""
    first, last = int(data["board"].sum()), int(board.sum())
    return f"Of {first} living cells among {board.size} come {last} in the end."


PROGRAM = Program("Conway's Game of Life from a photograph", load, compute, tell, (0.0, 0.0))

if __name__ == "__main__":
    raise SystemExit(main(PROGRAM))
