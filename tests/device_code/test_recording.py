"""What a recipe launches, written down: ``core/device_code/recording.py``, without a device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import phalanx as px
import pytest
from phalanx.device_code.env import Env
from phalanx.device_code.recording import Check, First, Memory, Recording, record
from phalanx.vendor import Array, Kernel, Layout, current_stream


class _Kernel(str):
    """A kernel, which is its name."""

    __slots__ = ()
    limit = 64


_KERNEL = _Kernel("kernel")
Recipe = Callable[[Env, Sequence[Any], Sequence[Array], tuple[int, ...]], None]


def _recorded(
    launch: Recipe, inputs: Sequence[Any], outputs: Sequence[Array], params: tuple[int, ...] = ()
) -> Recording | None:
    device: Any = SimpleNamespace(traits=None, bound={}, bound_kernel=None)
    recipe = SimpleNamespace(launch=launch)
    kernel = Kernel("add", ("float32",) * 3, Layout.ANY, handle=recipe)
    return record(device, kernel, inputs, outputs, params, current_stream(outputs[0].device))


def _args(found: Recording | None) -> tuple[Any, ...]:
    assert found is not None
    (command,) = found.commands
    return command.args


def test_arguments(fake: px.Device) -> None:
    x, y = px.zeros(8, dtype=px.float32), px.zeros(8, dtype=px.float32)

    def launch(env: Env, inputs: Sequence[Any], outputs: Sequence[Array], params: Any) -> None:
        env.enqueue(_KERNEL, (64,), (8,), inputs[0], outputs[0], b"abc", -1, params[0])

    found = _recorded(launch, [x, 2.5], [y], (7,))
    assert _args(found) == (
        *(Memory(0), First(0, 0, 4), Memory(1), First(1, 0, 4)),
        *(b"abc", (-1).to_bytes(8, "little", signed=True), (7).to_bytes(8, "little")),
    )
    assert found is not None
    assert (found.arrays, found.scratch, found.checks) == (2, (), ())
    assert found.commands[0][:3] == (_KERNEL, (64,), (8,))


def test_one_array_twice_is_two_operands(fake: px.Device) -> None:
    """In the next launch they may be two."""
    x, y = px.zeros(8, dtype=px.float32), px.zeros(8, dtype=px.float32)

    def launch(env: Env, inputs: Sequence[Any], outputs: Sequence[Array], params: Any) -> None:
        del params
        env.enqueue(_KERNEL, (8,), None, *inputs, *outputs)

    memories = [arg for arg in _args(_recorded(launch, [x, x], [y])) if isinstance(arg, Memory)]
    assert memories == [Memory(0), Memory(1), Memory(2)]


def test_views_are_shifted(fake: px.Device) -> None:
    x = px.zeros((4, 8), dtype=px.float64)[1:, 2:]

    def launch(env: Env, inputs: Sequence[Any], outputs: Sequence[Array], params: Any) -> None:
        del params
        row = env.view(inputs[0], (6,), (1,), 8)
        env.enqueue(_KERNEL, (8,), None, env.view(row, (2,), (1,), 3), outputs[0])

    assert _args(_recorded(launch, [x], [x])) == (
        *(Memory(0), First(0, 11 * 8, 8), Memory(1), First(1, 0, 8)),
    )


def test_temporary_arrays_are_operands_behind_the_others(fake: px.Device) -> None:
    x = px.zeros(8, dtype=px.float32)

    def launch(env: Env, inputs: Sequence[Any], outputs: Sequence[Array], params: Any) -> None:
        del params, outputs
        sums, flag = env.scratch(3, "float64"), env.scratch(2, "int64")
        env.enqueue(_KERNEL, (8,), None, inputs[0], env.view(sums, (), (), 2))
        env.enqueue(_KERNEL, (0,), None, inputs[0])  # nothing to do
        env.check_later(flag, _nothing)

    found = _recorded(launch, [x], [x])
    assert found is not None
    assert found.scratch == ((3, "float64"), (2, "int64"))
    assert _args(found) == (Memory(0), First(0, 0, 4), Memory(2), First(2, 16, 8))
    assert found.checks == (Check(3, 0, 16, _nothing),)


def _nothing(numbers: Sequence[int]) -> None:
    del numbers


@pytest.mark.parametrize("what", ["read", "many kernels", "much memory", "many arrays"])
def test_what_is_not_recorded(fake: px.Device, what: str) -> None:
    x = px.zeros(8, dtype=px.float32)

    def launch(env: Env, inputs: Sequence[Any], outputs: Sequence[Array], params: Any) -> None:
        del params, outputs
        if what == "read":
            env.read_int(inputs[0])
        for _ in range(33 if what == "many kernels" else 0):
            env.enqueue(_KERNEL, (8,), None, inputs[0])
        for _ in range(23 if what == "many arrays" else 0):
            env.scratch(1, "int64")
        if what == "much memory":
            env.scratch(2**24, "float64")

    assert _recorded(launch, [x], [x]) is None


def test_errors_of_a_recipe_come_through(fake: px.Device) -> None:
    x = px.zeros(8, dtype=px.float32)

    def launch(env: Env, inputs: Sequence[Any], outputs: Sequence[Array], params: Any) -> None:
        del inputs, outputs, params
        env.enqueue(_KERNEL, (8,), None, 1.5)  # type: ignore[arg-type]

    with pytest.raises(TypeError, match="an array, an int or bytes, not float"):
        _recorded(launch, [x], [x])
