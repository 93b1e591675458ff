"""The fallback policy, the ledger, and running on another device."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import numpy as np
import phalanx as px
import pytest
from phalanx.dispatch import fallback
from phalanx.dispatch.fallback import fallback_device, recorded
from phalanx.optable import OPS
from phalanx.runtime.settings import Setting
from phalanx.testing import ReferenceDriver

Make = Callable[..., ReferenceDriver]


@pytest.fixture(params=[False, True], ids=["emulated", "streams"])
def poor(request: pytest.FixtureRequest, make_driver: Make) -> Iterator[px.Device]:
    """A device with hardly any kernel, as the current one, and an empty ledger."""
    missing = set(OPS) - {"copy"}
    make_driver("poor", missing=missing, streams=request.param)
    px.fallback_report(reset=True)
    with px.device("poor:0") as device:
        yield device
    px.fallback_report(reset=True)


def on(device: px.Device, data: object, dtype: str | None = None) -> px.Array:
    return px.asarray(np.asarray(data, dtype=dtype), device=device)


def check(result: px.Array, want: object) -> None:
    np.testing.assert_allclose(px.asnumpy(result), want, rtol=1e-6)


class TestPolicy:
    def test_first_setting_is_that_of_the_environment(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fresh = Setting("fresh_policy", fallback._from_environment)
        monkeypatch.setattr(fallback, "_policy", fresh)
        monkeypatch.setenv("PHALANX_FALLBACK", "often")
        with pytest.raises(ValueError, match="PHALANX_FALLBACK='often'; use error, warn or allow"):
            px.fallback_policy()
        monkeypatch.setenv("PHALANX_FALLBACK", "warn")
        assert px.fallback_policy() == "warn"
        with px.fallback_policy("allow"):
            monkeypatch.setenv("PHALANX_FALLBACK", "error")
            assert px.fallback_policy() == "allow"
        assert px.fallback_policy() == "warn"

    def test_error_is_the_default(self, poor: px.Device) -> None:
        assert px.fallback_policy() == "error"
        with pytest.raises(px.UnsupportedOpError) as caught:
            px.exp(on(poor, [1.0]))
        text = str(caught.value)
        assert "poor:0 has no kernel for exp(float64, float64)" in text
        assert 'fallback_policy("allow")' in text
        assert "to_device(" in text
        assert px.fallback_report() == ()

    @pytest.mark.parametrize(
        ("op", "call"),
        [
            ("sum", lambda x: px.sum(x)),
            ("sort", lambda x: px.sort(x)),
            ("matmul", lambda x: x @ x),
            ("cast", lambda x: px.astype(x, px.float32)),
            ("wrap_index", lambda x: x[px.zeros(1, dtype=px.int64)]),
            ("where", lambda x: px.where(px.zeros(3, dtype=px.bool), x, 0.0)),
        ],
    )
    def test_error_for_every_kind_of_op(
        self, poor: px.Device, op: str, call: Callable[[px.Array], px.Array]
    ) -> None:
        x = on(poor, [1.0, 2.0, 3.0])
        with pytest.raises(px.UnsupportedOpError, match=rf"poor:0 has no kernel for {op}\("):
            call(x)

    def test_warn_runs_and_says_where(self, poor: px.Device) -> None:
        x = on(poor, [0.0, 1.0])
        with (
            px.fallback_policy("warn"),
            pytest.warns(px.FallbackWarning, match=r"exp.*poor:0.*runs on"),
        ):
            y = px.exp(x)
        check(y, np.exp([0.0, 1.0]))
        assert len(px.fallback_report()) == 1

    def test_allow_runs_silently(self, poor: px.Device) -> None:
        with px.fallback_policy("allow"), warnings.catch_warnings():
            warnings.simplefilter("error")
            check(px.exp(on(poor, [1.0])), [np.e])

    def test_block_restores_the_former(self) -> None:
        with px.fallback_policy("allow"):
            with px.fallback_policy("warn"):
                assert px.fallback_policy() == "warn"
            assert px.fallback_policy() == "allow"
        assert px.fallback_policy() == "error"

    def test_setting_without_a_block_stays(self) -> None:
        px.fallback_policy("allow")
        try:
            assert px.fallback_policy() == "allow"
        finally:
            px.fallback_policy("error")

    def test_change_holds_for_kernels_that_were_chosen_before(self, poor: px.Device) -> None:
        x = on(poor, [1.0])
        with px.fallback_policy("allow"):
            px.exp(x)
        with pytest.raises(px.UnsupportedOpError):
            px.exp(x)

    @pytest.mark.parametrize("policy", ["never", "", True])
    def test_unknown_policy(self, policy: str) -> None:
        with pytest.raises(ValueError, match='"error", "warn" or "allow"'):
            px.fallback_policy(policy)  # type: ignore[arg-type]

    def test_nobody_to_stand_in(self, make_driver: Make, monkeypatch: pytest.MonkeyPatch) -> None:
        make_driver(missing=["sqrt"])
        monkeypatch.setattr("phalanx.dispatch.fallback.fallback_device", lambda device: None)
        x = px.ones(1, device="own:0")
        with (
            px.fallback_policy("allow"),
            pytest.raises(px.UnsupportedOpError, match="no other device"),
        ):
            px.sqrt(x)

    def test_stand_in_is_another_cpu(self, drivers: dict[str, ReferenceDriver]) -> None:
        for device in px.devices():
            found = fallback_device(device)
            assert found is not None
            assert found is not device
            assert found.kind == "cpu"

    def test_op_that_the_stand_in_lacks_too(
        self, poor: px.Device, make_driver: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make_driver("alsopoor", missing=["sqrt"], kind=px.DeviceKind.CPU, devices=1)
        other = px.devices("alsopoor")[0]
        choice = {"poor": other}
        monkeypatch.setattr(
            "phalanx.dispatch.fallback.fallback_device", lambda d: choice.get(d.driver.name)
        )
        with px.fallback_policy("allow"), pytest.raises(px.UnsupportedOpError, match="alsopoor:0"):
            px.sqrt(on(poor, [1.0]))
        assert px.fallback_report() == ()


class TestLedger:
    def test_counts_calls_and_bytes(self, poor: px.Device) -> None:
        x = on(poor, np.arange(1000.0))
        with px.fallback_policy("allow"):
            for _ in range(3):
                px.exp(x)
        (entry,) = px.fallback_report()
        assert (entry.op, entry.dtypes) == ("exp", ("float64", "float64"))
        assert (entry.device, entry.calls) == ("poor:0", 3)
        assert entry.ran_on == str(fallback_device(poor))
        assert entry.bytes_moved == 3 * (8000 + 8000)

    def test_bytes_of_a_strided_operand_are_what_was_copied(self, poor: px.Device) -> None:
        x = on(poor, np.arange(1000.0))
        with px.fallback_policy("allow"):
            px.exp(x[::10])
        (entry,) = px.fallback_report()
        assert entry.bytes_moved == 8 * 991 + 8 * 100

    def test_most_bytes_first_and_reset(self, poor: px.Device) -> None:
        with px.fallback_policy("allow"):
            px.exp(on(poor, np.zeros(10)))
            px.sqrt(on(poor, np.zeros(1000)))
            px.exp(on(poor, np.zeros(10, np.float32)))
        report = px.fallback_report(reset=True)
        assert [e.op for e in report] == ["sqrt", "exp", "exp"]
        assert report[1].dtypes == ("float64", "float64")
        assert px.fallback_report() == ()

    def test_recorded_collects_the_difference(self, poor: px.Device) -> None:
        x = on(poor, np.zeros(8))
        with px.fallback_policy("allow"):
            px.exp(x)
            with recorded() as entries:
                px.exp(x)
                px.exp(x)
                px.log1p(x)
            with recorded() as none:
                pass
        assert {(e.op, e.calls, e.bytes_moved) for e in entries} == {
            ("exp", 2, 256),
            ("log1p", 1, 128),
        }
        assert none == []

    def test_native_ops_leave_no_trace(self, device: px.Device) -> None:
        px.fallback_report(reset=True)
        px.softmax(px.sort(px.exp(px.arange(10.0))))
        assert px.fallback_report() == ()


@pytest.mark.usefixtures("poor")
class TestStructures:
    """Every structure gives the right result on the stand-in."""

    @pytest.fixture(autouse=True)
    def _allow(self) -> Iterator[None]:
        with px.fallback_policy("allow"):
            yield

    a = np.arange(24.0).reshape(4, 6) % 7 - 2

    def test_elementwise_layouts(self, poor: px.Device) -> None:
        x = on(poor, self.a)
        check(x + x, self.a * 2)
        check(x.T + 1.5, self.a.T + 1.5)
        check(x[::2, ::-1] * x[1::2, 1:2], self.a[::2, ::-1] * self.a[1::2, 1:2])
        check(2 - x[1], 2 - self.a[1])
        check(
            px.exp(px.broadcast_to(x[:, :1], (4, 3))),
            np.exp(np.broadcast_to(self.a[:, :1], (4, 3))),
        )
        assert float(px.exp(on(poor, 0.0))) == 1.0

    def test_where_and_clip_with_scalars(self, poor: px.Device) -> None:
        x = on(poor, self.a)
        check(px.where(x > 0, x, 9.0), np.where(self.a > 0, self.a, 9.0))
        check(px.where(x > 0, -1.0, x), np.where(self.a > 0, -1.0, self.a))
        check(px.clip(x, -1.0, 2.0), np.clip(self.a, -1, 2))

    def test_in_place_writes_only_its_elements(self, poor: px.Device) -> None:
        x, want = on(poor, self.a), self.a.copy()
        view = x[1::2, ::3]
        view += 10.0
        want[1::2, ::3] += 10.0
        check(x, want)
        view = x.T[::-1]
        view *= 2.0
        want *= 2.0
        check(x, want)

    def test_cast(self, poor: px.Device) -> None:
        check(px.astype(on(poor, [1.7, -2.7, np.nan]), px.int8), [1, -2, 0])

    @pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
    def test_reductions(self, poor: px.Device, axis: int | tuple[int, ...] | None) -> None:
        x = on(poor, self.a)
        for name in ("sum", "prod", "mean", "max", "min"):
            check(getattr(px, name)(x, axis=axis), getattr(np, name)(self.a, axis=axis))
        check(px.any(x, axis=axis), np.any(self.a, axis=axis))
        check(px.count_nonzero(x[::2], axis=axis), np.count_nonzero(self.a[::2], axis=axis))

    def test_scan_sort_search(self, poor: px.Device) -> None:
        x = on(poor, self.a)
        check(px.cumulative_sum(x, axis=0), np.cumsum(self.a, axis=0))
        check(px.sort(x, axis=0), np.sort(self.a, axis=0))
        check(
            px.argsort(x, axis=1, descending=True),
            5 - np.argsort(self.a[:, ::-1], axis=1, stable=True)[:, ::-1],
        )
        row = np.sort(self.a[0])
        check(px.searchsorted(on(poor, row), x[1:3, ::-1]), np.searchsorted(row, self.a[1:3, ::-1]))

    def test_selection(self, poor: px.Device) -> None:
        x = on(poor, self.a)
        check(x[x > 1], self.a[self.a > 1])
        for got, want in zip(px.nonzero(x), np.nonzero(self.a), strict=True):
            check(got, want)

    def test_gather(self, poor: px.Device) -> None:
        x = on(poor, self.a)
        rows, columns = np.array([3, 0, -1]), np.array([[0], [-2]])
        check(x[on(poor, rows)], self.a[rows])
        check(x[::-1, ::2][on(poor, rows)], self.a[::-1, ::2][rows])
        check(x.T[on(poor, columns), on(poor, rows)], self.a.T[columns, rows])
        check(px.take(x, on(poor, rows), axis=1), np.take(self.a, rows, axis=1))

    def test_gather_leaves_neighbours_out_of_it(self, poor: px.Device) -> None:
        """The arrays lie in one segment; only the array that is indexed travels."""
        arrays = [on(poor, np.full(500, float(i))) for i in range(20)]
        px.fallback_report(reset=True)
        check(arrays[15][on(poor, [1, 2])], [15.0, 15.0])
        (entry,) = (e for e in px.fallback_report() if e.op == "gather")
        assert entry.bytes_moved == 500 * 8 + 2 * 8 + 2 * 8

    def test_scatter(self, poor: px.Device) -> None:
        x, want = on(poor, self.a), self.a.copy()
        x[on(poor, [2, 0])] = on(poor, [[1.0], [2.0]])
        want[[2, 0]] = [[1.0], [2.0]]
        check(x, want)
        x[::2, ::-1][on(poor, [1]), on(poor, [-1])] = 77.0
        want[::2, ::-1][[1], [-1]] = 77.0
        check(x, want)
        x[x < 0] = 0.0
        want[want < 0] = 0
        check(x, want)

    def test_scatter_leaves_neighbours_alone(self, poor: px.Device) -> None:
        """What others write into the same segment meanwhile must stay."""
        arrays = [on(poor, np.full(100, float(i))) for i in range(10)]
        target = arrays[6]
        px.fallback_report(reset=True)
        target[on(poor, [0, 99])] = on(poor, [-1.0, -2.0])
        (entry,) = (e for e in px.fallback_report() if e.op == "scatter")
        assert entry.bytes_moved == 2 * 8 + 2 * 8 + 2 * 800
        for i, x in enumerate(arrays):
            want = np.full(100, float(i))
            if x is target:
                want[[0, 99]] = [-1.0, -2.0]
            check(x, want)

    def test_index_out_of_range(self, poor: px.Device) -> None:
        x = on(poor, self.a)
        with pytest.raises(IndexError, match="9"):
            px.asnumpy(x[on(poor, [9])])

    def test_generation_and_contraction(self, poor: px.Device) -> None:
        check(px.arange(2, 11, 3, device=poor), [2, 5, 8])
        x = on(poor, self.a)
        check(x @ x.T, self.a @ self.a.T)
        check(px.tensordot(x, x, axes=((0,), (0,))), np.tensordot(self.a, self.a, ((0,), (0,))))

    def test_on_a_stream(self, poor: px.Device) -> None:
        x = on(poor, self.a)
        with px.Stream(poor):
            y = px.exp(x)
        check(y + x, np.exp(self.a) + self.a)

    def test_bfloat16_and_complex(self, poor: px.Device) -> None:
        x = px.asarray([1.0, 2.5], dtype=px.bfloat16)
        assert px.asnumpy(x + x).astype(float).tolist() == [2.0, 5.0]
        z = px.asarray([1 + 2j])
        assert px.asnumpy(z * z).tolist() == [-3 + 4j]
