"""Which kernel serves an op: ``core/dispatch/registry.py``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import phalanx as px
import pytest
from phalanx.dispatch.registry import support
from phalanx.driver import Operand
from phalanx.optable import OPS
from phalanx.testing import ReferenceDevice, ReferenceDriver

Make = Callable[..., ReferenceDriver]


@pytest.fixture(autouse=True)
def _no_mode() -> Iterator[None]:
    yield
    px.use_deterministic_algorithms(None)


class TestKernels:
    def test_of_one_op(self, device: px.Device) -> None:
        found = px.kernels(op="exp", device=device)
        assert {k.op for k in found} == {"exp"}
        assert ("float32", "float32") in {k.dtypes for k in found}
        assert {k.layout for k in found} <= {px.Layout.CONTIGUOUS, px.Layout.STRIDED, px.Layout.ANY}
        assert all(
            k.provider and k.determinism in ("bitwise", "reproducible", "none") for k in found
        )

    def test_of_all_ops(self, device: px.Device) -> None:
        assert {k.op for k in px.kernels()} == set(OPS), "the device has a kernel for every op"

    def test_every_overload_has_a_kernel(self, device: px.Device) -> None:
        found = {(k.op, k.dtypes) for k in px.kernels(device=device.name)}
        wanted = {(row.name, s.dtypes) for row in OPS.values() for s in row.signatures}
        assert wanted - found == set()

    def test_missing_ones_are_not_listed(self, make_driver: Make) -> None:
        make_driver(missing=["exp"])
        assert px.kernels("exp", "own:0") == ()

    def test_unknown_op(self, fake: px.Device) -> None:
        with pytest.raises(ValueError, match=r"no op 'expp'.*did you mean exp"):
            px.kernels("expp")
        with pytest.raises(ValueError, match="phalanx ops"):
            px.kernels("qqqqqq")

    def test_unknown_device(self, drivers: dict[str, ReferenceDriver]) -> None:
        with pytest.raises(px.DeviceNotFoundError):
            px.kernels("exp", "nothing:0")

    def test_repr_shows_provenance(self, fake: px.Device) -> None:
        assert (
            repr(px.kernels("sum")[0])
            == "<Kernel sum(int8, int64) any bitwise from phalanx.testing>"
        )
        assert "unknown" in repr(px.Kernel("sum", ("int8", "int64"), px.Layout.ANY))
        assert not px.kernels("sum")[0].is_native

    @pytest.mark.needs_cpu
    def test_cpu_kernels_are_native(self) -> None:
        from conftest import real_cpu

        found = px.kernels(device=real_cpu())
        assert all(k.is_native for k in found if k.determinism == "bitwise")


class TwoKernels(ReferenceDevice):
    """Each kernel has a slower one beside it, of a higher class."""

    launched: ClassVar[list[str]] = []

    def launch(
        self,
        kernel: px.Kernel,
        inputs: Sequence[Operand],
        outputs: Sequence[px.Array],
        params: tuple[int, ...],
        *,
        stream: px.Stream,
    ) -> None:
        self.launched.append(kernel.determinism)
        super().launch(kernel, inputs, outputs, params, stream=stream)

    def alternatives(self, op: str, dtypes: tuple[str, ...], layout: px.Layout) -> list[px.Kernel]:
        return [px.Kernel(op, dtypes, layout, determinism="reproducible", handle=(op, dtypes))]


class WithoutSoftmax(ReferenceDevice):
    """Softmax alone is below the others."""

    def kernel(self, op: str, dtypes: tuple[str, ...], layout: px.Layout) -> px.Kernel | px.Refusal:
        if op == "softmax":
            return self.made(op, dtypes, layout, "none")
        return super().kernel(op, dtypes, layout)


class WrongKernels(ReferenceDevice):
    """An answer for another op."""

    def alternatives(self, op: str, dtypes: tuple[str, ...], layout: px.Layout) -> list[px.Kernel]:
        return [px.Kernel("log", dtypes, layout, determinism="bitwise")]


class TestDeterminism:
    @pytest.mark.parametrize(
        ("cls", "mode", "runs"),
        [
            ("bitwise", "bitwise", True),
            ("bitwise", "reproducible", True),
            ("reproducible", "bitwise", False),
            ("reproducible", "reproducible", True),
            ("none", "reproducible", False),
            ("none", "bitwise", False),
            ("none", None, True),
        ],
    )
    def test_mode_refuses_kernels_below(
        self, make_driver: Make, cls: str, mode: str | None, runs: bool
    ) -> None:
        make_driver(determinism=cls)
        x = px.ones(3, device="own:0")
        px.use_deterministic_algorithms(mode)
        for call in (px.exp, px.sum, px.sort, lambda a: a + 1):
            if runs:
                call(x)
                continue
            with pytest.raises(px.UnsupportedOpError) as caught:
                call(x)
            text = str(caught.value)
            assert "on own:0" in text
            assert repr(cls) in text
            assert "to_device" in text

    def test_mode_changes_kernels_that_were_chosen_before(self, make_driver: Make) -> None:
        make_driver(determinism="none")
        x = px.ones(3, device="own:0")
        px.exp(x)
        px.sum(x)
        assert px.use_deterministic_algorithms("bitwise") is None
        for call in (px.exp, px.sum):
            with pytest.raises(px.UnsupportedOpError):
                call(x)
        assert px.use_deterministic_algorithms(None) == "bitwise"
        assert float(px.sum(px.exp(x * 0))) == 3.0

    def test_another_kernel_of_the_device_is_taken(self, make_driver: Make) -> None:
        make_driver(determinism="none", device=TwoKernels)
        x = px.ones(3, device="own:0")
        assert [k.determinism for k in px.kernels("exp", "own:0")[:2]] == ["none", "reproducible"]
        for mode, cls in ((None, "none"), ("reproducible", "reproducible"), (None, "none")):
            px.use_deterministic_algorithms(mode)
            TwoKernels.launched.clear()
            px.exp(x)
            assert TwoKernels.launched == [cls]
        px.use_deterministic_algorithms("bitwise")
        with pytest.raises(px.UnsupportedOpError, match="the kernel is of class 'none'"):
            px.exp(x)

    def test_a_faster_kernel_is_taken_in_its_mode_alone(self, make_driver: Make) -> None:
        make_driver(determinism="bitwise", device=TwoKernels)
        x = px.ones(3, device="own:0")
        modes = {None: "bitwise", "bitwise": "bitwise", "reproducible": "reproducible"}
        for mode, cls in (*modes.items(), (None, "bitwise")):
            px.use_deterministic_algorithms(mode)
            TwoKernels.launched.clear()
            px.exp(x)
            assert TwoKernels.launched == [cls]

    def test_an_op_that_others_make_up_is_decomposed(self, make_driver: Make) -> None:
        driver = make_driver(device=WithoutSoftmax)
        x = px.asarray([1.0, 2.0], device="own:0")
        whole = px.softmax(x).tolist()
        assert {launch.op for launch in driver.launches} >= {"softmax"}
        px.use_deterministic_algorithms("bitwise")
        driver.launches.clear()
        assert px.softmax(x).tolist() == pytest.approx(whole)
        assert "softmax" not in {launch.op for launch in driver.launches}

    def test_the_message_names_a_device_that_holds_the_mode(self, make_driver: Make) -> None:
        make_driver(determinism="none")
        x = px.ones(3, device="own:0")
        px.ones(3, device="fake:0")
        px.use_deterministic_algorithms("bitwise")
        with pytest.raises(
            px.UnsupportedOpError, match=r'is bitwise: move .*x\.to_device\("\w+:\d"'
        ):
            px.exp(x)

    def test_alternatives_that_are_none(self, make_driver: Make) -> None:
        make_driver(determinism="none", device=WrongKernels)
        x = px.ones(3, device="own:0")
        px.use_deterministic_algorithms("bitwise")
        with pytest.raises(px.DeviceError, match=r"alternatives\('exp'.*returned <Kernel"):
            px.exp(x)

    def test_unset_memory_is_filled(self, device: px.Device) -> None:
        px.use_deterministic_algorithms("reproducible")
        for name, filled in (
            ("float32", "nan"),
            ("bfloat16", "nan"),
            ("complex64", "(nan+0j)"),
            ("bool", "True"),
            ("int8", "127"),
            ("uint64", str(2**64 - 1)),
        ):
            x = px.empty((2, 3), dtype=name)
            assert str(x[1, 2].item()) == filled
            assert str(px.empty_like(x)[0, 0].item()) == filled
        assert px.empty((0, 3)).shape == (0, 3)

    def test_unknown_mode(self) -> None:
        with pytest.raises(ValueError, match="unknown mode 'exact'"):
            px.use_deterministic_algorithms("exact")

    @pytest.mark.needs_cpu
    def test_cpu_is_bitwise_throughout_but_for_what_it_says(self) -> None:
        from conftest import real_cpu

        found = [k for k in px.kernels(device=real_cpu()) if not k.provider.startswith("scipy")]
        below = {k.op for k in found if k.determinism != "bitwise"}
        assert below <= {"matmul", "softmax"}, below


class TestSupport:
    def how(self, device: px.Device, op: str) -> dict[tuple[str, ...], str]:
        return {s.dtypes: s.how for s in support(device, op)}

    def test_native(self, device: px.Device) -> None:
        rows = list(support(device, "exp"))
        assert {r.how for r in rows} == {"native"}
        assert {r.determinism for r in rows} == {"bitwise"}
        assert all(r.provider for r in rows)

    def test_covers_every_overload_once(self, fake: px.Device) -> None:
        keys = [(s.op, s.dtypes) for s in support(fake)]
        assert len(keys) == len(set(keys)) == sum(len(row.signatures) for row in OPS.values())

    def test_missing_falls_back_with_a_reason(self, make_driver: Make) -> None:
        make_driver(missing=["matmul", "schur"])
        device = px.devices("own")[0]
        assert set(self.how(device, "schur").values()) == {"fallback"}
        assert set(self.how(device, "matmul").values()) == {"decomposed"}
        reasons = {s.reason for s in support(device, "schur")}
        assert reasons == {"own was told to miss schur"}

    def test_without_fp64(self, make_driver: Make) -> None:
        make_driver(fp64=False)
        device = px.devices("own")[0]
        how = self.how(device, "add")
        assert how["float32", "float32", "float32"] == "native"
        assert how["float64", "float64", "float64"] == "fallback"
        (row,) = (s for s in support(device, "add") if s.dtypes[0] == "complex128")
        assert row.reason == "the device has no fp64"

    def test_nobody_has_it(self, make_driver: Make, monkeypatch: pytest.MonkeyPatch) -> None:
        make_driver(missing=["schur"])
        monkeypatch.setattr("phalanx.dispatch.fallback.fallback_device", lambda device: None)
        assert set(self.how(px.devices("own")[0], "schur").values()) == {"unsupported"}

    def test_unknown_op(self, fake: px.Device) -> None:
        with pytest.raises(ValueError, match="did you mean"):
            list(support(fake, "additon"))


class TestDevicesWithoutFp64:
    def test_float32_works(self, make_driver: Make) -> None:
        make_driver(fp64=False)
        x = px.asarray([1.5, 2.0], dtype=px.float32, device="own:0")
        assert px.asnumpy(px.exp(x) * 0 + x).tolist() == [1.5, 2.0]

    def test_float64_says_what_to_do(self, make_driver: Make) -> None:
        make_driver(fp64=False)
        x = px.ones(3, dtype=px.float64, device="own:0")  # memory needs no arithmetic
        assert px.asnumpy(x).tolist() == [1.0] * 3
        with pytest.raises(px.UnsupportedOpError, match=r"own:0 has no kernel for add.*float64"):
            x + 1

    def test_namespace_info_leaves_float64_out(self, make_driver: Make) -> None:
        make_driver(fp64=False)
        names = set(px.__array_namespace_info__().dtypes(device="own:0"))
        assert "float32" in names
        assert not names & {"float64", "complex128"}


class TestDriverErrors:
    def test_compile_error_reaches_the_user(
        self, make_driver: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        driver = make_driver()
        x = px.ones(3, device="own:0")

        def fails(*args: object, **options: object) -> None:
            raise px.CompileError("exp does not compile", log="line 3: error", source="3: x")

        monkeypatch.setattr(driver.open_devices[0], "launch", fails)
        with pytest.raises(px.CompileError) as caught:
            px.exp(x)
        assert (caught.value.log, caught.value.source) == ("line 3: error", "3: x")
        monkeypatch.undo()
        assert px.asnumpy(px.exp(x * 0)).tolist() == [1.0] * 3

    @pytest.mark.parametrize(
        "answer",
        [
            None,
            True,
            px.Kernel("log", ("float64", "float64"), px.Layout.ANY),
            px.Kernel("exp", ("float32", "float32"), px.Layout.ANY),
        ],
        ids=["nothing", "yes", "another op", "other dtypes"],
    )
    def test_an_answer_to_another_question(
        self, make_driver: Make, monkeypatch: pytest.MonkeyPatch, answer: object
    ) -> None:
        driver = make_driver()
        x = px.ones(3, device="own:0")
        monkeypatch.setattr(driver.open_devices[0], "kernel", lambda *_: answer)
        with pytest.raises(px.DeviceError, match=r"own:0: kernel\('exp'.*returned") as caught:
            px.exp(x)
        assert "phalanx.Refusal" in caught.value.remedy
        with pytest.raises(px.DeviceError, match="returned"):
            px.kernels("exp", "own:0")

    @pytest.mark.parametrize(
        "claim", [{"determinism": "fast"}, {"error_bound": float("nan")}], ids=str
    )
    def test_a_kernel_of_an_unknown_class(
        self, make_driver: Make, monkeypatch: pytest.MonkeyPatch, claim: dict[str, Any]
    ) -> None:
        driver = make_driver()
        x = px.ones(3, device="own:0")
        one = px.Kernel("exp", ("float64", "float64"), px.Layout.ANY, **claim)
        monkeypatch.setattr(driver.open_devices[0], "kernel", lambda *_: one)
        with pytest.raises(px.DeviceError, match="returned a kernel with determinism=") as caught:
            px.exp(x)
        assert "none, reproducible, bitwise" in caught.value.remedy

    def test_a_kernel_of_the_other_layout(
        self, make_driver: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        driver = make_driver()
        x = px.ones(3, device="own:0")
        one = px.Kernel("exp", ("float64", "float64"), px.Layout.STRIDED)
        monkeypatch.setattr(driver.open_devices[0], "kernel", lambda *_: one)
        with pytest.raises(px.DeviceError, match="CONTIGUOUS"):
            px.exp(x)

    @pytest.mark.needs_cpu
    def test_kernel_that_cannot_be_launched(self) -> None:
        opened = bare()
        x, kernel = px.ones(3, device="cpu:0"), px.Kernel("exp", ("float64",) * 2, px.Layout.ANY)
        with pytest.raises(NotImplementedError, match="Bare cannot launch its own <Kernel exp"):
            opened.launch(kernel, [x], [x], (), stream=px.current_stream("cpu:0"))

    def test_defaults_of_optional_calls(self) -> None:
        opened = bare()
        assert opened.capabilities == 0
        assert opened.memory_info() == (0, 0)
        assert opened.adopt_host(4096, 64, None) is None
        assert opened.host_address(1) is None
        assert opened.compile_ahead(px.Kernel("exp", ("float64",) * 2, px.Layout.ANY)) is None
        opened.release_host(1)
        opened.close()
        optional = {
            "stream_create": (0,),
            "stream_destroy": (1,),
            "stream_query": (1,),
            "stream_synchronize": (1,),
            "stream_wait_event": (1, 2),
            "event_create": (True,),
            "event_destroy": (1,),
            "event_record": (1, 2),
            "event_query": (1,),
            "event_synchronize": (1,),
            "event_elapsed": (1, 2),
            "trim": (),
        }
        for name, arguments in optional.items():
            with pytest.raises(NotImplementedError):
                getattr(opened, name)(*arguments)
        with pytest.raises(NotImplementedError, match="native"):
            opened.check_native_error(0, "exp")


def bare() -> px.OpenDevice:
    """An open device of nothing but the calls that must be there."""

    class Bare(px.OpenDevice):
        def alloc(self, size: int) -> int:
            return 0

        def free(self, handle: int) -> None: ...

        def copy(self, dst: px.Place, src: px.Place, size: int, *, stream: px.Stream) -> None: ...

        def kernel(self, op: str, dtypes: tuple[str, ...], layout: px.Layout) -> px.Refusal:
            return px.Refusal()

        def synchronize(self, timeout: float | None = None) -> None: ...

    return Bare()
