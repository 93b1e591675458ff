"""Dropout."""

from __future__ import annotations

from phalanx._warm import Array
from phalanx.arrays.checks import need_real
from phalanx.random import Generator
from phalanx.random.default import DEFAULT

from .arguments import need_floating


def dropout(
    input: Array, p: float = 0.5, training: bool = True, *, generator: Generator | None = None
) -> Array:
    """Return x with elements set to 0 with probability ``p``, the others over ``1 - p``.

    The mask is ``generator.dropout_mask``, by default that of ``phalanx.random``: the same on every
    device. With ``training=False`` the result is ``input`` itself.

    Raises:
        TypeError: no floating array, or a generator that is none.
        ValueError: ``p`` is not from 0 to 1.

    Examples:
        >>> g = px.random.Generator(7)
        >>> print(px.nn.dropout(px.asarray([1.0, 2.0, 3.0, 4.0]), 0.5, generator=g))
        [0. 4. 0. 0.]
    """
    need_floating(input, "dropout")
    need_real(p, "dropout: p")
    if not 0 <= p <= 1:
        raise ValueError(f"dropout: p is from 0 to 1, got {p}")
    if generator is not None and not isinstance(generator, Generator):
        raise TypeError(
            f"dropout: generator is a phalanx.random.Generator, got {type(generator).__name__}"
        )
    if not training or p == 0:
        return input
    if p == 1:
        return input * 0.0
    source = DEFAULT if generator is None else generator
    return input * source.dropout_mask(p, size=input.shape, dtype=input.dtype, device=input.device)
