"""Names of cases: ``group/function[parameter]``, made from what pytest calls them."""

from __future__ import annotations

import re
from functools import cache
from pathlib import PurePosixPath

from .overloads import Overload
from .settings import VENDOR

_NODE = re.compile(
    r"(?P<path>[^:]*)::(?P<classes>(?:\w+::)*)(?P<name>\w+)(?:\[(?P<parameter>.*)\])?$", re.DOTALL
)
_OVERLOAD = re.compile(r"(\w+)\(([\w,]*)\)->([\w,]*)")


def group_of(node: str) -> str:
    """Return the group of a pytest node: the folder of ours, or ``vendor``."""
    return _group_of_file(node.partition("::")[0])


@cache
def _group_of_file(path: str) -> str:
    folders = PurePosixPath(path.replace("\\", "/")).parts[:-1]
    ours = folders[-3:-1] == ("conformance", "groups") or folders[:-1] == ("groups",)
    return folders[-1] if ours else VENDOR


def case_name(node: str) -> str:
    """Return the name of a case for the id of a pytest node."""
    found = _NODE.match(node)
    if found is None:
        return f"{group_of(node)}/{node.rpartition('::')[2]}"
    group = group_of(node)
    function = found["classes"].replace("::", ".") + found["name"].removeprefix("test_")
    if group == VENDOR:
        function = f"{PurePosixPath(found['path']).stem.removeprefix('test_')}.{function}"
    parameter = "" if found["parameter"] is None else f"[{found['parameter']}]"
    return f"{group}/{function}{parameter}"


def group_of_case(case: str) -> str:
    """Return the group of a case, by its name."""
    return case.partition("/")[0]


def overload_of(case: str) -> Overload | None:
    """Return the overload that a case is about, by its name; ``None`` if it is about none."""
    found = _OVERLOAD.search(case)
    if found is None:
        return None
    inputs, outputs = (tuple(text.split(",")) for text in found.groups()[1:])
    return Overload(found[1], inputs, outputs)
