"""Give a portrait more contrast, by equalising its histogram within a limit.

    python examples/histogram.py --device opencl:0

Counts come from sorting and searching; what exceeds the limit is shared by all levels (Pizer et al.
1987). The portrait of Grace Hopper ships inside matplotlib.
"""

from __future__ import annotations

import numpy as np
from phalanx.examples.harness import Array, Data, HostArray, Namespace, Program, main

LEVELS = 256
LIMIT = 3.0  # times the mean count


def load() -> Data:
    """Return the three channels of a portrait (600, 512, 3), uint8."""
    from matplotlib import cbook, image

    path = cbook.get_sample_data("grace_hopper.jpg", asfileobj=False)
    return {"picture": np.array(image.imread(path))}


def counts(xp: Namespace, values: Array) -> Array:
    """Return how often each of the 256 levels occurs, int64."""
    ordered = xp.sort(values.reshape(-1))
    levels = xp.astype(xp.arange(LEVELS), values.dtype)
    upto = xp.searchsorted(ordered, levels, side="right")
    return xp.diff(upto, prepend=xp.zeros(1, dtype=upto.dtype))


def equalised(xp: Namespace, channel: Array) -> Array:
    """Return a channel whose levels are spread where there are many pixels."""
    found = xp.astype(counts(xp, channel), xp.float32)
    limit = LIMIT * found.mean()
    cut = xp.minimum(found, limit)
    cut = cut + (found - cut).mean()
    shares = xp.cumulative_sum(cut) / cut.sum()
    levels = xp.astype(xp.round(shares * (LEVELS - 1)), channel.dtype)
    places = xp.astype(channel.reshape(-1), xp.int64)
    return xp.take(levels, places).reshape(channel.shape)


def compute(xp: Namespace, picture: Array) -> tuple[Array, Array]:
    """Return the portrait with more contrast, and the counts of its levels by channel."""
    channels = [equalised(xp, picture[:, :, i]) for i in range(picture.shape[2])]
    return xp.stack(channels, axis=-1), xp.stack([counts(xp, channel) for channel in channels])


def tell(data: Data, picture: HostArray, _counts: HostArray) -> str:
    """Say how the contrast changed: the deviation of the brightness."""
    before, after = (values.mean(axis=-1).std() for values in (data["picture"], picture))
    return f"The deviation of the brightness was {before:.1f} of 255 and is {after:.1f}."


PROGRAM = Program("Contrast of a portrait by its histogram", load, compute, tell, (0.0, 1.0))

if __name__ == "__main__":
    raise SystemExit(main(PROGRAM))
