"""What the steps that only compute mean, over any namespace of the Array API: NumPy's or ours.

The reference gives NumPy, the execution gives ``phalanx``: what is tested is all below this line.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .program import Step

Compute = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
_IN_PLACE = {
    "+=": operator.iadd,
    "-=": operator.isub,
    "*=": operator.imul,
    "%=": operator.imod,
    "&=": operator.iand,
    "|=": operator.ior,
    "^=": operator.ixor,
}
_SCALAR = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "%": operator.mod,
    "//": operator.floordiv,
    "<": operator.lt,
    ">=": operator.ge,
    "==": operator.eq,
}


def _call(xp: Any, xs: tuple[Any, ...], args: dict[str, Any]) -> Any:
    options = dict(args.get("options", {}))
    if "dtype" in options:
        options["dtype"] = getattr(xp, options["dtype"])
    function = getattr(xp, args["f"])
    return function(list(xs), **options) if args.get("sequence") else function(*xs, **options)


def _scalar(xp: Any, xs: tuple[Any, ...], args: dict[str, Any]) -> Any:
    del xp
    function, number = _SCALAR[args["f"]], args["number"]
    return function(number, xs[0]) if args.get("left") else function(xs[0], number)


def _cast(xp: Any, xs: tuple[Any, ...], args: dict[str, Any]) -> Any:
    return xp.astype(xs[0], getattr(xp, args["dtype"]))


def _view(xp: Any, xs: tuple[Any, ...], args: dict[str, Any]) -> Any:
    (x,) = xs
    match args["how"]:
        case "slice":
            return x[args["key"]]
        case "transpose":
            return xp.permute_dims(x, args["axes"])
        case "expand":
            return xp.expand_dims(x, axis=args["axis"])
        case how:
            assert how == "broadcast"
            return xp.broadcast_to(x, args["shape"])


def _index(xp: Any, x: Any, places: tuple[int, ...]) -> Any:
    return xp.asarray(np.asarray(places, np.int64), device=x.device)


def _gather(xp: Any, xs: tuple[Any, ...], args: dict[str, Any]) -> Any:
    (x,) = xs
    if args["how"] == "take":
        return xp.take(x, _index(xp, x, args["places"]), axis=args["axis"])
    return x[_index(xp, x, args["places"])]


def _masked_sum(xp: Any, xs: tuple[Any, ...], args: dict[str, Any]) -> Any:
    (x,) = xs
    chosen = x[x > args["above"]]
    return xp.sum(chosen, dtype=getattr(xp, args["dtype"]))


def _in_place(xp: Any, xs: tuple[Any, ...], args: dict[str, Any]) -> Any:
    del xp
    x = xs[0]
    other = xs[1] if len(xs) > 1 else args["number"]
    _IN_PLACE[args["f"]](x, other)


def _assign(xp: Any, xs: tuple[Any, ...], args: dict[str, Any]) -> Any:
    del xp
    x = xs[0]
    x[args["key"]] = xs[1][args["key"]] if len(xs) > 1 else args["number"]


def _scatter(xp: Any, xs: tuple[Any, ...], args: dict[str, Any]) -> Any:
    x, values = xs
    x[_index(xp, x, args["places"])] = values[: len(args["places"])]


def _masked_assign(xp: Any, xs: tuple[Any, ...], args: dict[str, Any]) -> Any:
    del xp
    (x,) = xs
    x[x > args["above"]] = args["number"]


def _chain(xp: Any, xs: tuple[Any, ...], args: dict[str, Any]) -> Any:
    """Many launches in a row, whose temporary results are dropped while they are queued."""
    del xp
    (x,) = xs
    for _ in range(args["length"]):
        x = (x + 1) * 1
    return x


def _transform(xp: Any, xs: tuple[Any, ...], args: dict[str, Any]) -> Any:
    del args
    return xp.fft.fft(xs[0])


def _transform_back(xp: Any, xs: tuple[Any, ...], args: dict[str, Any]) -> Any:
    del args
    return xp.round(xp.real(xp.fft.ifft(xs[0])))


def _inverse(xp: Any, xs: tuple[Any, ...], args: dict[str, Any]) -> Any:
    """Invert a unit lower triangular matrix of whole numbers: its inverse is one, too."""
    del args
    (x,) = xs
    return xp.linalg.inv(xp.tril(x, k=-1) + xp.eye(x.shape[0], dtype=x.dtype, device=x.device))


def _rounded(xp: Any, xs: tuple[Any, ...], args: dict[str, Any]) -> Any:
    del args
    return xp.round(xs[0])


#: The kinds of steps that make a value from others.
PURE: dict[str, Compute] = {
    "call": _call,
    "scalar": _scalar,
    "cast": _cast,
    "view": _view,
    "gather": _gather,
    "masked_sum": _masked_sum,
    "chain": _chain,
    "fft": _transform,
    "ifft": _transform_back,
    "inv": _inverse,
    "rounded": _rounded,
}
#: The kinds that change their first input.
WRITING: dict[str, Compute] = {
    "in_place": _in_place,
    "assign": _assign,
    "scatter": _scatter,
    "masked_assign": _masked_assign,
}


def compute(xp: Any, step: Step, operands: tuple[Any, ...]) -> Any:
    """Take a step of ``PURE`` or ``WRITING``; return the new value, ``None`` for the latter."""
    kinds = PURE if step.kind in PURE else WRITING
    return kinds[step.kind](xp, operands, step.args)
