"""cuFFT and CUB, which work on CuPy's current stream and allocate, under ``reproducible``."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import phalanx as px
import pytest
from array_kit import LAYOUTS
from fake_cuda.kit import Card
from fake_cuda.library_kit import Here, close, drawn
from gpu import libraries as on_a_card
from phalanx.device_code.sort import Sorting
from phalanx.errors import LaunchError, OutOfMemoryError
from phalanx.kernels_cuda import libraries

pytestmark = pytest.mark.needs_cpu


class TestTransforms:
    @pytest.mark.parametrize("name", ["complex64", "complex128"])
    @pytest.mark.parametrize("layout", ["contiguous", "strided", "negative"])
    def test_axes_lengths_and_scales(self, here: Here, name: str, layout: str) -> None:
        x = drawn(name, 4, 6, 5)
        a = LAYOUTS[layout](x, here.card.device)
        cases = itertools.product((0, 1, -1), (None, 3, 9), ("fft", "ifft"), ("backward", "ortho"))
        for calls, (axis, n, op, norm) in enumerate(cases, 1):
            made = getattr(px.fft, op)(a, n=n, axis=axis, norm=norm)
            want = getattr(np.fft, op)(x, n=n, axis=axis, norm=norm)
            close(px.asnumpy(made), want, name, 6)
            assert here.cufft.calls["fft"] == calls

    def test_real_ones_and_several_axes(self, here: Here) -> None:
        x = drawn("float64", 3, 240)
        a = px.asarray(x)
        close(px.asnumpy(px.fft.rfft(a)), np.fft.rfft(x), "float64", 240)
        close(px.asnumpy(px.fft.irfftn(px.fft.rfftn(a))), x, "float64", 9)
        assert here.cufft.calls["fft"] == 5

    def test_rows_need_no_copy_where_two_numbers_tell_them(
        self, here: Here, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Columns do not either; an axis amid others does."""
        made: list[tuple[Any, ...]] = []
        plan = here.cufft.PlanNd

        def noted(*args: Any) -> Any:
            made.append(args[:9])
            return plan(*args)

        monkeypatch.setattr(here.cufft, "PlanNd", noted)
        x = px.asarray(drawn("complex64", 2, 3, 4))
        for axis in (2, 0, 1):
            px.fft.fft(x, axis=axis)
        kind = here.cufft.CUFFT_C2C
        assert made == [
            ((4,), (4,), 1, 4, (4,), 1, 4, kind, 6),
            ((2,), (2,), 12, 1, (2,), 12, 1, kind, 12),
            ((3,), (3,), 1, 3, (3,), 1, 3, kind, 8),
        ]

    def test_nothing_to_transform(self, here: Here) -> None:
        assert px.fft.fft(px.zeros((0, 4), dtype="complex64")).shape == (0, 4)
        made = px.asnumpy(px.fft.fft(px.zeros((2, 0), dtype="complex64"), n=3))
        assert not made.any()
        assert made.shape == (2, 3)

    def test_large_ones_go_to_the_other_kernel(
        self, here: Here, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("phalanx.kernels_cuda.cufft._MOST", 30)
        for shape, axis in (((31,), 0), ((5, 6, 5), 0)):
            x = drawn("complex128", *shape)
            made = px.fft.fft(px.asarray(x), axis=axis)
            close(px.asnumpy(made), np.fft.fft(x, axis=axis), "complex128", 31)
        assert not here.cufft.calls

    def test_plans_are_kept_for_a_stream(self, here: Here) -> None:
        x = px.asarray(drawn("complex64", 3, 16))
        for _ in range(3):
            px.fft.ifft(px.fft.fft(x))
        assert here.cufft.calls["PlanNd"] == here.cufft.plans == 1
        stream = px.Stream(here.card.device)
        px.synchronize()
        with stream:
            px.fft.fft(x)
        assert here.cufft.plans == 2
        stream.close()
        assert here.cufft.plans == 1
        px.empty_cache(here.card.device)
        assert here.cufft.plans == 0
        px.fft.fft(x)
        del x
        here.card.device.close()
        assert here.cufft.calls["PlanNd"] == 3
        assert here.cufft.plans == 0

    def test_the_oldest_plan_goes_when_its_work_is_done(self, here: Here) -> None:
        xs = [drawn("complex64", n) for n in range(2, 13)]
        made = [px.fft.fft(px.asarray(x)) for x in xs]
        assert here.cufft.plans == 8
        for x, y in zip(xs, made, strict=True):
            close(px.asnumpy(y), np.fft.fft(x), "complex64", 13)

    def test_streams_do_not_share_what_they_work_in(self, here: Here) -> None:
        x = px.asarray(drawn("complex128", 5, 12))
        streams = [px.Stream(here.card.device) for _ in range(2)]
        px.synchronize()
        made = []
        for stream in streams:
            with stream:
                y = x + 1
                for _ in range(3):
                    y = px.fft.fft(y) / 4
                made.append(y)
        assert np.array_equal(px.asnumpy(made[0]), px.asnumpy(made[1]))
        assert here.cufft.plans == 2

    @pytest.mark.parametrize("call", ["PlanNd", "fft"])
    def test_a_call_that_fails_is_told(self, here: Here, call: str) -> None:
        x = px.asarray(drawn("complex64", 6))
        here.cufft.fails[call] = 5
        told = r"fft\(complex64, complex64, complex64\) on cudafake:0 by cuFFT: FAKE_STATUS_5"
        with pytest.raises(LaunchError, match=told):
            px.fft.fft(x)
        here.cufft.fails.clear()
        close(px.asnumpy(px.fft.fft(x)), np.fft.fft(px.asnumpy(x)), "complex64", 6)

    def test_no_memory_for_a_plan(self, here: Here, make_card: Callable[..., Card]) -> None:
        x = px.zeros((1 << 20,), dtype="complex64")
        y = px.empty_like(x)
        used = px.memory_stats(here.card.device)["reserved"]
        px.set_memory_limit(used + (9 << 20), here.card.device)
        with pytest.raises(OutOfMemoryError, match=r"cudafake:0"):
            px.fft.fft(x)
        px.set_memory_limit(None, here.card.device)
        assert here.cufft.plans == 0
        assert px.fft.fft(x).shape == y.shape

    def test_a_library_that_cannot_be_loaded(
        self, here: Here, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def load(name: str) -> Any:
            raise ImportError("libcufft.so.11: cannot open shared object file")

        monkeypatch.setattr(libraries, "load", load)
        x = drawn("complex128", 12)
        with pytest.warns(RuntimeWarning, match="cuFFT cannot be used .*so.11.*pip install"):
            made = px.fft.fft(px.asarray(x))
        close(px.asnumpy(made), np.fft.fft(x), "complex128", 12)
        assert {k.determinism for k in px.kernels("fft")} == {"bitwise"}


def tied(name: str, *shape: int) -> np.ndarray[Any, Any]:
    """Numbers of which many are equal, with zeros of both signs and NaN of both."""
    rng = np.random.default_rng(7)
    if name[0] in "iu":
        facts = np.iinfo(name)
        return rng.choice(np.array([0, 1, 5, facts.min, facts.max, 77], name), shape)
    special = [0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.5, -1.5, 1e-40]
    x = rng.standard_normal(shape).astype(name)
    return np.where(rng.random(shape) < 0.5, x, rng.choice(np.array(special, name), shape))


@contextmanager
def in_mode(mode: str) -> Iterator[None]:
    """Another mode for a while."""
    former = px.use_deterministic_algorithms(mode)
    yield
    px.use_deterministic_algorithms(former)


class TestOnACard:
    """What `make gpu` does with the libraries, on stand-ins."""

    @pytest.fixture(autouse=True)
    def _rows_are_long(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Sorting, "digits_from", 300)

    def test_all_is_right(
        self, here: Here, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(on_a_card, "works", lambda *_, works=on_a_card.works: works(66, 300))
        assert on_a_card.main(str(here.card.device)) == 0
        told = capsys.readouterr().out
        assert told.count("(CUB): right") == 8
        assert told.count("(cuBLAS): right") == told.count("(cuFFT): right") == 4
        assert told.count("(cuSOLVER): right") == 8
        for calls in (here.cublas.calls, here.cusolver.calls, here.cufft.calls, here.thrust.calls):
            assert calls

    @pytest.mark.parametrize("op", ["sort", "fft"])
    def test_a_wrong_library_is_seen(
        self, here: Here, monkeypatch: pytest.MonkeyPatch, op: str
    ) -> None:
        """Keys that are not sorted; a transform in the wrong direction."""
        monkeypatch.setattr(here.thrust, "sort", lambda *_: None)
        monkeypatch.setattr(here.cufft, "CUFFT_FORWARD", 1)
        (work, *_) = (work for work in on_a_card.works(66, 300) if work.op == op)
        found = on_a_card.problem(work, str(here.card.device))
        assert found.startswith({"sort": "not the bits", "fft": "an error of"}[op])


class TestSorts:
    @pytest.fixture(autouse=True)
    def _rows_are_long(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Sorting, "digits_from", 300)

    @pytest.mark.parametrize("op", ["sort", "argsort"])
    @pytest.mark.parametrize("name", ["int32", "uint32", "float32", "int64", "uint64", "float64"])
    def test_the_bits_are_those_of_the_other_kernel(self, here: Here, op: str, name: str) -> None:
        x = tied(name, 3, 400)
        for layout, descending in itertools.product(("contiguous", "negative"), (False, True)):
            a = LAYOUTS[layout](x, here.card.device)
            made = getattr(px, op)(a, descending=descending)
            with in_mode("bitwise"):
                want = getattr(px, op)(a, descending=descending)
            assert px.asnumpy(made).tobytes() == px.asnumpy(want).tobytes()
        assert here.thrust.calls == {op: 12}

    def test_along_another_axis(self, here: Here) -> None:
        x = tied("float32", 2, 310, 3)
        for op in ("sort", "argsort"):
            made = getattr(px, op)(px.asarray(x), axis=1)
            with in_mode("bitwise"):
                want = getattr(px, op)(px.asarray(x), axis=1)
            assert px.asnumpy(made).tobytes() == px.asnumpy(want).tobytes()
        assert here.thrust.calls == {"sort": 6, "argsort": 6}

    def test_short_rows_and_short_keys_go_to_the_other_kernel(self, here: Here) -> None:
        for name, n in (("float32", 299), ("int16", 400)):
            x = tied(name, n)
            assert np.array_equal(px.asnumpy(px.sort(px.asarray(x))), np.sort(x), equal_nan=True)
        assert not here.thrust.calls
        assert {k.determinism for k in px.kernels("sort") if "16" in k.dtypes[0]} == {"bitwise"}

    def test_in_the_order_of_its_stream(self, here: Here) -> None:
        x = px.asarray(tied("float64", 500))
        stream = px.Stream(here.card.device)
        px.synchronize()
        with stream:
            y = px.sort(x * 2) + 1
        assert np.array_equal(
            px.asnumpy(y), np.sort(px.asnumpy(x)) * 2 + 1, equal_nan=True
        )  # NaN last

    @pytest.mark.parametrize("op", ["sort", "argsort"])
    def test_a_call_that_fails_is_told(self, here: Here, op: str) -> None:
        x = px.asarray(tied("float32", 400))
        here.thrust.fails[op] = 2
        with pytest.raises(LaunchError, match=rf"{op}\(float32.*cudafake:0 by CUB: FAKE_STATUS_2"):
            getattr(px, op)(x)
        here.thrust.fails.clear()
        assert px.asnumpy(getattr(px, op)(x)).shape == (400,)

    def test_no_memory_to_sort_in(self, here: Here) -> None:
        """The error is the pool's, though C++ has made another one of it."""
        x = px.zeros((1 << 20,), dtype="float32")
        y = px.empty_like(x)
        used = px.memory_stats(here.card.device)["reserved"]
        px.set_memory_limit(used + (8 << 20) + 100, here.card.device)
        with pytest.raises(OutOfMemoryError, match=r"cudafake:0"):
            px.sort(x)
        px.set_memory_limit(None, here.card.device)
        assert px.sort(x).shape == y.shape
