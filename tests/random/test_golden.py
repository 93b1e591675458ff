"""What a seed gives does not change, and is the same on all devices: digests.

If one must change, the version of the states does too, and the changelog says so.
``PHALANX_WRITE_GOLDEN=1`` writes them anew.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import phalanx as px
import pytest
from random_drawn import digest, draws

FILE = Path(__file__).with_name("golden.json")
DRAWS = draws()
if os.environ.get("PHALANX_WRITE_GOLDEN"):
    with px.device("cpu:0"):
        FILE.write_text(json.dumps({name: digest(d) for name, d in DRAWS.items()}, indent=1) + "\n")
GOLDEN: dict[str, str] = json.loads(FILE.read_text("utf-8"))
_PROGRAM = """
import json, sys
sys.path.insert(0, sys.argv[1])
from random_drawn import digest, draws
print(json.dumps({name: digest(draw) for name, draw in draws().items()}))
"""


@pytest.mark.needs_cpu
@pytest.mark.parametrize("name", DRAWS)
def test_numbers_of_the_cpu(name: str, cpu: px.Device) -> None:
    with px.device(cpu):
        assert digest(DRAWS[name]) == GOLDEN[name]


def test_every_draw_has_a_digest() -> None:
    assert GOLDEN.keys() == DRAWS.keys()


@pytest.mark.needs_cpu
@pytest.mark.parametrize("isa", ["baseline", "avx2", "avx512"])
def test_numbers_of_every_instruction_set(isa: str, cpu: px.Device) -> None:
    place = str(Path(__file__).resolve().parents[1])
    environment = {**os.environ, "PHALANX_CPU_ISA": isa, "PHALANX_DEVICE": "cpu:0"}
    probe = [sys.executable, "-c", "import phalanx as px; px.zeros(1)"]
    tried = subprocess.run(probe, env=environment, capture_output=True, check=False, timeout=120)
    if tried.returncode:
        pytest.skip(f"there is no library for {isa}, or the processor lacks it")
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, place],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert json.loads(done.stdout) == GOLDEN


@pytest.mark.needs_cpu
@pytest.mark.parametrize("device", ["opencl:0", "opencl:1"])
def test_numbers_of_other_devices(device: str, cpu: px.Device) -> None:
    if not px.is_available(device):
        pytest.skip(f"there is no {device}; `phalanx why {device}` says why")
    with px.device(device):
        assert {name: digest(draw) for name, draw in DRAWS.items()} == GOLDEN
