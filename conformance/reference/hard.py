"""Known inputs of which the result is hardest to round correctly, by op and dtype.

float32: results within about 2^-28 ulp of the middle of two numbers, found by evaluating all 2^32
inputs in double (2026-11); where double is not enough for the kernels of the CPU, they come first.
float16: the inputs that a result of float32, rounded again, gets wrong.
float64: angles. Functions that are odd or even are as hard at -x.
"""

from __future__ import annotations

import numpy as np

from .formats import FORMATS, host_dtype
from .hard_places import last_lgamma
from .values import HostArray

_FLOAT32 = {
    "exp": (
        "c16912cd bbf0edf1 377eff81 bae0e25c 39c6be5b b3000000 38e69cc1 383a3ef1 3d1a274e "
        "40315b33 4001b249 36fdffc1 39e5bb1d 4288942b 337fffff 33800000"
    ),
    "expm1": (
        "3dc252dd 3a254e7a 34ca62c1 b675cbfc 33b504f3 bb7b3b6c 36322b1b b3800000 40315b33 "
        "4001b249 37b61385 3b643f1b 4288942b 350f1bbc 3b234e53 35c542de"
    ),
    "log": (
        "3c413d3a 41178feb 4c5d65a5 65d890d3 6f31a8ec 4d604ebe 1f116ab8 66a8c860 38dcbe38 "
        "4665a9a6 5ee8984e 3bf86ef0 79e7ec37 0dc8bba4 2c4c24b7 111c87f8"
    ),
    "log1p": (
        "35400003 3710001b 41078feb 65d890d3 6f31a8ec b53ffffd b70fffe5 bb0ec8c4 3efd81ad "
        "55185f82 66a8c860 3770004b 4665a5a6 b76fffb5 5ee8984e 3ebe9143"
    ),
    "log2": (
        "3ea07ab9 40207ab9 00914a90 01114a90 01914a90 02114a90 02914a90 03114a90 03914a90 "
        "04114a90 04914a90 05114a90 05914a90 06114a90 06914a90 07114a90 002452a4 0048a548"
    ),
    "log10": (
        "0a4d4ce8 0efeee7a 2f149212 610567e4 62a6c1dd 45bdedc8 604df02c 120b93dc 13ae78d3 "
        "6f592c3c 65903d25 427a28e9 43079cce 4dff4ddc 0e10c607 2b1b73f9"
    ),
    "sin": (
        "46199998 73243f06 55cafb2a 67a9242b 4371ade3 5f208d82 6446cec0 79d1f6d3 7a5aacdb "
        "61dfc847 4fb56937 5dadd689 653cee8f 6d734599 7a817b08 3ef3830f"
    ),
    "cos": (
        "5f18b878 6115cb11 59443c0a 7a4b1a27 5922aa80 7908cd73 61703976 3c107fe6 55e5235d "
        "39800000 3a544395 424790ce 4a01dca4 42378db8 52d9d3fe 7a38ab34"
    ),
    "tan": (
        "5ffd33a4 5d5873ae 408174dd 453c5846 7714b423 7dae7426 575852f8 77cda26b 3e19205e "
        "40e67f59 76eb0bdc 79c42c65 451e0885 7a98d2c2 39b89ba2 613d28d9"
    ),
    "asin": "3f083a1a 3de5fa1e 3d07959c 39e89768 3d09bf86 3d17817c 3eb7f139 3ecdbda0 3dd870c6",
    "acos": (
        "328885a3 39826222 bc406ccd 3c8a2f9b ba9d5f75 3b7d281b 3a6a490f ba66deed be668cd1 "
        "be6dff37 328885a4 b3ddde97 328885a2 3bc1dfd8 bf006330 bd56bd25"
    ),
    "atan": (
        "3d8d6b23 3ad637fa 3b7c1bc9 40357f1d 4c700518 4c700517 3a27ba3b 3aac434b 3ee06db1 "
        "48b90f72 4a2367a3 4c700519 4c700516 3e242361 426bef73 4ae1e272"
    ),
    "sinh": (
        "3a1285ff 3b36aa1f 3f7df258 3d09c4d8 3f99144c 4288942b 3e9eafac 41cbf87b 39e89768 "
        "3fcb2f73 3c46f746 3e9e10e9 3fba6aa3 4283070f 3d7304b4 3e937c19"
    ),
    "cosh": (
        "3a6f7750 3d609528 3a87c3b6 3b43f588 39b504f3 4288942b 40fbfc54 3d6d8abe 41cbf87b "
        "3b366d92 3b7cfb68 4283070f 3d66a008"
    ),
    "tanh": (
        "3ac37de2 3eee0566 3cd41b91 40acb4d0 3c96ae2e 3d7c3055 40c5e8ca 40a6ef82 3f20b67f 3ff8bc7e"
    ),
    "asinh": (
        "4bdd65a5 655890d3 6eb1a8ec 4ce04ebe 6628c860 5e68984e 7967ec37 662bbd63 3fe1a91f "
        "4e05f412 4041409b 469142e5 5d000341 3a5352c8 42eb3bb2 542f989d"
    ),
    "acosh": (
        "655890d3 6eb1a8ec 4bdd65a5 4ce04ebe 6628c860 5e68984e 7967ec37 662bbd63 4e05f412 "
        "5d000341 542f989d 623467ba 41b5b653 42afb693 5ee4c24a 4a2be14f"
    ),
    "atanh": "39b89ba2 3a71e7a1 3ad637eb 3ddc2ece 3dcd9576 3b06f2f9 3aeafd43",
    "exp2": "3b429d37 bcf3a937 b52d1f9a 3a07857c b8d3d026 baec2b40 3c02a9ad 36879cf7 be1f29de",
    "erf": "3940ead6 39c0057d",
    "erfc": "b76c9f62 bb6c9b37 344683cc b4c683cc 36ec9f62 37ca4803",
    "digamma": "3ecab682 65d890d3 6f31a8ec a7de86a9 a7e05475 c5a60943",
    "lgamma": "3b7c53aa b0d6f2ca",
    # middles but for the cube of x
    "sigmoid": "37060000 37660000 b7570000 b7838000 ba928601",
    "silu": "00000001 80000003 00000005",
    "gelu": "37b0a46f 00000001 80000003 00000005",
    "softplus": "39ea41d0 3ad68ba7",
}
_FLOAT16 = {
    "exp": "1f79 25cf",
    "expm1": "11a8",
    "log": "1d78",
    "log1p": "1e03 9dfd",
    "log10": "338f 33f8 57e1 69d0 719d",
    "sin": "32b3 5cb0",
    "cos": "2b7c",
    "tan": "2894 55ed 774a",
    "acos": "804b acaf b874",
    "atan": "2745 32b5 466e",
    "sinh": "40f2",
    "cosh": "2800",
    "asinh": "32bd 4b1f",
    "acosh": "3ce4",
    "cbrt": "0551 1151 1d51 2951 3551 4151 4d51 5951 6551 7151",
    "exp2": "11c5",
    "erf": "1612",
    "erfc": "0b17 8f17",
    "digamma": "08a8 164e 1b0e 1e4c 6950 6e89 827e adf8 b6e3 cbe2",
    "lgamma": "0c66 4087 d313",
    "sigmoid": "1a00 1f00 2180 9600 9b00 9d80 9f80",
    "silu": "0001 c173",
    "gelu": "0001 157c 957c",
    "softplus": "8430",
}
#: The numbers of float64 that are nearest to multiples of pi / 2: denominators of the convergents
#: of 2**e * 2 / pi, for all exponents e (evaluated 2026-11).
_ANGLES = (
    "7506ac5b262ca1ff 7516ac5b262ca1ff 416b951f1572eba5 482504cac51f1eaf 7526ac5b262ca1ff "
    "7dee009c53148be1 6404c96c11134d36 75bcfe482285f8ed 6a7db41f3cb71d7b 4c4e7e44a78ac18c"
)
_BITS = {
    "float32": _FLOAT32,
    "float16": _FLOAT16,
    "float64": dict.fromkeys(("sin", "cos", "tan"), _ANGLES),
}


