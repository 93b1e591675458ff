"""Parameters at which a random number becomes another: a try is accepted on one side alone.

Each is the last number below which, and the next one from which on, an element of random numbers
with key 7, stream 1 and position 2 differs; found by bisection (2026-11). A chance that is off by a
last bit moves such a place by more than the distance of two numbers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .values import HostArray

#: Key, stream and position.
PARAMS = (7, 1, 2)
#: By op, the trials if it has such, and the numbers by element: of means that are summed up, and of
#: those for which numbers are tried.
_PLACES: tuple[tuple[str, float, str], ...] = (
    (
        "random_poisson",
        0.0,
        "2:40324f88528c635c 11:403267f3d6d99024 38:403208576d019e34 "
        "40:40320bccfa552f67 61:40322e92cdf7d3c4 68:40322abfda860d19 "
        "71:40327779cdeb3d1e 86:40324b06b6b0f213 97:4032045f7622a2a9 "
        "116:403218338de32320 122:40320b2b679ff986 143:403286a8770cc9b5 "
        "155:40322775245bac8a 160:40329ab2ef3471d3",
    ),
    (
        "random_poisson",
        0.0,
        "2:403ed1cd4399a3fa 11:403ef7253dbc7d80 37:403ea8564275b908 "
        "40:403e056f5b53a795 41:403f2328da3508ea 61:403e5f22c8200987 "
        "70:403ee160bb564154 71:403e1cfb25190095 116:403f0acb6407e2e7 "
        "175:403e78f22a899faa 185:403f316441f7f69f 210:403e76a01d1af0ed "
        "214:403e43b0eb5077d5 215:403e9281f138f681",
    ),
    (
        "random_poisson",
        0.0,
        "4:4014ff833cfa6fc3 5:401505274dd96f66 7:40148d4c80a4a7dc "
        "8:401458c19c89cfea 9:4016600e7997fad7 11:401452e0561e8011 "
        "12:40140829fd0f0108 13:40165da5cc674042 14:4014d8a76fabeed9 "
        "17:40162b618e443cde",
    ),
    (
        "random_binomial",
        40.0,
        "1:3fdcfd5f03f55d40 2:3fddfd7283fe57f5 7:3fdcf961c4bc9462 "
        "10:3fdd3443377277c8 11:3fddfb4e4d6ba401 15:3fde2bc53e6f7a0f "
        "19:3fdcd300c1b19d65 34:3fdd2b50cb0119b7 37:3fdce5324232f88d "
        "38:3fddb92891b1d925 40:3fdd03f6f3440628 81:3fdd70bb4d00a3bd",
    ),
    (
        "random_binomial",
        1000.0,
        "4:3fd3640b58e530f7 40:3fd36c8165f55ff0 71:3fd344047ffacff6 "
        "106:3fd368ec88ef962d 115:3fd37019d1705466 227:3fd367a2551b3dce "
        "233:3fd367adb5e1a989 241:3fd36741cd9e3d8e 264:3fd3660b19fe887a "
        "362:3fd335f6de78c4e6 396:3fd368db4075439f",
    ),
    (
        "random_binomial",
        20.0,
        "1:3fd4eb14c7e0e713 3:3fd4fd04ab2d27cd 4:3fd5147d3fdbfc99 "
        "5:3fd3870263fbb2f9 9:3fd478ad21be7b67 11:3fd48de2044e341f "
        "12:3fd4df683404148a 13:3fd33527dc88d2cf 17:3fd42007b3f3cf70 "
        "19:3fd34f3303115218",
    ),
)
#: How many places are tried with one number for all elements, which kernels make tables for.
_ALONE = 3


def flips(op: str) -> Iterator[tuple[tuple[HostArray, ...], int]]:
    """Yield operands of an op, and how many numbers to make: on both sides of each place."""
    for name, trials, text in _PLACES:
        if name != op:
            continue
        places = dict(word.split(":") for word in text.split())
        at = np.array([int(element) for element in places])
        bits = np.array([int(number, 16) for number in places.values()], np.uint64)
        for side in (0, 1):
            below = (bits + np.uint64(side)).view(np.float64)
            every = np.full(int(at.max()) + 1, below[0])
            every[at] = below
            for x in (every, *map(np.asarray, below[:_ALONE])):
                yield ((np.full(x.shape, trials), x) if trials else (x,)), every.size
