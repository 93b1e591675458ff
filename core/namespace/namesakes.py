"""Names that other libraries have, and what is written here instead: for ``AttributeError``."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module

_FUNCTIONS = {
    **{f"arc{f}": f"phalanx.a{f}" for f in ("cos", "sin", "tan", "cosh", "sinh", "tanh")},
    "absolute": "phalanx.abs",
    "amax": "phalanx.max",
    "amin": "phalanx.min",
    "arctan2": "phalanx.atan2",
    "argwhere": "phalanx.stack(phalanx.nonzero(x), axis=1)",
    "array": "phalanx.asarray",
    "asanyarray": "phalanx.asarray",
    "ascontiguousarray": "phalanx.asarray(x, copy=True)",
    "bmm": "phalanx.matmul or x @ y",
    "cat": "phalanx.concat",
    "chunk": "slices such as x[:n] and x[n:]",
    "clone": "phalanx.asarray(x, copy=True)",
    "column_stack": "phalanx.stack(arrays, axis=1)",
    "complex": "phalanx.complex128",
    "concatenate": "phalanx.concat",
    "conjugate": "phalanx.conj",
    "copy": "phalanx.asarray(x, copy=True)",
    "cross": "phalanx.linalg.cross",
    "cuda": 'phalanx.set_device("gpu:0") and phalanx.devices()',
    "cummax": "phalanx.cumulative_max",
    "cummin": "phalanx.cumulative_min",
    "cumprod": "phalanx.cumulative_prod",
    "cumsum": "phalanx.cumulative_sum",
    "deg2rad": "x * (phalanx.pi / 180)",
    "det": "phalanx.linalg.det",
    "double": "phalanx.float64",
    "dtype": "phalanx.float32 or another dtype, or x.dtype",
    "fabs": "phalanx.abs",
    "float": "phalanx.float64",
    "float_": "phalanx.float64",
    "float_power": "phalanx.pow",
    "from_numpy": "phalanx.asarray",
    "gather": "phalanx.take_along_axis",
    "half": "phalanx.float16",
    "identity": "phalanx.eye",
    "index_add": "phalanx.scatter_add(x, indices, values, axis=axis)",
    "index_select": "phalanx.take(x, indices, axis=axis)",
    "Inf": "phalanx.inf",
    "int": "phalanx.int64",
    "int_": "phalanx.int64",
    "inv": "phalanx.linalg.inv",
    "invert": "phalanx.bitwise_invert or ~x",
    "left_shift": "phalanx.bitwise_left_shift or x << n",
    "lib": "phalanx.sliding_window_view for lib.stride_tricks.sliding_window_view",
    "long": "phalanx.int64",
    "manual_seed": "phalanx.random.seed(seed)",
    "mm": "phalanx.matmul or x @ y",
    "mod": "phalanx.remainder or x % y",
    "mv": "phalanx.matmul or x @ y",
    "NaN": "phalanx.nan",
    "ndarray": "phalanx.Array",
    "no_grad": "nothing: no gradients are recorded",
    "norm": "phalanx.linalg.vector_norm or phalanx.linalg.matrix_norm",
    "power": "phalanx.pow or x ** y",
    "rand": "phalanx.random.uniform(size=shape)",
    "randn": "phalanx.random.normal(size=shape)",
    "ravel": "phalanx.reshape(x, (-1,)) or x.ravel()",
    "right_shift": "phalanx.bitwise_right_shift or x >> n",
    "rint": "phalanx.round",
    "row_stack": "phalanx.vstack",
    "seed": "phalanx.random.seed(seed)",
    "svd": "phalanx.linalg.svd",
    "swapaxes": "phalanx.permute_dims or x.swapaxes(i, j)",
    "tensor": "phalanx.asarray",
    "Tensor": "phalanx.Array",
    "to_numpy": "phalanx.asnumpy",
    "trace": "phalanx.linalg.trace",
    "transpose": "phalanx.permute_dims or x.T",
    "trapz": "phalanx.trapezoid",
    "true_divide": "phalanx.divide or x / y",
    "uint": "phalanx.uint64",
    "unique": "phalanx.unique_values",
    "unsqueeze": "phalanx.expand_dims",
    "vdot": "phalanx.vecdot",
}
_METHODS = {
    "abs": "phalanx.abs(x) or abs(x)",
    "append": "phalanx.concat([x, y])",
    "backward": "nothing: no gradients are recorded",
    "clone": "x.copy()",
    "contiguous": "phalanx.asarray(x, copy=True)",
    "cuda": 'x.to_device("gpu:0")',
    "detach": "x itself: nothing is recorded for gradients",
    "diagonal": "phalanx.linalg.diagonal(x)",
    "dim": "x.ndim",
    "double": "x.astype(phalanx.float64)",
    "exp": "phalanx.exp(x)",
    "expand": "phalanx.broadcast_to(x, shape)",
    "flat": "x.ravel()",
    "float": "x.astype(phalanx.float32)",
    "get": "phalanx.asnumpy(x) or x.numpy()",
    "grad": "nothing: no gradients are recorded",
    "H": "phalanx.conj(x.mT)",
    "half": "x.astype(phalanx.float16)",
    "int": "x.astype(phalanx.int32)",
    "is_cuda": "x.device",
    "log": "phalanx.log(x)",
    "long": "x.astype(phalanx.int64)",
    "masked_fill": "phalanx.where(mask, value, x)",
    "matmul": "x @ y",
    "mm": "x @ y",
    "norm": "phalanx.linalg.vector_norm(x)",
    "numel": "x.size",
    "permute": "x.transpose(*axes)",
    "pow": "x ** y",
    "ptp": "phalanx.ptp(x)",
    "requires_grad": "nothing: no gradients are recorded",
    "resize": "x.reshape(shape)",
    "sigmoid": "phalanx.nn.sigmoid(x)",
    "softmax": "phalanx.softmax(x, axis)",
    "sqrt": "phalanx.sqrt(x)",
    "t": "x.T",
    "to": "x.to_device(device) or x.astype(dtype)",
    "tobytes": "x.numpy().tobytes()",
    "tofile": "x.numpy().tofile(file)",
    "trace": "phalanx.linalg.trace(x)",
    "type": "x.astype(dtype) or x.dtype",
    "unique": "phalanx.unique_values(x)",
    "unsqueeze": "phalanx.expand_dims(x, axis)",
    "zero_": "x.fill(0)",
}


_LINALG = {
    "dot": "phalanx.matmul or x @ y",
    "multi_dot": "a @ b @ c",
    "norm": "phalanx.linalg.vector_norm or phalanx.linalg.matrix_norm",
}
_RANDOM = {
    "default_rng": "phalanx.random.Generator(seed)",
    "dropout": "phalanx.nn.dropout(x, p)",
    "manual_seed": "phalanx.random.seed(7)",
    "permuted": "phalanx.random.permutation(x, axis=axis)",
    "PRNGKey": "phalanx.random.Generator(seed)",
    "rand": "phalanx.random.uniform(size=(2, 3))",
    "randint": "phalanx.random.integers(low, high, size=(2, 3))",
    "randn": "phalanx.random.normal(size=(2, 3))",
    "random": "phalanx.random.uniform(size=(2, 3))",
    "random_sample": "phalanx.random.uniform(size=(2, 3))",
    "randperm": "phalanx.random.permutation(n)",
    "RandomState": "phalanx.random.Generator(seed)",
    "standard_exponential": "phalanx.random.exponential(size=size)",
    "standard_gamma": "phalanx.random.gamma(shape, size=size)",
    "standard_normal": "phalanx.random.normal(size=(2, 3))",
}
_SPECIAL = {
    "cbrt": "phalanx.cbrt",
    "exp2": "phalanx.exp2",
    "expit": "phalanx.nn.sigmoid",
    "expm1": "phalanx.expm1",
    "log_softmax": "phalanx.nn.log_softmax",
    "logsumexp": "phalanx.nn.logsumexp",
    "softmax": "phalanx.softmax",
    "log1p": "phalanx.log1p",
}
_NN = {
    "binary_cross_entropy_with_logits": "phalanx.nn.softplus(x) - x * target",
    "l1_loss": "phalanx.mean(phalanx.abs(x - target))",
    "pad": "phalanx.pad",
    "tanh": "phalanx.tanh",
}
_OF_MODULES = {
    "phalanx": _FUNCTIONS,
    "phalanx.linalg": _LINALG,
    "phalanx.nn": _NN,
    "phalanx.random": _RANDOM,
    "phalanx.special": _SPECIAL,
}


class MissingName(AttributeError):
    """An attribute that a module, or an array, has not.

    The text with what to write instead is made when it is read: most who ask for an attribute only
    want to know whether there is one.
    """

    def __init__(self, name: str, *, of_array: bool, module: str = "phalanx") -> None:
        super().__init__(name)
        self._of_array = of_array
        self._module = module

    def __str__(self) -> str:
        name = str(self.args[0])
        owner = "a phalanx array" if self._of_array else f"module {self._module!r}"
        hint = "" if name.startswith("_") else self._hint(name)
        return f"{owner} has no attribute {name!r}" + (f"; {hint}" if hint else "")

    def _hint(self, name: str) -> str:
        """What to write instead, or empty."""
        import phalanx

        methods = [n for n in dir(phalanx.Array) if n[0] != "_"]
        place = import_module(self._module)
        functions = list(place.__all__)
        table = _METHODS if self._of_array else _OF_MODULES.get(self._module, {})
        if name in table:
            return f"write {table[name]}"
        if self._module == "phalanx" and (elsewhere := _in_modules(name)):
            return f"write {elsewhere}(x)" if self._of_array else f"write {elsewhere}"
        if self._of_array and name in functions:
            return f"write phalanx.{name}(x)"
        if self._module == "phalanx" and name in methods:
            return f"arrays have it: x.{name}"
        if elsewhere := _in_numpy(name, self._of_array, self._module):
            library = "SciPy" if elsewhere.startswith("scipy") else "NumPy"
            return f"{library} has it, on the host: {elsewhere}"
        known, prefix = (methods, "x") if self._of_array else (functions, self._module)
        near = get_close_matches(name, known, n=1, cutoff=0.75)
        return f"did you mean {prefix}.{near[0]}?" if near else ""


def _in_modules(name: str) -> str:
    """The function of this name in a module of the package that has those of others; or empty."""
    modules = ("phalanx.special", "phalanx.nn")
    return next((f"{m}.{name}" for m in modules if name in import_module(m).__all__), "")


def _in_scipy(name: str) -> str:
    """How to call a special function of SciPy's with the data, if SciPy is there and has it."""
    try:
        found = getattr(import_module("scipy.special"), name, None)
    except ImportError:
        return ""
    return f"scipy.special.{name}(phalanx.asnumpy(x))" if callable(found) else ""


def _in_numpy(name: str, of_array: bool, module: str) -> str:
    """How to call a function or method of NumPy's with the data; empty if there is none."""
    if module == "phalanx.nn":
        return ""
    if module == "phalanx.special":
        return _in_scipy(name)
    if module == "phalanx.random":
        owner = import_module("numpy.random").Generator
        call = f"phalanx.asarray(numpy.random.default_rng(seed).{name}(...))"
        return call if callable(getattr(owner, name, None)) else ""
    place = "numpy.ndarray" if of_array else module.replace("phalanx", "numpy")
    folder, _, last = place.rpartition(".")
    owner = getattr(import_module(folder), last) if folder else import_module(last)
    found = getattr(owner, name, None)
    if not callable(found) or isinstance(found, type):
        return ""
    return f"x.numpy().{name}(...)" if of_array else f"{place}.{name}(phalanx.asnumpy(x), ...)"