def hardest_values(op: str, dtype: str) -> HostArray:
    """Return the inputs (k,) of an op that are known to be hard, of both signs; k may be 0."""
    kind = host_dtype(dtype)
    texts = _BITS.get(dtype, {}).get(op, "").split()
    if not texts:
        return np.empty(0, kind)
    x = np.array([int(text, 16) for text in texts], f"u{kind.itemsize}").view(kind)
    return np.concatenate([x, -x])


def near_quarters(dtype: str, count: int, rng: np.random.Generator) -> HostArray:
    """Return numbers (count,) that are the nearest to multiples of pi / 2, up to a million."""
    pi = 4 * np.arctan(np.longdouble(1))
    multiples = np.round(10.0 ** rng.uniform(0, 5.8, count)) * rng.choice([-1, 1], count)
    with np.errstate(over="ignore"):
        return np.asarray((multiples * pi / 2).astype(host_dtype(dtype)))


def hard_quotients(dtype: str, count: int, rng: np.random.Generator) -> list[HostArray]:
    """Return dividends and divisors (k,), k <= count, of quotients as near a middle as there are.

    For an odd divisor b of p bits, q = 2**p + (1 / b mod 2**p) is odd and q * b - 1 divisible by
    2**p: the quotient of that multiple and b is q but for 1 / (b * 2**p) of its size, and q is in
    the middle of two numbers of p bits. Likewise with -1 / b and q * b + 1.
    """
    digits = FORMATS[dtype][0]
    unit = 1 << digits
    pairs: list[tuple[int, int]] = []
    for _ in range(4 * count):
        b = unit // 2 + int(rng.integers(unit // 2)) | 1
        side = int(rng.choice([-1, 1]))
        q = unit + side * pow(b, -1, unit) % unit
        a = (q * b - side) // unit
        if a < unit and len(pairs) < count:
            pairs.append((a, b))
    scale = 2.0 ** (1 - digits)
    columns = [np.array(c, np.float64) * scale for c in zip(*pairs, strict=True)]
    return [c.astype(host_dtype(dtype)) for c in columns]


