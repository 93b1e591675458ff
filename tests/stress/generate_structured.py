"""Steps that move, order and reduce elements: views, gathers, sorts, sums, products."""

from __future__ import annotations

import math

from .generate_values import Rule
from .state import (
    EXACT,
    FLOATS,
    INTEGERS,
    NUMBERS,
    SIGNED,
    State,
    Thread,
    Value,
    limit,
)


def _view_of(state: State, x: Value, shape: tuple[int, ...]) -> Value:
    found = state.made(x.device, x.dtype, shape, 0, negative=x.negative)
    found.bound, found.memory = x.bound, x.memory
    found.writable = x.writable
    return found


def _slices(state: State, x: Value) -> tuple[tuple[slice, ...], tuple[int, ...]]:
    choices = (
        slice(None),
        slice(None, None, 2),
        slice(None, None, -1),
        slice(1, None),
        slice(0, 1),
        slice(2, -1),
    )
    key = tuple(state.random.choice(choices) for _ in x.shape)
    spans = (range(n)[k] for n, k in zip(x.shape, key, strict=True))
    return key, tuple(len(span) for span in spans)


def view(state: State, thread: Thread) -> bool:
    """Look at the same memory in another way."""
    x = state.pick(thread)
    if x is None or not x.shape:
        return False
    how = state.random.choice(("slice", "slice", "transpose", "expand", "broadcast", "reshape"))
    args: dict[str, object] = {"how": how}
    if how == "slice":
        args["key"], shape = _slices(state, x)
        out = _view_of(state, x, shape)
    elif how == "transpose":
        axes = tuple(state.random.sample(range(len(x.shape)), len(x.shape)))
        args["axes"] = axes
        out = _view_of(state, x, tuple(x.shape[a] for a in axes))
    elif how == "expand":
        axis = state.random.randint(0, len(x.shape))
        args["axis"] = axis
        shape = (*x.shape[:axis], 1, *x.shape[axis:])
        if len(shape) > 4:
            return False
        out = _view_of(state, x, shape)
    elif how == "broadcast":
        if x.size > 5000 or len(x.shape) > 3:
            return False
        args["shape"] = shape = (3, *x.shape)
        out = _view_of(state, x, shape)
        out.writable = False
    else:
        return _reshape(state, thread, x)
    state.emit(thread, "view", x, out=out, **args)
    return True


def _reshape(state: State, thread: Thread, x: Value) -> bool:
    """A copy in another shape: whether a reshaped array is a view depends on its strides."""
    out = state.made(x.device, x.dtype, (x.size,), x.bound, negative=x.negative)
    on = state.streams(thread, x.device)
    options = {"shape": (x.size,), "copy": True}
    state.emit(thread, "call", x, on=on, out=out, f="reshape", options=options)
    return True


def gather(state: State, thread: Thread) -> bool:
    """Elements of an axis by their places."""
    x = state.pick(thread, filled=True)
    if x is None or not x.shape:
        return False
    how = state.random.choice(("take", "index"))
    axis = state.random.randrange(len(x.shape)) if how == "take" else 0
    extent = x.shape[axis]
    places = tuple(state.random.randrange(-extent, extent) for _ in range(5))
    shape = (*x.shape[:axis], len(places), *x.shape[axis + 1 :])
    out = state.made(x.device, x.dtype, shape, x.bound, negative=x.negative)
    on = state.streams(thread, x.device)
    state.emit(thread, "gather", x, on=on, out=out, how=how, axis=axis, places=places)
    return True


def masked_sum(state: State, thread: Thread) -> bool:
    """Choose by a comparison, and add up what was chosen."""
    x = state.pick(thread, dtypes=NUMBERS)
    if x is None or (x.dtype in EXACT and x.bound * x.size > EXACT[x.dtype]):
        return False
    negative = x.dtype in SIGNED + FLOATS
    out = state.made(x.device, x.dtype, (), x.bound * x.size, negative=negative)
    on = state.streams(thread, x.device)
    state.emit(thread, "masked_sum", x, on=on, out=out, above=1, dtype=x.dtype)
    return True


def sort(state: State, thread: Thread) -> bool:
    """Order elements along an axis, or find their order."""
    x = state.pick(thread, dtypes=NUMBERS, filled=True)
    if x is None or not x.shape:
        return False
    axis = state.random.randrange(len(x.shape))
    f = state.random.choice(("sort", "argsort"))
    dtype, bound, negative = x.dtype, x.bound, x.negative
    if f == "argsort":
        dtype, bound, negative = "int64", x.shape[axis], False
    out = state.made(x.device, dtype, x.shape, bound, negative=negative)
    options = {"axis": axis, "stable": True}
    on = state.streams(thread, x.device)
    state.emit(thread, "call", x, on=on, out=out, f=f, options=options)
    return True


def join(state: State, thread: Thread) -> bool:
    """Put values of one shape behind or upon each other."""
    x = state.pick(thread)
    if x is None or not x.shape or x.size > 60_000:
        return False
    others = [
        v for v in thread.values if (v.dtype, v.device, v.shape) == (x.dtype, x.device, x.shape)
    ]
    chosen = [x, *state.random.sample(others, min(len(others), 2))]
    f = state.random.choice(("concat", "stack"))
    axis = state.random.randrange(len(x.shape))
    shape = list(x.shape)
    if f == "stack":
        if len(shape) > 3:
            return False
        shape.insert(axis, len(chosen))
    else:
        shape[axis] *= len(chosen)
    bound, negative = max(v.bound for v in chosen), any(v.negative for v in chosen)
    out = state.made(x.device, x.dtype, tuple(shape), bound, negative=negative)
    on = state.streams(thread, x.device)
    options = {"axis": axis}
    state.emit(thread, "call", *chosen, on=on, out=out, f=f, sequence=True, options=options)
    return True


