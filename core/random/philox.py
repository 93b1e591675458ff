"""One block of Philox 4x32-10 on the host, for what a program draws once: keys of generators."""

from __future__ import annotations

_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_STEPS = (0x9E3779B9, 0xBB67AE85)
_LOW = 2**32 - 1


def block(key: int, stream: int, position: int) -> tuple[int, int]:
    """Return the 128 bits of a block as two numbers of 64: Salmon et al., SC'11, section 4.3."""
    a, b, c, d = position & _LOW, position >> 32, stream & _LOW, stream >> 32
    k, m = key & _LOW, key >> 32
    for _ in range(10):
        p, q = a * _MULTIPLIERS[0], c * _MULTIPLIERS[1]
        a, b, c, d = (q >> 32) ^ b ^ k, q & _LOW, (p >> 32) ^ d ^ m, p & _LOW
        k, m = (k + _STEPS[0]) & _LOW, (m + _STEPS[1]) & _LOW
    return a | b << 32, c | d << 32
