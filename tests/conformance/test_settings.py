"""What a run is told."""

from __future__ import annotations

import shlex

import pytest
from phalanx.conformance.settings import GROUP_LEVELS, GROUPS, Level, Settings, unknown

ADD = "ops/elementwise[add(float32,float32)->float32]"


def test_levels_are_ordered_and_named() -> None:
    assert [lv.title for lv in sorted(Level)] == ["runtime", "core", "array-api", "bitwise"]
    assert all(Level.named(lv.title) is lv for lv in Level)
    assert set(GROUP_LEVELS) == set(GROUPS)


def test_what_is_wanted() -> None:
    case = ("ops/x", "ops", Level.CORE, "add", ("float32", "int8"))
    assert Settings("d:0").wants(*case)
    assert not Settings("d:0", Level.RUNTIME).wants(*case)
    assert Settings("d:0", ops=("add",), dtypes=("int8",), groups=("ops",)).wants(*case)
    assert not Settings("d:0", ops=("exp",)).wants(*case)
    assert not Settings("d:0", dtypes=("int16",)).wants(*case)
    assert not Settings("d:0", groups=("runtime",)).wants(*case)
    assert Settings("d:0", Level.RUNTIME, cases=("ops/x",)).wants(*case)


def test_the_command_that_repeats_a_case_is_for_a_shell() -> None:
    settings = Settings("acme:0", quick=True, seed=7, fault="none")
    words = shlex.split(settings.repeat_command(ADD))
    assert words[:6] == ["phalanx", "conformance", "--device", "acme:0", "--case", ADD]
    assert words[6:] == ["--seed", "7", "--quick", "--fault", "none"]


def test_a_narrowed_run_is_known() -> None:
    assert not Settings("d:0", quick=True, level=Level.RUNTIME).narrowed
    assert Settings("d:0", groups=("vendor",)).narrowed


@pytest.mark.parametrize("names", [["apple", "pear"], [f"name{i:03}" for i in range(30)]])
def test_an_unknown_name_gets_what_is_close_or_what_there_is(names: list[str]) -> None:
    assert unknown("fruit", names[0] + "s", names).startswith(
        f"unknown fruit '{names[0]}s'; did you mean '{names[0]}'"
    )
    found = unknown("fruit", "xyz", names)
    assert found.endswith("apple, pear" if len(names) < 20 else "there are 30 others, as 'name000'")
