"""Writes the package: all of it, or nothing."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from phalanx.version import ABI, OP_TABLE, __version__

_TEMPLATES = Path(__file__).parent / "templates"
_SUFFIX = ".in"
#: The patterns of package data match no hidden names, so templates of these begin otherwise.
_HIDDEN = re.compile(r"(^|/)dot\.")
_PLACEHOLDER = re.compile(r"acme-phalanx|acme|Acme|ACME|@\{\w+\}")
_OPS = f"op-table-{OP_TABLE[0]}.{OP_TABLE[1]}"


@dataclass(frozen=True, slots=True)
class Form:
    """A way to write a driver.

    ``level`` is what the package is certified for as it comes, ``tested`` the levels of its own
    tests, ``data`` the patterns of the files in its wheel besides Python, ``build`` what its build
    needs besides setuptools, ``needs`` the versions of the ABI and the op table that it is for.
    """

    name: str
    summary: str
    level: str
    tested: tuple[str, ...]
    data: tuple[str, ...] = ("py.typed",)
    build: tuple[str, ...] = ()
    needs: tuple[str, ...] = (_OPS,)


FORMS = {
    form.name: form
    for form in (
        Form(
            "c",
            "a shared library with the ABI of phalanx.h",
            "core",
            ("runtime",),
            build=(f"phalanx>={__version__}",),
            needs=(f"abi-{ABI[0]}.{ABI[1]}", _OPS),
        ),
        Form("python", "a driver in Python", "core", ("runtime",)),
        Form(
            "dialect",
            "a dialect of C: Phalanx's kernel texts go through your compiler",
            "bitwise",
            ("runtime",),
            data=("py.typed", "*.hpp"),
        ),
    )
}


def write(name: str, form: Form, parent: Path) -> Path:
    """Write the package of a driver into a new folder of ``parent``; return that folder.

    Raises:
        FileExistsError: the folder is there; nothing was touched.
        OSError: it cannot be written; nothing is left of it.
    """
    target = parent / f"{name.replace('_', '-')}-phalanx"
    if target.exists() or target.is_symlink():
        raise FileExistsError(f"{target} exists, and is left as it is; move it, or use --into")
    with tempfile.TemporaryDirectory(dir=parent, prefix=f".{target.name}-") as place:
        made = Path(place) / target.name
        for template in _templates(form):
            place_of = template.relative_to(_room(template)).as_posix().removesuffix(_SUFFIX)
            path = made / _HIDDEN.sub(r"\1.", _filled(place_of, name, form))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_filled(template.read_text("utf-8"), name, form), "utf-8")
        made.rename(target)
    return target


def _templates(form: Form) -> Iterator[Path]:
    for room in ("shared", form.name):
        yield from sorted((_TEMPLATES / room).rglob(f"*{_SUFFIX}"))


def _room(template: Path) -> Path:
    return _TEMPLATES / template.relative_to(_TEMPLATES).parts[0]


def _filled(text: str, name: str, form: Form) -> str:
    """Fill in a form's values, and a name for ``acme``: with hyphens, as it is, for classes."""
    values = {
        "acme-phalanx": f"{name.replace('_', '-')}-phalanx",
        "acme": name,
        "Acme": "".join(word.capitalize() for word in name.split("_")),
        "ACME": name.upper(),
        "@{version}": __version__,
        "@{level}": form.level,
        "@{needs}": ",".join(form.needs),
        "@{tested}": _quoted(form.tested),
        "@{data}": _quoted(form.data),
        "@{build}": _quoted(("setuptools>=77", *form.build)),
    }
    return _PLACEHOLDER.sub(lambda match: values[match[0]], text)


def _quoted(words: tuple[str, ...]) -> str:
    return ", ".join(f'"{word}"' for word in words)
