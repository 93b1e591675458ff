"""The programs of ``examples/``: the same bits on every device, NumPy's values, the command."""

from __future__ import annotations

import re
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import phalanx as px
import pytest
from phalanx import examples
from phalanx.examples import PROGRAMS, harness
from phalanx.examples.harness import Program, agree, digest, find, run_numpy, run_on

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples"


def simple(compute: Callable[..., tuple[Any, ...]], load: Any = None) -> Program:
    data = {"x": np.arange(4.0)}
    return Program("Simple", load or (lambda: data), compute, lambda *_: "told")


def double(xp: Any, x: Any) -> tuple[Any]:
    return (x + x,)


@pytest.mark.needs_cpu
@pytest.mark.parametrize("name", PROGRAMS)
class TestPrograms:
    def test_the_same_bits_on_every_device_and_the_values_of_numpy(self, name: str) -> None:
        program = find(name)
        data = program.data()
        before = digest(list(data.values()))
        host = run_numpy(program, data, repeats=1)
        assert digest(list(data.values())) == before, "compute changed the data"
        runs = [run_on(program, data, device.name, repeats=1) for device in px.devices()]
        assert {run.name: run.digest for run in runs} == {run.name: runs[0].digest for run in runs}
        assert agree(program, runs[0].results, host.results)
        assert [run.fallbacks for run in runs] == [0] * len(runs)
        assert all(np.isfinite(x).all() for x in runs[0].results)
        assert re.search(r"\d", program.tell(data, *runs[0].results))

    def test_the_values_of_pytorch(self, name: str) -> None:
        torch = pytest.importorskip("torch")
        xp = pytest.importorskip("array_api_compat.torch")
        program = find(name)
        data = program.data()
        arrays = {key: torch.tensor(values) for key, values in data.items()}
        got = [np.asarray(x) for x in program.compute(xp, **arrays)]
        assert agree(program, got, run_numpy(program, data, repeats=1).results)

    def test_is_a_page_long_and_has_a_line_in_the_docs(self, name: str) -> None:
        lines = (FOLDER / f"{name}.py").read_text("utf-8").splitlines()
        assert 30 <= len(lines) <= 80
        assert f"| [{name}](" in (ROOT / "docs" / "examples.md").read_text("utf-8")


def test_all_programs_are_listed() -> None:
    modules = {path.stem for path in FOLDER.glob("*.py")} - {"__init__", "digits", "harness"}
    assert modules == set(PROGRAMS)
    assert list(PROGRAMS) == sorted(PROGRAMS)
    assert Path(examples.__file__).parent.name == "examples"


class TestHarness:
    def test_a_digest_tells_dtypes_shapes_and_bytes(self) -> None:
        zeros = np.zeros(4, np.float32)
        others = [zeros.reshape(2, 2), zeros.astype(np.int32), -zeros, np.zeros(5, np.float32)]
        assert len({digest([x]) for x in (zeros, *others)}) == 5
        assert digest([zeros]) == digest([np.zeros(8, np.float32)[::2]])

    def test_agreement_is_within_the_tolerance(self) -> None:
        program = Program("", dict, double, str, (0.0, 0.1))
        one = np.ones(2)
        assert agree(program, [one], [one + 0.09])
        for other in ([one + 0.11], [one.astype(np.float32)], [np.ones(3)], [one, one]):
            assert not agree(program, [one], other)

    def test_runs_on_a_device_and_leaves_the_current_one(
        self, device: px.Device, drivers: object
    ) -> None:
        with px.device("fakehost:0"):
            run = run_on(simple(double), {"x": np.arange(4.0)}, device.name, repeats=2)
            assert px.get_device() == "fakehost:0"
        assert (run.name, run.fallbacks) == (device.name, 0)
        assert run.results[0].tolist() == [0.0, 2.0, 4.0, 6.0]

    def test_calls_that_fell_back_are_counted(self, make_driver: Any) -> None:
        make_driver("halfway", missing={"exp", "fma"})
        program = simple(lambda xp, x: (xp.exp(x),))
        with px.fallback_policy("allow"):
            run = run_on(program, program.data(), "halfway:0", repeats=2)
        assert run.fallbacks == 3

    def test_the_reference_comes_first_and_each_device_once(self, drivers: object) -> None:
        every = [device.name for device in px.devices()]
        first = [name for name in every if name == harness.REFERENCE]
        assert harness.chosen_devices(["fake:0", "fakehost", "fake"]) == [
            *first,
            "fake:0",
            "fakehost:0",
        ]
        assert sorted(harness.chosen_devices(())) == sorted(every)

    def test_a_missing_package_names_the_extra(self) -> None:
        def load() -> Any:
            raise ModuleNotFoundError("No module named 'sklearn'")

        with pytest.raises(ImportError, match=r"'sklearn'.*phalanx\[demo\]"):
            simple(double, load).data()


