"""A compiler that does as it likes: the class of the kernels drops, or the device is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import phalanx as px
import pytest
from emulated.driver import TRAITS, EmulatedDevice, EmulatedDriver
from phalanx.discovery.plugins import host
from phalanx.driver import Driver, Layout
from phalanx.errors import DeviceError

#: Sets the processor to flush subnormal results and operands while a kernel runs.
_FLUSHING = (
    "phx_call(name, args);",
    "const unsigned before = __builtin_ia32_stmxcsr(); __builtin_ia32_ldmxcsr(before | 0x8040);"
    " phx_call(name, args); __builtin_ia32_ldmxcsr(before);",
)


@pytest.fixture
def opened(drivers: dict[str, Driver]) -> Iterator[Callable[..., EmulatedDevice]]:
    """Make and open an emulated device."""
    made: list[EmulatedDriver] = []

    def make(*options: str, edit: Callable[[str], str] = str, fp64: bool = True) -> EmulatedDevice:
        driver = EmulatedDriver("odd", replace(TRAITS, fp64=fp64), options=options, edit=edit)
        host().register_driver(driver)
        made.append(driver)
        device = px.devices("odd")[0].ensure_open()
        assert isinstance(device, EmulatedDevice)
        return device

    yield make
    for driver in made:
        host().unregister_driver(driver)


def promise(device: EmulatedDevice, op: str, dtype: str, count: int = 2) -> str:
    """The class of a kernel."""
    kernel = device.kernel(op, (dtype,) * count, Layout.CONTIGUOUS)
    assert isinstance(kernel, px.Kernel)
    return str(kernel.determinism)


def test_an_honest_compiler_changes_nothing(opened: Callable[..., EmulatedDevice]) -> None:
    device = opened()
    assert device.traits == TRAITS
    assert promise(device, "exp", "float32") == "bitwise"


def test_contraction_lowers_what_rounds(opened: Callable[..., EmulatedDevice]) -> None:
    device = opened("-O2", "-ffp-contract=fast")
    assert device.traits == replace(TRAITS, contracts=True)
    assert (
        promise(device, "exp", "float32") == promise(device, "sum", "complex64") == "reproducible"
    )
    assert promise(device, "sort", "float32") == promise(device, "add", "int32", 3) == "bitwise"


def test_flushed_subnormals_lower_single_precision(opened: Callable[..., EmulatedDevice]) -> None:
    def edit(text: str) -> str:  # double is not flushed: that would be refused
        assert _FLUSHING[0] in text
        return text.replace(*_FLUSHING)

    device = opened(edit=edit, fp64=False)
    assert device.traits == replace(TRAITS, fp64=False, subnormals=False)
    assert promise(device, "sum", "float32") == "reproducible"
    assert promise(device, "sum", "int64") == "bitwise"


def test_inexact_division_lowers_what_divides(opened: Callable[..., EmulatedDevice]) -> None:
    def edit(text: str) -> str:
        return text.replace("return a / b;", "return a * (1.0f / b);")

    device = opened(edit=edit, fp64=False)
    assert device.traits == replace(TRAITS, fp64=False, exact_division=False)
    assert promise(device, "mean", "float32") == "reproducible"


_REORDERED = ("-O3", "-fassociative-math", "-fno-signed-zeros", "-fno-trapping-math")
_ROUNDED_TWICE = ("phx_fmaf __builtin_fmaf", "phx_fmaf(a, b, c) ((a) * (b) + (c))")
_SINGLE_ROOT = ("phx_sqrt __builtin_sqrt", "phx_sqrt(x) ((f64)__builtin_sqrtf((f32)(x)))")


@pytest.mark.parametrize(
    ("options", "edit", "reason"),
    [
        (("-ffinite-math-only",), ("\0", ""), "comparisons of NaN"),
        (_REORDERED, ("\0", ""), "the order of sums"),
        ((), _ROUNDED_TWICE, "fma"),
        ((), _FLUSHING, "subnormals"),
        ((), _SINGLE_ROOT, "square root"),
    ],
)
def test_what_no_kernel_survives_is_refused(
    opened: Callable[..., EmulatedDevice],
    options: tuple[str, ...],
    edit: tuple[str, str],
    reason: str,
) -> None:
    with pytest.raises(DeviceError, match=f"odd:0: the compiler breaks {reason}.*self-test"):
        opened(*options, edit=lambda text: text.replace(*edit))
