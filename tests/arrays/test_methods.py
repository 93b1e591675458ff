"""Methods of arrays: those of NumPy, CuPy and PyTorch."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import phalanx as px
import pytest
from numpy_check import check

A = np.array([[3.5, -1.0, 2.0], [0.25, 7.0, -2.5]])

SAME: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: x.sum(),
    "sum axis": lambda x: x.sum(0),
    "sum keyword": lambda x: x.sum(axis=(0, 1), keepdims=True),
    "prod": lambda x: x.prod(1),
    "mean": lambda x: x.mean(-1),
    "std": lambda x: x.std(0),
    "var": lambda x: x.var(0),
    "min": lambda x: x.min(0),
    "max": lambda x: x.max(1, keepdims=True),
    "argmin": lambda x: x.argmin(),
    "argmax": lambda x: x.argmax(1),
    "all": lambda x: x.all(),
    "any": lambda x: x.any(0),
    "cumsum": lambda x: x.cumsum(),
    "cumsum axis": lambda x: x.cumsum(0),
    "cumprod": lambda x: x.cumprod(1),
    "reshape": lambda x: x.reshape(3, 2),
    "reshape tuple": lambda x: x.reshape((2, -1)),
    "reshape one": lambda x: x.reshape(-1),
    "ravel": lambda x: x.ravel(),
    "ravel of the transpose": lambda x: x.T.ravel(),
    "flatten": lambda x: x.flatten(),
    "squeeze": lambda x: x[:1].squeeze(),
    "squeeze axis": lambda x: x[:1].squeeze(0),
    "transpose": lambda x: x.transpose(),
    "transpose axes": lambda x: x.transpose(1, 0),
    "transpose tuple": lambda x: x.transpose((1, 0)),
    "swapaxes": lambda x: x.swapaxes(0, -1),
    "copy": lambda x: x.copy(),
    "round": lambda x: x.round(),
    "round decimals": lambda x: (x / 3).round(2),
    "round tens": lambda x: (x * 100).round(-2),
    "clip": lambda x: x.clip(-1, 3),
    "conj": lambda x: x.conj(),
    "conjugate": lambda x: (x * 1j).conjugate(),
    "real": lambda x: (x * 1j).real,
    "imag": lambda x: (x * 1j).imag,
    "imag of reals": lambda x: x.imag,
    "dot": lambda x: x.dot(x.T),
    "dot vector": lambda x: x.dot(x[0]),
    "dot 0-d": lambda x: x.dot(x[0, 0]),
    "dot stack": lambda x: x.reshape(1, 2, 3).dot(x.T.reshape(1, 3, 2)),
    "repeat": lambda x: x.repeat(2, 1),
    "argsort": lambda x: x.argsort(1),
    "nonzero": lambda x: x.nonzero()[1],
    "T of a vector": lambda x: x[0].T,
    "view": lambda x: x.view("int64"),
    "view narrower": lambda x: x.view("float32"),
    "view wider": lambda x: x[:, :2].copy().view("complex128"),
    "divmod": lambda x: divmod(x, 2.0)[1],
    "rdivmod": lambda x: divmod(2.0, x)[0],
    "item": lambda x: x[0, 0].item(),
    "list key": lambda x: x[[1, 0], [0, 2]],
    "mask key": lambda x: x[[True, False]],
    "empty key": lambda x: x[[]],
}


@pytest.mark.parametrize("name", SAME)
def test_is_numpys(device: px.Device, name: str) -> None:
    call = SAME[name]
    ours, want = call(px.asarray(A)), call(A.copy())
    if not isinstance(ours, px.Array):
        assert ours == want
        return
    assert ours.device is device
    assert ours.shape == np.shape(want)
    check(ours, want)


def test_in_place(device: px.Device) -> None:
    x = px.asarray([3, 1, 2])
    assert x.sort() is None  # type: ignore[func-returns-value]
    assert x.tolist() == [1, 2, 3]
    x.sort(descending=True)
    assert x.tolist() == [3, 2, 1]
    view = px.reshape(px.arange(6), (2, 3))[:, ::-2]
    view.sort(0)
    view.fill(7)
    assert view.tolist() == [[7, 7], [7, 7]]
    x.fill(px.asarray(5))
    assert x.tolist() == [5, 5, 5]
    with pytest.raises(TypeError, match="does not go into int64"):
        x.fill(0.5)


def test_numpy_and_cpu(device: px.Device) -> None:
    x = px.asarray(A)
    assert x.numpy().tolist() == A.tolist()
    assert x.take(px.asarray([0, 5])).tolist() == [3.5, -2.5]
    assert x.take(px.asarray([0]), axis=0).shape == (1, 3)
    assert x.take([0, 5]).tolist() == x.take(np.array([0, 5])).tolist() == [3.5, -2.5]
    assert x.astype(np.float32).dtype is px.float32
    assert x.astype("int8").dtype is px.int8


def test_cpu_is_the_first_cpu(cpu: px.Device, fake: px.Device) -> None:
    assert px.ones(2, device=fake).cpu().device is cpu


def test_views_share_memory(device: px.Device) -> None:
    x = px.zeros((2, 3))
    x.ravel()[0] = 1
    x.T[1, 0] = 2
    x.reshape(6)[2] = 3
    x.view("uint64")[1, 0] = 0x3FF0000000000000
    x.flatten()[4] = 9
    x.copy()[1, 1] = 9
    assert x.tolist() == [[1, 2, 3], [1, 0, 0]]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: x.view(px.bool), TypeError, "x != 0"),
        (lambda x: x.T.view("float32"), ValueError, "without gaps"),
        (lambda x: x.view("complex128"), ValueError, "rows of 24 bytes do not divide"),
        (
            lambda x: x.reshape(6)[1:5].view("complex128"),
            ValueError,
            r"at byte \d+ of the memory, is at no multiple of 16; write x.copy()",
        ),
        (lambda x: x[0, 0].view("float32"), ValueError, "without gaps"),
        (lambda x: round(x), TypeError, r"x.round\(decimals\)"),
        (lambda x: math.trunc(x), TypeError, "0-d array"),
        (lambda x: x.swapaxes(0, 2), IndexError, "swapaxes: axis 2 is out of range"),
        (lambda x: x.reshape(4), ValueError, "do not reshape"),
        (lambda x: x.squeeze(0), ValueError, "more than one element"),
        (lambda x: x.sum(2), IndexError, "out of range"),
    ],
)
def test_errors(
    fake: px.Device, call: Callable[[Any], Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        call(px.asarray(A))


@pytest.mark.parametrize("name", ["float64", "float32", "float16", "complex128", "int64", "uint8"])
def test_rounding_to_more_decimals_than_there_are(name: str, device: px.Device) -> None:
    """Finite numbers stay as they are, or are 0 where whole tens of that size lie too far apart."""
    x = px.asarray([0.0, 1.0, 5.0, 200.0], dtype=name)
    for decimals in (309, 400, 10**10):
        assert x.round(decimals).tolist() == x.tolist()
        assert x.round(-decimals).tolist() == [0, 0, 0, 0]
        assert x.round(-decimals).dtype is x.dtype
    if name[0] == "f":
        odd = px.asarray([-1.5, px.inf, -px.inf, px.nan], dtype=name)
        assert str(odd.round(400).tolist()) == "[-1.5, inf, -inf, nan]"
        assert str(odd.round(-400).tolist()) == "[-0.0, inf, -inf, nan]"
        top = px.finfo(x.dtype).max
        for decimals in (2, 4, 38, 300):
            assert px.asarray([top], dtype=name).round(decimals).tolist() == [top]


def test_numbers_of_zero_d_arrays(device: px.Device) -> None:
    s = px.asarray(2.567)
    assert (round(s), round(s, 1), math.trunc(s), math.floor(s), math.ceil(s)) == (3, 2.6, 2, 2, 3)


def test_docs_and_signatures() -> None:
    for name in ("sum", "reshape", "sort", "clip", "astype", "numpy", "real"):
        assert name in dir(px.Array)
        member = inspect.getattr_static(px.Array, name)
        assert member.__doc__
        if callable(member):
            first = next(iter(inspect.signature(member).parameters.values()))
            assert first.kind is inspect.Parameter.POSITIONAL_ONLY


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: x.cuda(), r'write x.to_device\("gpu:0"\)'),
        (lambda x: x.unsqueeze(0), "phalanx.expand_dims"),
        (lambda x: x.maen(), "did you mean x.mean?"),
        (lambda x: x.xyzzy, "no attribute 'xyzzy'$"),
        (lambda x: px.concatenate, "write phalanx.concat$"),
        (lambda x: px.array([1]), "write phalanx.asarray$"),
        (lambda x: px.cumsum, "phalanx.cumulative_sum"),
        (lambda x: px.cross, "phalanx.linalg.cross"),
        (lambda x: px.set_devise, "did you mean phalanx.set_device?"),
        (lambda x: px.__nothing__, "no attribute '__nothing__'$"),
    ],
)
def test_names_of_other_libraries(fake: px.Device, call: Callable[[Any], Any], words: str) -> None:
    with pytest.raises(AttributeError, match=words):
        call(px.asarray(A))


def test_advice_names_what_exists() -> None:
    import re

    from phalanx.namespace import namesakes

    for table in (namesakes._FUNCTIONS, namesakes._METHODS):
        for text in table.values():
            for name in re.findall(r"phalanx\.([a-z_0-9.]+[a-z0-9])", text):
                place: Any = px
                for part in name.split("."):
                    place = getattr(place, part)
            for name in re.findall(r"\bx\.([a-zT_]+)", text):
                assert hasattr(px.Array, name), text


def test_dir_of_the_module() -> None:
    names = dir(px)
    assert {"linalg", "fft", "asarray", "promotion"} <= set(names)
    assert not {n for n in names if not n.startswith("__")} - set(px.__all__)
