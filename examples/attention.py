"""Let the letters of a text look at each other, by attention with several heads.

    python examples/attention.py --device opencl:0

Two layers of causal self-attention (Vaswani et al. 2017) with fixed random weights, which queries
and keys share: letters look for their like. The text is scikit-learn's about breast cancer data.
"""

from __future__ import annotations

import math

import numpy as np
from phalanx.examples.harness import Array, Data, HostArray, Namespace, Program, main

WIDTH, HEADS, LAYERS = 128, 8, 2


def load(length: int = 512) -> Data:
    """Return the bytes of a text (length,), int64, a vector for each byte, and the weights."""
    from sklearn.datasets import load_breast_cancer

    text = load_breast_cancer().DESCR.encode()[:length]
    rng = np.random.default_rng(7)
    weights = rng.standard_normal((LAYERS, 3, WIDTH, WIDTH)) / math.sqrt(WIDTH)
    return {
        "text": np.frombuffer(text, np.uint8).astype(np.int64),
        "vectors": rng.standard_normal((256, WIDTH)).astype(np.float32),
        "weights": weights.astype(np.float32),
    }


def positions(xp: Namespace, length: int) -> Array:
    """Return the sines and cosines that say where a letter stands (length, WIDTH)."""
    places = xp.arange(length, dtype=xp.float32)[:, None]
    speeds = xp.exp(xp.arange(WIDTH // 2, dtype=xp.float32) * (-2.0 * math.log(1e4) / WIDTH))
    return xp.concat([xp.sin(places * speeds), xp.cos(places * speeds)], axis=1)


def attend(xp: Namespace, x: Array, weights: Array) -> tuple[Array, Array]:
    """Return what letters see (length, WIDTH), where they look (HEADS, length, length)."""
    length = x.shape[0]
    shape = (length, HEADS, WIDTH // HEADS)
    made = [(x @ weights[i, ...]).reshape(shape) for i in range(2)]
    sought, held = (xp.permute_dims(values, (1, 0, 2)) for values in made)
    scores = sought @ xp.matrix_transpose(sought) / math.sqrt(WIDTH // HEADS)
    places = xp.arange(length)
    scores = xp.where(places[:, None] > places, scores, -1e9)  # at what came before alone
    looks = xp.exp(scores - xp.max(scores, axis=-1, keepdims=True))
    looks = looks / looks.sum(axis=-1, keepdims=True)
    seen = xp.permute_dims(looks @ held, (1, 0, 2)).reshape(length, WIDTH)
    return seen @ weights[2, ...], looks


def compute(xp: Namespace, text: Array, vectors: Array, weights: Array) -> tuple[Array, Array]:
    """Return the letters' last vectors, and the share that each looks at its like at first."""
    x = xp.take(vectors, text, axis=0) + positions(xp, text.shape[0])
    alike = xp.astype(text[:, None] == text, xp.float32)
    shares = []
    for i in range(weights.shape[0]):
        seen, looks = attend(xp, x, weights[i, ...])
        shares.append((looks.mean(axis=0) * alike).sum(axis=-1))
        x = (x + seen) / xp.std(x + seen, axis=-1, keepdims=True)
    return x, shares[0]


def tell(data: Data, _vectors: HostArray, shares: HostArray) -> str:
    """Say how much a letter looks at its like, and how often its like stands there."""
    text = data["text"]
    before = np.tril(text[:, None] == text, -1)[1:].sum(axis=1) / np.arange(1, len(text))
    return (
        f"In {len(text)} letters one gives {shares[1:].mean():.1%} of its attention to its like, "
        f"which are {before.mean():.1%} of those before it."
    )


PROGRAM = Program("Attention over the letters of a text", load, compute, tell, (1e-3, 1e-3))

if __name__ == "__main__":
    raise SystemExit(main(PROGRAM))
