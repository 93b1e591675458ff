"""What is run of whom, how it gets to know Phalanx, and what may fail for which reason."""

from __future__ import annotations

from .suite import Edit, Reason, Suite

#: Tests, and compiled code behind them, ask NumPy for arrays; some go over all devices there are.
_NOT_UNASKED = Reason(
    "",
    "`numpy.asarray(x)`, which is refused where the host does not see the memory",
    message="does not convert to NumPy by itself",
)

_SCIPY = Suite(
    package="scipy",
    tests=("scipy",),
    needs=("pooch", "hypothesis", "array-api-strict"),
    edits=(
        Edit(
            "scipy/conftest.py",
            "xp_skip_cpu_only_backends = set()\n",
            "xp_skip_cpu_only_backends = set()\n"
            "import phalanx\n"
            "xp_known_backends.add('phalanx')\n"
            "xp_available_backends.append(\n"
            "    pytest.param(phalanx, id='phalanx', marks=pytest.mark.array_api_backends))\n"
            "if not phalanx.get_device().host_addressable:\n"
            "    xp_skip_cpu_only_backends.add('phalanx')\n"
            "    phalanx.fallback_policy('allow')\n",
        ),
        # a tuple in the standard since 2024.12
        Edit(
            "scipy/conftest.py",
            "return xp.__array_namespace_info__().devices() + [None]",
            "return list(xp.__array_namespace_info__().devices()) + [None]",
        ),
        Edit(
            "scipy/_lib/_array_api.py",
            "    if is_cupy(xp):\n        return x.get()\n",
            "    if is_cupy(xp):\n        return x.get()\n"
            '    if xp.__name__ == "phalanx":\n'
            "        return xp.asnumpy(x)\n",
        ),
        Edit(
            "scipy/_lib/_array_api.py",
            "    # JAX uses `np.testing`\n",
            '    if xp.__name__ == "phalanx":\n'
            "        actual, desired = map(_xp_copy_to_numpy, (actual, desired))\n"
            "    # JAX uses `np.testing`\n",
        ),
        Edit(
            "scipy/_lib/_array_api.py",
            "    return np.testing.assert_allclose(actual, desired, rtol=rtol,\n",
            '    if xp.__name__ == "phalanx" and isinstance(atol, xp.Array):\n'
            "        atol = xp.asnumpy(atol)\n"
            "    return np.testing.assert_allclose(actual, desired, rtol=rtol,\n",
        ),
        Edit(
            "scipy/_lib/array_api_extra/_lib/_testing.py",
            "    if is_pydata_sparse_namespace(xp):\n        return array.todense()",
            '    if xp.__name__ == "phalanx":\n'
            "        return xp.asnumpy(array)\n"
            "    if is_pydata_sparse_namespace(xp):\n        return array.todense()",
        ),
    ),
    selection=("-m", "array_api_backends"),
    environment={"SCIPY_ARRAY_API": '["phalanx"]'},
    beside={"SCIPY_ARRAY_API": '["array_api_strict"]'},
    reasons=(
        _NOT_UNASKED,
        Reason(
            "",
            "SciPy puts arrays on the default device beside those of another; it skips "
            "array-api-strict there",
            message="DeviceMismatchError",
        ),
        Reason(
            "test_entropy",
            "SciPy's compiled function puts its result on the default device; it skips "
            "array-api-strict there",
            message="assert <Device",
        ),
        Reason("TestContainsNaN::test_array_api_lazy", "for lazy libraries, with a list of others"),
        Reason(
            "TestVectorizedFilter::test_input_validation",
            "wants other words for text as a number",
        ),
        Reason(
            "TestKMeans::test_krandinit",
            "a random spread below 0.011 with the signs of LAPACK's singular vectors; others give "
            "0.0115",
        ),
        Reason("test_standard_deviation07", "`asarray` of fractions as integers, which is refused"),
        Reason(
            "TestLogSumExp::test_gh22601_infinite_elements",
            "a sum of -0 is -0 here; NumPy's begins with +0",
        ),
        Reason(
            "test_support_alternative_backends_mismatched_dtypes",
            "wants NumPy's dtype for integers that meet float32; here it is float32",
        ),
    ),
    request=(
        "SciPy's tests take the libraries that `SCIPY_ARRAY_API` names from a list in "
        "`scipy/conftest.py`. The request: add `phalanx` to that list, as an optional "
        "dependency of the tests, take the devices as any sequence, since the standard has said "
        "tuple since 2024.12, and bring arrays to the host by `phalanx.asnumpy`. The policy lets "
        "decompositions run in NumPy on devices that have none."
    ),
)

