"""From a public function to the launch: layouts, in-place rules, operators, devices, threads."""

from __future__ import annotations

import math
import operator
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import phalanx as px
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy_check import check, sample
from phalanx._warm import launch
from phalanx.namespace.public import public_function
from phalanx.optable import OPS, Structure
from phalanx.testing import ReferenceDriver
from phalanx.testing.kernels import elementwise, numpy_type

FUNCTIONS = [
    row.name
    for row in OPS.values()
    if row.structure is Structure.ELEMENTWISE
    and row.name not in ("cast", "copy", "where", "clip", "fma")
]
ELEMENTWISE_SETTINGS = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


class TestEveryFunction:
    """Every elementwise function and dtype, contiguous and strided, against NumPy."""

    @pytest.mark.parametrize("name", FUNCTIONS)
    def test_against_numpy(self, device: px.Device, name: str) -> None:
        for signature in OPS[name].signatures:
            with np.errstate(all="ignore"):
                operands = [sample(d, (3, 4), i) for i, d in enumerate(signature.inputs)]
                if name == "acosh":
                    operands = [
                        (
                            1
                            / operands[0].astype(
                                np.complex64 if operands[0].dtype.kind == "c" else np.float32
                            )
                        ).astype(operands[0].dtype)
                    ]
                arrays = [px.asarray(a) for a in operands]
                to = numpy_type(signature.outputs[0])
                want = elementwise(name, operands, to)
            function = public_function(name)
            check(function(*arrays), want)
            flipped = [a.T[::-1, ::2] for a in operands]
            want = elementwise(name, flipped, to)
            check(function(*[x.T[::-1, ::2] for x in arrays]), want)

    @pytest.mark.parametrize("name", ["add", "maximum", "less", "where", "clip"])
    def test_needs_an_array(self, name: str) -> None:
        arguments = (1.0, 2.0, 3.0)[: OPS[name].arity]
        with pytest.raises(TypeError, match=r"phalanx array|boolean condition"):
            getattr(px, name)(*arguments)

    def test_unary_on_a_number_says_what_to_do(self) -> None:
        with pytest.raises(TypeError, match=r"exp takes a phalanx array, got float; .*asarray"):
            px.exp(1.0)

    def test_functions_describe_themselves(self) -> None:
        import inspect
        import pickle

        assert str(inspect.signature(px.add)) == "(x1, x2, /)"
        assert str(inspect.signature(px.exp)) == "(x, /)"
        assert px.log.__doc__.startswith("Return the natural logarithm, element by element.\n")
        assert "broadcast" in px.add.__doc__
        assert "NaN propagates" in px.maximum.__doc__
        assert "is bool." in px.less.__doc__
        assert "integers are converted to the default float" in px.exp.__doc__
        assert (px.exp.__name__, px.exp.__qualname__, repr(px.exp)) == (
            "exp",
            "exp",
            "<function phalanx.exp>",
        )
        assert pickle.loads(pickle.dumps(px.exp)) is px.exp


class TestDevices:
    def test_arrays_of_two_devices(self, drivers: dict[str, ReferenceDriver]) -> None:
        a, b = px.ones(2, device="fake:0"), px.ones((3, 2), device="fake:1")
        words = r"fake:0 \(shape \(2,\)\) and fake:1 \(shape \(3, 2\)\).*to_device\(\"fake:0\"\)"
        with pytest.raises(px.DeviceMismatchError, match=words):
            a + b
        with pytest.raises(px.DeviceMismatchError):
            a += b
        mask = px.ones(2, dtype=px.bool, device="fake:1")
        for call in (
            lambda: px.where(mask, a, a),
            lambda: a @ b.T,
            lambda: px.searchsorted(a, b),
            lambda: a[mask],
            lambda: a[px.zeros(1, dtype=px.int64, device="fake:1")],
            lambda: operator.setitem(a, 0, px.ones((), device="fake:1")),
            lambda: operator.setitem(a, mask, 0.0),
            lambda: px.concat([a, px.ones(2, device="fake:1")]),
            lambda: px.clip(a, px.ones(2, device="fake:1"), 2.0),
            lambda: px.isin(a, px.ones(2, device="fake:1")),
            lambda: a[px.ones((), dtype=px.bool, device="fake:1")],
            lambda: px.nn.layer_norm(a, 2, b[0]),
            lambda: px.nn.rms_norm(a, 2, b[0]),
            lambda: launch("sum", (b,), (px.empty(3, device="fake:0"),)),
        ):
            with pytest.raises(px.DeviceMismatchError):
                call()

    def test_results_stay_on_the_device(self, drivers: dict[str, ReferenceDriver]) -> None:
        x = px.arange(6.0, device="fake:1")
        for result in (
            x + 1,
            px.sum(x),
            px.sort(x),
            x[x > 2],
            px.nonzero(x)[0],
            px.tril(px.reshape(x, (2, 3))),
            px.eye(2, device="fake:1"),
            px.unique_all(x).counts,
        ):
            assert str(result.device) == "fake:1"


