"""Blur a photograph as a lens does, and find the edges in it.

    python examples/blur.py --device opencl:0

A Gaussian blur, row by row and column by column, then Sobel's filters. The photograph of a flower
ships inside scikit-learn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from phalanx.examples.harness import Array, Data, HostArray, Namespace, Program, main

SIGMA = 2.5
RADIUS = 8


def load() -> Data:
    """Return the brightness (427, 640) of a photograph in [0, 1], float32."""
    from sklearn.datasets import load_sample_image

    picture = load_sample_image("flower.jpg") @ [0.299, 0.587, 0.114]  # ITU-R BT.601, 2.5.1
    return {"picture": (picture / 255.0).astype(np.float32)}


def down(xp: Namespace, picture: Array, weights: Sequence[float]) -> Array:
    """Return the weighted sums of each pixel and those above and below; edges go on as they are."""
    height, radius = picture.shape[0], len(weights) // 2
    above = xp.repeat(picture[:1, :], radius, axis=0)
    below = xp.repeat(picture[-1:, :], radius, axis=0)
    padded = xp.concat([above, picture, below], axis=0)
    result = weights[0] * padded[:height, :]
    for i, weight in enumerate(weights[1:], start=1):
        result += weight * padded[i : i + height, :]
    return result


def across(xp: Namespace, picture: Array, weights: Sequence[float]) -> Array:
    """Return the weighted sums of each pixel and those left and right."""
    return down(xp, picture.T, weights).T


def compute(xp: Namespace, picture: Array) -> tuple[Array, Array, Array]:
    """Return the blurred photograph, its steepness, and the share of pixels that are edges."""
    bell = [math.exp(-0.5 * (i / SIGMA) ** 2) for i in range(-RADIUS, RADIUS + 1)]
    bell = [value / sum(bell) for value in bell]
    blurred = across(xp, down(xp, picture, bell), bell)
    slope_x = across(xp, down(xp, blurred, (1.0, 2.0, 1.0)), (-1.0, 0.0, 1.0))
    slope_y = down(xp, across(xp, blurred, (1.0, 2.0, 1.0)), (-1.0, 0.0, 1.0))
    steepness = xp.hypot(slope_x, slope_y)
    edges = steepness > steepness.mean() + 2.0 * xp.std(steepness)
    return blurred, steepness, xp.astype(edges, xp.float32).mean()


def tell(data: Data, blurred: HostArray, _steepness: HostArray, share: HostArray) -> str:
    """Say what the blur took and how much is edge."""
    kept = blurred.std() / data["picture"].std()
    return f"The blur keeps {kept:.1%} of the contrast; {float(share):.1%} of the pixels are edges."


PROGRAM = Program("Gaussian blur and edges of a photograph", load, compute, tell)

if __name__ == "__main__":
    raise SystemExit(main(PROGRAM))
