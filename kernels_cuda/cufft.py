"""Fourier transforms by cuFFT: class ``reproducible``.

NVIDIA promises the same bits from run to run for the same plan, version of cuFFT and model of the
card (cuFFT 12.9, "Accuracy and Performance").
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from phalanx.device_code.axes import merged
from phalanx.device_code.dtypes import PART
from phalanx.vendor import Array, Kernel, Layout, Operand, dtype_from_name, reinterpret

from .libraries import LibraryRecipe, provider, run_or_else
from .sessions import OnStream

if TYPE_CHECKING:
    from phalanx.device_code.env import Env

#: All numbers of a plan are ints, and so are places in cuFFT's kernels.
_MOST = 2**31 - 1
_KINDS = {"complex64": "C2C", "complex128": "Z2Z"}


def kernels_of(op: str, dtypes: tuple[str, ...]) -> tuple[Kernel, ...]:
    """Return the kernel for an op, or none; imports nothing."""
    if op != "fft" or not provider("cufft"):
        return ()
    return (_kernel(dtypes, provider("cufft")),)


@cache
def _kernel(dtypes: tuple[str, ...], made_by: str) -> Kernel:
    return Kernel(
        "fft",
        dtypes,
        Layout.ANY,
        name="cufft",
        determinism="reproducible",
        provider=made_by,
        handle=LibraryRecipe((), _launch, "reproducible"),
    )


class _Rows(NamedTuple):
    """How cuFFT reads rows: steps within one and from one to the next, in elements."""

    stride: int
    distance: int


class _Place(NamedTuple):
    """An address where CuPy's plans look for an array's: at ``array.data.ptr``."""

    ptr: int

    @property
    def data(self) -> _Place:
        """The array's memory."""
        return self


def _launch(
    env: Env, inputs: Sequence[Operand], outputs: Sequence[Array], params: tuple[int, ...]
) -> None:
    """Enqueue the transforms; what a plan has no numbers for goes to the device's own kernel."""
    out, given = outputs[0], inputs[0]
    if not out.size:
        return
    assert isinstance(given, Array)
    if out.size > _MOST or not run_or_else(env, "cufft", lambda *_: None):
        env.run("fft", inputs, outputs, params)
        return
    x = given if given.shape == out.shape and _rows(given) else _whole(env, given, out)
    y = out if _rows(out) else x if x is not given else _like(env, out)
    run_or_else(env, "cufft", lambda lib, on: _transform(env, (lib, on), x, y, inverse=params[0]))
    scale = _number(params[1], out.dtype.name)
    if scale != 1:
        part = PART[out.dtype.name]
        env.run("multiply", (_parts(y), scale), (_parts(y),), dtypes=(part,) * 3)
    if y is not out:
        env.run("copy", (y,), (out,))


def _rows(x: Array) -> _Rows | None:
    """Return how the rows of an array lie, ``None`` if no two numbers tell it."""
    n, stride = x.shape[-1], x.strides[-1] if x.shape[-1] > 1 else 1
    axes = merged(x.shape[:-1], x.strides[:-1])
    if len(axes.shape) > 1:
        return None
    distance = axes.steps[0][0] if axes.shape else stride * n
    span = (n - 1) * stride + (axes.count - 1) * distance
    return _Rows(stride, distance) if min(stride, distance) > 0 and span <= _MOST else None


def _like(env: Env, out: Array) -> Array:
    """Return a new array of a shape, its rows one behind the other."""
    strides, step = [], 1
    for extent in reversed(out.shape):
        strides.append(step)
        step *= extent
    room = env.scratch(out.size, out.dtype.name)
    return env.view(room, out.shape, tuple(reversed(strides)))


def _whole(env: Env, given: Array, out: Array) -> Array:
    """Return a copy of rows with the zeros that follow them."""
    made, m = _like(env, out), given.shape[-1]
    kinds = (out.dtype.name,) * 2
    if m < out.shape[-1]:
        env.run("copy", (0j,), (made,), dtypes=kinds)
    if m:
        env.run("copy", (given,), (env.view(made, given.shape, made.strides),))
    return made


def _transform(
    env: Env, library: tuple[Any, OnStream], x: Array, y: Array, *, inverse: int
) -> None:
    """Let cuFFT transform the rows of x into those of y, which may be x."""
    cufft, on = library
    rows_x, rows_y = _rows(x), _rows(y)
    assert rows_x
    assert rows_y
    n = x.shape[-1]
    kind = getattr(cufft, f"CUFFT_{_KINDS[x.dtype.name]}")
    key = ((n,), (n,), *rows_x, (n,), *rows_y, kind, x.size // n)
    with on.working(env):
        plan = on.plan(key, lambda: cufft.PlanNd(*key, "C", 0, None))
        plan.fft(_at(x), _at(y), cufft.CUFFT_INVERSE if inverse else cufft.CUFFT_FORWARD)


def _at(x: Array) -> _Place:
    return _Place(x.buffer.handle + x.offset)


def _parts(x: Array) -> Array:
    """Return the real and the imaginary parts of an array along another axis."""
    strides = (*(2 * step for step in x.strides), 1)
    return reinterpret(x, dtype_from_name(PART[x.dtype.name]), (*x.shape, 2), strides, 0)


def _number(bits: int, dtype: str) -> float:
    """Return the number in the parts of a dtype that a param has the bits of."""
    code, size = ("<f", "<i") if dtype == "complex64" else ("<d", "<q")
    found: float = struct.unpack(code, struct.pack(size, bits))[0]
    return found
