"""`emulated.forms` runs each text of an overload; it sees a mistake, and what did not run."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import phalanx as px
import pytest
from emulated import forms
from emulated.driver import EmulatedDriver
from emulated.forms import wrong_or_missing
from phalanx.conformance.overloads import Overload
from phalanx.discovery.plugins import host
from phalanx.driver import Driver

from device_code import texts

pytestmark = pytest.mark.needs_cpu
ADD = Overload("add", ("float32", "float32"), ("float32",))


@pytest.fixture
def device(drivers: dict[str, Driver]) -> Iterator[Callable[[Callable[[str], str]], px.Device]]:
    """Make an emulated device whose texts are edited."""
    made: list[EmulatedDriver] = []

    def make(edit: Callable[[str], str]) -> px.Device:
        made.append(EmulatedDriver("edited", edit=edit))
        host().register_driver(made[-1])
        return px.devices("edited")[0]

    yield make
    for driver in made:
        host().unregister_driver(driver)


def test_each_text_runs_and_has_the_bits(device: Callable[..., px.Device]) -> None:
    compiled: list[str] = []
    made = device(lambda text: compiled.append(text) or text)
    assert not list(wrong_or_missing(1, ADD, made))
    (text,) = (text for text in compiled if "y_step" in text)
    assert text.count("PHX_KERNEL(") > 8, "all forms are compiled at once"


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("column * x_step", "column / 2 * x_step"),  # rows in steps, which whole arrays do not take
        ("packs * 4", "packs * 4 + 1"),  # behind the last pack
    ],
)
def test_a_mistake_is_seen(device: Callable[..., px.Device], right: str, wrong: str) -> None:
    edited: list[bool] = []

    def edit(text: str) -> str:
        edited.append(right in text)
        return text.replace(right, wrong)

    found = list(wrong_or_missing(1, ADD, device(edit)))
    assert any(edited)
    assert found
    assert "did not run" not in "".join(found)


def test_a_text_that_does_not_run_is_told(
    device: Callable[..., px.Device], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forms, "calls", lambda *given: [next(texts.calls(*given))])
    found = list(wrong_or_missing(1, ADD, device(str)))
    assert found
    assert all("did not run" in each for each in found)
