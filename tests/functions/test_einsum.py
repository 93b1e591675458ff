"""einsum against NumPy: names, paths, diagonals, broadcasting; and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import phalanx as px
import pytest
from array_kit import LAYOUTS, assert_same, generator
from hypothesis import given, settings
from hypothesis import strategies as st
from phalanx.conformance.reference.values import HostArray

SIZES = {"i": 3, "j": 4, "k": 5, "l": 2, "a": 6, "b": 3}
EXPRESSIONS = (
    *("ij,jk->ik", "ij,jk", "ij,kj->ki", "i,j->ij", "i,i", "ij->", "ij->ji", "ij->j", "ii", "bi,b"),
    *("ii->i", "iij->j", "iji->ji", "aij,ajk->aik", "aij,ajk->ik", "ij,ij->ij", "ij,ij->i"),
    *("ij,jk,kl->il", "ij,jk,kl,la->ia", "ijk,kl,j->il", "i,j,k->kji", "ij,ij,ij", "b,bi,bij->j"),
    *("...ij,...jk->...ik", "...i,...i->...", "i...->...i", "...,...", "...ii->...", "ij...->j..."),
    *("ij,k->ij", "a,ab,abi->bi", "ij,j->", " i j , j k -> i k "),
)


def _operands(names: str, rng: np.random.Generator, dtype: str) -> list[HostArray]:
    made = []
    for number, term in enumerate(names.replace(" ", "").partition("->")[0].split(",")):
        letters = term.replace("...", "")
        extents = {"b": SIZES["b"], **SIZES}
        shape = [extents[n] for n in letters]
        if "..." in term:
            at = term.index("...")
            shape[at:at] = [(2, 3), (1, 3), (3,)][number % 3]
        x = rng.standard_normal(shape)
        if dtype.startswith("int"):
            x = rng.integers(-4, 5, shape)
        if dtype.startswith("complex"):
            x = x + 1j * rng.standard_normal(shape)
        made.append(np.asarray(x).astype(dtype))
    return made


@pytest.mark.parametrize("optimize", [False, True, "optimal"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "complex128"])
@pytest.mark.parametrize("names", EXPRESSIONS)
def test_against_numpy(names: str, dtype: str, optimize: Any, device: px.Device) -> None:
    del device
    host = _operands(names, generator(names, dtype), dtype)
    want = np.einsum(names, *host)
    got = px.einsum(names, *(px.asarray(x) for x in host), optimize=optimize)
    assert str(got.dtype) == dtype
    eps = 1e-12 if dtype in ("float64", "complex128") else 1e-4
    np.testing.assert_allclose(px.asnumpy(got), want, rtol=eps, atol=eps)


@settings(deadline=None)
@given(st.lists(st.text("ijkl", max_size=3), min_size=1, max_size=4), st.data())
def test_any_names(terms: list[str], data: st.DataObject) -> None:
    """Any inputs, any result without repeats, any path that NumPy finds."""
    letters = sorted(set("".join(terms)))
    output = "".join(data.draw(st.permutations(letters)))[: data.draw(st.integers(0, 4))]
    names = ",".join(terms) + "->" + output
    rng = np.random.default_rng(len(names))
    host = [rng.integers(-3, 4, [SIZES[n] for n in term]) for term in terms]
    path = np.einsum_path(names, *host, optimize="greedy")[0]
    for optimize in (False, True, "optimal", path):
        got = px.einsum(names, *(px.asarray(x) for x in host), optimize=optimize)
        assert px.asnumpy(got).tolist() == np.einsum(names, *host).tolist()


def test_numbers_for_names(device: px.Device) -> None:
    del device
    a, b = px.asarray([[1, 2], [3, 4]]), px.asarray([10, 100])
    assert px.einsum(a, [0, 1], b, [1], [0]).tolist() == [210, 430]
    assert px.einsum(a, [7, 7]).tolist() == 5
    assert px.einsum(a, [Ellipsis, 0], b, [0], [Ellipsis]).tolist() == [210, 430]


def test_dtypes(device: px.Device) -> None:
    del device
    a = px.asarray([[True, False], [True, True]])
    assert px.einsum("ij,jk", a, a).tolist() == [[True, False], [True, True]]
    x = px.asarray([100, 100], dtype=px.int8)
    assert px.einsum("i,i", x, x, dtype=px.int64).tolist() == 20000
    assert px.einsum("i,i", x, px.asarray([0.5, 0.5], dtype=px.float32)).dtype == px.float32


REFUSALS: dict[str, tuple[str, ...]] = {
    "einsum: 'ij,jk' is for 2 operands, got 1": ("ij,jk", "m"),
    "einsum: 'ijk' names 3 axes, the operand has shape (2, 3)": ("ijk->i", "m"),
    "einsum: the axes of name 'j' have the extents 3 and 2": ("ij,jk", "m", "m"),
    "einsum: 'i' twice takes a diagonal of extents 2 and 3": ("ii", "m"),
    "einsum: the result has 'k', which no operand has, in 'ij->k'": ("ij->k", "m"),
    "einsum: the result names 'i' twice in 'ij->ii'": ("ij->ii", "m"),
    "einsum: names of axes are letters, got '1' in 'i1'": ("i1", "m"),
    'einsum: names are "inputs" or "inputs->output", got \'ij-j\'': ("ij-j", "m"),
    "einsum: 'i..' has more than one ..., or parts of it": ("i..->i", "m"),
    "einsum: 'i...->i' has ... in an operand, and not in the result": ("i...->i", "m"),
    "einsum: the result is one term, got 'i,j'": ("ij->i,j", "m"),
}


@pytest.mark.parametrize("message", REFUSALS)
def test_refusals(message: str, device: px.Device) -> None:
    del device
    names, *arrays = REFUSALS[message]
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole text is compared
        px.einsum(names, *(px.ones((2, 3)) for _ in arrays))
    assert str(caught.value) == message


def test_refused_arguments(device: px.Device) -> None:
    del device
    m = px.ones((2, 3))
    with pytest.raises(TypeError, match="einsum takes a phalanx array, got list"):
        px.einsum("ij", [[1]])
    with pytest.raises(ValueError, match="optimize is False, True, 'greedy', 'optimal' or a path"):
        px.einsum("ij,ij", m, m, optimize="best")
    with pytest.raises(ValueError, match="the path of optimize leaves 2 operands"):
        px.einsum("ij,ij,ij", m, m, m, optimize=["einsum_path", (0, 1)])
    with pytest.raises(ValueError, match=r"\(0, 5\) of optimize does not name some of 2 operands"):
        px.einsum("ij,ij", m, m, optimize=[(0, 5)])
    with pytest.raises(ValueError, match="numbers of axes are from 0 to 51, got 99"):
        px.einsum(m, [0, 99])


@pytest.mark.parametrize("names", ["ij->ji", "ii->i", "iji->ji", "...ij->...ji"])
def test_one_operand_is_seen(names: str, device: px.Device) -> None:
    """What only turns or picks axes is a view, as NumPy's is."""
    shape = {"ij->ji": (3, 4), "ii->i": (4, 4), "iji->ji": (3, 4, 3), "...ij->...ji": (2, 3, 4)}
    host = np.arange(float(np.prod(shape[names]))).reshape(shape[names])
    x = px.asarray(host, device=device)
    seen = px.einsum(names, x)
    assert_same(seen, np.einsum(names, host))
    x[...] = -x
    assert_same(seen, -np.einsum(names, host))


