"""Transforms: no less accurate than pocketfft, the same bits on every device, rounded twiddles."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import mpmath
import numpy as np
import phalanx as px
import pytest
from array_kit import generator
from emulated.driver import EmulatedDriver
from phalanx.conformance.reference.values import HostArray
from phalanx.device_code.source import scalar_header, template, without_double
from phalanx.discovery.plugins import host
from phalanx.driver import Driver
from phalanx.fft import roots, tables
from phalanx.optable import fourier

#: Powers of two, products of small primes, primes, and what lies between.
LENGTHS = (
    *range(1, 101),
    *(2**k for k in range(7, 12)),
    *(101, 103, 107, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173, 179, 181, 191, 193),
    *(105, 108, 110, 112, 120, 121, 125, 130, 132, 143, 144, 150, 160, 162, 165, 169, 175, 180),
    *(187, 189, 192, 195, 196, 200, 210, 216, 220, 225, 231, 240, 242, 243, 245, 250, 252, 254),
    *(260, 262, 264, 270, 280, 286, 288, 289, 294, 300, 315, 320, 324, 330, 343, 350, 360, 361),
    *(384, 385, 400, 405, 432, 441, 450, 480, 486, 499, 500, 504, 510, 521, 529, 540, 567, 576),
    *(600, 625, 729, 750, 768, 997, 1000, 1001, 1009),
)
PARTS = {"complex64": "float32", "complex128": "float64"}
_WIDE = np.longdouble


def definition(x: HostArray, n: int) -> HostArray:
    """The transform by its definition, in long doubles of 64 bits."""
    turns = np.outer(np.arange(x.shape[-1]), np.arange(n)) % n
    angle = np.arange(n).astype(_WIDE) * (8 * np.arctan(_WIDE(1))) / n
    wave = np.cos(angle) - 1j * np.sin(angle)
    return np.asarray(x.astype(np.clongdouble) @ wave[turns])


def hermitian_definition(x: HostArray, n: int) -> HostArray:
    """The real inverse of the first half of a transform, from the whole one."""
    whole = np.zeros((x.shape[0], n), np.clongdouble)
    whole[:, : x.shape[1]] = x
    whole[:, [0, n // 2] if n % 2 == 0 else 0].imag = 0
    mirrored = (n - 1) // 2
    whole[:, n - mirrored :] = whole[:, mirrored:0:-1].conj()
    return definition(whole.conj(), n).real / n


def errors(got: HostArray, want: HostArray) -> tuple[float, float]:
    """Root mean square and maximum of errors over that of values, in rounding errors of 1."""
    unit = np.finfo(got.dtype).eps / 2
    miss = np.abs(got - want)
    size = np.sqrt(np.mean(np.abs(want) ** 2)) * unit
    return float(np.sqrt(np.mean(miss**2)) / size), float(np.max(miss) / size)


def test_lengths() -> None:
    assert len(set(LENGTHS)) == len(LENGTHS) >= 200


def test_the_definition_agrees_with_mpmath() -> None:
    rng = generator("fft definition")
    with mpmath.workdps(40):
        for n in (1, 6, 13, 32):
            x = rng.normal(size=n) + 1j * rng.normal(size=n)
            found = definition(x, n)
            for k in range(n):
                turns = (mpmath.expjpi(mpmath.mpf(-2 * j * k) / n) for j in range(n))
                total = mpmath.fsum(mpmath.mpc(v) * t for v, t in zip(x, turns, strict=True))
                miss = mpmath.mpc(mpmath.mpf(str(found[k].real)), mpmath.mpf(str(found[k].imag)))
                assert abs(miss - total) < 1e-17 * n


def _compare(name: str, kind: str, lengths: tuple[int, ...]) -> tuple[HostArray, HostArray]:
    """Errors of our transforms and of pocketfft's in the same precision, (lengths, 2)."""
    scipy_fft = pytest.importorskip("scipy.fft")
    rng = generator("fft accuracy", name, kind)
    ours, theirs = [], []
    for n in lengths:
        rows = max(24, 20_000 // n)
        if kind == "rfft":
            x = rng.normal(size=(rows, n)).astype(PARTS[name])
            want = definition(x, n)[:, : n // 2 + 1]
        else:
            shape = (rows, n if kind == "fft" else n // 2 + 1)
            x = (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(name)
            want = definition(x, n) if kind == "fft" else hermitian_definition(x, n)
        found = px.asnumpy(getattr(px.fft, kind)(px.asarray(x), n=n))
        other = getattr(scipy_fft, kind)(x, n=n)
        assert found.dtype == other.dtype
        ours.append(errors(found, want))
        theirs.append(errors(other, want))
    return np.array(ours), np.array(theirs)


def _judge(name: str, kind: str, lengths: tuple[int, ...]) -> None:
    ours, theirs = _compare(name, kind, lengths)
    rms = list(zip(lengths, ours[:, 0], theirs[:, 0], strict=True))
    assert not [x for x in rms if x[1] > 1.03 * x[2]]  # more than 20,000 numbers do not tell
    assert (ours.mean(axis=0) < 0.97 * theirs.mean(axis=0)).all()


@pytest.mark.parametrize("kind", ["fft", "rfft", "irfft"])
@pytest.mark.parametrize("name", ["complex64", "complex128"])
def test_no_less_accurate_than_pocketfft(name: str, kind: str) -> None:
    _judge(name, kind, (*LENGTHS[1::9], 12, 16, 36, 64))


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["fft", "rfft", "irfft"])
@pytest.mark.parametrize("name", ["complex64", "complex128"])
def test_no_less_accurate_than_pocketfft_at_all_lengths(name: str, kind: str) -> None:
    _judge(name, kind, LENGTHS)


@pytest.mark.needs_cpu
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_sum_that_overflows_is_infinite(dtype: str) -> None:
    """The pairs that long real transforms compute in make no NaN of it."""
    x = np.full((40, 400), np.finfo(dtype).max / 300, dtype)
    found = px.asnumpy(px.fft.rfft(px.asarray(x, device="cpu:0")))
    assert (found[:, 0].real == np.inf).all()


# ---- twiddles and passes -------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 97, 131, 360, 1024, 2187])
def test_roots_are_rounded_to_nearest(n: int) -> None:
    cosine, sine = roots.roots(n)
    with mpmath.workdps(60):
        for i in range(n):
            angle = mpmath.mpf(2 * i) / n
            assert cosine[i] == float(mpmath.cospi(angle))
            assert sine[i] == float(-mpmath.sinpi(angle))
            assert not np.signbit(sine[i]) or sine[i] != 0


def test_radices() -> None:
    for n in range(1, 3000):
        passes = fourier.radices(n)
        if passes is None:
            assert any(n % p == 0 for p in range(257, n + 1, 2))
            continue
        assert int(np.prod(passes)) == n
        assert fourier.unpacked(fourier.packed(passes)) == passes
        assert passes.count(2) == (n % 4 == 2)
        assert all(r in fourier.OWN_RADICES or r <= fourier.LARGEST_RADIX for r in passes)
    assert fourier.radices(257) is None
    assert fourier.radices(2**20) == (4, 8, 8, 8, 8, 8, 8)[-7:]
    assert len(fourier.packed(fourier.radices(3**39) or ())) == 6


def test_tables_are_kept_within_limits(monkeypatch: pytest.MonkeyPatch, device: px.Device) -> None:
    tables.drop()
    monkeypatch.setattr(tables, "_MOST", 4000)
    for n in (30, 60, 90, 120, 150, 1000):
        x = px.ones(n)
        assert px.fft.fft(x).tolist()[0] == n
        assert px.fft.fft(x).tolist()[0] == n
        held = list(tables._kept.values())
        assert sum(a.nbytes for a in held) <= 4000 or len(held) == 1
    tables.drop()


# ---- the same bits -------------------------------------------------------------------------------


@pytest.fixture
def emulated(drivers: dict[str, Driver]) -> Iterator[px.Device]:
    """A GPU that is emulated: the texts of core/device_code."""
    driver = EmulatedDriver("fourier")
    host().register_driver(driver)
    yield px.devices("fourier")[0]
    tables.drop()
    host().unregister_driver(driver)


@pytest.mark.needs_cpu
@pytest.mark.parametrize("name", ["complex64", "complex128"])
def test_every_form_has_the_bits_of_the_texts(name: str, emulated: px.Device) -> None:
    """Rows in two steps, rows as lanes, columns, long rows: the CPU against one kernel a pass."""
    rng = generator("fft bits", name)
    shapes = [((3, n), -1) for n in (1, 2, 6, 7, 13, 31, 33, 64, 97, 120, 200, 257, 1000)]
    shapes += [((2, 4096), 1), ((40, 5), 0), ((120, 3), 0), ((7, 48, 11), 1), ((2**15,), 0)]
    for shape, axis in shapes:
        x = (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(name)
        for function in (px.fft.fft, px.fft.ifft, px.fft.irfft):
            if function is px.fft.irfft and x.shape[axis] == 1:
                continue
            made = [
                px.asnumpy(function(px.asarray(x, device=d), axis=axis))
                for d in ("cpu:0", emulated)
            ]
            assert made[0].tobytes() == made[1].tobytes(), (function.__name__, shape, axis)
        real = x.real.copy()
        made = [
            px.asnumpy(px.fft.rfft(px.asarray(real, device=d), axis=axis))
            for d in ("cpu:0", emulated)
        ]
        assert made[0].tobytes() == made[1].tobytes(), ("rfft", shape, axis)


def test_complex64_needs_no_fp64() -> None:
    kept = without_double(scalar_header("fourier"))
    assert "PHX_FOURIER(f32, " in kept
    assert "PHX_FOURIER(f64, " not in kept
    for name in ("", "_pass", "_prime", "_pairs"):
        text = template(f"fourier{name}.h")
        assert "f64" not in text
        assert "double" not in text


def _same_bits(function: Callable[[HostArray], Any], x: HostArray, count: int) -> None:
    want = px.asnumpy(function(x)).tobytes()
    found: list[bytes] = []
    threads = [
        threading.Thread(target=lambda: found.append(px.asnumpy(function(x)).tobytes()))
        for _ in range(count)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [want] * count


@pytest.mark.parametrize("n", [60, 1009, 2**15])
def test_eight_threads_at_once(n: int, device: px.Device) -> None:
    x = generator("fft threads", n).normal(size=(3, n))
    tables.drop()
    _same_bits(lambda a: px.fft.fft(px.asarray(a, device=device)), x, 8)


# ---- what rows may hold --------------------------------------------------------------------------


def test_empty_arrays(device: px.Device) -> None:
    for shape, axis in (((0, 4), 1), ((4, 0), 0), ((2, 0, 3), 2)):
        x = np.zeros(shape)
        for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
            want = getattr(np.fft, name)(x, axis=axis)
            got = getattr(px.fft, name)(px.asarray(x), axis=axis)
            assert got.shape == want.shape
            assert px.asnumpy(got).dtype == want.dtype
    for n in (1, 6, 257):  # nothing but the zeros that follow
        assert px.asnumpy(px.fft.fft(px.zeros((2, 0)), n=n)).tolist() == [[0] * n] * 2
        assert px.asnumpy(px.fft.rfft(px.zeros(0), n=n)).tolist() == [0] * (n // 2 + 1)
        assert px.asnumpy(px.fft.irfft(px.zeros(0), n=n)).tolist() == [0.0] * n


@pytest.mark.parametrize("n", [1, 5, 8, 60, 97, 257, 400])
def test_nan_stays_in_its_row(n: int, device: px.Device) -> None:
    x = generator("fft nan", n).normal(size=(3, n))
    x[1, n // 2] = np.nan
    for function in (px.fft.fft, px.fft.rfft):
        got = px.asnumpy(function(px.asarray(x)))
        assert np.isnan(got[1].real).all()
        assert np.isfinite(got[[0, 2]]).all()


def test_one_number_and_short_halves(device: px.Device) -> None:
    assert px.fft.fft(px.asarray([3.0])).tolist() == [3]
    assert px.fft.rfft(px.asarray([3.0])).tolist() == [3]
    assert px.fft.irfft(px.asarray([3.0]), n=1).tolist() == [3]
    with pytest.raises(
        ValueError, match=r"irfft of shape \(1,\) along axis 0: the length .* got 0"
    ):
        px.fft.irfft(px.asarray([3.0]))
    with pytest.raises(ValueError, match="rfftn needs an axis"):
        px.fft.rfftn(px.ones((2, 2)), axes=())
    x = generator("fft halves").normal(size=(2, 3)) + 1j
    for n in (7, 8, 9, 12, 514):
        got = px.asnumpy(px.fft.irfft(px.asarray(x), n=n))
        np.testing.assert_allclose(got, np.fft.irfft(x, n=n), atol=1e-14)
