"""Tell malignant tumours from benign ones, by logistic regression.

    python examples/logistic.py --device opencl:0

Gradient descent with momentum; each step is two products of a matrix and a vector. The 569
measured tumours of the Wisconsin data (Street, Wolberg and Mangasarian 1993) ship inside
scikit-learn.
"""

from __future__ import annotations

import numpy as np
from phalanx.examples.harness import Array, Data, HostArray, Namespace, Program, main

RATE = 0.05
MOMENTUM = 0.9
DECAY = 0.01


def load() -> Data:
    """Return features of 455 tumours and whether they are benign, and those of 114 for the test.

    The features, float32, are the 30 measures and the products of any two of them, made standard.
    """
    from sklearn.datasets import load_breast_cancer

    found = load_breast_cancer()
    order = np.random.default_rng(7).permutation(len(found.target))
    measures = _standard(found.data[order])
    i, j = np.triu_indices(measures.shape[1])
    features = _standard(np.hstack([measures, measures[:, i] * measures[:, j]]))
    x = np.hstack([features, np.ones((len(features), 1))]).astype(np.float32)
    y = found.target[order].astype(np.float32)
    cut = len(y) * 4 // 5
    return {"x": x[:cut], "y": y[:cut], "test_x": x[cut:], "test_y": y[cut:]}


def _standard(values: HostArray) -> HostArray:
    shifted = values - values.mean(axis=0)
    return np.asarray(shifted / shifted.std(axis=0))


def chances(xp: Namespace, x: Array, weights: Array) -> Array:
    """Return the probabilities that tumours are benign."""
    return 1.0 / (1.0 + xp.exp(-(x @ weights)))


def compute(
    xp: Namespace, x: Array, y: Array, test_x: Array, test_y: Array, steps: int = 300
) -> tuple[Array, Array]:
    """Return the weights of the features, and the accuracy in the test."""
    weights = xp.zeros(x.shape[1], dtype=x.dtype)
    speed = xp.zeros_like(weights)
    for _ in range(steps):
        slope = x.T @ (chances(xp, x, weights) - y) / x.shape[0] + DECAY * weights
        speed = MOMENTUM * speed - RATE * slope
        weights = weights + speed
    right = (chances(xp, test_x, weights) > 0.5) == (test_y > 0.5)
    return weights, xp.astype(right, xp.float32).mean()


def tell(data: Data, weights: HostArray, accuracy: HostArray) -> str:
    """Say how many tumours of the test are told right."""
    right = round(float(accuracy) * len(data["test_y"]))
    return f"{right} of {len(data['test_y'])} tumours are told right, by {len(weights)} weights."


PROGRAM = Program("Logistic regression: benign or malignant", load, compute, tell)

if __name__ == "__main__":
    raise SystemExit(main(PROGRAM))
