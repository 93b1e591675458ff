"""What somebody passes by mistake, and the answer."""

from __future__ import annotations

from typing import Any

import phalanx as px
import pytest

MISTAKES: tuple[tuple[str, type[Exception], str], ...] = (
    ("G(-1)", ValueError, "a seed is an int from 0 to 2**64 - 1, got -1; seed % 2**64 is one"),
    ("G(2**64)", ValueError, "a seed is an int from 0 to 2**64 - 1, got 18446744073709551616"),
    ("G(1.5)", TypeError, "seed is an int, got 1.5"),
    ("px.random.seed('7')", TypeError, "seed is an int, got '7'"),
    ("g.split(-1)", ValueError, "split: count is 0 or more, got -1"),
    ("g.split(1.5)", TypeError, "split: count is an int, got 1.5"),
    ("g.uniform(size=2.5)", TypeError, "uniform: size is an int or a tuple of ints, got 2.5"),
    ("g.normal(size=(2, 3.0))", TypeError, "normal: size is an int or a tuple of ints, got"),
    ("g.uniform(size=-1)", ValueError, "uniform: negative extent in size -1"),
    ("g.uniform(1, 0)", ValueError, "uniform: high is not below low, and their difference finite"),
    ("g.uniform(-1e308, 1e308)", ValueError, "their difference finite"),
    ("g.uniform(0, float('inf'))", ValueError, "their difference finite"),
    ("g.uniform('a')", TypeError, "uniform: low is a number or a phalanx array, got str"),
    ("g.uniform([1, 2])", TypeError, "uniform: low is a number or a phalanx array, got list"),
    ("g.uniform(dtype='int32')", TypeError, "uniform gives float16, bfloat16, float32 or float64"),
    ("g.normal(0, -1)", ValueError, "normal: scale is finite and 0 or more, got -1"),
    ("g.normal(float('nan'))", ValueError, "normal: loc is NaN"),
    ("g.normal(0, float('inf'))", ValueError, "normal: scale is finite and 0 or more, got inf"),
    ("g.normal(1j)", TypeError, "normal: loc is a number or a phalanx array, got complex"),
    ("g.normal(px.asarray([1j]))", TypeError, "normal: loc is real, got an array of complex128"),
    ("g.normal(px.zeros(3), size=2)", ValueError, "parameters of shapes (3,) do not broadcast"),
    ("g.normal(px.zeros(3), size=(1,))", ValueError, "do not broadcast to size (1,)"),
    ("g.exponential(-1)", ValueError, "exponential: scale is finite and 0 or more, got -1"),
    ("g.integers(0)", ValueError, "integers: there is no int from 0 to -1"),
    ("g.integers(5, 5)", ValueError, "integers: there is no int from 5 to 4"),
    ("g.integers(1.5)", TypeError, "integers: high is an int, got 1.5"),
    ("g.integers(300, dtype='uint8')", OverflowError, "0 to 299 is out of bounds for uint8"),
    ("g.integers(-1, 3, dtype='uint8')", OverflowError, "-1 to 2 is out of bounds for uint8"),
    ("g.integers(2, dtype=bool)", TypeError, "integers gives integers, not bool"),
    ("g.bits(3, dtype='int32')", TypeError, "bits gives uint32 or uint64, not int32"),
    ("g.bernoulli(1.5)", ValueError, "bernoulli: p is a probability from 0 to 1, got 1.5"),
    ("g.bernoulli(-0.1)", ValueError, "bernoulli: p is a probability from 0 to 1, got -0.1"),
    ("g.dropout_mask(1.0, 3)", ValueError, "dropout_mask: p is a number from 0 up to, not"),
    ("g.permutation(-1)", ValueError, "permutation: x is 0 or more, got -1"),
    ("g.permutation([1, 2])", TypeError, "permutation: x is an int, got [1, 2]"),
    ("g.permutation(px.asarray(1))", ValueError, "permutation needs at least one axis"),
    ("g.shuffle([1, 2])", TypeError, "shuffle takes a phalanx array, got list"),
    ("g.shuffle(px.asarray(1))", ValueError, "shuffle needs at least one axis"),
    ("g.choice(0)", ValueError, "choice: there is nothing to choose from 0 elements"),
    ("g.choice(-3, 2)", ValueError, "choice: there is nothing to choose from -3 elements"),
    ("g.choice(2.5)", TypeError, "choice: a is an int, got 2.5"),
    ("g.choice(3, 4, replace=False)", ValueError, "choice: 4 elements without replacement from 3"),
    ("g.choice(3, p=[0.5, 0.5])", ValueError, "one probability for each of 3 elements"),
    ("g.choice(2, p=[0.5, 0.6])", ValueError, "have the sum 1.1, not 1; divide p by its sum"),
    ("g.choice(2, p=[1.5, -0.5])", ValueError, "p has a negative probability, or one that is"),
    ("g.choice(2, p=[float('nan'), 1])", ValueError, "p has a negative probability, or one that"),
    (
        "g.choice(3, 2, replace=False, p=[1, 0, 0])",
        ValueError,
        "choice: 2 elements without replacement from 1 with a probability above 0",
    ),
    ("g.gamma(-1)", ValueError, "gamma: shape is finite and 0 or more, got -1"),
    ("g.gamma(1, -2)", ValueError, "gamma: scale is finite and 0 or more, got -2"),
    ("g.beta(0, 1)", ValueError, "beta: a is finite and greater than 0, got 0"),
    ("g.beta(1, float('inf'))", ValueError, "beta: b is finite and greater than 0, got inf"),
    ("g.standard_t(0)", ValueError, "standard_t: df is finite and greater than 0, got 0"),
    ("g.poisson(-1)", ValueError, "poisson: lam is from 0 to 2**53, got -1"),
    ("g.poisson(1e300)", ValueError, "poisson: lam is from 0 to 2**53, got 1e+300"),
    ("g.poisson('a')", TypeError, "poisson: lam is a number or a phalanx array, got str"),
    ("g.binomial(-1, 0.5)", ValueError, "binomial: n is from 0 to 2**53, got -1"),
    ("g.binomial(1.5, 0.5)", TypeError, "binomial: n is an int, got 1.5"),
    ("g.binomial(px.ones(2), 0.5)", TypeError, "binomial: n is an integer, got an array of float"),
    ("g.binomial(5, 1.5)", ValueError, "binomial: p is a probability from 0 to 1, got 1.5"),
    ("g.multivariate_normal(0, [[1]])", ValueError, "mean has the shape (d,), got ()"),
    ("g.multivariate_normal([0], [1])", ValueError, "cov has the shape (d, d), got (1,)"),
    ("g.multivariate_normal([0], [[1, 0], [0, 1]])", ValueError, "cov is (d, d) for a mean of"),
    ("g.multivariate_normal([0, 0], [[1, 2], [0, 1]])", ValueError, "cov is a symmetric matrix"),
    ("g.multivariate_normal([0, 0], [[1, 2], [2, 1]])", ValueError, "cov is not a covariance"),
    ("g.multivariate_normal([0], [[float('nan')]])", ValueError, "cov has a number that is not"),
    ("g.multivariate_normal(['a'], [[1]])", TypeError, "multivariate_normal: mean is real, got"),
    ("g.set_state(3)", TypeError, "set_state takes what `state` of a generator is, got int"),
    (
        "g.set_state({**g.state, 'version': 2})",
        ValueError,
        "the state has version 2, and this release of Phalanx has version 1; restore it with the",
    ),
    ("g.set_state({})", ValueError, "the state has version None"),
    ("g.set_state({**g.state, 'algorithm': 'x'})", ValueError, "the state is of x, not of philox"),
    ("g.set_state({**g.state, 'key': -1})", ValueError, "key is from 0 to 2**64 - 1, got -1"),
    ("g.set_state({**g.state, 'key': 1.5})", TypeError, "set_state: key is an int, got 1.5"),
    (
        "g.set_state({'version': 1, 'algorithm': 'philox4x32-10', 'key': 1})",
        ValueError,
        "the state has no stream and no position",
    ),
)


@pytest.mark.parametrize(("code", "error", "message"), MISTAKES, ids=[m[0] for m in MISTAKES])
def test_the_answer_to_a_mistake(
    code: str, error: type[Exception], message: str, fake: px.Device
) -> None:
    g = px.random.Generator(1)
    before = g.state
    scope: dict[str, Any] = {"px": px, "g": g, "G": px.random.Generator}
    with pytest.raises(error) as caught:
        eval(code, scope)
    assert message in str(caught.value)
    assert g.state == before, "a call that fails takes no numbers"


def test_a_parameter_on_another_device(fake: px.Device) -> None:
    scale = px.ones(3, device="fakestream:0")
    with pytest.raises(px.DeviceMismatchError, match="normal on fake:0 with a parameter on fake"):
        px.random.normal(0, scale, device="fake:0")
    assert px.random.normal(0, scale).device is scale.device
