"""The words of the generator before the tests of Dieharder.

Debian has it, but neither TestU01 nor PractRand. R. G. Brown, *Dieharder: A Random Number Test
Suite*, 3.31: Marsaglia's tests, some of NIST's and Brown's own. A p-value below 10^-6 is what it
calls FAILED, and says so of one sound generator in 10^6 tests.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.exhaustive

#: Numbers of tests, without 5, 6, 7 and 14, which it calls suspect, and 9, which is 8 at chosen
#: bytes.
TESTS = (0, 1, 2, 3, 4, 8, 10, 11, 12, 13, 15, 16, 17, *range(100, 103), *range(200, 210))
#: The tests that want a width, dimension or lag.
WIDTHS = {200: 4, 201: 3, 202: 4, 203: 5}

#: Writes words until nobody reads any more.
SOURCES = {
    "one generator": "words = lambda: g.bits(2**21, dtype='uint32')",
    "children in turn": (
        "children = g.split(8)\n"
        "words = lambda: px.stack([c.bits(2**18, dtype='uint32') for c in children], axis=-1)"
    ),
    "the middle bits of uniform": (
        "words = lambda: px.astype(g.uniform(size=2**21, dtype='float64') * 2.0**32, px.uint32)"
    ),
}
PROGRAM = """
import sys, phalanx as px
g = px.random.Generator(7)
{source}
try:
    while True:
        sys.stdout.buffer.write(px.asnumpy(words()).tobytes())
except BrokenPipeError:
    sys.stderr.close()
"""


def assessed(source: str, number: int) -> list[tuple[str, float]]:
    """Return the name and the p-value of each line of one of Dieharder's tests."""
    program = textwrap.dedent(PROGRAM).format(source=SOURCES[source])
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as writer:
        run = subprocess.run(
            ["dieharder", "-g", "200", "-d", str(number), "-n", str(WIDTHS.get(number, 0))],
            stdin=writer.stdout,
            capture_output=True,
            text=True,
            timeout=1500,
        )
        assert writer.stdout is not None
        writer.stdout.close()
        writer.wait(60)
    assert run.returncode == 0, run.stderr
    lines = re.findall(r"^\s*(\w+)\|\s*\d+\|\s*\d+\|\s*\d+\|([\d.]+)\|", run.stdout, re.MULTILINE)
    return [(name, float(p)) for name, p in lines]


@pytest.mark.timeout(1800)
@pytest.mark.skipif(
    not shutil.which("dieharder"), reason="needs dieharder (apt-get install dieharder)"
)
@pytest.mark.parametrize("number", TESTS)
@pytest.mark.parametrize("source", SOURCES)
def test_no_test_of_dieharder_tells_it_from_chance(source: str, number: int) -> None:
    found = assessed(source, number)
    assert found
    wrong = [(name, p) for name, p in found if not 1e-6 < p < 1 - 1e-6]
    assert not wrong, f"{source}: {wrong}; run dieharder -d {number} again with another seed"
