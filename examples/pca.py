"""Find the directions in which handwritten digits vary most, by principal component analysis.

    python examples/pca.py --device opencl:0

Orthogonal iteration (Golub and Van Loan 2013, section 8.2.4) with the covariance of the 1,797
digits of 8 x 8 pixels that ship inside scikit-learn.
"""

from __future__ import annotations

import numpy as np
from phalanx.examples.harness import Array, Data, HostArray, Namespace, Program, main

COMPONENTS = 10


def load() -> Data:
    """Return the pixels (1797, 64) in [0, 1], and directions (64, 10) to start from, float64."""
    from sklearn.datasets import load_digits

    start = np.random.default_rng(7).standard_normal((64, COMPONENTS))
    return {"x": load_digits().data / 16.0, "start": start}


def orthonormal(xp: Namespace, vectors: Array) -> Array:
    """Return the columns made orthogonal and of length one, each on the side of its vector."""
    units, triangle = xp.linalg.qr(vectors)
    return units * xp.sign(xp.linalg.diagonal(triangle))


def compute(xp: Namespace, x: Array, start: Array, steps: int = 40) -> tuple[Array, Array]:
    """Return the principal directions (64, 10) and the variances along them."""
    x = x - x.mean(axis=0)
    covariance = x.T @ x / x.shape[0]
    directions = orthonormal(xp, start)
    for _ in range(steps):
        directions = orthonormal(xp, covariance @ directions)
    return directions, ((x @ directions) ** 2).mean(axis=0)


def tell(data: Data, _directions: HostArray, variances: HostArray) -> str:
    """Say how much of the variance the components explain."""
    share = variances.sum() / data["x"].var(axis=0).sum()
    first = variances[0] / data["x"].var(axis=0).sum()
    return (
        f"{len(variances)} of 64 components explain {share:.1%} of the variance, "
        f"the first alone {first:.1%}."
    )


PROGRAM = Program("Principal components of handwritten digits", load, compute, tell, (1e-8, 1e-8))

if __name__ == "__main__":
    raise SystemExit(main(PROGRAM))
