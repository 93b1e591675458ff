"""What serves an op: a kernel, else other ops down to kernels, else a fallback."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import phalanx as px
import pytest
from phalanx import Kernel, Layout, Refusal
from phalanx.decomposition.choice import decomposition_on
from phalanx.dispatch.registry import support
from phalanx.optable import OPS, WHOLE
from phalanx.testing import ReferenceDevice, ReferenceDriver

Make = Callable[..., ReferenceDriver]


@pytest.fixture(params=[False, True], ids=["emulated", "streams"])
def few(request: pytest.FixtureRequest, make_driver: Make) -> Iterator[ReferenceDriver]:
    """A reference device without `softmax`, `exp`, `sum` and `greater`."""
    missing = ["softmax", "exp", "sum", "greater"]
    driver = make_driver("few", missing=missing, streams=request.param)
    px.fallback_report(reset=True)
    with px.device("few:0"):
        yield driver
    assert px.fallback_report(reset=True) == ()


def test_stays_on_the_device_and_the_stream(few: ReferenceDriver) -> None:
    a = np.array([[1.0, 2.0, 7.0], [-5.0, 0.0, 3.0]])
    with px.Stream("few:0"):
        y = px.softmax(px.asarray(a), axis=-1)
    e = np.exp(a - a.max(-1, keepdims=True))
    np.testing.assert_allclose(px.asnumpy(y), e / e.sum(-1, keepdims=True), rtol=1e-15)
    launched = {launch.op for launch in few.launches}
    assert {"max", "fma", "add", "reciprocal"} <= launched
    assert not launched & {"softmax", "exp", "sum"}


def test_axes_of_no_extent(few: ReferenceDriver) -> None:
    assert px.softmax(px.zeros((3, 0))).shape == (3, 0)
    assert px.sum(px.zeros((0, 3)), axis=0).tolist() == [0.0, 0.0, 0.0]
    assert px.exp(px.zeros((0, 4))).shape == (0, 4)


def test_in_place_strided_broadcast_and_numbers(few: ReferenceDriver) -> None:
    x = px.asarray([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    mask = px.greater(x.T, px.asarray([2.0, 3.0, 9.0]))
    assert mask.tolist() == [[False, False, False], [False, True, False]]
    assert (x > 3).tolist() == [[False, False], [False, True], [True, True]]
    assert px.greater(3, x[::2, 0]).tolist() == [True, False]
    assert px.asnumpy(px.exp(px.asarray(0.0))) == 1.0


class _Real(ReferenceDevice):
    """It has no kernel for complex numbers."""

    def kernel(self, op: str, dtypes: tuple[str, ...], layout: Layout) -> Kernel | Refusal:
        if any(d.startswith("complex") for d in dtypes):
            return Refusal("the unit has no complex numbers")
        return super().kernel(op, dtypes, layout)


def test_aliased_complex_operands(make_driver: Make) -> None:
    make_driver("few", device=_Real)
    z = px.asarray([1 + 2j, 3 - 4j], device="few:0")
    z *= px.asarray([2j, 1 + 1j], device="few:0")
    assert z.tolist() == [-4 + 2j, 7 - 1j]
    z[:] = px.conj(z)
    assert z.tolist() == [-4 - 2j, 7 + 1j]


def test_real_multiplication_is_a_primitive(make_driver: Make) -> None:
    make_driver("few", missing=["multiply"])
    with pytest.raises(px.UnsupportedOpError, match=r"few:0 has no kernel for multiply\(float64"):
        px.ones(2, device="few:0") * 3.0


def test_support_says_how(make_driver: Make) -> None:
    make_driver("few", missing=["exp", "sqrt"], fp64=False)
    device = px.devices("few")[0]
    how = {(s.op, s.dtypes[0]): s.how for s in support(device)}
    assert how["exp", "float32"] == "fallback"  # it is made of float64
    (row,) = (s for s in support(device, "exp") if s.dtypes[0] == "float32")
    assert "fma(float64, float64, float64, float64)" in row.lacks
    assert not any(lack.startswith("exp") for lack in row.lacks)
    assert how["sqrt", "float32"] == "fallback"  # a primitive
    assert how["add", "complex64"] == "native"
    assert how["sum", "float64"] == "fallback"


def test_part_that_is_missing(make_driver: Make) -> None:
    make_driver("few", missing=["acosh", "sqrt"])
    device = px.devices("few")[0]
    assert decomposition_on(device, "acosh", ("float64", "float64")) is None
    with pytest.raises(px.UnsupportedOpError, match="acosh"):
        px.acosh(px.ones(2, device=device))


def test_error_inside_names_the_op(make_driver: Make) -> None:
    driver = make_driver("few", missing=["exp"])
    x = px.ones(3, device="few:0")
    driver.faults.launch["fma"] = px.LaunchError("the unit for fma is on fire")
    with pytest.raises(px.LaunchError, match="on fire") as caught:
        px.exp(x)
    assert caught.value.__notes__ == ["while few:0 computed exp(float64, float64) by other ops"]


class _Loose(ReferenceDevice):
    """Its own `exp` and `greater` repeat on this device alone, and so does `fma` if it is told."""

    loose = frozenset({"exp", "greater"})

    def kernel(self, op: str, dtypes: tuple[str, ...], layout: Layout) -> Kernel | Refusal:
        if op in self.loose:
            return self.made(op, dtypes, layout, "reproducible")
        return super().kernel(op, dtypes, layout)


def test_mode_takes_what_holds_it(make_driver: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = make_driver("few", device=_Loose)
    x = px.ones(3, device="few:0")
    former = px.use_deterministic_algorithms("bitwise")
    try:
        px.exp(x)
        launched = {launch.op for launch in driver.launches}
        assert "fma" in launched
        assert "exp" not in launched
        monkeypatch.setattr(_Loose, "loose", frozenset({"exp", "fma"}))
        driver.open_devices[0]._kernels.clear()
        px.use_deterministic_algorithms(None)
        px.use_deterministic_algorithms("bitwise")
        with pytest.raises(px.UnsupportedOpError, match="reproducible"):
            px.exp(x)
    finally:
        px.use_deterministic_algorithms(former)


def test_the_chip_serves_the_table(chip: px.Device) -> None:
    found = list(support(chip))
    assert {s.op for s in found if s.how not in ("native", "decomposed")} == set(WHOLE)
    assert sum(s.how == "native" for s in found) < 90
    assert len(found) == sum(len(row.signatures) for row in OPS.values())