class TestCommand:
    """What ``main`` prints and returns, on fake devices."""

    @pytest.fixture(autouse=True)
    def _wide(self, drivers: object, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COLUMNS", "120")

    def test_a_row_per_device(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert harness.main(simple(double), ["--device", "fake:0", "--device", "fakehost:0"]) == 0
        printed = capsys.readouterr().out
        short = digest([np.arange(4.0) * 2.0])[:12]
        rows = [line for line in printed.splitlines() if short in line]
        names = harness.chosen_devices(["fake:0", "fakehost:0"])
        assert [row.strip("│ ").split()[0] for row in rows] == names
        assert all(f"as {names[0]}" in row for row in rows)
        for text in ("Simple", "SHA-256", "fallbacks", "/ numpy", "told"):
            assert text in printed

    def test_other_bits_end_with_one(self, capsys: pytest.CaptureFixture[str]) -> None:
        def compute(xp: Any, x: Any) -> tuple[Any]:
            strange = xp is px and px.get_device() == "fakehost:0"
            return (x + (1e-9 if strange else 0.0),)

        program = simple(compute)
        assert harness.main(program, ["--device", "fake:0"]) == 0
        assert harness.main(program, ["--device", "fake:0", "--device", "fakehost:0"]) == 1
        assert "differ" in capsys.readouterr().out

    def test_other_values_than_those_of_numpy_end_with_one(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        program = simple(lambda xp, x: (x + (1.0 if xp is px else 0.0),))
        assert harness.main(program, ["--device", "fake:0"]) == 1
        assert "NumPy computes other values than" in capsys.readouterr().out

    def test_a_device_that_fails_leaves_the_others_their_rows(
        self, make_driver: Any, capsys: pytest.CaptureFixture[str]
    ) -> None:
        make_driver("halfway", missing={"exp", "fma"})
        program = simple(lambda xp, x: (xp.exp(x),), lambda: {"x": np.zeros(2)})
        assert harness.main(program, ["--device", "halfway:0", "--device", "fake:0"]) == 1
        printed = " ".join(capsys.readouterr().out.split())
        assert "halfway:0: halfway:0 has no kernel for exp(float64" in printed
        assert "│ fake:0 │" in printed

    @pytest.mark.parametrize(
        ("args", "code", "hint"),
        [
            (["--help"], 0, "may be given again"),
            (["--device", "nowhere:0"], 2, "no installed plugin offers a driver 'nowhere'"),
            (["--repeats", "0"], 2, "at least 1"),
            (["--speed"], 2, "unrecognized arguments"),
        ],
    )
    def test_help_and_wrong_usage(
        self, args: list[str], code: int, hint: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.raises(SystemExit) as ended:
            harness.main(simple(double), args)
        assert ended.value.code == code
        assert hint in " ".join("".join(capsys.readouterr()).split())

    def test_a_missing_package_is_no_traceback(self, capsys: pytest.CaptureFixture[str]) -> None:
        def load() -> Any:
            raise ModuleNotFoundError("No module named 'erfa'")

        with pytest.raises(SystemExit) as ended:
            harness.main(simple(double, load), ["--device", "fake:0"])
        assert ended.value.code == 2
        assert 'pip install "phalanx[demo]"' in capsys.readouterr().err

    @pytest.mark.needs_cpu
    def test_a_file_is_a_program(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = str(FOLDER / "pca.py")
        monkeypatch.setattr(sys, "argv", [path, "--device", "cpu:0", "--repeats", "1"])
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(path, run_name="__main__")
        assert ended.value.code == 0
        assert "components explain" in capsys.readouterr().out
