"""Train a small convolutional network to read digits, its gradients written by hand.

    python examples/convnet.py --device opencl:0

Sixteen filters of 3 x 3, means of 2 x 2, a dense layer and softmax; gradient descent with momentum.
The 1,797 digits of 8 x 8 pixels ship inside scikit-learn.
"""

from __future__ import annotations

import numpy as np
from phalanx.examples.harness import Array, Data, HostArray, Namespace, Program, main

TRAINING, BATCH, FILTERS, RATE, MOMENTUM = 1437, 64, 16, 0.05, 0.9


def load() -> Data:
    """Return images (n, 10, 10) in [0, 1] with a margin of 1, one-hot labels, and first weights."""
    from sklearn.datasets import load_digits

    digits, rng = load_digits(), np.random.default_rng(7)
    order = rng.permutation(len(digits.target))
    x = np.pad(digits.images[order] / 16.0, ((0, 0), (1, 1), (1, 1))).astype(np.float32)
    y = np.eye(10, dtype=np.float32)[digits.target[order]]
    filters = rng.standard_normal((9, FILTERS)) * np.sqrt(2.0 / 9.0)
    dense = rng.standard_normal((16 * FILTERS, 10)) / np.sqrt(16.0 * FILTERS)
    weights = (filters, np.zeros(FILTERS), dense, np.zeros(10))
    first = {f"w{i}": values.astype(np.float32) for i, values in enumerate(weights)}
    parts = [*np.split(x, [TRAINING]), *np.split(y, [TRAINING])]
    return first | dict(zip(("x", "test_x", "y", "test_y"), parts, strict=True))


def forward(xp: Namespace, x: Array, weights: list[Array]) -> tuple[Array, ...]:
    """Return neighbourhoods (64 n, 9), filtered pixels, their means (n, 256), probabilities."""
    n = x.shape[0]
    shifted = [x[:, i : i + 8, j : j + 8] for i in range(3) for j in range(3)]
    around = xp.stack(shifted, axis=-1).reshape(-1, 9)
    filtered = xp.maximum(around @ weights[0] + weights[1], xp.zeros_like(weights[1]))
    means = filtered.reshape(n, 4, 2, 4, 2, FILTERS).mean(axis=(2, 4)).reshape(n, -1)
    scores = means @ weights[2] + weights[3]
    powers = xp.exp(scores - xp.max(scores, axis=1, keepdims=True))
    return around, filtered, means, powers / powers.sum(axis=1, keepdims=True)


def gradients(xp: Namespace, x: Array, y: Array, weights: list[Array]) -> list[Array]:
    """Return the derivatives of the batch's mean cross-entropy by the weights."""
    n = x.shape[0]
    around, filtered, means, chances = forward(xp, x, weights)
    by_score = (chances - y) / n
    by_mean = (by_score @ weights[2].T).reshape(n, 4, 1, 4, 1, FILTERS) / 4.0
    by_pixel = xp.broadcast_to(by_mean, (n, 4, 2, 4, 2, FILTERS)).reshape(-1, FILTERS)
    by_pixel = xp.where(filtered > 0.0, by_pixel, 0.0)
    return [around.T @ by_pixel, by_pixel.sum(axis=0), means.T @ by_score, by_score.sum(axis=0)]


def compute(xp: Namespace, epochs: int = 6, **data: Array) -> tuple[Array, ...]:
    """Return the accuracy in the test and the trained weights."""
    weights = [data[f"w{i}"] for i in range(4)]
    speeds = [xp.zeros_like(w) for w in weights]
    for first in [*range(0, data["x"].shape[0] - BATCH + 1, BATCH)] * epochs:
        batch = slice(first, first + BATCH)
        slopes = gradients(xp, data["x"][batch], data["y"][batch], weights)
        speeds = [MOMENTUM * v - RATE * slope for v, slope in zip(speeds, slopes, strict=True)]
        weights = [w + v for w, v in zip(weights, speeds, strict=True)]
    guesses = xp.argmax(forward(xp, data["test_x"], weights)[-1], axis=1)
    right = xp.astype(guesses == xp.argmax(data["test_y"], axis=1), xp.float32)
    return right.mean(), *weights


def tell(data: Data, accuracy: HostArray, *_weights: HostArray) -> str:
    """Say how many digits are read."""
    return f"{float(accuracy):.1%} of {len(data['test_y'])} digits are read right."


PROGRAM = Program("A convolutional network reads digits", load, compute, tell, (1e-3, 3e-3))

if __name__ == "__main__":
    raise SystemExit(main(PROGRAM))
