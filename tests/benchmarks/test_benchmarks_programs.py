"""``phalanx bench --programs`` from end to end; no time is judged."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import phalanx as px
import pytest
from click.testing import CliRunner, Result
from phalanx.benchmarks import command, contestants, programs, results
from phalanx.benchmarks.contestants import Contestant
from phalanx.benchmarks.measure import Plan
from phalanx.examples.harness import Program


def bench(*args: str) -> Result:
    return CliRunner().invoke(
        command.bench, ("--programs", *args), catch_exceptions=False, prog_name="phalanx bench"
    )


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans that end at once: what is measured does not matter here."""
    monkeypatch.setattr(command, "_QUICK", Plan(2, 2, 1e-6, 0.01, attempts=1))


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, drivers: object) -> Any:
    """Let every program be one that a test gives."""

    def take(compute: Any) -> None:
        made = Program("Any", lambda: {"x": np.arange(4.0)}, compute, lambda *_: "told")
        monkeypatch.setattr(programs, "find", lambda _name: made)

    return take


@pytest.mark.needs_cpu
def test_a_program_on_two_devices(drivers: object, tmp_path: Path) -> None:
    path = tmp_path / "new" / "run.json"
    done = bench(
        "--quick", "-k", "life", "-d", "fakehost:0", "--peer", "numpy", "--json", str(path)
    )
    assert done.exit_code == 0, done.output
    data = json.loads(path.read_text())
    assert (data["suite"], list(data["devices"])) == ("programs", ["cpu:0", "fakehost:0"])
    (case,) = data["cases"]
    assert (case["workload"], case["expression"]) == ("life", "phalanx.examples.life")
    outcomes = case["outcomes"]
    assert {name: o["status"] for name, o in outcomes.items()} == {
        "cpu:0": "ok",
        "fakehost:0": "ok",
        "numpy": "ok",
    }
    assert outcomes["cpu:0"]["digest"] == outcomes["fakehost:0"]["digest"] != ""
    assert "digest" not in outcomes["numpy"]
    assert case["ratios"]["cpu:0"]["numpy"] > 0.0
    assert data["geometric_means"]["cpu:0"]["numpy"] == pytest.approx(
        case["ratios"]["cpu:0"]["numpy"]
    )
    assert [v["device"] for v in data["bars"] if v["bar"] == "each program"] == ["cpu:0"]
    shown = " ".join(done.output.split())
    for text in ("Speed of cpu:0", "Bits", "whether they are cpu:0's", "same", "All programs"):
        assert text in shown
    (again,) = results.runs_from_dict(data)
    assert again.cases[0].has_bits_of("fakehost:0", "cpu:0") is True
    done = bench("--quick", "-k", "life", "-d", "cpu:0", "--peer", "numpy", "--compare", str(path))
    assert done.exit_code == 0, done.output
    assert "Then/now" in done.output


def test_other_bits_are_shown_and_end_with_one(program: Any) -> None:
    def compute(xp: Any, x: Any) -> tuple[Any]:
        strange = xp is px and px.get_device() == "fakehost:0"
        return (x + (1e-9 if strange else 0.0),)

    program(compute)
    wanted = ("--quick", "-k", "pca", "-d", "fake:0", "--peer", "numpy")
    bits = r"differ\b(?! widely)"  # samples may, too
    done = bench(*wanted)
    assert done.exit_code == 0, done.output
    assert not re.search(bits, done.output)
    done = bench(*wanted, "-d", "fakehost:0")
    assert done.exit_code == 1, done.output
    assert re.search(bits, done.output)


def test_wrong_values_are_not_timed(program: Any) -> None:
    program(lambda xp, x: (x + (1.0 if xp is px else 0.0), x))
    done = bench("--quick", "-k", "pca", "-d", "fake:0", "--peer", "numpy")
    assert done.exit_code == 0, done.output
    assert "wrong: result 0:" in " ".join(done.output.split())


def test_a_program_that_fails_on_a_device(program: Any, make_driver: Any) -> None:
    driver = make_driver("halfway", missing={"exp", "fma"})
    program(lambda xp, x: (xp.exp(x),))
    done = bench("--quick", "-k", "pca", "-d", driver.name, "--peer", "numpy")
    assert done.exit_code == 0, done.output
    assert "UnsupportedOpError" in done.output


def test_torch_needs_array_api_compat(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(contestants, "import_module", absent)
    program(lambda xp, x: (x,))
    done = bench("--quick", "-k", "pca", "-d", "fake:0")
    assert done.exit_code == 0, done.output
    assert "torch is missing" in done.output
    done = bench("--quick", "-k", "pca", "-d", "fake:0", "--peer", "torch")
    assert done.exit_code == 2
    assert 'pip install "phalanx[bench]"' in " ".join(done.output.replace("│", " ").split())


def test_pytorch_takes_part(drivers: object) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    peer: Contestant = programs.StandardTorchPeer()
    assert peer.about()["array-api-compat"]
    with peer.scope():
        got = peer.xp.concat([peer.array(np.ones(2)), peer.array(np.zeros(1))])
    assert peer.to_numpy(got).tolist() == [1.0, 1.0, 0.0]


def test_a_missing_package_names_the_extra(
    drivers: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load() -> Any:
        raise ModuleNotFoundError("No module named 'sklearn'")

    broken = Program("Any", load, lambda xp: (), lambda *_: "")
    monkeypatch.setattr(programs, "find", lambda _name: broken)
    done = bench("--quick", "-k", "pca", "-d", "fake:0", "--peer", "numpy")
    assert done.exit_code == 1
    assert 'pip install "phalanx[demo]"' in done.output


@pytest.mark.parametrize(
    ("args", "hint"),
    [
        (("-k", "nothing"), "there are: attention, blur"),
        (("--size", "1024"), "does not go with --size or --all"),
        (("--all",), "does not go with --size or --all"),
        (("--peer", "hand-written"), "numpy and torch, not hand-written"),
        (("-d", "nowhere:0"), "nowhere"),
    ],
)
def test_wrong_usage(drivers: object, args: tuple[str, ...], hint: str) -> None:
    done = bench("--quick", *args)
    assert done.exit_code == 2
    assert hint in " ".join(done.output.replace("│", " ").split())
