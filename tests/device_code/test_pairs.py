"""float32 functions in pairs of float32, where double is slow: the bits are those of double."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import numpy as np
import phalanx as px
import pytest
from emulated.driver import TRAITS, EmulatedDriver
from exhaustive import some_of
from phalanx.conformance.reference.hard import hardest_values
from phalanx.device_code.source import full_text
from phalanx.discovery.plugins import host
from phalanx.driver import Driver
from phalanx.kernels_cuda.dialect import DIALECT
from phalanx.namespace.public import public_function
from proof import pairs_of_two
from proof.pairs import FORMS, SLOW, check

from device_code.texts import GPU, texts_of

pytestmark = pytest.mark.needs_cpu
#: A prime, so that all exponents occur.
_STRIDE = 4093


def _inputs(name: str) -> np.ndarray:
    """Bits of inputs: some of all, some beside zeros of lgamma and digamma, and the hardest."""
    sample = np.arange(0, 1 << 32, _STRIDE, dtype=np.int64).astype(np.uint32)
    zeros = np.float32([1, 1.4616321, 2]).view(np.uint32)
    beside = (zeros[:, np.newaxis] + np.arange(-9, 10).astype(np.uint32)).ravel()
    return np.concatenate([sample, beside, hardest_values(name, "float32").view(np.uint32)])


@pytest.mark.parametrize("name", FORMS)
def test_results_that_pass_the_test_are_those_of_double(name: str) -> None:
    found = check(name, _inputs(name))
    assert found.wrong == ()
    assert 0 < found.decided < 40 + found.used / 8000  # 40: the hardest, of both signs
    assert found.error < FORMS[name].bound


@pytest.mark.parametrize("name", pairs_of_two.HEADERS)
def test_results_of_two_operands_are_those_of_double(name: str) -> None:
    drawn = pairs_of_two.operands(1 << 17, np.random.default_rng(7))
    for kind, (a, b) in drawn.items():
        wrong, decided = pairs_of_two.check(name, a, b)
        assert not wrong
        if kind == "common":
            assert 100 * decided < len(a)
            assert bool(decided) != (name in pairs_of_two.WITHOUT_DOUBT)


@pytest.mark.parametrize(
    ("name", "right", "off"),
    [
        ("floor_divide", "? n - 1.0f : n;", "? n : n;"),
        ("remainder", "r = phx_fmaf(1.0f - n, b, a);", ";"),
        ("remainder", "if (phx_fabsf(b) == PHX_INFF)", "if (0)"),
        ("floor_divide", "QUOTIENT 8388608.0f", "QUOTIENT 1e30f"),
    ],
)
def test_a_step_of_a_quotient_less_is_seen(name: str, right: str, off: str) -> None:
    def edit(text: str) -> str:
        assert text.count(right) == 1
        return text.replace(right, off)

    drawn = list(pairs_of_two.operands(1 << 17, np.random.default_rng(7)).values())
    drawn.append((np.float32([1, -1]), np.float32([np.inf, np.inf])))
    assert any(pairs_of_two.check(name, a, b, edit)[0] for a, b in drawn)


@pytest.mark.parametrize("name", ["pow", "logaddexp"])
def test_results_of_two_operands_would_be_wrong_without_the_test(name: str) -> None:
    def edit(text: str) -> str:
        return re.sub(r"(#define PHX_\w+_BOUND) \S+", r"\1 0.0f", text)

    drawn = pairs_of_two.operands(1 << 19, np.random.default_rng(7))
    assert any(pairs_of_two.check(name, a, b, edit)[0] for a, b in drawn.values())


@pytest.mark.parametrize("name", ["exp", "log"])
def test_without_the_test_results_would_be_wrong(name: str) -> None:
    def edit(text: str) -> str:
        edited, count = re.subn(r"(#define PHX_\w+_BOUND) \S+", r"\1 0.0f", text)
        assert count >= 2
        return edited

    assert check(name, _inputs(name), edit).wrong


@pytest.mark.parametrize(
    ("name", "right", "off"),
    [
        ("exp", "-4.9674966e-09f", "0.0f"),
        ("log", "-1.977644e-08f", "0.0f"),
        ("lgamma", "4.3293764e-09f", "0.0f"),
        ("lgamma", "3.317301e-08f", "0.0f"),
        ("digamma", "+ 1.2654464e-16f", ""),
    ],
)
def test_a_wrong_polynomial_passes_its_bound(name: str, right: str, off: str) -> None:
    def edit(text: str) -> str:
        assert text.count(right) == 1
        return text.replace(right, off)

    assert check(name, _inputs(name), edit).error > FORMS[name].bound


@pytest.fixture
def slow(drivers: dict[str, Driver]) -> Iterator[Callable[..., px.Device]]:
    """Make an emulated device with slow double; its texts are noted."""
    made: list[EmulatedDriver] = []

    def make(texts: list[str]) -> px.Device:
        driver = EmulatedDriver("slow", SLOW, edit=lambda text: texts.append(text) or text)
        host().register_driver(driver)
        made.append(driver)
        return px.devices("slow")[0]

    with px.fallback_policy("error"):
        yield make
    for driver in made:
        host().unregister_driver(driver)


@pytest.mark.parametrize("name", some_of(FORMS, ["exp", "log", "silu", "gelu", "sin", "cbrt"]))
def test_a_device_with_slow_double_has_the_bits_of_the_cpu(
    slow: Callable[..., px.Device], name: str
) -> None:
    texts: list[str] = []
    device = slow(texts)
    everything = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    for x in (_inputs(name)[::64].view(np.float32), hardest_values(name, "float32"), everything):
        got, want = (
            px.asnumpy(public_function(name)(px.asarray(x, device=where)))
            for where in (device, "cpu:0")
        )
        same = (got == want) & (np.signbit(got) == np.signbit(want))
        assert np.all(same | (np.isnan(got) & np.isnan(want)))
    assert any(f"phx_{name}_f32_by_double" in text for text in texts)
    (kernel,) = {k.determinism for k in px.kernels(name, device) if k.dtypes[0] == "float32"}
    assert kernel == "bitwise"


@pytest.mark.parametrize("name", some_of(pairs_of_two.HEADERS, ["pow"]))
def test_so_it_has_of_two_operands(slow: Callable[..., px.Device], name: str) -> None:
    texts: list[str] = []
    device = slow(texts)
    for a, b in pairs_of_two.operands(1 << 12, np.random.default_rng(8)).values():
        got, want = (
            px.asnumpy(public_function(name)(*(px.asarray(x, device=where) for x in (a, b))))
            for where in (device, "cpu:0")
        )
        assert np.all(
            (got.view(np.uint32) == want.view(np.uint32)) | (np.isnan(got) & np.isnan(want))
        )
    assert any(f"phx_{name}_f32_by_double" in text for text in texts)


def test_where_double_is_fast_or_products_are_fused_pairs_are_not_used() -> None:
    (program, *_) = (text.program for text in texts_of("exp", ("float32",) * 2))
    assert "phx_ff" not in full_text(program, DIALECT, GPU)
    assert not TRAITS.slow_double
    assert SLOW.slow_double
