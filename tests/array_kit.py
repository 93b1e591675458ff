"""What the tests of the array functions share: values, layouts, comparison to the bit or in ulp."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import phalanx as px

HostArray = npt.NDArray[Any]
#: Significand bits with the hidden one, least and greatest exponent (IEEE 754-2019, table 3.5).
FORMATS = {
    "float16": (11, -14, 15),
    "bfloat16": (8, -126, 127),
    "float32": (24, -126, 127),
    "float64": (53, -1022, 1023),
}
PARTS = {"complex64": "float32", "complex128": "float64"}
#: The widest reference: 64 bits of significand on x86, else float64 again.
WIDE: Any = np.longdouble
WIDE_BITS = np.finfo(WIDE).nmant + 1


def host_dtype(name: str) -> np.dtype[Any]:
    """NumPy's dtype for the name of a Phalanx dtype."""
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def name_of(x: HostArray) -> str:
    return x.dtype.name


def generator(*labels: object) -> np.random.Generator:
    """A generator seeded by its labels: the same numbers in every run and order of the tests."""
    return np.random.default_rng(zlib.crc32(":".join(map(str, labels)).encode()))


# ---- values --------------------------------------------------------------------------------------


def special_values(name: str) -> HostArray:
    """Zeros, limits, infinities, NaN, ties and other corners of a dtype."""
    dtype = host_dtype(name)
    if name == "bool":
        return np.array([False, True])
    if name in FORMATS:
        digits, least, greatest = FORMATS[name]
        eps = 2.0 ** (1 - digits)
        tiny, top = 2.0**least, (2.0 - eps) * 2.0**greatest
        sizes = [
            *(0.0, tiny * eps, tiny * (1 - eps), tiny, eps, 0.5, 1.0, 1.0 + eps, 1.0 - eps / 2),
            *(1.5, 2.0, 2.5, 3.0, np.pi, 10.0, 100.0, top / 2, top, np.inf),
        ]
        return np.array([*sizes, *(-s for s in sizes), np.nan]).astype(dtype)
    if name in PARTS:
        parts = np.array([0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan])
        return _pairs(parts, dtype)
    info = np.iinfo(dtype)
    bits = info.bits
    values = {
        info.min,
        info.min + 1,
        0,
        1,
        2,
        3,
        7,
        bits - 1,
        bits,
        info.max // 2,
        info.max - 1,
        info.max,
    }
    values |= {-1, -2, -7} if info.min else set()
    return np.array(sorted(values), dtype)


def _pairs(parts: HostArray, dtype: np.dtype[Any]) -> HostArray:
    result = np.empty((len(parts), len(parts)), dtype)
    result.real, result.imag = parts[:, None], parts[None, :]
    return result.ravel()


def ordinary_values(name: str, count: int, rng: np.random.Generator) -> HostArray:
    """Values of everyday size, neither zero nor special, on which every library agrees closely."""
    dtype = host_dtype(name)
    if name == "bool":
        return rng.integers(0, 2, count).astype(bool)
    if name in FORMATS:
        return (rng.uniform(0.1, 4.0, count) * rng.choice([-1, 1], count)).astype(dtype)
    if name in PARTS:
        parts = rng.uniform(0.1, 2.0, (2, count)) * rng.choice([-1, 1], (2, count))
        return (parts[0] + 1j * parts[1]).astype(dtype)
    return rng.integers(1, 12, count).astype(dtype)


def wild_values(name: str, count: int, rng: np.random.Generator) -> HostArray:
    """Values over the whole range of a dtype, with many of everyday size among them."""
    dtype = host_dtype(name)
    if name == "bool" or name in PARTS:
        return ordinary_values(name, count, rng)
    raw = rng.integers(0, 256, (count, dtype.itemsize), np.uint8).view(dtype)[:, 0].copy()
    if name in FORMATS:
        small = (rng.standard_normal(count) * rng.choice([1e-3, 1, 30], count)).astype(dtype)
    else:
        small = rng.integers(0 if dtype.kind == "u" else -20, 21, count).astype(dtype)
    return np.where(rng.random(count) < 0.5, raw, small)


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


def _raw(x: HostArray) -> HostArray:
    """Comparable values: bits with one NaN; complex numbers as two columns."""
    if x.dtype.kind == "c":
        part = np.dtype(PARTS[name_of(x)])
        return _raw(np.ascontiguousarray(x)[..., None].view(part))
    if name_of(x) not in FORMATS:
        return x
    bits = np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}").reshape(x.shape).copy()
    with np.errstate(invalid="ignore"):  # ml_dtypes on signalling NaN
        bits[np.isnan(x)] = np.iinfo(bits.dtype).max
    return bits


def assert_same(got: px.Array | HostArray, want: HostArray, what: str = "") -> None:
    """Same dtype, shape and bits; NaNs count as one, the zeros as two."""
    host = px.asnumpy(got) if isinstance(got, px.Array) else got
    want = np.asarray(want)
    assert host.dtype == want.dtype, f"{what}: dtype {host.dtype}, want {want.dtype}"
    assert host.shape == want.shape, f"{what}: shape {host.shape}, want {want.shape}"
    different = np.asarray(_raw(host) != _raw(want))
    if want.dtype.kind == "c":
        different = different.any(axis=-1)
    if different.any():
        first = tuple(int(i[0]) for i in np.nonzero(np.atleast_1d(different)))
        place = first if want.ndim else ()
        raise AssertionError(
            f"{what}: {different.sum()} of {want.size} differ, first at {place}: "
            f"got {host[place]!r}, want {want[place]!r}"
        )


def unit(exact: HostArray, name: str) -> HostArray:
    """The unit in the last place of a format at the size of exact values."""
    digits, least, greatest = FORMATS[name]
    exponent = np.clip(np.frexp(exact)[1] - 1, least, greatest)
    return np.ldexp(np.ones_like(exact), exponent - digits + 1)


def rounded(exact: HostArray, name: str) -> HostArray:
    """Exact wide values rounded once to a format, ties to even."""
    greatest = FORMATS[name][2]
    exact = np.asarray(exact)
    step = unit(exact, name)
    with np.errstate(all="ignore"):
        near = np.rint(exact / step) * step
        beyond = np.abs(near) >= np.ldexp(WIDE(1), greatest) * 2
        near = np.where(
            beyond, np.copysign(np.inf, near), np.where(np.isfinite(exact), near, exact)
        )
        return near.astype(np.float64).astype(host_dtype(name))


def assert_within(
    got: HostArray, exact: HostArray, bound: float, what: str, inputs: tuple[HostArray, ...] = ()
) -> None:
    """Each element is within ``bound`` ulp of the wide reference; specials agree exactly."""
    name = name_of(got)
    want = rounded(exact, name)
    with np.errstate(all="ignore"):
        wide = got.astype(np.float64).astype(WIDE)
        error = np.abs(wide - exact) / unit(exact, name)
        # got and want may both be infinite, or one of them the greatest number
        fine = (_raw(got) == _raw(want)) | (np.isfinite(wide) & (error <= bound) & (got != 0))
        fine |= (got == 0) & (error <= bound) & (np.signbit(wide) == np.signbit(exact))
    if fine.all():
        return
    i = int(np.flatnonzero(~fine.ravel())[0])
    arguments = ", ".join(repr(x.ravel()[i]) for x in inputs)
    raise AssertionError(
        f"{what}: {(~fine).sum()} of {fine.size} out of bound, first at {i}: input ({arguments}), "
        f"got {got.ravel()[i]!r}, want {want.ravel()[i]!r}, error {error.ravel()[i]} ulp, "
        f"bound {bound}"
    )
