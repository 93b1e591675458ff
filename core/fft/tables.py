"""Numbers that transforms of one length share: made once, kept on each device."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

from phalanx._warm import Array, Device, DType
from phalanx.arrays.transfer import from_numpy
from phalanx.optable.fourier import OWN_RADICES, radices, table_length
from phalanx.runtime.locks import ForkSafeLock
from phalanx.runtime.memory import on_empty_cache

#: Bytes of the tables that are kept besides the newest one.
_MOST = 1 << 28
#: Rows of at most so many numbers are short.
_SHORT = 4096
_Key: TypeAlias = "tuple[str, int, str, Device]"

_lock = ForkSafeLock()
_kept: OrderedDict[_Key, Array] = OrderedDict()


def kept(kind: str, n: int, dtype: DType, device: Device, make: Callable[[], Array]) -> Array:
    """Return the table of a kind and length on a device, made by ``make`` if there is none."""
    key = (kind, n, dtype.name, device)
    with _lock:
        found = _kept.get(key)
        if found is not None:
            _kept.move_to_end(key)
            return found
    made = make()
    with _lock:
        _kept[key] = made
        held = sum(x.nbytes for x in _kept.values())
        while held > _MOST and len(_kept) > 1:
            held -= _kept.popitem(last=False)[1].nbytes
    return made


def drop() -> None:
    """Forget all tables."""
    with _lock:
        _kept.clear()


on_empty_cache(drop)


def upload(cosine: Any, sine: Any, dtype: DType, device: Device) -> Array:
    """Return cosine + i sine on a device, each part rounded to the part of ``dtype``."""
    import numpy as np

    host = np.empty(cosine.shape, dtype.name)
    host.real, host.imag = cosine, sine
    return from_numpy(host, device, copy=True)


def twiddles(n: int, dtype: DType, device: Device) -> Array:
    """Return the table of ``fft`` for a length, in the order of its passes: docs/ops.md."""
    return _short_twiddles(n, dtype, device) if n <= _SHORT else _twiddles(n, dtype, device)


def _twiddles(n: int, dtype: DType, device: Device) -> Array:
    def make() -> Array:
        import numpy as np

        from .roots import roots

        cosine, sine = roots(n)
        passes = radices(n) or ()
        places = np.zeros(max(1, table_length(passes)), np.int64)
        at, m = 0, 1
        for r in passes:
            if m > 1:
                turns = np.multiply.outer(np.arange(1, r), np.arange(m)) * (n // (r * m))
                places[at : at + turns.size] = turns.reshape(-1)
                at += turns.size
            if r not in OWN_RADICES:
                places[at : at + r] = np.arange(r) * (n // r)
                at += r
            m *= r
        return upload(cosine[places], sine[places], dtype, device)

    return kept("twiddles", n, dtype, device, make)


def half_turn(n: int, dtype: DType, device: Device) -> Array:
    """Return exp(-2 pi i k / n) for k in [0, n / 2], for transforms of n real numbers."""
    return _short_half_turn(n, dtype, device) if n <= _SHORT else _half_turn(n, dtype, device)


def _half_turn(n: int, dtype: DType, device: Device) -> Array:
    def make() -> Array:
        from .roots import roots

        cosine, sine = roots(n)
        return upload(cosine[: n // 2 + 1], sine[: n // 2 + 1], dtype, device)

    return kept("half", n, dtype, device, make)


#: Once more without a lock: what a short transform costs is the way to its table.
_short_twiddles, _short_half_turn = (lru_cache(maxsize=64)(f) for f in (_twiddles, _half_turn))
on_empty_cache(_short_twiddles.cache_clear)
on_empty_cache(_short_half_turn.cache_clear)
