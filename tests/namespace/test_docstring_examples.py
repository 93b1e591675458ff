"""Every public callable has an example at the end of its docstring, which does what it shows.

``PHALANX_TEST_DEVICES=opencl:0`` runs all of them there.
"""

from __future__ import annotations

import doctest
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import phalanx as px
import pytest
from phalanx._warm import BinaryFunction, UnaryFunction
from phalanx.namespace.examples import EXAMPLES
from phalanx.namespace.public import public_function

HOOKS = {"hookimpl", "hookspec"}  # pluggy's
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PARSER = doctest.DocTestParser()


def is_for_users(found: Any) -> bool:
    """Whether a public name is called by users: no exception, and none of a plugin's interfaces."""
    is_error = isinstance(found, type) and issubclass(found, Exception)
    of_drivers = getattr(found, "__module__", "") == "phalanx.driver"
    return callable(found) and not is_error and not of_drivers


def public_callables() -> Iterator[tuple[str, Any]]:
    """What users call, by the name they write: functions and classes, extensions, methods."""
    spaces: dict[str, ModuleType] = {"px": px, "px.fft": px.fft, "px.linalg": px.linalg}
    spaces |= {"px.random": px.random, "px.special": px.special, "px.nn": px.nn}
    for space, module in spaces.items():
        for name in sorted(set(module.__all__) - HOOKS):
            found = getattr(module, name)
            if is_for_users(found):
                yield f"{space}.{name}", found
    for owner in (px.Array, px.random.Generator):
        for name, found in sorted(inspect.getmembers_static(owner)):
            if not name.startswith("_") and (callable(found) or isinstance(found, property)):
                space = "px" if owner is px.Array else "px.random"
                yield f"{space}.{owner.__name__}.{name}", found


def once() -> dict[str, Any]:
    """The callables by their first name: a method may be a function of the namespace as it is."""
    seen: dict[int, str] = {}
    found = dict(public_callables())
    return {name: one for name, one in found.items() if seen.setdefault(id(one), name) == name}


CALLABLES = once()
#: What each shows, and those of them that name a device.
SHOWN = {
    name: example
    for name, found in CALLABLES.items()
    if (example := (found.__doc__ or "").partition("Examples:")[2])
}
OF_THE_CPU = {name for name, example in SHOWN.items() if "cpu" in example}


def where_it_belongs(found: Any) -> str:
    """The file in which an example is missing."""
    if isinstance(found, UnaryFunction | BinaryFunction):
        return "an entry of its name in core/namespace/examples.py"
    function = found.fget if isinstance(found, property) else found
    module = getattr(function, "__module__", None) or "phalanx._warm"  # of a compiled method
    folders = module.removeprefix("phalanx").replace(".", "/")
    path = "core/warm/*.pxi" if folders == "/_warm" else f"core{folders}.py"
    return f"its docstring in {path}"


def examples_of(name: str, found: Any) -> doctest.DocTest:
    """Return what follows the last heading of a docstring; fails if that is not ``Examples:``."""
    text = inspect.cleandoc(found.__doc__ or "")
    headings = re.findall(r"^(\w+:)$", text, re.MULTILINE)
    assert headings[-1:] == ["Examples:"], (
        f"{name} has no example. Write one that teaches something, with the heading Examples: at "
        f"the end; it belongs into {where_it_belongs(found)}"
    )
    part = text.rpartition("\nExamples:\n")[2]
    test = PARSER.get_doctest(part, {"px": px, "np": np}, name, None, 0)
    assert any(example.want for example in test.examples), f"the example of {name} shows nothing"
    return test


def run(name: str, found: Any) -> None:
    """Run an example and fail with what it printed instead."""
    test = examples_of(name, found)
    report: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=OPTIONS)
    with px.fallback_policy("allow"):  # LAPACK and the transforms run on the host
        runner.run(test, out=report.append)
    assert not report, f"the example of {name}:\n{''.join(report)}"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let examples write their files where nobody else does."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", sorted(CALLABLES))
def test_there_is_an_example(name: str) -> None:
    examples_of(name, CALLABLES[name])


@pytest.mark.parametrize("name", sorted(SHOWN.keys() - OF_THE_CPU))
def test_the_example_is_true_on_every_device(name: str, device: px.Device) -> None:
    run(name, CALLABLES[name])


@pytest.mark.needs_cpu
@pytest.mark.parametrize("name", sorted(OF_THE_CPU))
def test_the_example_that_names_the_cpu_is_true(name: str, cpu: px.Device) -> None:
    run(name, CALLABLES[name])


def test_examples_are_true_with_kernels_that_are_compiled_at_first_use() -> None:
    if not px.is_available("opencl:1"):
        pytest.skip("there is no opencl:1; `phalanx why opencl:1` says why")
    with px.device("opencl:1"):
        for name in sorted(EXAMPLES)[::4]:  # each costs a compiler's half second
            run(name, public_function(name))


def test_the_examples_of_the_table_are_those_of_the_elementwise_functions() -> None:
    made = UnaryFunction | BinaryFunction
    assert EXAMPLES.keys() == {f.name for f in CALLABLES.values() if isinstance(f, made)}


def test_a_callable_without_an_example_is_named_with_the_place_for_it() -> None:
    cast = UnaryFunction("copy")
    with pytest.raises(AssertionError, match=r"px\.copy has no example.*namespace/examples\.py"):
        run("px.copy", cast)
    with pytest.raises(AssertionError, match=r"px\.x has no example.*core/namespace/creation\.py"):
        run("px.x", px.arange.__globals__["as_number"])


def test_an_example_that_is_not_true_fails_with_what_came_instead() -> None:
    def wrong() -> None:
        """Return nothing.

        Examples:
            >>> print(px.asarray([1, 2]) + 1)
            [1 2]
        """

    with pytest.raises(AssertionError, match=r"(?s)the example of px\.wrong:.*Got:\n *\[2 3\]"):
        run("px.wrong", wrong)