def beside_middles() -> list[HostArray]:
    """Return factors and addends (k,) of float16 that are right with two roundings alone.

    The product is half a place of the addend but for 2**-20 to 2**-14 of it, which the sum loses
    in float32, and then it is in the middle of two numbers of float16 (docs/ops.md: such a `fma`
    is computed in float32).
    """
    steps, exponents = np.arange(1.0, 12.0), np.arange(-3.0, 4.0)
    x, e, odd, sign = (
        a.ravel() for a in np.meshgrid(steps, exponents, np.arange(1.0, 9.0), [-1.0, 1.0])
    )
    first, second = 1 + x * 2.0**-10, (1 - x * 2.0**-10) * 2.0 ** (e - 11)
    addend = (1 + (97 * odd + x) * 2.0**-10) * 2.0**e
    return [a.astype(np.float16) for a in (first, sign * second, addend)]


#: Functions that are nearly exp(x) where that is small; or exp(-x**2), of x less this factor.
_SMALL_AS_EXP = ("exp", "exp2", "sigmoid", "silu", "softplus")
_SMALL_AS_BELL = {"erfc": 1.0, "gelu": -np.sqrt(2.0)}


def beside_underflow(op: str, dtype: str, count: int = 61) -> HostArray:
    """Return operands (count,) whose results are subnormal, or just not; of most ops none."""
    digits, least, _ = FORMATS[dtype]
    ends = np.log(2.0) * (least - digits - 1.0), np.log(2.0) * (least + 1.0)
    if op in _SMALL_AS_EXP:
        x = np.linspace(*ends, count)
        return np.asarray(x / np.log(2.0) if op == "exp2" else x, host_dtype(dtype))
    if op in _SMALL_AS_BELL:
        # less than the square of what exp(-x**2) / x is divided by
        x = np.sqrt(np.linspace(-ends[1] - 6.0, -ends[0], count))
        return np.asarray(_SMALL_AS_BELL[op] * x, host_dtype(dtype))
    return np.empty(0, host_dtype(dtype))


def beside_overflow(op: str, dtype: str, count: int = 61) -> HostArray:
    """Return operands (count,) whose results are around the largest number; of most ops none.

    What a formula has inside, such as the power of e that a cosine is half of, may be beyond it.
    """
    kind, greatest = host_dtype(dtype), FORMATS[dtype][2] + 1
    part = np.linspace(-1.0, 1.0, count)
    if op in ("exp", "exp2", "expm1", "sinh", "cosh"):
        x = np.log(2.0) * greatest + part
        return np.asarray(x / np.log(2.0) if op == "exp2" else x, kind)
    if op == "square":
        return np.asarray(2.0 ** (greatest / 2 + part), kind)
    if op == "reciprocal":
        return np.asarray(2.0 ** (part - greatest), kind)
    if op == "lgamma":
        last = last_lgamma(2.0 ** (greatest - 2.0**-20))
        return np.asarray(last * (1.0 + part / 100.0), kind)
    return np.empty(0, kind)


def whole_results(op: str, dtype: str) -> HostArray:
    """Return operands (k,) whose results are whole numbers, or powers of two; k may be 0."""
    digits, least, greatest = FORMATS[dtype]
    if op == "log10":
        x = np.array([float(10**k) for k in range(23) if 10**k <= 2**greatest])
        held = x.astype(host_dtype(dtype))
        return np.asarray(held[held.astype(float) == x])
    if op in ("log2", "exp2"):
        exponents = np.linspace(least - digits + 1, greatest, 61).round()
        x = np.ldexp(1.0, exponents.astype(int)) if op == "log2" else exponents
        return x.astype(host_dtype(dtype))
    if op in ("cbrt", "sqrt"):
        roots = np.arange(1.0, 2.0 ** (digits // 3) if digits < 20 else 101.0)
        x = roots ** (3 if op == "cbrt" else 2)
        return np.concatenate([x, -x] if op == "cbrt" else [x]).astype(host_dtype(dtype))
    return np.empty(0, host_dtype(dtype))


def hard_roots(dtype: str, count: int, rng: np.random.Generator) -> HostArray:
    """Return numbers (count,) whose square roots are near a middle: the nearest of many squares."""
    digits = FORMATS[dtype][0]
    found = []
    for middle in rng.integers(1 << digits, 1 << digits + 1, 200 * count).tolist():
        square = (middle | 1) ** 2
        cut = square.bit_length() - digits
        nearest = square + (1 << cut - 1) >> cut
        found.append((abs((nearest << cut) - square), float(nearest) * 2.0 ** (cut - 2 * digits)))
    values = np.array([value for _, value in sorted(found)[:count]])
    return values.astype(host_dtype(dtype))
