"""How arrays show: what a program chooses, and HTML."""

from __future__ import annotations

from typing import Any

import numpy as np
import phalanx as px
import pytest


def test_precision_and_exponents(fake: px.Device) -> None:
    x = px.asarray([1 / 3, 1e-5])
    with px.set_printoptions(precision=2, suppress=True):
        assert str(x) == "[0.33 0.  ]"
        assert repr(x).startswith("phalanx.Array([0.33, 0.  ], dtype=float64")
    assert str(x) == str(np.asarray([1 / 3, 1e-5]))


def test_what_is_not_set_is_numpys(fake: px.Device) -> None:
    with np.printoptions(precision=1):
        assert str(px.asarray([1 / 3])) == "[0.3]"
        with px.set_printoptions(precision=3):
            assert str(px.asarray([1 / 3])) == "[0.333]"


@pytest.mark.parametrize(
    ("size", "options", "want"),
    [
        (9, {"threshold": 8, "edgeitems": 1}, "[0 ... 8]"),
        (9, {"threshold": 8, "edgeitems": 2}, "[0 1 ... 7 8]"),
        (3, {"threshold": 2, "edgeitems": 1}, "[0 ... 2]"),
        (3, {"threshold": 3, "edgeitems": 1}, "[0 1 2]"),
        (3, {"sign": "+"}, "[+0 +1 +2]"),
        (12, {"linewidth": 20}, "[ 0  1  2  3  4  5\n  6  7  8  9 10 11]"),
    ],
)
def test_edges_and_lines(fake: px.Device, size: int, options: dict[str, Any], want: str) -> None:
    with px.set_printoptions(**options):
        assert str(px.arange(size)) == want
        if "sign" not in options:
            with np.printoptions(**options):
                assert str(np.arange(size)) == want


def test_a_narrow_line_puts_the_dtype_below(fake: px.Device) -> None:
    with px.set_printoptions(linewidth=40):
        first, second = repr(px.arange(3)).split("\n")
    assert first == "phalanx.Array([0, 1, 2],"
    assert second.strip() == f"dtype=int64, device='{fake}')"


def test_options_add_up(fake: px.Device) -> None:
    with px.set_printoptions(precision=2), px.set_printoptions(edgeitems=1):
        assert px.get_printoptions().precision == 2
        assert px.get_printoptions().edgeitems == 1
    assert px.get_printoptions().precision is None


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"digits": 3}, TypeError, "no 'digits'; it has precision, threshold, edgeitems"),
        ({"precision": 2.5}, TypeError, "precision is of type int, got 2.5"),
        ({"edgeitems": None}, TypeError, "edgeitems is of type int, got None"),
        ({"suppress": 1}, TypeError, "suppress is of type bool, got 1"),
        ({"threshold": -1}, ValueError, "threshold is at least 0, got -1"),
        ({"edgeitems": 0}, ValueError, "edgeitems is at least 1, got 0"),
        ({"linewidth": 0}, ValueError, "linewidth is at least 1, got 0"),
        ({"sign": "*"}, ValueError, "sign is"),
    ],
)
def test_wrong_options(options: dict[str, Any], error: type[Exception], text: str) -> None:
    before = px.get_printoptions()
    with pytest.raises(error, match=text):
        px.set_printoptions(**options)
    assert px.get_printoptions() == before


def test_html(device: px.Device) -> None:
    text = px.reshape(px.arange(6), (2, 3))._repr_html_()
    assert f"2 x 3 int64 on {device}, 48 B" in text
    assert "<pre>[[0 1 2]\n [3 4 5]]</pre>" in text
    assert text.startswith("<div>")
    assert text.endswith("</div>")


@pytest.mark.parametrize(
    ("shape", "want"), [((), "0-d float64"), ((0, 3), "0 x 3 float64"), ((400, 400), "1.2 MiB")]
)
def test_html_of_odd_shapes(fake: px.Device, shape: tuple[int, ...], want: str) -> None:
    text = px.zeros(shape)._repr_html_()
    assert want in text
    assert len(text) < 1000


@pytest.mark.parametrize("name", ["float16", "float32", "float64", "complex64", "complex128"])
def test_one_number_has_the_digits_of_its_dtype(name: str, device: px.Device) -> None:
    """As NumPy's scalars show; the number of Python is wider than most."""
    del device
    for value in (0.1, 1 / 3, 3e4, 1e-7, -0.0, np.inf, np.nan, 65504.0):
        host = np.array(value * (1 - 1j) if name[0] == "c" else value).astype(name)
        x = px.asarray(host)
        assert str(x) == f"{x}" == format(x) == str(host[()])
        if name[0] == "f":
            assert f"{x:.12f}" == format(float(host), ".12f")
    assert str(px.asarray(3)) == "3"
    assert str(px.asarray(True)) == "True"


def test_bfloat16_has_the_digits_that_tell_its_numbers_apart(device: px.Device) -> None:
    del device
    x = px.asarray([0.1, 3.0, px.inf, -px.nan], dtype=px.bfloat16)
    assert str(x) == "[0.1 3.  inf nan]"
    assert repr(x[0]).startswith("phalanx.Array(0.1, dtype=bfloat16")
    assert [str(x[i]) for i in range(3)] == ["0.1", "3.0", "inf"]
    assert str(px.zeros((0,), dtype=px.bfloat16)) == "[]"


def test_each_number_of_bfloat16_shows(fake: px.Device) -> None:
    bits = px.asarray(np.arange(2**16, dtype=np.uint16), device=fake)
    x = bits.view(px.bfloat16)
    x = x[px.isfinite(x)]
    with px.set_printoptions(threshold=2**16):
        shown = str(x).strip("[]").split()
    assert px.all(px.asarray([float(text) for text in shown], dtype=px.bfloat16) == x)
    assert max(len(text.strip("-0.").partition("e")[0].replace(".", "")) for text in shown) <= 4


def test_options_are_for_one_number_too(fake: px.Device) -> None:
    del fake
    x = px.asarray(1 / 3)
    assert str(x) == str(1 / 3)
    with px.set_printoptions(precision=3):
        assert str(x) == "0.333"
    with px.set_printoptions(sign="+"):
        assert str(px.asarray(0.5)) == "+0.5"
    with px.set_printoptions(precision=3, suppress=True):
        assert str(px.asarray(1e-5)) == "0."
