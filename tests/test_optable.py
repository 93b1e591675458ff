"""The op table is whole, and the namespace is that of the Array API standard: ``core/optable``."""

from __future__ import annotations

import dataclasses
import inspect

import phalanx as px
import pytest
from phalanx.arrays.promotion import PAIRS
from phalanx.namespace.public import public_function
from phalanx.optable import (
    ALL,
    BOOLEAN,
    COMPLEX,
    FLOATING,
    INTEGER,
    NUMERIC,
    OPS,
    REAL,
    Determinism,
    Op,
    Signature,
    Structure,
    kind_of,
)

#: The functions and objects of the main namespace: https://data-apis.org/array-api/2025.12/API_specification
STANDARD = {
    "constants": ("e inf nan newaxis pi "),
    "creation": (
        "arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid "
        "ones ones_like tril triu zeros zeros_like "
    ),
    "data types": (
        "astype broadcast_arrays broadcast_shapes broadcast_to can_cast finfo iinfo "
        "isdtype result_type "
    ),
    "dtypes": (
        "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 "
        "complex128 "
    ),
    "elementwise": (
        "abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift "
        "bitwise_invert bitwise_or bitwise_right_shift bitwise_xor ceil clip conj "
        "copysign cos cosh divide equal exp expm1 floor floor_divide greater "
        "greater_equal hypot imag isfinite isinf isnan less less_equal log log1p log2 "
        "log10 logaddexp logical_and logical_not logical_or logical_xor maximum minimum "
        "multiply negative nextafter not_equal positive pow real reciprocal remainder "
        "round sign signbit sin sinh square sqrt subtract tan tanh trunc "
    ),
    "indexing": ("take take_along_axis "),
    "inspection": ("__array_namespace_info__ __array_api_version__ "),
    "linear algebra": ("matmul matrix_transpose tensordot vecdot "),
    "manipulation": (
        "concat expand_dims flip moveaxis permute_dims repeat reshape roll squeeze stack "
        "tile unstack "
    ),
    "searching": ("argmax argmin count_nonzero nonzero searchsorted where "),
    "sets": ("isin unique_all unique_counts unique_inverse unique_values "),
    "sorting": ("argsort sort "),
    "statistics": ("cumulative_prod cumulative_sum max mean min prod std sum var "),
    "utility": ("all any diff "),
}
#: Attributes and methods of the array object.
ARRAY = (
    "dtype device mT ndim shape size T __abs__ __add__ __and__ __array_namespace__ "
    "__bool__ __complex__ __dlpack__ __dlpack_device__ __eq__ __float__ __floordiv__ "
    "__ge__ __getitem__ __gt__ __index__ __int__ __invert__ __iter__ __le__ __lshift__ "
    "__lt__ __matmul__ __mod__ __mul__ __ne__ __neg__ __or__ __pos__ __pow__ __rshift__ "
    "__setitem__ __sub__ __truediv__ __xor__ to_device __iadd__ __isub__ __imul__ "
    "__itruediv__ __ifloordiv__ __ipow__ __imatmul__ __imod__ __iand__ __ior__ __ixor__ "
    "__ilshift__ __irshift__ __radd__ __rsub__ __rmul__ __rtruediv__ __rfloordiv__ "
    "__rpow__ __rmatmul__ __rmod__ __rand__ __ror__ __rxor__ __rlshift__ __rrshift__ "
)


@pytest.mark.parametrize("row", OPS.values(), ids=OPS)
class TestRows:
    def test_is_documented(self, row: Op) -> None:
        assert row.summary
        assert row.summary[0] == row.summary[0].lower() or not row.summary[0].isalpha()
        assert not row.summary.endswith(".")

    def test_bound_has_a_source(self, row: Op) -> None:
        assert len(row.bound.source) > 5
        outputs = {d for s in row.signatures for d in s.outputs}
        for name, ulp in row.bound.ulp.items():
            assert name in FLOATING + COMPLEX
            assert 0.5 <= ulp <= 16, f"{row.name} {name}"
            assert name in outputs or row.name in ("abs", "real", "imag", "square", "add"), name

    def test_signatures(self, row: Op) -> None:
        assert row.signatures
        inputs = [s.inputs for s in row.signatures]
        assert len({s.dtypes for s in row.signatures}) == len(row.signatures)
        assert len(set(inputs)) == len(inputs) or row.name == "cast", "one overload per inputs"
        for s in row.signatures:
            assert set(s.dtypes) <= set(ALL)
            assert len(s.inputs) == row.arity
            assert len(s.outputs) == 1

    def test_enums(self, row: Op) -> None:
        assert isinstance(row.structure, Structure)
        assert isinstance(row.determinism, Determinism)

    def test_expressions(self, row: Op) -> None:
        """Every overload of an elementwise op has an expression over its own operands."""
        if row.structure is not Structure.ELEMENTWISE:
            assert not row.expressions
            return
        kinds = {kind_of(s.inputs[row.key]) for s in row.signatures}
        assert set(row.expressions) <= kinds
        for kind in kinds:
            text = row.expression(kind)
            used = {letter for letter in "abc" if letter in _names(text)}
            assert used <= set("abc"[: row.arity])
            assert used or kind in "iu", f"{row.name} of kind {kind} uses no operand: {text}"

    def test_order_is_stated_where_rounding_shows_it(self, row: Op) -> None:
        rounding = row.name in (
            "sum", "prod", "mean", "sum_squared_deviations", "cumulative_sum", "cumulative_prod",
            "matmul", "softmax", "log_softmax", "layer_norm",
            "arange", "random_uniform", "random_normal", "random_exponential",
            "random_gamma", "segment_sum", "cholesky", "lu", "triangular_solve", "householder",
            "jacobi", "eigh", "schur",
            "fft", "fft_from_pairs", "fft_to_pairs",
        )  # fmt: skip
        assert bool(row.order) is rounding

    def test_is_immutable(self, row: Op) -> None:
        with pytest.raises(dataclasses.FrozenInstanceError):
            row.name = "other"  # type: ignore[misc]


