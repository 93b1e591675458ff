"""Names of cases: made from pytest's, and unique."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from phalanx.conformance.naming import case_name, group_of, overload_of

ADD = "elementwise[add(float32,float32)->float32]"


@pytest.mark.parametrize(
    ("node", "name"),
    [
        ("groups/runtime/test_copies.py::test_offsets", "runtime/offsets"),
        (f"a/conformance/groups/ops/test_e.py::test_{ADD}", f"ops/{ADD}"),
        (f"tests/groups/ops/test_e.py::test_{ADD}", f"vendor/e.{ADD}"),
        ("groups/ops/test_e.py::test_a[b::c/d]", "ops/a[b::c/d]"),
        ("tmp/acme_tests.py::test_mine", "vendor/acme_tests.mine"),
        ("acme/tests/test_more.py::test_mine[1]", "vendor/more.mine[1]"),
        ("acme/test_more.py::TestClass::test_mine", "vendor/more.TestClass.mine"),
    ],
)
def test_names(node: str, name: str) -> None:
    assert case_name(node) == name
    assert name.startswith(group_of(node))


def test_the_overload_is_in_the_name() -> None:
    found = overload_of(f"ops/{ADD}")
    assert found is not None
    assert (found.op, found.inputs, found.outputs) == ("add", ("float32", "float32"), ("float32",))
    assert str(found) in ADD
    assert overload_of("runtime/offsets") is None


@pytest.mark.needs_cpu
def test_every_case_has_a_name_of_its_own(suite: Callable) -> None:
    done = suite("--group", "runtime", "--quick", "--json", "-n", "2")
    twice = [case for case, n in Counter(o["case"] for o in done.data["outcomes"]).items() if n > 1]
    assert not twice
