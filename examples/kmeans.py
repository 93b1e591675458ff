"""Find the sixteen colours that stand for a photograph best, by k-means.

    python examples/kmeans.py --device opencl:0

Lloyd's algorithm: every pixel joins the nearest colour, then every colour moves to the mean of its
pixels. The photograph of a Chinese temple ships inside scikit-learn.
"""

from __future__ import annotations

import numpy as np
from phalanx.examples.harness import Array, Data, HostArray, Namespace, Program, main

COLOURS = 16


def load(step: int = 2) -> Data:
    """Return every ``step``-th pixel of rows and columns, (n, 3) in [0, 1], and first colours."""
    from sklearn.datasets import load_sample_image

    picture = load_sample_image("china.jpg")[::step, ::step]
    pixels = (picture.reshape(-1, 3) / 255.0).astype(np.float32)
    chosen = np.random.default_rng(7).choice(len(pixels), COLOURS, replace=False)
    return {"pixels": pixels, "colours": pixels[chosen]}


def nearest(xp: Namespace, pixels: Array, colours: Array) -> Array:
    """Return for each pixel the index of the nearest colour."""
    # |p - c|^2 = |p|^2 - 2 p.c + |c|^2, and |p|^2 is the same for every colour.
    distances = (colours**2).sum(axis=1) - 2.0 * (pixels @ colours.T)
    return xp.argmin(distances, axis=1)


def compute(xp: Namespace, pixels: Array, colours: Array, steps: int = 10) -> tuple[Array, Array]:
    """Return the colours (16, 3) and the mean square of the pixels' distances to them."""
    names = xp.arange(colours.shape[0])
    for _ in range(steps):
        members = xp.astype(nearest(xp, pixels, colours)[:, None] == names, pixels.dtype)
        counts = members.sum(axis=0)[:, None]
        means = (members.T @ pixels) / xp.where(counts > 0.0, counts, 1.0)
        colours = xp.where(counts > 0.0, means, colours)
    painted = xp.take(colours, nearest(xp, pixels, colours), axis=0)
    return colours, ((pixels - painted) ** 2).sum(axis=1).mean()


def tell(data: Data, colours: HostArray, error: HostArray) -> str:
    """Say how far the painted photograph is from the true one, and name a colour."""
    off = 255.0 * np.sqrt(error / 3.0)
    bright = np.rint(255.0 * colours[np.argmax(colours.sum(axis=1))]).astype(int).tolist()
    return (
        f"{len(data['pixels'])} pixels in {len(colours)} colours: a channel is off by {off:.1f} of "
        f"255 (root mean square); the brightest colour is {bright}."
    )


PROGRAM = Program("K-means: the colours of a photograph", load, compute, tell, (1e-3, 1e-3))

if __name__ == "__main__":
    raise SystemExit(main(PROGRAM))
