"""The suite on a device that has the primitives alone: a sample here, all of it exhaustively."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from plugin_kit import run_python

DEVICE = ("-m", "phalanx", "conformance", "--fault", "only-primitives", "--quick")


def test_sample() -> None:
    ops = [f"--op={op}" for op in ("tanh", "multiply", "argmax", "sort", "nonzero", "lu")]
    dtypes = [f"--dtype={d}" for d in ("float16", "float32", "complex64", "bool", "int64")]
    done = run_python(*DEVICE, "--group=ops", "--group=bitwise", "--level=bitwise", *ops, *dtypes)
    assert done.returncode == 0, done.stdout
    assert "fallbacks: 0 calls of 0 ops" in done.stdout
    assert "none failed" in done.stdout


@pytest.mark.exhaustive
@pytest.mark.timeout(1800)
def test_certificate(tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    command = [sys.executable, *DEVICE, "--level=bitwise", f"--certificate={path}", "-n", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1700, check=False)
    assert done.returncode == 0, done.stdout
    certificate = json.loads(path.read_text())
    assert certificate["level"] == "bitwise"
    assert certificate["fallbacks"] == []
    ways = [way for by_way in certificate["coverage"].values() for way in by_way]
    assert set(ways) == {"native", "decomposed"}
    assert "decomposed, 0 unsupported" in certificate["headline"]
