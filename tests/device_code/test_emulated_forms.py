"""`emulated.forms` looks at texts that whole arrays do not have, and sees a mistake in one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import phalanx as px
import pytest
from emulated.driver import EmulatedDriver
from emulated.forms import wrong_calls
from phalanx.conformance.overloads import Overload
from phalanx.discovery.plugins import host
from phalanx.driver import Driver

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


def test_each_layout_has_the_bits(device: Callable[..., px.Device]) -> None:
    texts: list[str] = []
    made = device(lambda text: texts.append(text) or text)
    assert [wrong_calls(number, ADD, made) for number in range(6)] == [[]] * 6
    kernels = {text[text.rindex("PHX_KERNEL") :] for text in texts}
    assert len(kernels) >= 3, "there are several forms"


def test_a_wrong_stride_is_seen(device: Callable[..., px.Device]) -> None:
    """In the form for rows in steps, which whole arrays do not take."""
    edited: list[str] = []

    def edit(text: str) -> str:
        wrong = text.replace("column * x_step", "column / 2 * x_step")
        edited.extend([wrong] * (wrong != text))
        return wrong

    made = device(edit)
    found = [wrong_calls(number, ADD, made) for number in range(6)]
    assert edited
    assert any(found)
