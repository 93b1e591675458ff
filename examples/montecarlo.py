"""Price an option on a share by drawing its future from its past.

    python examples/montecarlo.py --device opencl:0

Each path is made of days drawn from four years of Google's share, which ship inside matplotlib. The
random numbers are hashes of path and day, so every device draws the same ones, in any order.
"""

from __future__ import annotations

import math

import numpy as np
from phalanx.examples.harness import Array, Data, HostArray, Namespace, Program, main

DAYS, STRIKE, INTEREST = 63, 1.05, 0.03
LOW_BITS = 2**32 - 1


def load() -> Data:
    """Return the logarithms of the share's daily changes (1046,), float64."""
    from matplotlib import cbook

    prices = np.load(cbook.get_sample_data("goog.npz", asfileobj=False))["price_data"]
    return {"changes": np.diff(np.log(prices["adj_close"]))}


def hashes(counters: Array) -> Array:
    """Return numbers in [0, 2^32) that look random, of int64 numbers in this range.

    The hash is lowbias32 (Wellons 2018). Its second factor is taken less 2^32, which has the same
    32 low bits, so that no product leaves int64.
    """
    x = counters ^ (counters >> 16)
    x = (x * 0x7FEB352D) & LOW_BITS
    x = x ^ (x >> 15)
    x = (x * (0x846CA68B - 2**32)) & LOW_BITS
    return x ^ (x >> 16)


def compute(xp: Namespace, changes: Array, paths: int = 16384) -> tuple[Array, Array]:
    """Return the price of a call for a share that stands at 1, and its standard error."""
    fair = changes - xp.log(xp.exp(changes).mean()) + INTEREST / 252.0  # no gain but the interest
    counters = xp.arange(paths * DAYS).reshape(paths, DAYS)
    draws = (hashes(counters) * changes.shape[0]) >> 32
    growth = xp.exp(xp.take(fair, draws.reshape(-1)).reshape(paths, DAYS).sum(axis=1))
    gains = xp.where(growth > STRIKE, growth - STRIKE, 0.0) * math.exp(-INTEREST * DAYS / 252.0)
    return gains.mean(), xp.std(gains) / math.sqrt(paths)


def tell(data: Data, price: HostArray, error: HostArray) -> str:
    """Say the price beside that of Black and Scholes (1973)."""
    deviation = float(data["changes"].std()) * math.sqrt(DAYS)
    rate = INTEREST * DAYS / 252.0
    d = (rate - math.log(STRIKE)) / deviation + deviation / 2.0
    below, above = (0.5 * math.erfc(-value / math.sqrt(2.0)) for value in (d - deviation, d))
    formula = above - STRIKE * math.exp(-rate) * below
    return (
        f"A call for {DAYS} days at {STRIKE:.0%} costs {float(price):.3%} of the share "
        f"(standard error {float(error):.3%}); Black and Scholes's formula says {formula:.3%}."
    )


PROGRAM = Program("An option priced by a million random days", load, compute, tell, (1e-9, 1e-12))

if __name__ == "__main__":
    raise SystemExit(main(PROGRAM))
