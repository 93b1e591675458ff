"""Find the handwritten digits that are the most typical, by PageRank.

    python examples/pagerank.py --device opencl:0

Every digit links to the twenty that look most like it, and a walker follows the links (Brin and
Page 1998). The 1,797 digits ship inside scikit-learn.
"""

from __future__ import annotations

import numpy as np
from phalanx.examples.harness import Array, Data, HostArray, Namespace, Program, main

DAMPING = 0.85


def load(neighbours: int = 20) -> Data:
    """Return for each digit its neighbours (1797, 20), int64."""
    from sklearn.datasets import load_digits
    from sklearn.neighbors import NearestNeighbors

    found = NearestNeighbors(n_neighbors=neighbours).fit(load_digits().data)
    return {"links": found.kneighbors(return_distance=False).astype(np.int64)}


def compute(xp: Namespace, links: Array, steps: int = 100) -> tuple[Array, Array]:
    """Return the ranks of the digits, which sum to 1, and the places of the ten highest."""
    n, neighbours = links.shape
    # Sorted by where they lead, the links to one digit lie side by side: their sum is the
    # difference of two cumulative sums.
    order = xp.argsort(links.reshape(-1), stable=True)
    sources, targets = order // neighbours, xp.take(links.reshape(-1), order)
    first = xp.searchsorted(targets, xp.arange(n), side="left")
    last = xp.searchsorted(targets, xp.arange(n), side="right")
    ranks = xp.full(n, 1.0 / n, dtype=xp.float64)
    for _ in range(steps):
        sums = xp.cumulative_sum(xp.take(ranks, sources), include_initial=True)
        arriving = (xp.take(sums, last) - xp.take(sums, first)) / neighbours
        ranks = (1.0 - DAMPING) / n + DAMPING * arriving
    return ranks, xp.argsort(-ranks, stable=True)[:10]


def tell(_data: Data, ranks: HostArray, highest: HostArray) -> str:
    """Say what the highest ranked digits are."""
    from sklearn.datasets import load_digits

    written = load_digits().target[highest]
    return (
        f"The ten most typical digits are {', '.join(map(str, written))}; "
        f"the first has {ranks.max() * len(ranks):.1f} times the mean rank."
    )


PROGRAM = Program("PageRank of handwritten digits", load, compute, tell, (1e-9, 1e-12))

if __name__ == "__main__":
    raise SystemExit(main(PROGRAM))
