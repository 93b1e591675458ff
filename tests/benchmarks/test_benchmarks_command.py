"""``phalanx bench`` from end to end, on the fake devices and tiny sizes; no time is judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import phalanx as px
import pytest
from click.testing import CliRunner, Result
from conftest import FAKES, ONLY_FAKES
from exhaustive import some_of
from phalanx.benchmarks import command, contestants
from phalanx.benchmarks.contestants import Contestant
from phalanx.benchmarks.measure import Plan

DEVICES = [*FAKES, *(() if ONLY_FAKES else ("cpu:0",))]


def bench(*args: str) -> Result:
    return CliRunner().invoke(
        command.bench, args, catch_exceptions=False, prog_name="phalanx bench"
    )


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans that end at once: what is measured does not matter here."""
    monkeypatch.setattr(command, "_QUICK", Plan(2, 2, 1e-6, 0.01, attempts=1))


@pytest.mark.usefixtures("short")
class TestCommand:
    @pytest.mark.parametrize("device", some_of(DEVICES, DEVICES[-1:]), indirect=True)
    def test_every_workload_on_every_device(self, device: px.Device, tmp_path: Path) -> None:
        path = tmp_path / "new" / "run.json"
        sizes = [arg for size in ("1", "64", "1024", "2048") for arg in ("--size", size)]
        names = [arg for name in ("add", "sum", "softmax", "mask", "alloc") for arg in ("-k", name)]
        options = ("--quick", "-d", device.name, "--peer", "numpy", "--json", str(path))
        done = bench(*options, *sizes, *names)
        assert done.exit_code == 0, done.output
        data = json.loads(path.read_text())
        assert list(data["devices"]) == [device.name]
        assert {case["workload"] for case in data["cases"]} >= {
            "dispatch add",
            "softmax rows",
            "mask",
            "allocate",
        }
        for case in data["cases"]:
            assert {name: o["status"] for name, o in case["outcomes"].items()} == {
                device.name: "ok",
                "numpy": "ok",
            }, case
        for key in ("date", "packages", "hardware", "system", "settings"):
            assert data[key], key
        assert {verdict["bar"] for verdict in data["bars"]} == (
            {"dispatch of a + b", "each workload from 2^10 up"} if device.kind == "cpu" else set()
        )
        assert set(data["geometric_means"]) == {device.name}
        assert {"numpy", "phalanx"} <= set(data["packages"])
        assert {"cpu", "cores", "caches", "memory"} <= set(data["hardware"])
        assert device.name in done.output
        again = bench(
            "--quick",
            "-d",
            device.name,
            "--peer",
            "numpy",
            "-k",
            "dispatch",
            "--compare",
            str(path),
        )
        assert again.exit_code == 0, again.output
        assert "Then/now" in again.output

    def test_json_alone_on_stdout(self, fake: px.Device) -> None:
        done = bench("--quick", "-d", fake.name, "--peer", "numpy", "-k", "dispatch", "--json", "-")
        assert done.exit_code == 0
        assert [case["workload"] for case in json.loads(done.stdout)["cases"]] == [
            "dispatch add",
            "dispatch sum",
        ]
        assert "Speed of" in done.stderr

    def test_several_devices_have_a_table_each(self, fake: px.Device) -> None:
        done = bench(
            "--quick",
            "-d",
            "fake:0",
            "-d",
            "fakehost:0",
            "-d",
            "fake",
            "--peer",
            "numpy",
            "-k",
            "dispatch add",
        )
        assert done.exit_code == 0, done.output
        assert done.output.count("Speed of") == 2

    def test_an_op_without_kernel_is_unsupported(self, make_driver: Any) -> None:
        driver = make_driver("halfway", missing={"exp", "fma"})
        done = bench("--quick", "-d", driver.name, "--peer", "numpy", "-k", "exp", "--size", "64")
        assert done.exit_code == 0, done.output
        assert "unsupported" in done.output
        assert "UnsupportedOpError" in done.output

    @pytest.mark.parametrize(
        ("args", "hint"),
        [
            (("-d", "nowhere:0"), "nowhere"),
            (("-k", "nothing"), "there are: dispatch add"),
            (("-k", "mean", "--size", "1000"), "no workload"),
            (("--size", "big"), "1048576 or 2^20"),
            (("--size", "2^99"), "at most 2^31"),
            (("--size", "0"), "at most 2^31"),
            (("--size", "2^999999999"), "at most 2^31"),
            (("--peer", "excel"), "'numpy', 'torch'"),
            (("--repeats", "1"), "x>=2"),
            (("--compare", "/nowhere/old.json"), "does not exist"),
        ],
    )
    def test_wrong_usage(self, drivers: Any, args: tuple[str, ...], hint: str) -> None:
        done = bench("--quick", *args)
        assert done.exit_code == 2
        assert hint in " ".join(done.output.replace("│", " ").split())

    def test_a_damaged_former_run(self, fake: px.Device, tmp_path: Path) -> None:
        path = tmp_path / "old.json"
        for text in ("not json", "{}", '{"schema": "phalanx-bench/1"}'):
            path.write_text(text)
            assert bench("--compare", str(path)).exit_code == 2

    def test_a_named_peer_that_is_missing_is_wrong_usage(
        self, fake: px.Device, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def absent() -> Contestant:
            raise ImportError("No module named 'torch'")

        monkeypatch.setitem(contestants.PEERS, "torch", (absent, "pip install torch"))
        done = bench("--quick", "--peer", "torch")
        assert done.exit_code == 2
        assert "pip install torch" in done.output
        done = bench("--quick", "-d", fake.name, "-k", "dispatch add")
        assert done.exit_code == 0
        assert "torch is missing" in done.output
