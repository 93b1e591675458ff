"""From a `Program` to the text that a compiler gets, and from its log to our error."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from phalanx.errors import CompileError

from .dialect import Dialect
from .recipe import Program, Traits

_HERE = Path(__file__).parent
#: Headers of which something is left without double; `Dialect.without_double` has the others.
_WITHOUT_DOUBLE = (
    "convert",
    "fourier",
    "francis",
    "fused",
    "integer",
    "order",
    "random",
    "random_gamma",
    "real_basic",
    "softmax_exp",
)
#: Headers whose functions have forms in pairs of float32, for devices where double is slow.
_BY_PAIRS = (
    "real_basic",
    "real_cbrt",
    "real_erf",
    "real_exp",
    "real_gamma",
    "real_gelu",
    "real_log",
    "real_pow",
    "real_sigmoid",
    "real_trig",
)
_INCLUDE = re.compile(r'^#include "(\w+)\.h"\n', re.MULTILINE)
_DOUBLE = re.compile(r"f64|c128|phx_dd\b|phx_split|phx_parts|phx_scaled")
_USES = re.compile(r"(PHX_\w+_)\(")
_BY_NAME = re.compile(r"^PHX_FN f32 (phx_\w+_f32)\(f32 a(?:, f32 b)?\)", re.MULTILINE)
_DEFINED = re.compile(r"^#define (\w+)")
_KERNEL = re.compile(r"\bPHX_KERNEL(?:_OF)?\([^()]*(?:\([^()]*\))*[^()]*\)\s+(\w+)\s*\(")


@cache
def template(name: str) -> str:
    """Return a text of this folder by its file name."""
    return (_HERE / name).read_text(encoding="utf-8")


@cache
def scalar_header(name: str) -> str:
    """Return the text of a header of core/scalar by its name without ``.h``."""
    return (_HERE.parent / "scalar" / f"{name}.h").read_text(encoding="utf-8")


def _items(text: str) -> Iterator[str]:
    """Cut a header into what lies at its top level: comments, directives, definitions."""
    item = ""
    for line in text.splitlines(keepends=True):
        item += line
        if item.startswith("/*"):
            done = "*/" in line
        elif item.startswith("#"):
            done = not line.endswith("\\\n")
        else:
            code = re.sub(r"/\*.*?\*/", "", item, flags=re.DOTALL)
            closed = all(code.count(a) == code.count(b) for a, b in ("()", "{}"))
            done = not code.strip() or (closed and code.rstrip()[-1] in "};)")
        if done:
            yield item
            item = ""
    if item:
        yield item


@cache
def without_double(text: str) -> str:
    """Return a header without everything that mentions double, or a macro that does."""
    kept: list[str] = []
    dropped: set[str] = set()
    for item in _items(text):
        name = _DEFINED.match(item)
        uses = _USES.match(item)
        if item.startswith("/*") or (item.startswith("#") and not name):
            kept.append(item)
        elif _DOUBLE.search(item) or (uses and uses[1] in dropped):
            dropped.update({name[1]} if name else ())
        else:
            kept.append(item)
    return "".join(kept)


def _by_pairs(text: str, pairs: str) -> str:
    """Return a header whose functions that `pairs` defines anew have names of their own."""
    names = "|".join(_BY_NAME.findall(pairs))
    return re.sub(rf"\b({names})\b", r"\1_by_double", text)


def full_text(program: Program, dialect: Dialect, traits: Traits) -> str:
    """Return the dialect, the headers that the program needs, each once, and its source."""
    exact = int(traits.exact_division)
    device = f"#define PHX_FP64 {int(traits.fp64)}\n#define PHX_EXACT_DIVISION {exact}\n"
    head = (device, dialect.text, template("prelude.h"))
    done: dict[str, str] = {}

    def add(name: str) -> None:
        if name in done:
            return
        text = scalar_header(name)
        for needed in _INCLUDE.findall(text):
            add(needed)
        done[name] = _INCLUDE.sub("", text)
        if traits.slow_double and name in _BY_PAIRS:
            done[name] = _by_pairs(done[name], scalar_header(f"{name}_ff"))
            add(f"{name}_ff")

    for name in program.headers:
        add(name)
    if traits.fp64 or not done:
        return "\n".join((*head, *done.values(), program.source))
    for name in ("convert", "real_basic"):
        add(name)
    headers = [without_double(done[name]) for name in done if name in _WITHOUT_DOUBLE]
    return "\n".join((*head, *headers, dialect.without_double, program.source))


def kernel_names(program: Program) -> tuple[str, ...]:
    """Return the names of a program's kernels in the order of its text.

    A text that has them under ``#if`` may name one twice, or one that is left out.
    """
    return tuple(dict.fromkeys(_KERNEL.findall(program.source)))


def compile_error(what: str, log: str, text: str) -> CompileError:
    """Return the error for a program that does not compile."""
    lines = text.splitlines()
    width = len(str(len(lines)))
    numbered = "\n".join(f"{n:{width}}  {line}" for n, line in enumerate(lines, 1))
    head = next((line for line in log.splitlines() if "error" in line.lower()), log.strip())
    message = f"{what} does not compile: {head.strip() or 'the compiler did not say why'}"
    return CompileError(
        f"{message} (the attributes `log` and `source` of this error have all)",
        log=log,
        source=numbered,
    )
