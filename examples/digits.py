"""Train a small neural network on handwritten digits, on every device, and compare.

    python examples/digits.py                     # every device that is usable
    python examples/digits.py --device gpu:0      # one device, and cpu:0 to compare with
    python examples/digits.py --epochs 40 --plot losses.png

The data are the 1,797 digits of 8 x 8 pixels that ship inside scikit-learn: the test part of the
UCI set "Optical Recognition of Handwritten Digits" (Alpaydin and Kaynak 1998). Network and
gradients are written with the array functions alone, so the same text runs on every device. The
first weights and the order of the digits are drawn on the device as well. The SHA-256 of the
trained weights is the same on all devices whose kernels are of class `bitwise`.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median

import numpy as np
import phalanx as px
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from sklearn.datasets import load_digits

LAYERS = (64, 128, 64, 10)
BATCH = 64
RATE = 0.1
MOMENTUM = 0.9


@dataclass
class Data:
    """Pixels in [0, 1] and one-hot labels, float32, cut into training and test rows."""

    train_x: np.ndarray
    train_y: np.ndarray
    test_x: np.ndarray
    test_labels: np.ndarray


@dataclass
class Run:
    """What one training gave."""

    device: str
    weights: list[np.ndarray]
    losses: list[float] = field(default_factory=list)
    accuracy: float = 0.0
    seconds_per_epoch: float = 0.0
    fallbacks: int = 0

    @property
    def digest(self) -> str:
        """The SHA-256 of the weights."""
        return hashlib.sha256(b"".join(w.tobytes() for w in self.weights)).hexdigest()


def load(seed: int) -> Data:
    """Shuffle the digits and keep a fifth for the test."""
    digits = load_digits()
    order = np.random.default_rng(seed).permutation(len(digits.target))
    x = (digits.data[order] / 16.0).astype(np.float32)
    labels = digits.target[order]
    one_hot = np.eye(10, dtype=np.float32)[labels]
    cut = len(labels) * 4 // 5
    return Data(x[:cut], one_hot[:cut], x[cut:], labels[cut:])


def first_weights(generator: px.random.Generator) -> list[px.Array]:
    """Draw weights (He et al. 2015, section 2.2) and zero biases: the same on every device."""
    values = []
    for n, m in pairwise(LAYERS):
        values.append(generator.normal(0.0, math.sqrt(2.0 / n), size=(n, m), dtype=px.float32))
        values.append(px.zeros(m, dtype=px.float32))
    return values


def forward(weights: list[px.Array], x: px.Array) -> list[px.Array]:
    """Return the activations of every layer; the last are the class probabilities."""
    w1, b1, w2, b2, w3, b3 = weights
    h1 = px.maximum(x @ w1 + b1, 0.0)
    h2 = px.maximum(h1 @ w2 + b2, 0.0)
    return [x, h1, h2, px.softmax(h2 @ w3 + b3, axis=-1)]


def gradients(weights: list[px.Array], x: px.Array, y: px.Array) -> tuple[px.Array, list[px.Array]]:
    """Return the mean cross-entropy of a batch and its gradient by every weight."""
    x, h1, h2, p = forward(weights, x)
    loss = -px.mean(px.sum(y * px.log(p + 1e-12), axis=-1))
    d3 = (p - y) / float(y.shape[0])
    d2 = (d3 @ weights[4].T) * px.astype(h2 > 0.0, px.float32)
    d1 = (d2 @ weights[2].T) * px.astype(h1 > 0.0, px.float32)
    pairs = ((x, d1), (h1, d2), (h2, d3))
    return loss, [g for a, d in pairs for g in (a.T @ d, px.sum(d, axis=0))]


def train(device: str, data: Data, epochs: int, seed: int, step: Callable[[], None]) -> Run:
    """Train by stochastic gradient descent with momentum on one device."""
    px.set_device(device)
    px.fallback_report(reset=True)
    generator = px.random.Generator(seed)
    weights = first_weights(generator)
    speeds = [px.zeros_like(w) for w in weights]
    x, y = px.asarray(data.train_x), px.asarray(data.train_y)
    run = Run(device, [])
    times = []
    for _ in range(epochs):
        begin = time.perf_counter()
        order = generator.permutation(x.shape[0])
        losses = []
        for first in range(0, x.shape[0], BATCH):
            rows = order[first : first + BATCH]
            loss, slopes = gradients(weights, px.take(x, rows, axis=0), px.take(y, rows, axis=0))
            for i, slope in enumerate(slopes):
                speeds[i] *= MOMENTUM
                speeds[i] -= slope * RATE
                weights[i] += speeds[i]
            losses.append(loss)
        run.losses.append(float(px.mean(px.stack(losses))))
        times.append(time.perf_counter() - begin)
        step()
    run.seconds_per_epoch = median(times)  # the first one may also compile kernels
    guesses = px.argmax(forward(weights, px.asarray(data.test_x))[-1], axis=-1)
    run.accuracy = float(np.mean(px.asnumpy(guesses) == data.test_labels))
    run.weights = [px.asnumpy(w) for w in weights]
    run.fallbacks = sum(entry.calls for entry in px.fallback_report())
    return run


def show(runs: list[Run], console: Console) -> None:
    """Print one row per device, compared with the first."""
    table = Table(title="Handwritten digits: 64-128-64-10 network, float32")
    for name in (
        "device",
        "median epoch",
        "test accuracy",
        "weights differ from cpu:0 by",
        "fallbacks",
    ):
        table.add_column(name, justify="left" if name == "device" else "right")
    for run in runs:
        pairs = zip(run.weights, runs[0].weights, strict=True)
        difference = max(float(np.max(np.abs(a - b))) for a, b in pairs)
        table.add_row(
            run.device,
            f"{run.seconds_per_epoch * 1e3:.1f} ms",
            f"{run.accuracy:.4f}",
            "0 (same bits)" if difference == 0.0 else f"{difference:.3g}",
            str(run.fallbacks),
        )
    console.print(table)
    console.print("SHA-256 of the trained weights:")
    for run in runs:
        console.print(f"  {run.digest}  {run.device}", highlight=False, soft_wrap=True)


def plot(runs: list[Run], path: Path) -> None:
    """Draw the loss of every device over the epochs."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    styles = ["-", "--", ":", "-."]
    for i, run in enumerate(runs):
        epochs = range(1, len(run.losses) + 1)
        axes.plot(epochs, run.losses, styles[i % 4], linewidth=2, label=run.device)
    axes.set(xlabel="epoch", ylabel="training loss (cross-entropy)", yscale="log")
    axes.set_title("Training on handwritten digits")
    axes.grid(alpha=0.3)
    axes.legend(title="device")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def main() -> int:
    """Parse the command line, train, print and plot."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", help="train on this device only, compared with cpu:0")
    parser.add_argument("--epochs", type=int, default=30, help="passes over the data (default: 30)")
    parser.add_argument("--seed", type=int, default=7, help="of shuffling and weights (default: 7)")
    parser.add_argument(
        "--plot", type=Path, default=Path("out/digits.png"), help="where to draw the losses"
    )
    options = parser.parse_args()
    if options.epochs < 1:
        parser.error("--epochs must be at least 1")
    console = Console()
    try:
        chosen = (
            [str(px.set_device(options.device))]
            if options.device
            else [str(d) for d in px.devices()]
        )
    except px.DeviceNotFoundError as error:
        parser.exit(2, f"{error}\n")
    names = list(dict.fromkeys(["cpu:0", *chosen]))
    data = load(options.seed)
    columns = (
        TextColumn("{task.description:12}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    runs = []
    with Progress(*columns, console=console) as progress:
        for name in names:
            task = progress.add_task(name, total=options.epochs)
            step = partial(progress.advance, task)
            runs.append(train(name, data, options.epochs, options.seed, step))
    show(runs, console)
    plot(runs, options.plot)
    console.print(f"loss curves: {options.plot}")
    good = all(run.accuracy >= 0.95 and run.fallbacks == 0 for run in runs)
    if not good:
        console.print("[red]a device missed an accuracy of 0.95 or needed fallbacks[/red]")
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
