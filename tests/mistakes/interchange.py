"""Other libraries' arrays, copies, and the host."""

from __future__ import annotations

import phalanx as px

from .kit import Mistake

MISTAKES = (
    Mistake(
        "px.from_dlpack([1, 2])",
        TypeError,
        "list has no __dlpack__; use phalanx.asarray for other objects",
    ),
    Mistake(
        'px.from_dlpack(x, device="fake:0", copy=False)',
        BufferError,
        "copy=False, but the memory is on {device} and the result is wanted on fake:0",
    ),
    Mistake(
        "px.asnumpy([1, 2])",
        TypeError,
        "asnumpy takes a phalanx array, got list; use numpy.asarray",
    ),
    Mistake(
        "px.asarray(other, device=device, copy=False)",
        ValueError,
        "copy=False, but float64 on fake:0 must be copied for dtype float64 on {device}",
    ),
    Mistake(
        'px.asarray(x, dtype="float32", copy=False)',
        ValueError,
        "copy=False, but float64 on {device} must be copied for dtype float32 on {device}",
    ),
    Mistake(
        'px.asarray(np.arange(3), dtype="float32", copy=False)',
        ValueError,
        "copy=False, but int64 must be converted to float32",
    ),
    Mistake(
        'x.__dlpack__(dl_device="cpu")',
        TypeError,
        "dl_device is a pair of DLPack's numbers for type and device, such as (1, 0) for the "
        "CPU, got 'cpu'",
    ),
    Mistake(
        "x.__dlpack__(dl_device=(99, 0))",
        BufferError,
        "an array on {device} cannot be exported to DLPack device (99, 0), only to its own "
        "and to (1, 0)",
    ),
    Mistake(
        'x.__array_namespace__(api_version="2019.01")',
        ValueError,
        "Array API version '2019.01' is not implemented; the versions are ('2021.12', "
        "'2022.12', '2023.12', '2024.12', '2025.12')",
    ),
    Mistake(
        "np.exp(x, where=x > 0)",
        TypeError,
        "numpy.exp with where does not take phalanx arrays; write phalanx.exp(...) without",
    ),
    Mistake(
        "np.concatenate([x, other])",
        px.DeviceMismatchError,
        "concat of arrays on {device} and fake:0: move one, for example with "
        'y.to_device("{device}")',
    ),
    Mistake(
        "np.full_like(i, 0.5)",
        TypeError,
        "full: the float 0.5 does not go into int64, as a cast would cut it; convert it first",
    ),
    Mistake(
        "x.to_device(None)",
        TypeError,
        "a device is a string such as 'cpu:0' or a Device, not None; phalanx.get_device() "
        "returns the current one",
    ),
    Mistake(
        "x.to_device(1)",
        TypeError,
        "a device is a string such as 'cpu:0' or a Device, not 1; say of which kind, as in 'gpu:1'",
    ),
    Mistake(
        "x.to_device(other)",
        TypeError,
        "a device is a string such as 'cpu:0' or a Device, not an array (Array); write x.device",
    ),
    Mistake(
        "x.to_device(device, stream=3)",
        TypeError,
        "stream takes a phalanx.Stream of {device}, got int",
    ),
    Mistake(
        'other.to_device(device, stream=px.Stream("fake:0"))',
        px.DeviceMismatchError,
        "a stream of fake:0 does not serve a copy to {device}; make one with "
        'phalanx.Stream("{device}")',
    ),
)