_SKLEARN = Suite(
    package="scikit-learn",
    tests=("sklearn",),
    edits=(
        Edit(
            "sklearn/utils/_array_api.py",
            '        "numpy",\n        # Stricter',
            '        "numpy",\n        "phalanx",\n        # Stricter',
        ),
        Edit(
            "sklearn/utils/_array_api.py",
            "        return array.asnumpy()\n",
            "        return array.asnumpy()\n"
            '    elif _is_xp_namespace(xp, "phalanx"):\n'
            "        return xp.asnumpy(array)\n",
        ),
        Edit(
            "sklearn/conftest.py",
            "\nimport pytest\n",
            '\nimport phalanx\nimport pytest\n\nphalanx.fallback_policy("allow")\n',
        ),
    ),
    selection=("-k", "phalanx"),
    environment={"SCIPY_ARRAY_API": "1"},
    reasons=(
        Reason(
            "",
            "without dispatch, `numpy.average` of NumPy's array with weights of ours: the two "
            "kinds do not mix unasked",
            message="average takes a phalanx array, got ndarray",
            kind="cpu",
        ),
    ),
    request=(
        "scikit-learn's checks go over a list of namespaces in `sklearn/utils/_array_api.py`, "
        "leaving out those that are not installed. The request: add `phalanx` to it, and to the "
        "libraries whose arrays come to the host by a call of their own; estimators ask arrays "
        "for their namespace. The policy lets decompositions run in NumPy on devices that have "
        "none."
    ),
)

_EXTRA = Suite(
    package="array-api-extra",
    tests=("tests/main",),
    home="sdist",
    needs=("hypothesis", "array-api-strict", "pytest-run-parallel", "typing-extensions"),
    edits=(
        Edit(
            "array_api_extra/_lib/_backends.py",
            '    SPARSE = "sparse"\n',
            '    SPARSE = "sparse"\n    PHALANX = "phalanx"\n',
        ),
        Edit(
            "array_api_extra/testing/_testing.py",
            "    if _compat.is_pydata_sparse_namespace(xp):\n",
            '    if xp.__name__ == "phalanx":\n'
            "        return xp.asnumpy(array)\n"
            "    if _compat.is_pydata_sparse_namespace(xp):\n",
        ),
    ),
    selection=("-k", "phalanx"),
    reasons=(
        Reason(
            "test_incompatible_dtype",
            "wants 1.1 set into integers cut to 1, which is refused, as by array-api-strict",
        ),
        Reason(
            "TestNUnique::test_delegates",
            "wants the library's own count; it has a list of others, the rest are counted for",
        ),
        Reason(
            "test_lazy_xp_function_cython_ufuncs",
            "SciPy's compiled function gives NumPy's arrays on the CPU, and is refused elsewhere",
        ),
        _NOT_UNASKED,
    ),
    request=(
        "array-api-extra tests the libraries of its enumeration `Backend`. The request: a member "
        "`PHALANX`, and `phalanx.asnumpy` among the ways to the host, with the package as an "
        "optional dependency of the tests."
    ),
)

_COMPAT = Suite(
    package="array-api-compat",
    tests=("tests",),
    home="sdist",
    edits=(
        Edit("tests/_helpers.py", '"dpnp", "mparray"\n', '"dpnp", "mparray", "phalanx"\n'),
        Edit(
            "tests/test_common.py",
            '    if library == "array_api_strict":\n        # There is no',
            '    if library in ("array_api_strict", "phalanx"):\n        # There is no',
        ),
        Edit(
            "tests/test_copies_or_views.py",
            "wrapped_libraries + ['array_api_strict']",
            "wrapped_libraries + ['array_api_strict', 'phalanx']",
        ),
    ),
    selection=("-k", "phalanx"),
    request=(
        "array-api-compat needs no change: `array_namespace(x)` gives `phalanx` itself, which "
        "follows the standard without a wrapper. The request: add `phalanx` to the list of "
        "libraries of its tests."
    ),
)

_EINOPS = Suite(
    package="einops",
    tests=("einops",),
    edits=(
        Edit(
            "einops/_backends.py",
            "class TensorflowBackend(AbstractBackend):\n",
            "class PhalanxBackend(NumpyBackend):\n"
            '    framework_name = "phalanx"\n'
            "\n"
            "    def __init__(self):\n"
            "        import phalanx\n"
            "\n"
            "        self.np = phalanx\n"
            "\n"
            "    def is_appropriate_type(self, tensor):\n"
            "        return isinstance(tensor, self.np.Array)\n"
            "\n"
            "    def from_numpy(self, x):\n"
            "        return self.np.asarray(x)\n"
            "\n"
            "    def to_numpy(self, x):\n"
            "        return self.np.asnumpy(x)\n"
            "\n"
            "    def concat(self, tensors, axis: int):\n"
            "        return self.np.concat(tensors, axis=axis)\n"
            "\n"
            "\n"
            "class TensorflowBackend(AbstractBackend):\n",
        ),
        Edit(
            "einops/tests/__init__.py",
            "                _backends.CupyBackend,\n",
            "                _backends.CupyBackend,\n                _backends.PhalanxBackend,\n",
        ),
        Edit(
            "einops/tests/test_ops.py",
            "        NumpyBackend.framework_name: logsumexp_numpy,\n",
            "        NumpyBackend.framework_name: logsumexp_numpy,\n"
            '        "phalanx": logsumexp_numpy,\n',
        ),
        *(
            Edit(f"einops/tests/{file}", old, new)
            for file in ("test_ops.py", "test_packing.py")
            for old, new in (
                ("    import numpy as xp\n", "    import phalanx as xp\n"),
                ('    if xp.__version__ < "2.0.0":\n', '    if np.__version__ < "2.0.0":\n'),
                ("xp.from_dlpack(", "xp.asarray("),
                ("AA.asnumpy(np.asarray(result + 0))", "xp.asnumpy(result + 0)"),
                ("AA.asnumpy(", "xp.asnumpy("),
            )
            if file == "test_ops.py" or "np.asarray" not in old
        ),
    ),
    selection=(
        "-k",
        "imperative or array_api or against_numpy or enumerating or concatenations "
        "or backends_installed or float_type",
    ),
    environment={"EINOPS_TEST_BACKENDS": "phalanx"},
    request=(
        "`einops.array_api` takes Phalanx arrays as it is. For `einops.rearrange`, `reduce` and "
        "`repeat`, which go by a class for each library, the request is the class below. What "
        "follows are its tests that ask such a class or the standard, with Phalanx there."
    ),
)

