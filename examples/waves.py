"""Send a tsunami through the sea off Vancouver Island.

    python examples/waves.py --device opencl:0

The linear equations of shallow water on staggered grids (Arakawa and Lamb 1977), over depths that
ship inside matplotlib.
"""

from __future__ import annotations

import numpy as np
from phalanx.examples.harness import Array, Data, HostArray, Namespace, Program, main

DEGREE = 111_195.0  # metres of a great circle
GRAVITY = 9.81
SECONDS = 3.0  # below the time that a wave over the deepest cell takes to cross it
SOURCE = (48.3, 234.5)  # latitude and longitude in degrees
RADIUS = 15_000.0


def load(finer: int = 3) -> Data:
    """Return depths in metres, 0 on land, on a grid so many times finer; widths; a first wave."""
    from matplotlib import cbook

    found = np.load(cbook.get_sample_data("topobathy.npz", asfileobj=False))
    south, west = found["latitude"].astype(float), found["longitude"].astype(float)
    latitudes = np.linspace(south[0], south[-1], finer * len(south))
    longitudes = np.linspace(west[0], west[-1], finer * len(west))
    heights = np.stack([np.interp(longitudes, west, row) for row in found["topo"]])
    heights = np.stack([np.interp(latitudes, south, column) for column in heights.T], axis=1)
    depths = np.maximum(-heights, 0.0)
    metres = DEGREE * np.cos(np.radians(latitudes))[:, None]
    away = np.hypot((latitudes - SOURCE[0])[:, None] * DEGREE, (longitudes - SOURCE[1]) * metres)
    wave = np.where(depths > 0.0, np.exp(-((away / RADIUS) ** 2)), 0.0)
    dx, dy = metres * (longitudes[1] - longitudes[0]), DEGREE * (latitudes[1] - latitudes[0])
    data = {"depths": depths, "dx": dx, "dy": np.asarray(dy), "wave": wave}
    return {name: values.astype(np.float32) for name, values in data.items()}


def compute(
    xp: Namespace, depths: Array, dx: Array, dy: Array, wave: Array, steps: int = 600
) -> tuple[Array, Array]:
    """Return the water's height above the calm sea in the end, and the highest that it was."""
    # Water flows between two cells as deep as the shallower one: not at all to or from land.
    gain_x = SECONDS * GRAVITY / dx * xp.minimum(depths[:, 1:], depths[:, :-1])
    gain_y = SECONDS * GRAVITY / dy * xp.minimum(depths[1:, :], depths[:-1, :])
    flow_x, flow_y = xp.zeros_like(gain_x), xp.zeros_like(gain_y)
    height = xp.asarray(wave, copy=True)
    highest = height
    for _ in range(steps):
        flow_x -= gain_x * (height[:, 1:] - height[:, :-1])
        flow_y -= gain_y * (height[1:, :] - height[:-1, :])
        moved_x, moved_y = flow_x * (SECONDS / dx), flow_y * (SECONDS / dy)
        height[:, :-1] -= moved_x
        height[:, 1:] += moved_x
        height[:-1, :] -= moved_y
        height[1:, :] += moved_y
        highest = xp.maximum(highest, height)
    return height, highest


def tell(data: Data, height: HostArray, highest: HostArray) -> str:
    """Say how high the water came at the shores, and how much of it there is."""
    shore = (data["depths"] > 0.0) & (data["depths"] < 20.0)
    kept = height.sum(dtype=float) / data["wave"].sum(dtype=float)
    return (
        f"A wave of 1 m rises to {highest[shore].max():.2f} m where the sea is less than 20 m "
        f"deep; {kept:.4%} of its water is there in the end."
    )


PROGRAM = Program("A tsunami off Vancouver Island", load, compute, tell, (1e-3, 1e-4))

if __name__ == "__main__":
    raise SystemExit(main(PROGRAM))
