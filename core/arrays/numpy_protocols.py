"""NumPy's functions called with our arrays: they run on the arrays' device, or say what to call.

The protocols are those of NEP 13 (``__array_ufunc__``) and NEP 18 (``__array_function__``). What
the namespace has runs there. What it has not is NumPy's own where the device's memory is the
host's, over that memory; elsewhere it is refused: nothing is brought to the host unasked.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from phalanx._warm import Array, DType

from .checks import as_operand
from .data_types import as_dtype
from .promotion import need_kept, need_number

#: Names of NumPy's for what the standard calls otherwise, where the arguments are the same.
_STANDARD_NAMES = {
    "absolute": "abs",
    **{f"arc{name}": f"a{name}" for name in ("cos", "sin", "tan", "cosh", "sinh", "tanh")},
    "arctan2": "atan2",
    "concatenate": "concat",
    "conjugate": "conj",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "power": "pow",
    "right_shift": "bitwise_right_shift",
    "rint": "round",
    "true_divide": "divide",
}
#: Functions whose running form has a name of its own.
_RUNNING = {
    "add": "cumulative_sum",
    "maximum": "cumulative_max",
    "minimum": "cumulative_min",
    "multiply": "cumulative_prod",
}
#: What tells only the shape, which is on the host.
_ATTRIBUTES = ("shape", "ndim", "size")


def array_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """``numpy.exp(x)``, ``numpy_array + x`` and the like.

    Raises:
        TypeError: not in the namespace and not on the host, an argument such as ``out``, or arrays
            of others among the operands.
    """
    name = ufunc.__name__
    if method == "accumulate" and name in _RUNNING and isinstance(inputs[0], Array):
        return _accumulated(_RUNNING[name], *inputs, **keywords)
    ours = _in_namespace("numpy", name) if method == "__call__" else None
    if ours is None:
        name = name if method == "__call__" else f"{name}.{method}"
        return getattr(ufunc, method)(
            *_on_host(inputs, "numpy", name), **_on_host(keywords, "numpy", name)
        )
    dtype = as_dtype(keywords.get("dtype"))
    if dtype is not None and dtype.kind != "b":
        keywords = {name: value for name, value in keywords.items() if name != "dtype"}
        inputs = tuple(_converted(x, dtype, name) for x in inputs)
    if keywords:
        raise TypeError(
            f"numpy.{name} with {', '.join(keywords)} does not take phalanx arrays; write "
            f"phalanx.{ours.__name__}(...) without"
        )
    return ours(*inputs)


def _accumulated(name: str, x: Array, axis: int = 0) -> Any:
    """``numpy.maximum.accumulate(x)`` and the like."""
    import phalanx

    return getattr(phalanx, name)(x, axis=axis)


def array_function(function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """``numpy.mean(x)``, ``numpy.concatenate([x, y])`` and the like.

    Raises:
        TypeError: not in the namespace and not on the host, or arguments that the function there
            does not take.
    """
    name, module = function.__name__, function.__module__
    first = args[0] if args else None
    if module == "numpy" and isinstance(first, Array):
        if name in _ATTRIBUTES and len(args) == 1 and not keywords:
            return getattr(first, name)
        if name in _AS_NUMPY:
            return _AS_NUMPY[name](*args, **keywords)
        method = getattr(Array, name, None)
        if callable(method) and name != "sort":  # the method sorts in place
            return method(*args, **keywords)
    ours = _in_namespace(module, name)
    if ours is None:
        return function(*_on_host(args, module, name), **_on_host(keywords, module, name))
    return ours(*args, **keywords)


def _converted(value: Any, dtype: DType, name: str) -> Any:
    """An operand in the dtype that NumPy's ``dtype=`` asks for, which must not cut it."""
    if isinstance(value, Array):
        need_kept(value, dtype, f"numpy.{name}: an operand")
        return value.astype(dtype)
    number = as_operand(value)
    need_number(number, dtype, f"numpy.{name}")
    return number


def _like(name: str, x: Array, *args: Any, shape: Any = None, **options: Any) -> Any:
    """``numpy.zeros_like(x, shape=...)`` and the like: dtype and device are those of ``x``."""
    import phalanx

    if shape is None:
        return getattr(phalanx, f"{name}_like")(x, *args, **options)
    given = {key: value for key, value in options.items() if value is not None}
    return getattr(phalanx, name)(shape, *args, **{"dtype": x.dtype, "device": x.device, **given})


def _transpose(x: Array, axes: Any = None) -> Any:
    return x.transpose(axes)


def _where(condition: Array, *values: Any) -> Any:
    """``numpy.where``, which takes any condition, also nothing else."""
    from phalanx.namespace.elementwise import where
    from phalanx.namespace.searching import nonzero

    truth = condition if condition.dtype.kind == "b" else condition != 0
    return where(truth, *values) if values else nonzero(truth)


#: Functions whose arguments are NumPy's, where the namespace's or the methods are others.
_AS_NUMPY: dict[str, Callable[..., Any]] = {
    "transpose": _transpose,
    "where": _where,
    **{f"{name}_like": partial(_like, name) for name in ("empty", "full", "ones", "zeros")},
}


def _on_host(value: Any, module: str, name: str) -> Any:
    """Arguments with arrays of the host's memory as NumPy's.

    Raises:
        TypeError: an array lies elsewhere.
    """
    if isinstance(value, Array):
        if not value.device.host_addressable:
            raise TypeError(
                f"{module}.{name} does not take arrays of {value.device}, and phalanx has no such "
                "function: for NumPy's, on the host, write phalanx.asnumpy(x)"
            )
        return value.__array__()
    if isinstance(value, list | tuple):
        parts = [_on_host(v, module, name) for v in value]
        return parts if isinstance(value, list) else tuple(parts)
    if isinstance(value, dict):
        return {k: _on_host(v, module, name) for k, v in value.items()}
    return value


def _in_namespace(module: str, name: str) -> Callable[..., Any] | None:
    import phalanx

    places = {"numpy": phalanx, "numpy.linalg": phalanx.linalg, "numpy.fft": phalanx.fft}
    places["numpy.lib.stride_tricks"] = phalanx
    place = places.get(module)
    name = _STANDARD_NAMES.get(name, name)
    if place is None or name not in place.__all__:
        return None
    found: Callable[..., Any] = getattr(place, name)
    return found
