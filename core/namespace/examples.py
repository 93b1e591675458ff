"""Examples of the elementwise functions: the last lines of their docstrings, which tests run.

Each shows what the name does not say: special values, the dtype of the result, wrapping.
"""

from __future__ import annotations

EXAMPLES = {
    "abs": """
        >>> print(px.abs(px.asarray([3 - 4j, 1j])))  # moduli, as float64
        [5. 1.]
    """,
    "acos": """
        >>> print(px.acos(px.asarray([-1.0, 0.5, 2.0])))
        [3.14159265 1.04719755        nan]
    """,
    "acosh": """
        >>> print(px.acosh(px.asarray([1.0, 2.0, 0.5])))
        [0.        1.3169579       nan]
    """,
    "add": """
        >>> print(px.add(px.asarray([[10], [20]]), px.asarray([0.5, 1, 2])))
        [[10.5 11.  12. ]
         [20.5 21.  22. ]]
    """,
    "asin": """
        >>> print(px.asin(px.asarray([0.5, 1.0, 2.0])))
        [0.52359878 1.57079633        nan]
    """,
    "asinh": """
        >>> print(px.asinh(px.asarray([0.0, 1.0, 1e300])))
        [  0.           0.88137359 691.46867508]
    """,
    "atan": """
        >>> print(px.atan(px.asarray([1.0, px.inf])) / px.pi)
        [0.25 0.5 ]
    """,
    "atan2": """
        >>> print(px.atan2(px.asarray([1.0, -1.0]), -1.0) / px.pi)  # y first: all four quadrants
        [ 0.75 -0.75]
    """,
    "atanh": """
        >>> print(px.atanh(px.asarray([0.5, 1.0, 2.0])))
        [0.54930614        inf        nan]
    """,
    "bitwise_and": """
        >>> print(px.bitwise_and(px.asarray([0b1100, 0b1010]), 0b0110))
        [4 2]
    """,
    "bitwise_invert": """
        >>> print(px.bitwise_invert(px.asarray([0, 5], dtype=px.uint8)))
        [255 250]
    """,
    "bitwise_left_shift": """
        >>> print(px.bitwise_left_shift(px.asarray([1, 200], dtype=px.uint8), 1))
        [  2 144]
    """,
    "bitwise_or": """
        >>> print(px.bitwise_or(px.asarray([0b1100, 0b1010]), 0b0110))
        [14 14]
    """,
    "bitwise_right_shift": """
        >>> print(px.bitwise_right_shift(px.asarray([5, -5]), 1))
        [ 2 -3]
    """,
    "bitwise_xor": """
        >>> print(px.bitwise_xor(px.asarray([0b1100, 0b1010]), 0b0110))
        [10 12]
    """,
    "cbrt": """
        >>> print(px.cbrt(px.asarray([-27.0, 0.001, 2.0**-1074])))
        [-3.00000000e+000  1.00000000e-001  1.70318394e-108]
    """,
    "ceil": """
        >>> print(px.ceil(px.asarray([-1.5, -0.5, 0.5])))
        [-1. -0.  1.]
    """,
    "conj": """
        >>> print(px.conj(px.asarray([1 + 2j, -3j])))
        [ 1.-2.j -0.+3.j]
    """,
    "copysign": """
        >>> print(px.copysign(px.asarray([1.0, 2.0]), px.asarray([-0.0, 3.0])))
        [-1.  2.]
    """,
    "cos": """
        >>> print(px.cos(px.asarray([0.0, px.pi / 3, px.pi])))
        [ 1.   0.5 -1. ]
    """,
    "cosh": """
        >>> print(px.cosh(px.asarray([-1.0, 0.0, 1.0])))
        [1.54308063 1.         1.54308063]
    """,
    "digamma": """
        >>> print(px.special.digamma(px.asarray([1.0, 2.0])))  # minus Euler's constant, and 1 more
        [-0.57721566  0.42278434]
    """,
    "divide": """
        >>> print(px.divide(px.asarray([3, -1, 0]), px.asarray([2, 0, 0])))  # of integers: float64
        [ 1.5 -inf  nan]
    """,
    "equal": """
        >>> print(px.equal(px.asarray([-0.0, px.nan]), px.asarray([0.0, px.nan])))
        [ True False]
    """,
    "erf": """
        >>> print(px.special.erf(px.asarray([-px.inf, 0.0, 1.0])))
        [-1.          0.          0.84270079]
    """,
    "erfc": """
        >>> print(px.special.erfc(px.asarray([0.0, 10.0])))  # 1 - erf(10) would be 0
        [1.00000000e+00 2.08848758e-45]
    """,
    "exp": """
        >>> print(px.exp(px.asarray([0.0, 100.0], dtype=px.float32)))
        [ 1. inf]
    """,
    "exp2": """
        >>> print(px.exp2(px.asarray([10, -1])))  # integers become the default float
        [1.024e+03 5.000e-01]
    """,
    "expm1": """
        >>> x = px.asarray([1e-20])
        >>> print(px.expm1(x), px.exp(x) - 1)
        [1.e-20] [0.]
    """,
    "floor": """
        >>> print(px.floor(px.asarray([-1.5, 1.5])))
        [-2.  1.]
    """,
    "floor_divide": """
        >>> print(px.floor_divide(px.asarray([7, -7]), 2))
        [ 3 -4]
    """,
    "greater": """
        >>> print(px.greater(px.asarray([[1], [2]]), px.asarray([0, 1, 2])))
        [[ True False False]
         [ True  True False]]
    """,
    "greater_equal": """
        >>> print(px.greater_equal(px.asarray([1.0, 2.0, px.nan]), 2))
        [False  True False]
    """,
    "hypot": """
        >>> print(px.hypot(px.asarray([3e200]), px.asarray([4e200])))  # the squares would overflow
        [5.e+200]
    """,
    "imag": """
        >>> print(px.imag(px.asarray([1 + 2j, -3j], dtype=px.complex64)))  # as float32
        [ 2. -3.]
    """,
    "isfinite": """
        >>> print(px.isfinite(px.asarray([1.0, -px.inf, px.nan])))
        [ True False False]
    """,
    "isinf": """
        >>> print(px.isinf(px.asarray([1.0, -px.inf, px.nan])))
        [False  True False]
    """,
    "isnan": """
        >>> print(px.isnan(px.asarray([1.0, -px.inf, px.nan])))
        [False False  True]
    """,
    "less": """
        >>> print(px.less(px.asarray([1.0, px.nan]), 2))
        [ True False]
    """,
    "less_equal": """
        >>> print(px.less_equal(px.asarray([1, 2, 3]), px.asarray([3, 2, 1])))
        [ True  True False]
    """,
    "lgamma": """
        >>> print(px.special.lgamma(px.asarray([1.0, 5.0, 200.0])))  # gamma(200) itself overflows
        [  0.           3.17805383 857.93366983]
    """,
    "log": """
        >>> print(px.log(px.asarray([px.e, 0.0, -1.0])))
        [  1. -inf  nan]
        >>> print(px.log(px.asarray([-1 + 0j])))
        [0.+3.14159265j]
    """,
    "log1p": """
        >>> x = px.asarray([1e-20])
        >>> print(px.log1p(x), px.log(1 + x))
        [1.e-20] [0.]
    """,
    "log2": """
        >>> print(px.log2(px.asarray([8, 1, 0])))
        [  3.   0. -inf]
    """,
    "log10": """
        >>> print(px.log10(px.asarray([1000.0, 0.001])))
        [ 3. -3.]
    """,
    "logaddexp": """
        >>> print(px.logaddexp(px.asarray([-1000.0]), -1000.0))  # exp(-1000) is 0 in float64
        [-999.30685282]
    """,
    "logical_and": """
        >>> x = px.asarray([1, 5, 9])
        >>> print(px.logical_and(x > 2, x < 7))
        [False  True False]
    """,
    "logical_not": """
        >>> print(px.logical_not(px.asarray([1.0, px.nan]) > 0))
        [False  True]
    """,
    "logical_or": """
        >>> x = px.asarray([1, 5, 9])
        >>> print(px.logical_or(x < 2, x > 7))
        [ True False  True]
    """,
    "logical_xor": """
        >>> print(px.logical_xor(px.asarray([[True], [False]]), px.asarray([True, False])))
        [[False  True]
         [ True False]]
    """,
    "maximum": """
        >>> print(px.maximum(px.asarray([1.0, px.nan, 3.0]), 2))
        [ 2. nan  3.]
    """,
    "minimum": """
        >>> print(px.minimum(px.asarray([1.0, px.nan, 3.0]), 2))
        [ 1. nan  2.]
    """,
    "multiply": """
        >>> print(px.multiply(px.asarray([100, 200], dtype=px.uint8), 2))  # modulo 256
        [200 144]
    """,
    "negative": """
        >>> print(px.negative(px.asarray([0.0, 1.5])))
        [-0.  -1.5]
    """,
    "nextafter": """
        >>> px.nextafter(px.asarray([0.0, 1.0]), 2.0).tolist()
        [5e-324, 1.0000000000000002]
    """,
    "not_equal": """
        >>> x = px.asarray([1.0, px.nan])
        >>> print(px.not_equal(x, x))
        [False  True]
    """,
    "positive": """
        >>> x = px.asarray([1, -2])
        >>> copied = px.positive(x)
        >>> x[0] = 9
        >>> print(copied)
        [ 1 -2]
    """,
    "pow": """
        >>> print(px.pow(px.asarray([2, 3]), 2), px.pow(px.asarray([2, 3]), -1.0))
        [4 9] [0.5        0.33333333]
    """,
    "real": """
        >>> print(px.real(px.asarray([1 + 2j, 3j], dtype=px.complex64)))  # as float32
        [1. 0.]
    """,
    "reciprocal": """
        >>> print(px.reciprocal(px.asarray([4.0, 0.0, -0.0])))
        [0.25  inf -inf]
    """,
    "remainder": """
        >>> print(px.remainder(px.asarray([7, -7]), 3), px.remainder(px.asarray([7, -7]), -3))
        [1 2] [-2 -1]
    """,
    "round": """
        >>> print(px.round(px.asarray([0.5, 1.5, 2.5, -0.5])))
        [ 0.  2.  2. -0.]
    """,
    "sign": """
        >>> print(px.sign(px.asarray([-2.5, -0.0, px.nan])), px.sign(px.asarray([3 - 4j])))
        [-1.  0. nan] [0.6-0.8j]
    """,
    "signbit": """
        >>> print(px.signbit(px.asarray([-1.0, -0.0, 0.0])))
        [ True  True False]
    """,
    "sin": """
        >>> print(px.sin(px.asarray([0.0, px.pi / 6, px.pi / 2])))
        [0.  0.5 1. ]
        >>> float(px.sin(px.asarray(px.pi)))  # what the float64 lacks to pi
        1.2246467991473532e-16
    """,
    "sinh": """
        >>> print(px.sinh(px.asarray([-1.0, 0.0, 1000.0])))
        [-1.17520119  0.                 inf]
    """,
    "sqrt": """
        >>> print(px.sqrt(px.asarray([9, -1])), px.sqrt(px.asarray([-1 + 0j])))
        [ 3. nan] [0.+1.j]
    """,
    "square": """
        >>> print(px.square(px.asarray([-3, 16], dtype=px.int8)))  # 256 wraps
        [9 0]
    """,
    "subtract": """
        >>> print(px.subtract(px.asarray([1, 5], dtype=px.uint8), 2))  # modulo 256
        [255   3]
    """,
    "tan": """
        >>> print(px.tan(px.asarray([0.0, px.pi / 4])))
        [0. 1.]
    """,
    "tanh": """
        >>> print(px.tanh(px.asarray([-100.0, 0.5, 100.0])))
        [-1.          0.46211716  1.        ]
    """,
    "trunc": """
        >>> print(px.trunc(px.asarray([-1.5, 1.5])))
        [-1.  1.]
    """,
}
