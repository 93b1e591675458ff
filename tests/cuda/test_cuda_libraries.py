"""NVIDIA's libraries through CuPy under the mode ``reproducible``, on stand-ins for all."""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import phalanx as px
import pytest
from array_kit import LAYOUTS
from fake_cuda import cupy_cuda, numeric
from fake_cuda.kit import Card
from fake_cuda.library_kit import DTYPES, Here, close, drawn
from phalanx import linalg
from phalanx.errors import LaunchError
from phalanx.kernels_cuda import libraries

pytestmark = pytest.mark.needs_cpu
LETTERS = dict(zip(DTYPES, "sdcz", strict=True))
SIGNATURES = numeric.SIGNATURES | cupy_cuda.SIGNATURES


class TestWhatThereIs:
    def test_both_classes_are_listed(self, here: Here) -> None:
        titles = {"matmul": "cuBLAS", "cholesky": "cuSOLVER", "eigh": "cuSOLVER"}
        for op, title in (titles | {"fft": "cuFFT", "sort": "CUB", "argsort": "CUB"}).items():
            found = {(k.determinism, k.provider) for k in px.kernels(op) if "64" in k.dtypes[0]}
            assert ("reproducible", f"cupy 14.2.0 ({title})") in found
            assert ("bitwise", "phalanx.kernels_cuda") in found
        assert {k.determinism for k in px.kernels("matmul") if "int" in k.dtypes[0]} == {"bitwise"}
        assert {k.determinism for k in px.kernels("lu")} == {"bitwise"}

    def test_only_this_mode_takes_them(self, here: Here) -> None:
        x = px.asarray(drawn("float64", 9, 9))
        for mode in (None, "bitwise"):
            px.use_deterministic_algorithms(mode)
            x @ x
            assert not here.cublas.calls
        px.use_deterministic_algorithms("reproducible")
        for _ in range(4):  # nor are they recorded for launches that come again
            x @ x
        assert here.cublas.calls["dgemmStridedBatched"] == 4

    def test_without_cupy(self, here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(libraries, "_version", lambda: "")
        px.use_deterministic_algorithms("reproducible")
        x = px.asarray(drawn("float64", 9, 9))
        x @ x
        assert not here.cublas.calls
        assert {k.determinism for k in px.kernels("matmul")} == {"bitwise"}
        assert "without CuPy there are no kernels of cuBLAS, cuSOLVER, cuFFT and CUB" in here.why()

    @pytest.mark.parametrize(
        ("version", "there", "told"),
        [
            (
                "13.6.0",
                set(),
                "cuFFT needs CuPy 14.0, which takes streams of others; CUB needs",
            ),
            (
                "14.0.1",
                {"cuBLAS", "cuFFT"},
                "CUB needs CuPy 14.1, whose sorts tell that memory has",
            ),
            ("14.1.0rc1", {"cuBLAS", "cuFFT", "CUB"}, "has cuBLAS, cuSOLVER, cuFFT and CUB for"),
        ],
    )
    def test_an_old_cupy(
        self,
        here: Here,
        monkeypatch: pytest.MonkeyPatch,
        version: str,
        there: set[str],
        told: str,
    ) -> None:
        monkeypatch.setattr(libraries, "_version", lambda: version)
        titles = {"matmul": "cuBLAS", "fft": "cuFFT", "sort": "CUB"}
        for op, title in titles.items():
            providers = {k.provider for k in px.kernels(op)}
            assert (f"cupy {version} ({title})" in providers) == (title in there)
        assert told in here.why()
        px.use_deterministic_algorithms("reproducible")
        px.fft.fft(px.asarray(drawn("complex64", 4)))
        assert bool(here.cufft.calls) == ("cuFFT" in there)

    def test_a_library_that_cannot_be_loaded_is_told_once(
        self, here: Here, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def load(name: str) -> Any:
            if name == "cublas":
                raise ImportError("libcublas.so.12: cannot open shared object file")
            return here.load(name)

        monkeypatch.setattr(libraries, "load", load)
        assert (
            "CuPy 14.2.0 has cuBLAS, cuSOLVER, cuFFT and CUB for the mode 'reproducible'"
            in here.why()
        )
        host = drawn("float64", 9, 9)
        x = px.asarray(host)
        with pytest.warns(RuntimeWarning, match="cuBLAS cannot be used .*so.12.*pip install"):
            made = x @ x
        close(px.asnumpy(made), host @ host, "float64", 9)
        x @ x
        assert {k.determinism for k in px.kernels("matmul")} == {"bitwise"}
        told = here.why()
        assert "CuPy 14.2.0 has cuSOLVER, cuFFT and CUB for" in told
        assert "cuBLAS cannot be used (libcublas.so.12" in told

    def test_listing_imports_nothing(self) -> None:
        text = "import sys; from phalanx.device_plugins import cuda; print('cupy' in sys.modules)"
        run = subprocess.run(
            [sys.executable, "-c", text], capture_output=True, text=True, check=True
        )
        assert run.stdout.strip() == "False"


@pytest.mark.parametrize("module", sorted(SIGNATURES))
def test_the_parameters_are_cupys(module: str) -> None:
    """Where CuPy and the libraries are installed; no card is needed."""
    text = (
        "import sys; from phalanx.kernels_cuda.libraries import load; library = load(sys.argv[1])\n"
        "print(*(getattr(library, name).__doc__ for name in sys.argv[2:]), sep=chr(10))"
    )
    wanted = SIGNATURES[module]
    run = subprocess.run(
        [sys.executable, "-c", text, module, *wanted], capture_output=True, text=True, check=False
    )
    if "ImportError" in run.stderr or "ModuleNotFoundError" in run.stderr:
        pytest.skip(run.stderr.splitlines()[-1])
    told = run.stdout.splitlines()
    assert len(told) == len(wanted), run.stderr
    for found, (name, parameters) in zip(told, wanted.items(), strict=True):
        assert found.startswith(f"{name}({parameters})")


class TestProducts:
    @pytest.mark.parametrize("name", DTYPES)
    def test_layouts(self, here: Here, name: str) -> None:
        """Rows, columns, parts of larger matrices; what cuBLAS cannot read goes its own way."""
        device = here.card.device
        for (m, k, n), (left, right) in itertools.product(
            ((5, 7, 3), (1, 6, 4), (4, 1, 5), (6, 3, 1), (1, 1, 1)),
            itertools.product(("rows", "columns", "part"), repeat=2),
        ):
            a, b = drawn(name, m, k), drawn(name, k, n)
            made = laid(a, left, device) @ laid(b, right, device)
            close(px.asnumpy(made), a @ b, name, k)
        assert (
            here.cublas.calls[f"{dict(zip(DTYPES, 'sdcz', strict=True))[name]}gemmStridedBatched"]
            == 45
        )

    @pytest.mark.parametrize("layout", ["strided", "negative"])
    def test_what_it_cannot_read_goes_to_the_other_kernel(self, here: Here, layout: str) -> None:
        a, b = drawn("float64", 5, 6), drawn("float64", 6, 4)
        made = LAYOUTS[layout](a, here.card.device) @ px.asarray(b)
        close(px.asnumpy(made), a @ b, "float64", 6)
        assert not here.cublas.calls["dgemmStridedBatched"]

    def test_stacks(self, here: Here) -> None:
        shapes = [
            ((4, 3, 5), (4, 5, 2), 1),
            ((2, 4, 3, 5), (2, 4, 5, 2), 1),
            ((4, 3, 5), (5, 2), 1),
            ((2, 1, 3, 5), (1, 4, 5, 2), 2),
            ((3, 2, 1, 3, 5), (1, 4, 5, 2), None),
            ((3, 5), (6, 5, 2), 1),
        ]
        for left, right, calls in shapes:
            a, b = drawn("float64", *left), drawn("float64", *right)
            before = here.cublas.calls["dgemmStridedBatched"]
            close(px.asnumpy(px.asarray(a) @ px.asarray(b)), a @ b, "float64", 5)
            made = here.cublas.calls["dgemmStridedBatched"] - before
            assert made == calls or (calls is None and made > 1)
        x = drawn("float64", 4, 3, 5)
        moved = px.moveaxis(px.asarray(x), 0, 1)  # matrices between which others lie
        close(
            px.asnumpy(moved @ moved.mT),
            np.moveaxis(x, 0, 1) @ np.moveaxis(x, 0, 1).mT,
            "float64",
            5,
        )

    def test_nothing_to_multiply(self, here: Here) -> None:
        for left, right in (((3, 0), (0, 2)), ((0, 3), (3, 2)), ((2, 0, 3), (3, 4))):
            made = px.zeros(left) @ px.zeros(right)
            assert px.asnumpy(made).tolist() == (np.zeros(left) @ np.zeros(right)).tolist()
        assert not here.cublas.calls["dgemmStridedBatched"]

    def test_in_the_order_of_its_stream(self, here: Here) -> None:
        """One handle for each stream, without TF32, gone with the stream."""
        x = px.asarray(drawn("float64", 20, 20))
        streams = [px.Stream(here.card.device) for _ in range(2)]
        px.synchronize()
        made = []
        for stream in streams:
            with stream:
                y = x + 1
                for _ in range(3):
                    y = y @ y / 100
                made.append(y)
        assert here.cublas.calls["create"] == len(set(here.cublas.live.values())) == 2
        assert set(here.cublas.modes.values()) == {here.cublas.CUBLAS_DEFAULT_MATH}
        assert np.array_equal(px.asnumpy(made[0]), px.asnumpy(made[1]))
        streams[0].close()
        assert len(here.cublas.live) == 1
        del x, y, made
        here.card.device.close()
        assert not here.cublas.live

    @pytest.mark.parametrize("call", ["create", "setMathMode", "dgemmStridedBatched"])
    def test_a_call_that_fails_is_told(self, here: Here, call: str) -> None:
        x = px.asarray(drawn("float64", 5, 5))
        here.cublas.fails[call] = 3
        told = r"matmul\(float64, float64, float64\) on cudafake:0 by cuBLAS: FAKE_STATUS_3"
        with pytest.raises(LaunchError, match=told):
            x @ x
        here.cublas.fails.clear()
        close(px.asnumpy(x @ x), px.asnumpy(x) @ px.asnumpy(x), "float64", 5)
        assert len(here.cublas.live) == 1


def laid(x: np.ndarray[Any, Any], how: str, device: px.Device) -> px.Array:
    """A matrix by rows, by columns, or as a part of a larger one."""
    if how == "columns":
        return px.asarray(x.T.copy(), device=device).mT
    if how == "part":
        whole = px.asarray(np.pad(x, ((1, 2), (2, 1)), constant_values=np.nan), device=device)
        return whole[1:-2, 2:-1]
    return px.asarray(x, device=device)


class TestFactors:
    @pytest.mark.parametrize("name", DTYPES)
    @pytest.mark.parametrize("layout", ["contiguous", "strided"])
    def test_what_they_give(self, here: Here, name: str, layout: str) -> None:
        """Only a triangle is read, and only its part of the result is theirs."""
        n = 70
        x = drawn(name, 2, n, n)
        h = x + np.conj(x.mT)
        d = (x @ np.conj(x.mT) / n + 2 * np.eye(n)).astype(name)
        dirty = [np.tril(m) + np.triu(np.full_like(m, np.nan), 1) for m in (d, h)]
        definite, hermitian = (LAYOUTS[layout](m, here.card.device) for m in dirty)
        lower = px.asnumpy(linalg.cholesky(definite))
        assert np.array_equal(lower, np.tril(lower))
        close(lower @ np.conj(lower.mT), d, name, n)
        values, vectors = (px.asnumpy(part) for part in linalg.eigh(hermitian))
        close((vectors * values[:, None]) @ np.conj(vectors.mT), h, name, 8 * n)
        assert here.cusolver.calls[f"{LETTERS[name]}potrf"] == 2
        evd = f"{LETTERS[name]}{'he' if name[0] == 'c' else 'sy'}evd"
        assert here.cusolver.calls[evd] == 2

    def test_small_ones_go_to_the_other_kernel(self, here: Here) -> None:
        x = np.eye(20) * 4
        assert px.asnumpy(linalg.cholesky(px.asarray(x))).tolist() == (np.eye(20) * 2).tolist()
        assert linalg.eigh(px.asarray(x)).eigenvalues[0] == 4
        assert not here.cusolver.calls

    def test_bad_matrices(self, here: Here) -> None:
        x = np.eye(70)
        x[40, 40] = -1
        with pytest.raises(ValueError, match="not positive definite"):
            linalg.cholesky(px.asarray(x))
        assert here.cusolver.calls["dpotrf"] == 1
        for bad in (np.nan, np.inf):
            x[40, 30] = bad
            with pytest.raises(ValueError, match="NaN"):
                linalg.eigh(px.asarray(x))
        assert not here.cusolver.calls["dsyevd"]  # which might never end

    @pytest.mark.parametrize(
        ("function", "call"),
        [("cholesky", "dpotrf"), ("cholesky", "dpotrf_bufferSize"), ("eigh", "dsyevd"),
         ("eigh", "create")],
    )  # fmt: skip
    def test_a_call_that_fails_is_told(self, here: Here, function: str, call: str) -> None:
        x = px.asarray(np.eye(70) * 4)
        here.cusolver.fails[call] = 6
        with pytest.raises(
            LaunchError, match=rf"{function}\(.*cudafake:0 by cuSOLVER: FAKE_STATUS_6"
        ):
            getattr(linalg, function)(x)
        here.cusolver.fails.clear()
        assert getattr(linalg, function)(x) is not None


def test_threads_share_the_handles(here: Here, make_card: Callable[..., Card]) -> None:
    x = px.asarray(drawn("float64", 30, 30))
    want = px.asnumpy(x @ x)
    wrong: list[bool] = []

    def work(number: int) -> None:
        del number
        stream = px.Stream(here.card.device)
        with px.device(here.card.device), stream:
            wrong.extend(not np.array_equal(px.asnumpy(x @ x), want) for _ in range(10))
        stream.close()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not any(wrong)
    assert len(wrong) == 40
    assert len(here.cublas.live) == 1