class TestLayouts:
    @staticmethod
    def views(a: Any) -> list[Any]:
        return [
            a,
            a[::2],
            a[:, ::-1],
            a[::-1, 1:4],
            a.T if isinstance(a, np.ndarray) else px.permute_dims(a, (2, 1, 0)),
            a[1],
            a[:, 2, :],
            a[..., 0],
            a[2, 3, 1],
            a[:0],
            a[:, None, ::2],
        ]

    def test_views_as_operands_and_results(self, device: px.Device) -> None:
        base = np.arange(3 * 5 * 4.0).reshape(3, 5, 4)
        x = px.asarray(base)
        for mine, theirs in zip(self.views(x), self.views(base), strict=True):
            check(mine, theirs)
            check(mine * 2 + 1, theirs * 2 + 1)
            check(px.exp(-mine), np.exp(-theirs))
            check(
                mine + mine[..., :1] if mine.ndim else mine,
                theirs + theirs[..., :1] if theirs.ndim else theirs,
            )

    def test_strided_kernels_are_used_where_they_must(
        self, make_driver: Callable[..., ReferenceDriver]
    ) -> None:
        driver = make_driver()
        x = px.reshape(px.arange(24.0, device="own:0"), (4, 6))
        driver.launches.clear()
        for operand in (x, x.T, x[1], x[1:3], px.permute_dims(x, (1, 0)), x[:, None, :]):
            px.exp(operand)
        assert {launch.layout for launch in driver.launches} == {px.Layout.CONTIGUOUS}
        driver.launches.clear()
        for operand in (x[:, 1:], x[::2], x[:, ::-1], x.T[1:3]):
            px.exp(operand)
        assert {launch.layout for launch in driver.launches} == {px.Layout.STRIDED}

    def test_new_arrays_keep_the_memory_order_of_their_operands(self, fake: px.Device) -> None:
        x = px.zeros((3, 4))
        assert (x.T + 1).strides == (1, 4)
        assert (x + x.T[:3, :3][:, :1]).strides == (4, 1)
        assert (px.permute_dims(px.zeros((2, 3, 4)), (1, 2, 0)) * 2).strides == (4, 1, 12)
        assert px.asarray(x.T, copy=True).strides == (1, 4)

    def test_no_launch_for_nothing(self, make_driver: Callable[..., ReferenceDriver]) -> None:
        driver = make_driver()
        x = px.zeros((0, 3), device="own:0")
        driver.launches.clear()
        for result in (
            x + 1,
            px.exp(x),
            px.sum(x, axis=1),
            px.sort(x),
            x @ px.zeros((3, 0), device="own:0"),
            px.cumulative_sum(x, axis=0),
            px.where(x > 0, x, x),
        ):
            assert result.size == 0
        assert driver.launches == []

    @pytest.mark.parametrize("ndim", [7, 13, 32, 63, 64])
    def test_many_axes(self, device: px.Device, ndim: int) -> None:
        shape = [1] * ndim
        shape[0], shape[ndim // 2], shape[-1] = 2, 3, 2
        x = px.reshape(px.arange(12.0), tuple(shape))
        flat = np.arange(12.0).reshape(2, 3, 2)
        assert x.ndim == ndim
        back = lambda a: px.reshape(a, (2, 3, 2))  # noqa: E731
        check(back(x + x), flat * 2)
        check(px.reshape(px.flip(x, axis=(0, ndim - 1)) * 2.0, (2, 3, 2)), flat[::-1, :, ::-1] * 2)
        check(px.sum(x), flat.sum())
        check(px.sum(x, axis=tuple(range(ndim))), flat.sum())
        check(px.max(px.flip(x, axis=0)), flat.max())
        check(px.reshape(px.sum(x, axis=0), (3, 2)), flat.sum(0))
        check(px.reshape(px.mean(x, axis=-1), (2, 3)), flat.mean(-1))
        check(px.reshape(px.sum(x, axis=(), keepdims=True), (2, 3, 2)), flat)
        order = (*range(1, ndim), 0)
        check(px.reshape(px.permute_dims(x, order), (3, 2, 2)), flat.transpose(1, 2, 0))
        check(px.reshape(x[1], (3, 2)), flat[1])

    def test_one_axis_too_many(self, fake: px.Device) -> None:
        x = px.zeros((1,) * 64)
        for call in (
            lambda: px.zeros((1,) * 65),
            lambda: px.expand_dims(x, axis=0),
            lambda: x[None],
            lambda: px.reshape(x, (1,) * 65),
            lambda: px.broadcast_to(x, (2, *x.shape)),
            lambda: px.stack([x, x]),
        ):
            with pytest.raises(ValueError, match="65 axes; at most 64"):
                call()


class TestInPlace:
    @pytest.mark.parametrize(
        ("name", "op"),
        [("float64", "iadd"), ("float64", "isub"), ("float64", "imul"), ("float64", "itruediv"),
         ("float64", "ifloordiv"), ("float64", "imod"), ("float64", "ipow"), ("int32", "iand"),
         ("int32", "ior"), ("int32", "ixor"), ("int32", "ilshift"), ("int32", "irshift")],
    )  # fmt: skip
    def test_operators(self, device: px.Device, name: str, op: str) -> None:
        a, b = sample(name, (3, 4)), sample(name, (4,), 1)
        x, want = px.asarray(a), a.copy()
        alias, buffer = x[1:], x.buffer
        x = getattr(operator, op)(x, px.asarray(b))
        want = getattr(operator, op)(want, b)
        check(x, want)
        check(alias, want[1:])
        assert x.buffer is buffer
        x = getattr(operator, op)(x, 2)
        check(x, getattr(operator, op)(want, a.dtype.type(2)))

    def test_matmul(self, device: px.Device) -> None:
        a = np.arange(4.0).reshape(2, 2)
        x = px.asarray(a)
        alias = x[0]
        x @= px.asarray(a)
        check(alias, (a @ a)[0])
        with pytest.raises(ValueError, match="does not fit"):
            x @= px.ones((2, 3))

    def test_overlap(self, device: px.Device) -> None:
        a = np.arange(12.0)
        for edit in (
            lambda v: operator.iadd(v[1:], v[:-1]),
            lambda v: operator.iadd(v[:-1], v[1:]),
            lambda v: operator.imul(v, v[::-1]),
            lambda v: operator.iadd(v, v[3:4]),
            lambda v: operator.isub(v[::2], v[:6]),
            lambda v: operator.setitem(v, slice(2, 12), v[:10]),
            lambda v: operator.setitem(v, slice(None), v[::-1]),
        ):
            x, want = px.asarray(a), a.copy()
            edit(x)
            edit(want)
            check(x, want)

    def test_overlap_of_the_transpose(self, device: px.Device) -> None:
        a = np.arange(9.0).reshape(3, 3)
        x, want = px.asarray(a), a.copy()
        x += x.T
        want += a.T
        check(x, want)
        x[...] = x.T * 2
        check(x, want.T * 2)

    def test_wrong_dtype(self, fake: px.Device) -> None:
        x = px.ones(3, dtype=px.int32)
        for call in (
            lambda: operator.iadd(x, px.ones(3)),
            lambda: operator.iadd(x, px.ones(3, dtype=px.int64)),
            lambda: operator.itruediv(x, x),
        ):
            with px.promotion("standard"), pytest.raises(TypeError, match=r"in place|common dtype"):
                call()
        for value in (1.5, 1j):
            with pytest.raises(TypeError):
                operator.iadd(x, value)
        x += px.ones(3, dtype=px.int8)
        check(x, np.full(3, 2, np.int32))

    def test_wrong_shape(self, fake: px.Device) -> None:
        x = px.ones(3)
        with pytest.raises(
            ValueError, match=r"\(2, 3\) does not fit into the array of shape \(3,\)"
        ):
            x += px.ones((2, 3))
        y = px.ones(1)
        with pytest.raises(ValueError, match="does not fit"):
            y += px.ones(3)

    def test_foreign_object(self, fake: px.Device) -> None:
        x = px.ones(3)
        with pytest.raises(TypeError):
            x += "a"  # type: ignore[operator]


class TestOperators:
    BINARY = (
        "add",
        "sub",
        "mul",
        "truediv",
        "floordiv",
        "mod",
        "pow",
        "lt",
        "le",
        "gt",
        "ge",
        "eq",
        "ne",
    )

    @pytest.mark.parametrize("name", BINARY)
    def test_arithmetic_and_comparison(self, device: px.Device, name: str) -> None:
        a, b = sample("float64", (5,)), sample("float64", (5,), 1)
        op = getattr(operator, name)
        check(op(px.asarray(a), px.asarray(b)), op(a, b))
        check(op(px.asarray(a), 0.5), op(a, 0.5))
        check(op(0.5, px.asarray(a)), op(0.5, a))

    @pytest.mark.parametrize("name", ["and_", "or_", "xor", "lshift", "rshift"])
    def test_bits(self, device: px.Device, name: str) -> None:
        a, b = sample("int32", (5,)), sample("int32", (5,), 1)
        op = getattr(operator, name)
        check(op(px.asarray(a), px.asarray(b)), op(a, b))
        check(op(px.asarray(a), 2), op(a, np.int32(2)))
        check(op(2, px.asarray(a)), op(np.int32(2), a))

    def test_unary(self, device: px.Device) -> None:
        a = np.array([-2, 0, 3])
        x = px.asarray(a)
        check(-x, -a)
        check(+x, a)
        check(abs(x), abs(a))
        check(~x, ~a)

    def test_pow_with_a_modulus(self, fake: px.Device) -> None:
        with pytest.raises(TypeError):
            pow(px.ones(2), 2, 3)
        with pytest.raises(TypeError):
            px.ones((2, 2)) @ 2  # type: ignore[operator]


@ELEMENTWISE_SETTINGS
@given(data=st.data())
def test_random_views(data: st.DataObject, drivers: dict[str, ReferenceDriver]) -> None:
    """A random expression of random views gives what NumPy gives, on every fake device."""
    shape = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=4).map(tuple))
    base = np.arange(float(math.prod(shape))).reshape(shape)
    key = tuple(
        data.draw(
            st.sampled_from(
                [
                    slice(None),
                    slice(None, None, -1),
                    slice(None, None, 2),
                    slice(1, None),
                    slice(-2, None, -1),
                ]
            )
        )
        for _ in shape
    )
    order = data.draw(st.permutations(range(len(shape))))
    want_a, want_b = base[key].transpose(order), base[key].transpose(order)[..., :1]
    for name in ("fake:0", "fakestream:0", "fakehost:0"):
        x = px.asarray(base, device=name)
        a = px.permute_dims(x[key], tuple(order))
        b = a[..., :1]
        check(a * 2 - b, want_a * 2 - want_b)
        check(px.sum(a * b, axis=0), (want_a * want_b).sum(0))
        x[key] = x[key] + 1
        changed = base.copy()
        changed[key] += 1
        check(x, changed)