_REDUCTIONS = ("sum", "max", "min", "argmax", "argmin", "count_nonzero", "any", "all")


def reduction(state: State, thread: Thread) -> bool:
    """Reduce an axis or all."""
    x = state.pick(thread, filled=True)
    if x is None or not x.shape:
        return False
    f = state.random.choice(_REDUCTIONS)
    axis = state.random.choice((None, *range(len(x.shape))))
    options: dict[str, object] = {"axis": axis}
    count = x.size if axis is None else x.shape[axis]
    rest = () if axis is None else (*x.shape[:axis], *x.shape[axis + 1 :])
    if f in ("any", "all"):
        out = state.made(x.device, "bool", rest, 1, negative=False)
    elif f in ("argmax", "argmin", "count_nonzero"):
        if x.dtype == "bool" and f != "count_nonzero":
            return False
        out = state.made(x.device, "int64", rest, count, negative=False)
    else:
        if x.dtype == "bool":
            return False
        bound = x.bound * count if f == "sum" else x.bound
        if x.dtype in EXACT and bound > EXACT[x.dtype]:
            return False
        if f == "sum":
            options["dtype"] = x.dtype
        out = state.made(x.device, x.dtype, rest, bound, negative=x.negative)
    state.emit(thread, "call", x, on=state.streams(thread, x.device), out=out, f=f, options=options)
    return True


def scan(state: State, thread: Thread) -> bool:
    """Running sums and products."""
    x = state.pick(thread, dtypes=NUMBERS, filled=True)
    if x is None or not x.shape:
        return False
    f = "cumulative_prod" if x.dtype in INTEGERS and state.chance(0.3) else "cumulative_sum"
    axis = state.random.randrange(len(x.shape))
    bound = x.bound * x.shape[axis] if f == "cumulative_sum" else limit(x.dtype) + 1
    if x.dtype in EXACT and bound > EXACT[x.dtype]:
        return False
    negative = x.dtype in SIGNED + FLOATS
    out = state.made(x.device, x.dtype, x.shape, bound, negative=negative)
    options = {"axis": axis, "dtype": x.dtype}
    state.emit(thread, "call", x, on=state.streams(thread, x.device), out=out, f=f, options=options)
    return True


_PRODUCTS = ("int32", "int64", *FLOATS)


def product(state: State, thread: Thread) -> bool:
    """Matrix product of what fits; whole numbers, so every order of the sums is exact."""
    x = state.pick(thread, dtypes=_PRODUCTS, ndim=2)
    if x is None:
        return False
    fitting = [
        v
        for v in thread.values
        if (v.dtype, v.device) == (x.dtype, x.device)
        and len(v.shape) == 2
        and v.shape[0] == x.shape[1]
    ]
    if not fitting:
        return False
    y = state.random.choice(fitting)
    bound = x.bound * y.bound * x.shape[1]
    if x.dtype in EXACT and bound > EXACT[x.dtype]:
        return False
    shape = (x.shape[0], y.shape[1])
    out = state.made(x.device, x.dtype, shape, bound, negative=x.dtype in SIGNED + FLOATS)
    state.emit(thread, "call", x, y, on=state.streams(thread, x.device), out=out, f="matmul")
    return True


def transform(state: State, thread: Thread) -> bool:
    """A Fourier transform and, on another stream, the way back."""
    x = state.pick(thread, dtypes=("float64",), ndim=1, filled=True)
    if x is None or x.bound > 1 << 20 or x.size > 5000:
        return False
    middle = state.made(x.device, "float64", x.shape, x.bound, negative=True)
    out = state.made(x.device, "float64", x.shape, x.bound, negative=x.negative)
    state.emit(thread, "fft", x, on=state.streams(thread, x.device), out=middle)
    thread.values.remove(middle)
    state.emit(thread, "ifft", middle, on=state.streams(thread, x.device), out=out)
    thread.values.append(middle)
    state.drop(thread, middle)
    return True


def inverse(state: State, thread: Thread) -> bool:
    """The inverse of a triangular matrix, rounded on another stream."""
    x = state.pick(thread, dtypes=("float64",), ndim=2, filled=True)
    if x is None or x.shape[0] != x.shape[1] or x.shape[0] > 7 or x.bound > 20:
        return False
    bound = math.ceil((1 + x.bound) ** (x.shape[0] - 1)) + 1
    if bound > 1 << 30:
        return False
    middle = state.made(x.device, "float64", x.shape, bound, negative=True)
    out = state.made(x.device, "float64", x.shape, bound, negative=True)
    state.emit(thread, "inv", x, on=state.streams(thread, x.device), out=middle)
    thread.values.remove(middle)
    state.emit(thread, "rounded", middle, on=state.streams(thread, x.device), out=out)
    thread.values.append(middle)
    state.drop(thread, middle)
    return True


#: The rules of this file with their weights.
RULES: dict[str, tuple[float, Rule]] = {
    "view": (9, view),
    "gather": (4, gather),
    "masked_sum": (2, masked_sum),
    "sort": (3, sort),
    "join": (3, join),
    "reduction": (5, reduction),
    "scan": (3, scan),
    "product": (4, product),
    "transform": (1.5, transform),
    "inverse": (1.5, inverse),
}
