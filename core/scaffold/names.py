"""Which name a new driver may have."""

from __future__ import annotations

import importlib.util
import keyword
import re

from phalanx.discovery.loading import refused_name
from phalanx.discovery.plugins import entry_points, host
from phalanx.driver import DeviceKind

_KINDS = frozenset(kind.value for kind in DeviceKind)
#: Characters; a name stands in every line of code that speaks of the device.
LONGEST = 20
_PYTHON_WORDS = (*keyword.kwlist, *keyword.softkwlist)
#: Of C11 and C++17 (ISO/IEC 9899:2011, 6.4.1, and 14882:2017, 5.11), as far as a name could be one.
_C_WORDS = """
    alignas alignof asm auto bool case catch char char16_t char32_t const const_cast constexpr
    decltype default delete do double dynamic_cast enum explicit export extern false float friend
    goto inline int long main mutable namespace new noexcept nullptr operator private protected
    public register reinterpret_cast restrict short signed sizeof static static_assert static_cast
    struct switch template this thread_local throw true typedef typeid typename union unsigned
    using virtual void volatile wchar_t
"""

#: The classes that those of a package are derived from, by the name whose own would be called so.
_BASES = {"open": "OpenDevice", "launch": "LaunchEnv"}


def check_name(name: str) -> None:
    """Check that a new driver may have this name; loads the installed plugins.

    Raises:
        ValueError: it is no name for a driver or is taken, and what to do.
    """
    if problem := _form(name) or _taken(name):
        raise ValueError(problem)


def _form(name: str) -> str:
    if name in _KINDS:
        return f"{name!r} is a kind of device; name the driver after its vendor or its model"
    if why := refused_name(name):
        near = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("0123456789_")
        hint = f"; {near!r} would do" if near and not _form(near) else ""
        return f"{name!r} cannot name a driver: {why}{hint}"
    if why := _meaning(name):
        return why
    if "__" in name or name.endswith("_"):
        near = re.sub(r"_+", "_", name).strip("_")
        return f"{name!r} does not make a package's name: one '_' between words; {near!r} would do"
    if len(name) > LONGEST:
        return f"{name!r} has {len(name)} characters, and at most {LONGEST} are read with ease"
    return ""


def _meaning(name: str) -> str:
    """Return what a word means already in the files of a package; empty if nothing."""
    for language, words in (("Python", _PYTHON_WORDS), ("C or C++", _C_WORDS.split())):
        if name in words:
            return f"{name!r} is a keyword of {language}; '{name}_chip', for example, is not"
    if name in _BASES:
        return (
            f"{name!r} would name a class {_BASES[name]}, as that is called which it is derived "
            f"from; '{name}_chip', for example, does not"
        )
    return ""


def _taken(name: str) -> str:
    for entry in entry_points():
        if entry.name == name:
            owner = f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.value
            return f"{name!r} is taken: {owner} is installed and has a plugin of that name"
    if name in host().drivers() or name in host().conflicts():
        owner = host().owner(name) or "an installed plugin"
        return f"{name!r} is taken: {owner} has a driver of that name; `phalanx devices` lists all"
    module = f"{name}_phalanx"
    found = importlib.util.find_spec(module)
    if found is not None:
        return f"{name!r} is taken: there is a module {module} at {found.origin or 'a folder'}"
    return ""
