"""NumPy's functions called with our arrays: they run on the arrays' device, or say what to call.

The protocols are those of NEP 13 (``__array_ufunc__``) and NEP 18 (``__array_function__``). Nothing
runs on the host unasked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from phalanx._warm import Array

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
#: What tells only the shape, which is on the host.
_ATTRIBUTES = ("shape", "ndim", "size")


def array_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """``numpy.exp(x)``, ``numpy_array + x`` and the like.

    Raises:
        TypeError: not in the namespace, a method of the ufunc, an argument as ``out``, or arrays of
            others among the operands.
    """
    name = ufunc.__name__
    function = _in_namespace("numpy", name)
    if method != "__call__" or function is None:
        raise TypeError(_refusal(name if method == "__call__" else f"{name}.{method}"))
    if keywords:
        raise TypeError(
            f"numpy.{name} with {', '.join(keywords)} does not take phalanx arrays; write "
            f"phalanx.{function.__name__}(...) without"
        )
    return function(*inputs)


def array_function(function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """``numpy.mean(x)``, ``numpy.concatenate([x, y])`` and the like.

    Raises:
        TypeError: not in the namespace, or arguments that the function there does not take.
    """
    name, module = function.__name__, function.__module__
    first = args[0] if args else None
    if module == "numpy" and isinstance(first, Array):
        if name in _ATTRIBUTES and len(args) == 1 and not keywords:
            return getattr(first, name)
        method = getattr(Array, name, None)
        if callable(method) and name != "sort":  # the method sorts in place
            return method(*args, **keywords)
    ours = _in_namespace(module, name)
    if ours is None:
        raise TypeError(_refusal(name, module))
    return ours(*args, **keywords)


def _in_namespace(module: str, name: str) -> Callable[..., Any] | None:
    import phalanx

    places = {"numpy": phalanx, "numpy.linalg": phalanx.linalg, "numpy.fft": phalanx.fft}
    place = places.get(module)
    name = _STANDARD_NAMES.get(name, name)
    if place is None or name not in place.__all__:
        return None
    found: Callable[..., Any] = getattr(place, name)
    return found


def _refusal(name: str, module: str = "numpy") -> str:
    return (
        f"{module}.{name} does not take phalanx arrays, and phalanx has no such function: for "
        "NumPy's, on the host, write phalanx.asnumpy(x)"
    )
