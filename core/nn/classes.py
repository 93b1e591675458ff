"""Classes by number: one-hot vectors, embeddings."""

from __future__ import annotations

from phalanx._warm import Array, launch
from phalanx.arrays.checks import need_array, need_int, need_one_device
from phalanx.arrays.data_types import astype, int64
from phalanx.arrays.transfer import contiguous
from phalanx.namespace import reductions
from phalanx.namespace.creation import arange, empty_like
from phalanx.namespace.manipulation import expand_dims
from phalanx.namespace.taking import take

from .arguments import need_labels


def one_hot(tensor: Array, num_classes: int = -1) -> Array:
    """Return int64 vectors (..., num_classes) with a 1 at the place that each element names.

    Without ``num_classes`` it is one more than the largest element, for which the function waits.
    Elements below 0 count from the end, as indices do.

    Raises:
        IndexError: an element that is no class, when the result is waited for.
        TypeError: no integer array.
        ValueError: no class, or no elements to count classes by.

    Examples:
        >>> print(px.nn.one_hot(px.asarray([0, 2, 1])))
        [[1 0 0]
         [0 0 1]
         [0 1 0]]
    """
    need_labels(tensor, "one_hot", "tensor")
    count = need_int(num_classes, "one_hot: num_classes")
    if count == -1:
        if tensor.size == 0:
            raise ValueError("one_hot of no elements needs num_classes")
        count = int(reductions.max(tensor)) + 1
    if count < 1:
        raise ValueError(f"one_hot: num_classes is at least 1, got {count}")
    labels = contiguous(astype(tensor, int64, copy=False))
    places = empty_like(labels)
    launch("wrap_index", (labels,), (places,), (count, 1))
    steps = arange(count, device=tensor.device)
    return astype(expand_dims(places, axis=-1) == steps, int64)


def embedding(input: Array, weight: Array) -> Array:
    """Return rows of ``weight`` (classes, d) at the indices ``input``: shape (*input.shape, d).

    Raises:
        IndexError: an index out of range, when the result is waited for.
        TypeError: indices that are no integers.
        ValueError: a weight that is no matrix.

    Examples:
        >>> table = px.asarray([[0.0, 0.0], [1.0, 10.0], [2.0, 20.0]])
        >>> print(px.nn.embedding(px.asarray([2, 1]), table))
        [[ 2. 20.]
         [ 1. 10.]]
    """
    need_labels(input, "embedding", "input")
    need_array(weight, "embedding: weight")
    need_one_device("embedding", input, weight)
    if weight.ndim != 2:
        raise ValueError(f"embedding: weight is a matrix, got shape {weight.shape}")
    return take(weight, input, axis=0)
