"""Steps that compute: each function adds one to a program, or returns False if it cannot."""

from __future__ import annotations

from collections.abc import Callable

from .state import (
    EXACT,
    FLOATS,
    INTEGERS,
    NUMBERS,
    SIGNED,
    UNSIGNED,
    State,
    Thread,
    Value,
    limit,
)

Rule = Callable[[State, Thread], bool]
_MOST = 200_000


def _exact(dtype: str, bound: int) -> bool:
    return dtype not in EXACT or bound <= EXACT[dtype]


def _broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...] | None:
    n = max(len(a), len(b))
    pairs = zip((1,) * (n - len(a)) + a, (1,) * (n - len(b)) + b, strict=True)
    shape = []
    for i, j in pairs:
        if i != j and 1 not in (i, j):
            return None
        shape.append(j if i == 1 else i)
    return tuple(shape)


def _partner(state: State, thread: Thread, x: Value, *, into: bool = False) -> Value | None:
    """Return a value that goes with x in one call; with ``into``, that fits into x's shape."""
    fitting = []
    for v in thread.values:
        shape = _broadcast(x.shape, v.shape)
        same = v.dtype == x.dtype and v.device == x.device
        if same and shape is not None and (shape == x.shape if into else True):
            fitting.append(v)
    return state.random.choice(fitting) if fitting else None


# Making


def make(state: State, thread: Thread) -> bool:
    """Make a value from the host's memory, or of one number."""
    device = state.random.randrange(len(state.devices)) if state.chance(0.2) else 0
    traits = state.devices[device]
    dtype = state.random.choice(traits.dtypes)
    shape = state.shape()
    on = state.streams(thread, device)
    high = min(limit(dtype), 20)
    low = -high if dtype in SIGNED + FLOATS else 0
    out = state.made(device, dtype, shape, high, negative=low < 0)
    if state.chance(0.2):
        number = bool(state.random.getrandbits(1)) if dtype == "bool" else high - 1
        data = {"shape": shape, "fill_value": number, "dtype": dtype}
        state.emit(thread, "full", on=on, out=out, device=device, data=data)
        return True
    kind = state.random.choice(("upload", "upload", "borrow", "borrow_dlpack"))
    data = {"seed": state.random.getrandbits(31), "shape": shape, "dtype": dtype}
    data |= {"low": low, "high": high}
    state.emit(thread, kind, on=on, out=out, device=device, data=data)
    return True


# Elementwise

_UNARY = {
    "negative": NUMBERS,
    "abs": NUMBERS,
    "sign": NUMBERS,
    "square": NUMBERS,
    "floor": FLOATS,
    "bitwise_invert": ("bool", *INTEGERS),
    "logical_not": ("bool",),
}


def unary(state: State, thread: Thread) -> bool:
    """One operand."""
    f = state.random.choice(tuple(_UNARY))
    x = state.pick(thread, dtypes=_UNARY[f])
    if x is None:
        return False
    bound = x.bound**2 if f == "square" else x.bound
    wraps = f == "negative" and x.dtype in UNSIGNED
    if wraps or (f == "bitwise_invert" and x.dtype != "bool"):
        bound = limit(x.dtype) + 1
    if not _exact(x.dtype, bound):
        return reduce_bound(state, thread, x)
    negative = x.dtype in SIGNED + FLOATS and f not in ("abs", "square")
    if x.dtype in INTEGERS and f in ("abs", "negative"):  # the lowest number stays what it is
        negative = x.dtype in SIGNED
    out = state.made(x.device, x.dtype, x.shape, bound, negative=negative)
    state.emit(thread, "call", x, on=state.streams(thread, x.device), out=out, f=f)
    return True


_ARITHMETIC = ("add", "subtract", "multiply", "maximum", "minimum")
_COMPARISONS = ("less", "equal", "greater_equal", "not_equal")
_LOGIC = ("logical_and", "logical_or", "logical_xor")
_BITS = ("bitwise_and", "bitwise_or", "bitwise_xor")