def test_eight_threads(device: px.Device) -> None:
    """Every thread computes on its own arrays and on shared ones, all at the same time."""
    shared = px.reshape(px.arange(64.0), (8, 8))
    want = np.arange(64.0).reshape(8, 8)
    errors: list[BaseException] = []
    start = threading.Barrier(8)

    def work(number: int) -> None:
        try:
            with px.device(device):
                start.wait(30)
                for i in range(15):
                    mine = shared * number + i
                    check(mine, want * number + i)
                    check(px.sum(mine, axis=1), (want * number + i).sum(1))
                    check(px.sort(mine[:, ::-1], axis=1), np.sort(want * number + i, axis=1))
                    mine[number] = float(i)
                    assert px.asnumpy(mine[number]).tolist() == [float(i)] * 8
                    check(px.astype(mine @ shared, px.float32)[0, :0], np.zeros(0, np.float32))
        except BaseException as error:  # noqa: BLE001 - shown below
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert errors == []
    check(shared, want)


def test_first_use_by_eight_threads(make_driver: Callable[..., ReferenceDriver]) -> None:
    driver = make_driver(streams=True)
    results: list[float] = []
    start = threading.Barrier(8)

    def work() -> None:
        start.wait(30)
        results.append(float(px.sum(px.ones(10, device="own:0"))))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == [10.0] * 8
    assert driver.opened == [0], "the device was opened once"


