"""Which headers of ``core/scalar`` define the functions that a text calls."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

SCALAR = Path(__file__).resolve().parents[1] / "scalar"

#: A macro that defines functions: its name, which ends in ``_``, its parameters and its lines.
_MACRO = re.compile(r"^#define (PHX_\w+_)\(([^)]*)\)((?:.*\\\n)*.*)", re.MULTILINE)
_USE = re.compile(r"^ *(PHX_\w+_)\((.*)\) *\\?$", re.MULTILINE)
_DEFINITION = re.compile(r"\bPHX_(?:FN|OUTLINE) \w+ (phx_\w+)\(")
_CALL = re.compile(r"\b(phx_\w+)\(")


def _expanded(text: str, macros: dict[str, tuple[list[str], str]]) -> str:
    """Replace the uses of macros by their lines."""

    def lines(use: re.Match[str]) -> str:
        if use[1] not in macros:
            return use[0]
        parameters, body = macros[use[1]]
        for name, value in zip(parameters, use[2].split(","), strict=True):
            body = re.sub(rf"(?:##)?\b{name}\b(?:##)?", value.strip(), body)
        return _expanded(body, macros)

    return _USE.sub(lines, text)


@cache
def expanded_headers(folder: Path = SCALAR) -> dict[str, str]:
    """Return the texts of the headers, without ``.h``, their macros of functions expanded.

    ``x_ff`` is left out beside ``x``: its functions have the same names, and only the kernels of
    devices where double is slow take them, by name.
    """
    paths = {path.stem: path for path in sorted(folder.glob("*.h"))}
    texts = {
        stem: path.read_text("utf-8")
        for stem, path in paths.items()
        if not (stem.endswith("_ff") and stem.removesuffix("_ff") in paths)
    }
    macros = {
        name: ([p.strip() for p in parameters.split(",")], body)
        for text in texts.values()
        for name, parameters, body in _MACRO.findall(text)
    }
    return {header: _expanded(_MACRO.sub("", text), macros) for header, text in texts.items()}


@cache
def _definitions(folder: Path) -> dict[str, str]:
    """The header, without ``.h``, of each function."""
    found: dict[str, str] = {}
    for header, text in expanded_headers(folder).items():
        for name in _DEFINITION.findall(text):
            found.setdefault(name, header)
    return found


def headers_of(*texts: str) -> tuple[str, ...]:
    """Return the headers, without ``.h``, that these C texts need, each once.

    Functions that no header defines are those of the dialect's prelude.
    """
    defined = _definitions(SCALAR)
    calls = (name for text in texts for name in _CALL.findall(text))
    return tuple(dict.fromkeys(defined[name] for name in calls if name in defined))
