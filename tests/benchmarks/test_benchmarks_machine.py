"""What tells one kind of machine from another."""

from __future__ import annotations

import platform
from pathlib import Path

import numpy as np
import pytest
from phalanx.benchmarks import machine
from phalanx.benchmarks.contestants import PEERS

_AVX2 = "fpu sse2 avx avx2 fma"
_AVX512 = f"{_AVX2} avx512f avx512bw avx512dq avx512vl"


@pytest.mark.parametrize(
    ("flags", "wide"),
    [("fpu sse2", ""), (_AVX2, " avx2"), (_AVX512, " avx512"), (f"{_AVX2} avx512f", " avx2")],
)
def test_the_kind_is_processor_cores_instructions_and_peers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: str, wide: str
) -> None:
    cores = tmp_path / "cpuinfo"
    one = f"processor\t: 0\nmodel name\t: Some CPU: 3 GHz\nflags\t\t: {flags}\n\n"
    cores.write_text(one + one.replace("Some", "Other"))
    monkeypatch.setattr(machine, "_CORES", cores)
    kind = machine.machine_kind()
    assert kind["cpu"] == "Some CPU: 3 GHz"
    assert kind["isa"] == platform.machine() + wide
    assert int(kind["cores"]) >= 1
    assert kind["numpy"] == np.__version__
    assert PEERS.keys() <= kind.keys()
    assert all(isinstance(value, str) for value in kind.values())


def test_a_system_without_such_a_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_CORES", tmp_path / "absent")
    kind = machine.machine_kind()
    assert kind["cpu"]
    assert kind["isa"] == platform.machine()


def test_the_kind_is_that_of_a_run() -> None:
    kind, told = machine.machine_kind(), machine.describe(["numpy"])["hardware"]
    assert (kind["cpu"], kind["cores"]) == (told["cpu"], str(told["cores"]))
