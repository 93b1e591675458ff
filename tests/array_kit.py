"""What the tests of the array functions share: seeds, layouts, comparison to the bit."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator

import numpy as np
import phalanx as px
from phalanx.conformance.reference.ulp import differing
from phalanx.conformance.reference.values import HostArray


def generator(*labels: object) -> np.random.Generator:
    """A generator seeded by its labels: the same numbers in every run and order of the tests."""
    return np.random.default_rng(zlib.crc32(":".join(map(str, labels)).encode()))


# ---- layouts -------------------------------------------------------------------------------------

Layout = Callable[[HostArray, px.Device], px.Array]


def _offset(x: HostArray, device: px.Device) -> px.Array:
    whole = np.zeros(x.size + 3, x.dtype)
    whole[3:] = x.ravel()
    return px.reshape(px.asarray(whole, device=device)[3:], x.shape)


def _strided(x: HostArray, device: px.Device) -> px.Array:
    whole = np.zeros((*x.shape[:-1], 3 * x.shape[-1] + 1), x.dtype)
    whole[..., 1::3] = x
    return px.asarray(whole, device=device)[..., 1::3]


def _rows(x: HostArray, device: px.Device) -> px.Array:
    whole = np.zeros((*x.shape[:-1], x.shape[-1] + 5), x.dtype)
    whole[..., 2:-3] = x
    return px.asarray(whole, device=device)[..., 2:-3]


def _transposed(x: HostArray, device: px.Device) -> px.Array:
    turned = px.asarray(np.ascontiguousarray(x.transpose()), device=device)
    return px.permute_dims(turned, tuple(reversed(range(x.ndim))))


def _rotated(x: HostArray, device: px.Device) -> px.Array:
    moved = px.asarray(np.ascontiguousarray(np.moveaxis(x, 0, -1)), device=device)
    return px.moveaxis(moved, -1, 0)


#: Ways to lay out the same elements, for arrays with at least one axis.
LAYOUTS: dict[str, Layout] = {
    "contiguous": lambda x, device: px.asarray(x, device=device),
    "offset": _offset,
    "strided": _strided,
    "rows of a wider array": _rows,
    "negative": lambda x, device: px.flip(px.asarray(np.flip(x).copy(), device=device)),
    "last axis negative": lambda x, d: px.flip(px.asarray(x[..., ::-1].copy(), device=d), axis=-1),
    "transposed": _transposed,
    "rotated": _rotated,
}


def axis_subsets(ndim: int) -> Iterator[tuple[int, ...]]:
    for mask in range(1 << ndim):
        yield tuple(i for i in range(ndim) if mask >> i & 1)


# ---- comparison ----------------------------------------------------------------------------------


def assert_same(got: px.Array | HostArray, want: HostArray, what: str = "") -> None:
    """Same dtype, shape and bits; NaNs count as one, the zeros as two."""
    host = px.asnumpy(got) if isinstance(got, px.Array) else got
    want = np.asarray(want)
    assert host.dtype == want.dtype, f"{what}: dtype {host.dtype}, want {want.dtype}"
    assert host.shape == want.shape, f"{what}: shape {host.shape}, want {want.shape}"
    different = differing(host, want)
    if different.any():
        first = tuple(int(i[0]) for i in np.nonzero(np.atleast_1d(different)))
        place = first if want.ndim else ()
        raise AssertionError(
            f"{what}: {different.sum()} of {want.size} differ, first at {place}: "
            f"got {host[place]!r}, want {want[place]!r}"
        )