def binary(state: State, thread: Thread) -> bool:
    """Two operands that broadcast."""
    x = state.pick(thread)
    y = None if x is None else _partner(state, thread, x)
    if x is None or y is None:
        return False
    shape = _broadcast(x.shape, y.shape)
    assert shape is not None
    if Value(0, 0, x.dtype, shape, 0, False, x.memory).size > _MOST:
        return False
    if x.dtype == "bool":
        f = state.random.choice(_LOGIC)
    else:
        extra = _BITS if x.dtype in INTEGERS else ()
        f = state.random.choice((*_ARITHMETIC, *_ARITHMETIC, *_COMPARISONS, *extra))
    bound = max(x.bound, y.bound)
    if f in _BITS or (f == "subtract" and x.dtype in UNSIGNED):
        bound = limit(x.dtype) + 1
    elif f in ("add", "subtract"):
        bound = x.bound + y.bound
    elif f == "multiply":
        bound = x.bound * y.bound
    if not _exact(x.dtype, bound):
        return reduce_bound(state, thread, x)
    is_bool = x.dtype == "bool" or f in _COMPARISONS
    dtype = "bool" if is_bool else x.dtype
    out = state.made(
        x.device, dtype, shape, 1 if is_bool else bound, negative=dtype in SIGNED + FLOATS
    )
    state.emit(thread, "call", x, y, on=state.streams(thread, x.device), out=out, f=f)
    return True


def where(state: State, thread: Thread) -> bool:
    """Choose from two values by a third."""
    mask = state.pick(thread, dtypes=("bool",))
    x = state.pick(thread)
    if mask is None or x is None or mask.device != x.device:
        return False
    shape = _broadcast(mask.shape, x.shape)
    if shape is None:
        return False
    out = state.made(x.device, x.dtype, shape, x.bound, negative=x.negative)
    if out.size > _MOST:
        return False
    on = state.streams(thread, x.device)
    state.emit(thread, "call", mask, x, x, on=on, out=out, f="where")
    return True


def reduce_bound(state: State, thread: Thread, x: Value) -> bool:
    """Take the remainder of a value that has grown too large for exact arithmetic."""
    out = state.made(x.device, x.dtype, x.shape, 7, negative=False)
    on = state.streams(thread, x.device)
    state.emit(thread, "scalar", x, on=on, out=out, f="%", number=7)
    return True


def scalar(state: State, thread: Thread) -> bool:
    """An operand and a Python number."""
    x = state.pick(thread, dtypes=NUMBERS)
    if x is None:
        return False
    f = state.random.choice(("+", "-", "*", "%", "//" if x.dtype in INTEGERS else "%", "<", "=="))
    number = state.random.choice((1, 2, 3, 5))
    bound = {"+": x.bound + number, "-": x.bound + number, "*": x.bound * number}.get(f, x.bound)
    if f == "-" and x.dtype in UNSIGNED:
        bound = limit(x.dtype) + 1
    if not _exact(x.dtype, bound):
        return reduce_bound(state, thread, x)
    is_bool = f in ("<", "==")
    dtype = "bool" if is_bool else x.dtype
    negative = dtype in SIGNED + FLOATS and f != "%"
    out = state.made(x.device, dtype, x.shape, 1 if is_bool else bound, negative=negative)
    left = f in ("+", "-", "*") and state.chance(0.3)
    on = state.streams(thread, x.device)
    state.emit(thread, "scalar", x, on=on, out=out, f=f, number=number, left=left)
    return True


def cast(state: State, thread: Thread) -> bool:
    """Another dtype that holds all elements."""
    x = state.pick(thread)
    if x is None:
        return False
    fitting = [
        dtype
        for dtype in state.devices[x.device].dtypes
        if dtype not in ("bool", x.dtype)
        and limit(dtype) >= x.bound
        and (not x.negative or dtype in SIGNED + FLOATS)
    ]
    if not fitting:
        return False
    dtype = state.random.choice(fitting)
    out = state.made(x.device, dtype, x.shape, x.bound, negative=x.negative)
    state.emit(thread, "cast", x, on=state.streams(thread, x.device), out=out, dtype=dtype)
    return True


def chain(state: State, thread: Thread) -> bool:
    """Many launches in a row, so that a stream is busy for a while."""
    x = state.pick(thread, dtypes=NUMBERS)
    length = state.random.choice((3, 10, 30))
    if x is None or not _exact(x.dtype, x.bound + length):
        return False
    negative = x.dtype in SIGNED + FLOATS
    out = state.made(x.device, x.dtype, x.shape, x.bound + length, negative=negative)
    state.emit(thread, "chain", x, on=state.streams(thread, x.device), out=out, length=length)
    return True