def _names(text: str) -> set[str]:
    import re

    return set(re.findall(r"\b[abc]\b", text))


class TestTable:
    def test_groups_of_dtypes(self) -> None:
        assert REAL == INTEGER + FLOATING
        assert NUMERIC == REAL + COMPLEX
        assert ALL == BOOLEAN + NUMERIC
        assert "".join(kind_of(d) for d in ALL) == "biiiiuuuuffffcc"
        with pytest.raises(KeyError):
            kind_of("float8")

    def test_order_of_all_is_that_of_the_dtypes(self) -> None:
        from phalanx._warm import DTYPES

        assert tuple(d.name for d in DTYPES) == ALL

    def test_signature_prints(self) -> None:
        assert str(Signature(("int8", "int8"), ("bool",))) == "int8,int8->bool"

    def test_cast_has_every_pair(self) -> None:
        assert len(OPS["cast"].signatures) == len(ALL) * (len(ALL) - 1)

    def test_promotion_is_symmetric_and_absorbing(self) -> None:
        for (a, b), result in PAIRS.items():
            assert PAIRS[b, a] == result
            assert PAIRS[a, result] == result
            assert PAIRS[a, a] == a

    def test_promotion_of_the_standard(self) -> None:
        """https://data-apis.org/array-api/2025.12/API_specification/type_promotion.html"""
        expected = {
            ("int8", "int32"): "int32", ("uint8", "uint32"): "uint32", ("uint8", "int8"): "int16",
            ("uint16", "int8"): "int32", ("uint32", "int8"): "int64", ("uint32", "int32"): "int64",
            ("float32", "float64"): "float64", ("float64", "complex64"): "complex128",
            ("float32", "complex64"): "complex64", ("complex64", "complex128"): "complex128",
            ("float16", "bfloat16"): "float32",
        }  # fmt: skip
        assert {pair: PAIRS[pair] for pair in expected} == expected
        for pair in (
            ("uint64", "int8"),
            ("bool", "int8"),
            ("int64", "float64"),
            ("bool", "float32"),
            ("int8", "complex64"),
        ):
            assert pair not in PAIRS


class TestStandard:
    @pytest.mark.parametrize("group", STANDARD)
    def test_main_namespace(self, group: str) -> None:
        missing = [name for name in STANDARD[group].split() if not hasattr(px, name)]
        assert missing == []
        assert set(STANDARD[group].split()) <= set(px.__all__)

    def test_array_object(self) -> None:
        methods = set(ARRAY.split()) - {
            "__rmatmul__"
        }  # no other type has a matrix product with an array
        assert [name for name in methods if not hasattr(px.Array, name)] == []

    def test_version(self) -> None:
        assert px.__array_api_version__ == "2025.12"

    def test_elementwise_functions_come_from_the_table(self) -> None:
        names = set(STANDARD["elementwise"].split())
        assert names <= set(OPS)
        for name in names:
            assert OPS[name].structure is Structure.ELEMENTWISE
        public = {row.name for row in OPS.values() if row.structure is Structure.ELEMENTWISE}
        beyond = {"cbrt", "exp2", "fma", "erf", "erfc", "lgamma", "digamma"}
        beyond |= {"gelu", "sigmoid", "silu", "softplus"}
        assert public - names == {"where", "copy", "cast"} | beyond
        assert all(public_function(name).__name__ == name for name in beyond)

    def test_elementwise_functions_take_positional_arguments(self) -> None:
        for name in STANDARD["elementwise"].split():
            parameters = inspect.signature(getattr(px, name)).parameters.values()
            first = next(iter(parameters))
            assert first.kind is inspect.Parameter.POSITIONAL_ONLY, name

    def test_functions_have_docstrings(self) -> None:
        for group in STANDARD.values():
            for name in group.split():
                if callable(getattr(px, name)) and not isinstance(getattr(px, name), px.DType):
                    assert inspect.getdoc(getattr(px, name)), name

    def test_docstrings_say_dtypes_accuracy_and_errors(self) -> None:
        for name in set(STANDARD["elementwise"].split()) - {"clip"}:
            lines, row = getattr(px, name).__doc__.splitlines(), OPS[name]
            assert lines[0].startswith("Return ")
            assert lines[0].endswith(".")
            doc = " ".join(line.strip() for line in lines)
            assert all(f"{ulp:g}" in doc for d, ulp in row.bound.ulp.items())
            assert row.bound.ulp or "The result is exact." in doc
            assert "The result has" in doc or "The result is" in doc or "dtype of the result" in doc
            assert "Raises: TypeError:" in doc

    def test_info(self, device: px.Device) -> None:
        info = px.__array_namespace_info__()
        assert info.capabilities() == {
            "boolean indexing": True,
            "data-dependent shapes": True,
            "max dimensions": 64,
        }
        assert info.default_device() is device
        assert device in info.devices()
        assert info.default_dtypes()["indexing"] is px.int64
        assert set(info.default_dtypes(device=device)) == {
            "real floating",
            "complex floating",
            "integral",
            "indexing",
        }
        assert set(info.dtypes()) == set(STANDARD["dtypes"].split())
        assert set(info.dtypes(kind="unsigned integer")) == {"uint8", "uint16", "uint32", "uint64"}
        assert set(info.dtypes(kind=("bool", "complex floating"))) == {
            "bool",
            "complex64",
            "complex128",
        }