class TestCanonicalForms:
    """The fake kernels refuse any other form; these launches show what arrives."""

    def test_reductions_merge_the_kept_axes(
        self, make_driver: Callable[..., ReferenceDriver]
    ) -> None:
        driver = make_driver()
        x = px.zeros((2, 3, 4, 5), device="own:0")
        driver.launches.clear()
        for axis, shape in (
            ((2, 3), (6, 20)),
            (None, (120,)),
            (3, (24, 5)),
            (0, (60, 2)),
            ((0, 1), (20, 6)),
            ((1, 2), (2, 5, 12)),
        ):
            px.sum(x, axis=axis)
            assert driver.launches[-1].shapes[0] == shape
        assert {launch.op for launch in driver.launches} == {"sum"}, "no copy was needed"

    def test_axes_that_do_not_run_on_are_copied(
        self, make_driver: Callable[..., ReferenceDriver]
    ) -> None:
        driver = make_driver()
        a = np.arange(60.0).reshape(3, 4, 5)
        x = px.asarray(a, device="own:0")
        driver.launches.clear()
        check(px.sum(x, axis=(0, 2)), a.sum((0, 2)))
        assert [launch.op for launch in driver.launches] == ["copy", "sum"]

    def test_launch_refuses_more_operands_than_kernels_take(self, fake: px.Device) -> None:

        x = px.ones(1)
        with pytest.raises(ValueError, match="at most 8"):
            launch("add", (x,) * 8, (x,))
        with pytest.raises(TypeError):
            launch("add", (1.0, x), (x,))