# Writing


def _writes(state: State, thread: Thread, x: Value, bound: int, *, negative: bool) -> None:
    """Note that values over one memory may have other elements now."""
    if x.dtype in INTEGERS and bound > limit(x.dtype):
        bound, negative = limit(x.dtype) + 1, x.dtype in SIGNED
    for v in (*thread.values, *thread.exports.values()):
        if v.memory is x.memory:
            v.bound, v.negative = max(v.bound, bound), v.negative or negative


def in_place(state: State, thread: Thread) -> bool:
    """Change a value by another one, maybe a view of the same memory, or by a number."""
    x = state.pick(thread, dtypes=NUMBERS, writable=True)
    if x is None:
        return False
    on = state.streams(thread, x.device)
    y = _partner(state, thread, x, into=True) if state.chance(0.6) else None
    f = state.random.choice(("+=", "-=", "*="))
    other = y.bound if y is not None else 3
    bound = x.bound * other if f == "*=" else x.bound + other
    if f == "-=" and x.dtype in UNSIGNED:
        bound = limit(x.dtype) + 1
    if not _exact(x.dtype, bound):
        f, y, bound = "%=", None, x.bound
    negative = x.dtype in SIGNED + FLOATS
    if y is None:
        state.emit(thread, "in_place", x, on=on, f=f, number=7 if f == "%=" else 3)
    else:
        state.emit(thread, "in_place", x, y, on=on, f=f)
    _writes(state, thread, x, bound, negative=negative)
    return True


def _key(state: State, shape: tuple[int, ...]) -> tuple[slice, ...]:
    return tuple(
        state.random.choice((slice(None), slice(None, None, 2), slice(1, None), slice(0, 1)))
        for _ in shape
    )


def assign(state: State, thread: Thread) -> bool:
    """Write into a part of a value."""
    x = state.pick(thread, writable=True)
    if x is None or not x.shape:
        return False
    on = state.streams(thread, x.device)
    fitting = [
        v for v in thread.values if (v.dtype, v.device, v.shape) == (x.dtype, x.device, x.shape)
    ]
    key = _key(state, x.shape)
    if fitting and state.chance(0.6):
        y = state.random.choice(fitting)
        state.emit(thread, "assign", x, y, on=on, key=key)
        _writes(state, thread, x, y.bound, negative=y.negative)
    else:
        number = True if x.dtype == "bool" else 1
        state.emit(thread, "assign", x, on=on, key=key, number=number)
        _writes(state, thread, x, 1, negative=False)
    return True


def scatter(state: State, thread: Thread) -> bool:
    """Write to places of the first axis."""
    x = state.pick(thread, writable=True, filled=True)
    if x is None or not x.shape:
        return False
    fitting = [
        v
        for v in thread.values
        if (v.dtype, v.device, v.shape) == (x.dtype, x.device, x.shape) and v.memory is not x.memory
    ]
    if not fitting:
        return False
    y = state.random.choice(fitting)
    count = state.random.randint(1, min(x.shape[0], 8))
    places = tuple(state.random.sample(range(x.shape[0]), count))
    state.emit(thread, "scatter", x, y, on=state.streams(thread, x.device), places=places)
    _writes(state, thread, x, y.bound, negative=y.negative)
    return True


def masked_assign(state: State, thread: Thread) -> bool:
    """Write where a comparison holds."""
    x = state.pick(thread, dtypes=NUMBERS, writable=True)
    if x is None:
        return False
    state.emit(thread, "masked_assign", x, on=state.streams(thread, x.device), above=2, number=1)
    _writes(state, thread, x, 1, negative=False)
    return True


#: The rules of this file with their weights.
RULES: dict[str, tuple[float, Rule]] = {
    "make": (7, make),
    "unary": (4, unary),
    "binary": (12, binary),
    "where": (2, where),
    "scalar": (5, scalar),
    "cast": (3, cast),
    "chain": (2, chain),
    "in_place": (8, in_place),
    "assign": (4, assign),
    "scatter": (3, scatter),
    "masked_assign": (2, masked_assign),
}