def test_one_operand_of_extent_1_in_a_diagonal(device: px.Device) -> None:
    host = np.arange(3.0)[:, None]
    assert_same(px.einsum("ii->i", px.asarray(host, device=device)), host[:, 0])


@pytest.mark.parametrize("names", ["ij,jk->ki", "bij,bjk->kbi", "ij,kj->ik", "i,i->", "ij,j->i"])
def test_layouts_of_a_product(names: str, device: px.Device) -> None:
    """Products that come in another order, of operands of any strides, to the bit of matmul."""
    host = [np.round(4 * x) for x in _operands(names, generator(names), "float64")]
    for label, layout in LAYOUTS.items():
        got = px.einsum(names, *(layout(x, device) for x in host))
        assert_same(got, np.einsum(names, *host), f"{names} {label}")
        assert_same(+got, np.einsum(names, *host), f"a copy, {names} {label}")


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_windows_that_slide(mode: str, device: px.Device) -> None:
    """Vectors of any stride and of both orders of length, to the bit where sums are whole."""
    host = generator("slid").integers(-9, 9, 40).astype(np.float64)
    for n, m in ((9, 4), (4, 9), (5, 5), (1, 1), (7, 1), (1, 7)):
        a, v = host[3 : 3 + 2 * n : 2], host[20 : 20 + m][::-1]
        x, y = px.asarray(host, device=device), px.asarray(host, device=device)
        got = x[3 : 3 + 2 * n : 2], y[20 : 20 + m][::-1]
        assert_same(px.convolve(*got, mode=mode), np.convolve(a, v, mode), f"{n} {m}")
        assert_same(px.correlate(*got, mode=mode), np.correlate(a, v, mode), f"{n} {m}")
        turned = [g * (1 + 2j) for g in got]
        want = np.correlate(a * (1 + 2j), v * (1 + 2j), mode)
        assert_same(px.correlate(*turned, mode=mode), want, f"complex {n} {m}")


def test_more_axes_than_letters_are_left_for(device: px.Device) -> None:
    """Dots may stand for more axes than the alphabet has letters: beside a diagonal, too."""
    host = np.arange(9.0).reshape(*[1] * 54, 3, 3)
    x = px.asarray(np.arange(9.0).reshape(3, 3), device=device)
    wide = px.reshape(x, host.shape)
    assert_same(px.einsum("...ii->...i", wide), np.arange(9.0)[::4].reshape(*[1] * 54, 3))
    made = px.einsum("...ii,i->...i", wide, x[0])
    assert made.shape == (*[1] * 54, 3)
    assert made.reshape((3,)).tolist() == [0.0, 4.0, 16.0]