_XARRAY = Suite(
    package="xarray",
    tests=("xarray.tests.test_array_api",),
    edits=(
        Edit(
            "xarray/tests/test_array_api.py",
            'xp = pytest.importorskip("array_api_strict")\n',
            'xp = pytest.importorskip("phalanx")\n',
        ),
        Edit(
            "xarray/tests/test_array_api.py",
            "from array_api_strict._array_object import Array",
            "from phalanx import Array",
        ),
        Edit(
            "xarray/tests/test_array_api.py",
            "np.asarray(actual.data)",
            "xp.asnumpy(actual.data)",
        ),
        Edit("xarray/tests/test_array_api.py", "np.asarray(a.data)", "xp.asnumpy(a.data)"),
    ),
    reasons=(
        Reason(
            "test_astype",
            "wants NumPy's integer for NaN, which is undefined; on any device it is 0",
        ),
    ),
    request=(
        "xarray wraps every array with `__array_namespace__`: there is nothing to add. Its tests "
        "are written for array-api-strict; below they are asked of Phalanx."
    ),
)

_OURS = (
    Suite(
        package="xarray",
        tests=("with_xarray.py",),
        home="ours",
        reasons=(
            Reason(
                "test_program_that_rounds[cumsum]",
                "xarray calls `cumsum`; the standard's is `cumulative_sum`",
            ),
            Reason(
                "test_program_that_rounds[where, else NaN]",
                "xarray finds NaN to fill in for NumPy's dtypes only: write `x.where(mask, value)`",
            ),
            Reason(
                "test_program_that_rounds[weighted]",
                "xarray finds 0 to fill in for NumPy's dtypes only, as for `where`",
            ),
        ),
        request=(
            "What fails below fails with array-api-strict too. The request: for namespaces "
            "other than NumPy's call `cumulative_sum`, and take any dtype of a namespace in "
            "`maybe_promote`."
        ),
    ),
    Suite(
        package="dask",
        tests=("with_dask.py",),
        home="ours",
        needs=("dask[array]",),
        reasons=(
            Reason("test_program_that_rounds[std]", "dask asks the dtype for NumPy's `type`"),
        ),
        request=(
            "`dask.array` takes Phalanx arrays as chunks after four calls, which the tests make: "
            "`register_chunk_type(phalanx.Array)`, `concatenate_lookup.register(phalanx.Array, "
            "phalanx.concat)`, `tensordot_lookup.register(phalanx.Array, phalanx.tensordot)`, and "
            "one that counts elements for `mean`. The request: make them in "
            "`dask/array/backends.py` when `phalanx` is imported, as is done for CuPy."
        ),
    ),
    Suite(
        package="pandas",
        tests=("with_pandas.py",),
        home="ours",
        request=(
            "pandas keeps NumPy's arrays and has no list of others. `Series` and `DataFrame` take "
            "an array whose memory the host sees, and copy it; elsewhere they are given "
            "`phalanx.asnumpy(x)`, as the error says. There is nothing to request."
        ),
    ),
    Suite(
        package="matplotlib",
        tests=("with_matplotlib.py",),
        home="ours",
        environment={"MPLBACKEND": "Agg"},
        reasons=(
            Reason(
                "test_drawing[bar]",
                "`bar` broadcasts it with NumPy's arrays, and the two kinds do not mix unasked",
                kind="cpu",
            ),
        ),
        request=(
            "matplotlib draws what NumPy's `asarray` takes: arrays whose memory the host sees; "
            "elsewhere it is given `phalanx.asnumpy(x)`, as the error says. There is nothing to "
            "request."
        ),
    ),
    Suite(
        package="joblib",
        tests=("with_joblib.py",),
        home="ours",
        request=(
            "joblib pickles: arrays are hashed by their contents, stored, and sent to other "
            "processes, where they come back on the device of the same name. There is nothing to "
            "request."
        ),
    ),
)

SUITES = (_SCIPY, _SKLEARN, _EXTRA, _COMPAT, _EINOPS, _XARRAY, *_OURS)
