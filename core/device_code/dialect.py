"""A dialect of C: the one text through which a vendor's compiler understands all kernels here.

A dialect's text defines the words of `WORDS`; prelude.h, headers of core/scalar and a kernel's own
text come behind it. The words stand for what C dialects of devices call differently; everything
else in the texts is their common subset: C11 without pointers to functions, recursion and library.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from phalanx.errors import PluginError

if TYPE_CHECKING:
    from .recipe import Traits

_WHOLE = "integer types of two's complement, by their bits"
_REAL = "IEEE 754 arithmetic without contraction, with subnormals, rounding to nearest"
_BITS = "the bits of a float as an unsigned integer, and back"
_EXACT = "correctly rounded, in one operation"
_ROUND = "to an integer: down, up, toward 0, to the nearest and ties to even"
_SIGN = "works on the sign alone"
_PLACE = "numbers of a work-item and counts along axis d (0, 1, 2), unsigned, 64 bits if need be"
#: What a dialect defines. Those of ``f64`` are needed only where ``PHX_FP64`` is 1.
WORDS = {
    **dict.fromkeys(("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"), _WHOLE),
    **dict.fromkeys(("f32", "f64"), _REAL),
    "PHX_FN": "before a function that is inlined, and private to the program",
    "PHX_OUTLINE": "the same, before one that should not be inlined",
    "PHX_TABLE": "(T, name, n): a constant table outside of functions",
    "PHX_KERNEL": "(most): before a kernel's name; its groups have at most so many work-items",
    "PHX_KERNEL_OF": "(n): the same; its groups have n work-items, all of them along axis 0",
    "PHX_GLOBAL": "qualifies what a pointer to the device's memory points to",
    "PHX_PACK": "(T, n, name): declares a type, loaded and stored at once, with n T's in `v`; it "
    "is aligned to its size, a power of two, or to 16 bytes if it is longer",
    "PHX_LOCAL_ARRAY": "(T, name, n): declares an array that a group's work-items share",
    "PHX_LOCAL_PTR": "(T): the type of a pointer into such an array",
    "PHX_BARRIER": "(): all work-items of a group wait here; they then see its local arrays",
    "PHX_BARRIER_GLOBAL": "(): the same, and they see what the group wrote to the device's memory",
    **dict.fromkeys(("PHX_GLOBAL_ID", "PHX_LOCAL_ID", "PHX_GROUP_ID"), f"(d): {_PLACE}"),
    **dict.fromkeys(("PHX_GLOBAL_SIZE", "PHX_LOCAL_SIZE", "PHX_GROUPS"), f"(d): {_PLACE}"),
    "PHX_ATOMIC_CAS": "(p, old, new): on a u32 in the device's memory; returns what was there",
    "PHX_ATOMIC_MAX": "(p, x): on a u32 in the device's memory",
    "PHX_LOCAL_ATOMIC_ADD": "(array, i, x): on element i of a local array of u32",
    "PHX_TO_F32": "(i): an integer as f32, rounded to nearest, ties to even",
    "PHX_TO_F64": "(i): the same as f64",
    **dict.fromkeys(("phx_bits32", "phx_from_bits32", "phx_bits64", "phx_from_bits64"), _BITS),
    **dict.fromkeys(
        ("phx_fmaf", "phx_sqrtf", "phx_dividef", "phx_fma", "phx_sqrt", "phx_divide"), _EXACT
    ),
    **dict.fromkeys(("phx_floorf", "phx_ceilf", "phx_truncf", "phx_rintf"), _ROUND),
    **dict.fromkeys(("phx_floor", "phx_ceil", "phx_trunc", "phx_rint"), _ROUND),
    **dict.fromkeys(("phx_fabsf", "phx_copysignf", "phx_fabs", "phx_copysign"), _SIGN),
    **dict.fromkeys(("PHX_INFF", "PHX_INF"), "infinity as f32 and as f64"),
    **dict.fromkeys(("PHX_NANF", "PHX_NAN"), "the quiet NaN without sign and payload"),
}
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, eq=False)
class Dialect:
    """What a vendor writes for its compiler.

    ``text`` defines `WORDS`; of the optional ones of prelude.h (PHX_HAS_PAIRS, PHX_ORDERED,
    PHX_UNROLL, PHX_ASYNC_COPY with PHX_ASYNC_WAIT, PHX_MATRIX_F64, the atomics of 64 bits) what it
    likes. It finds PHX_FP64 and PHX_EXACT_DIVISION defined as 0 or 1.
    ``options`` returns the compiler's options for a device: none may allow it to contract, to
    flush subnormals or to approximate. ``without_double`` takes the place of the functions of
    core/scalar that compute in double, for devices without; empty if there is none such.

    Raises:
        PluginError: the text lacks words; the message lists them with what they stand for.
    """

    name: str
    text: str
    options: Callable[[Traits], tuple[str, ...]]
    without_double: str = ""

    def __post_init__(self) -> None:
        names = set(_NAME.findall(_COMMENT.sub(" ", self.text)))
        if missing := [word for word in WORDS if word not in names]:
            wanted = "; ".join(f"{word}: {WORDS[word]}" for word in missing)
            raise PluginError(f"the dialect {self.name} lacks {wanted}")
