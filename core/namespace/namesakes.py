"""Names that other libraries have, and what is written here instead: for ``AttributeError``."""

from __future__ import annotations

from difflib import get_close_matches

_FUNCTIONS = {
    **{f"arc{f}": f"phalanx.a{f}" for f in ("cos", "sin", "tan", "cosh", "sinh", "tanh")},
    "absolute": "phalanx.abs",
    "allclose": "phalanx.all(phalanx.abs(x - y) <= atol + rtol * phalanx.abs(y))",
    "amax": "phalanx.max",
    "amin": "phalanx.min",
    "arctan2": "phalanx.atan2",
    "array": "phalanx.asarray",
    "array_equal": "x.shape == y.shape and phalanx.all(x == y)",
    "ascontiguousarray": "phalanx.asarray(x, copy=True)",
    "concatenate": "phalanx.concat",
    "conjugate": "phalanx.conj",
    "copy": "phalanx.asarray(x, copy=True)",
    "cuda": 'phalanx.set_device("gpu:0") and phalanx.devices()',
    "cumprod": "phalanx.cumulative_prod",
    "cumsum": "phalanx.cumulative_sum",
    "dot": "phalanx.matmul or x @ y",
    "einsum": "phalanx.tensordot, phalanx.matmul or phalanx.vecdot",
    "fabs": "phalanx.abs",
    "float": "phalanx.float64",
    "float_power": "phalanx.pow",
    "from_numpy": "phalanx.asarray",
    "hstack": "phalanx.concat(arrays, axis=1)",
    "inner": "phalanx.vecdot",
    "int": "phalanx.int64",
    "invert": "phalanx.bitwise_invert or ~x",
    "left_shift": "phalanx.bitwise_left_shift or x << n",
    "mod": "phalanx.remainder or x % y",
    "mv": "phalanx.matmul or x @ y",
    "mm": "phalanx.matmul or x @ y",
    "ndarray": "phalanx.Array",
    "norm": "phalanx.linalg.vector_norm or phalanx.linalg.matrix_norm",
    "outer": "phalanx.linalg.outer",
    "power": "phalanx.pow or x ** y",
    "ravel": "phalanx.reshape(x, (-1,)) or x.ravel()",
    "right_shift": "phalanx.bitwise_right_shift or x >> n",
    "rint": "phalanx.round",
    "swapaxes": "phalanx.permute_dims or x.swapaxes(i, j)",
    "tensor": "phalanx.asarray",
    "to_numpy": "phalanx.asnumpy",
    "trace": "phalanx.linalg.trace",
    "transpose": "phalanx.permute_dims or x.T",
    "true_divide": "phalanx.divide or x / y",
    "unique": "phalanx.unique_values",
    "vdot": "phalanx.vecdot",
    "vstack": "phalanx.concat(arrays, axis=0)",
}
_METHODS = {
    "abs": "phalanx.abs(x) or abs(x)",
    "contiguous": "phalanx.asarray(x, copy=True)",
    "cuda": 'x.to_device("gpu:0")',
    "detach": "x itself: nothing is recorded for gradients",
    "diagonal": "phalanx.linalg.diagonal(x)",
    "double": "x.astype(phalanx.float64)",
    "exp": "phalanx.exp(x)",
    "expand": "phalanx.broadcast_to(x, shape)",
    "float": "x.astype(phalanx.float32)",
    "get": "phalanx.asnumpy(x) or x.numpy()",
    "half": "x.astype(phalanx.float16)",
    "int": "x.astype(phalanx.int32)",
    "log": "phalanx.log(x)",
    "long": "x.astype(phalanx.int64)",
    "matmul": "x @ y",
    "mm": "x @ y",
    "norm": "phalanx.linalg.vector_norm(x)",
    "numel": "x.size",
    "permute": "x.transpose(*axes)",
    "pow": "x ** y",
    "ptp": "x.max() - x.min()",
    "softmax": "phalanx.softmax(x, axis)",
    "sqrt": "phalanx.sqrt(x)",
    "t": "x.T",
    "to": "x.to_device(device) or x.astype(dtype)",
    "tobytes": "x.numpy().tobytes()",
    "trace": "phalanx.linalg.trace(x)",
    "unsqueeze": "phalanx.expand_dims(x, axis)",
}


class MissingName(AttributeError):
    """An attribute that the module, or an array, has not.

    The text with what to write instead is made when it is read: most who ask for an attribute only
    want to know whether there is one.
    """

    def __init__(self, name: str, *, of_array: bool) -> None:
        super().__init__(name)
        self._of_array = of_array

    def __str__(self) -> str:
        import phalanx

        name = str(self.args[0])
        owner = "a phalanx array" if self._of_array else "module 'phalanx'"
        text = f"{owner} has no attribute {name!r}"
        if name.startswith("_"):
            return text
        others = _METHODS if self._of_array else _FUNCTIONS
        if name in others:
            return f"{text}; write {others[name]}"
        known = dir(phalanx.Array) if self._of_array else phalanx.__all__
        near = get_close_matches(name, [k for k in known if k[0] != "_"], n=1, cutoff=0.75)
        prefix = "x" if self._of_array else "phalanx"
        return f"{text}; did you mean {prefix}.{near[0]}?" if near else text
