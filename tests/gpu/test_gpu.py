"""The command that proves a card: its steps, what it keeps, and what it says of wrong wishes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import phalanx as px
import pytest
from click.testing import CliRunner, Result
from phalanx.benchmarks.measure import Timing
from phalanx.benchmarks.results import Case, Outcome, Run

from gpu import command, roofline
from gpu.steps import Step, steps

pytestmark = pytest.mark.needs_cpu


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run the command on the CPU with steps of the test's own; ``ran`` is what they did."""

    def call(made: list[Step], *args: str) -> Result:
        monkeypatch.setattr(command, "steps", lambda *_, **__: iter(made))
        options = ["--device", "cpu:0", "--folder", str(tmp_path), *args]
        return CliRunner().invoke(command.gpu, options)

    return call


def touching(path: Path, name: str, code: int = 0) -> Step:
    """A step that adds a line to a file and ends with a code."""
    return Step(name, f"does {name}", ("sh", "-c", f"echo {name} >> {path}; exit {code}"))


def test_steps_for_the_cpu_are_commands_of_ours(tmp_path: Path) -> None:
    found = list(steps("cpu:0", tmp_path, quick=True))
    assert [step.name for step in found][:2] == ["why", "conformance cpu:0"]
    assert len({step.name for step in found}) == len(found)
    assert {"bench", "roofline", "digits", "stress", "tests/arrays"} <= {s.name for s in found}


def test_what_succeeded_is_not_done_again(run: Any, tmp_path: Path) -> None:
    done = tmp_path / "done"
    plan = [touching(done, "one"), touching(done, "two", 1), touching(done, "three")]
    first = run(plan)
    assert first.exit_code == 1
    assert "failed" in first.output
    assert run(plan).exit_code == 1
    assert done.read_text().split() == ["one", "two", "three", "two"]
    assert run(plan, "--step", "one").exit_code == 1
    assert done.read_text().split()[-1] == "one"
    run(plan, "--restart")
    assert done.read_text().split()[-3:] == ["one", "two", "three"]


def test_time_is_up_and_the_next_run_goes_on(run: Any, tmp_path: Path) -> None:
    done = tmp_path / "done"
    slow = Step("slow", "sleeps", ("sh", "-c", f"sleep 60; echo slow >> {done}"))
    first = run([touching(done, "one"), slow, touching(done, "two")], "--minutes", "0.1")
    assert first.exit_code == 3
    assert "run the same command again" in first.output
    again = run([touching(done, "one"), touching(done, "slow"), touching(done, "two")])
    assert again.exit_code == 0, again.output
    assert done.read_text().split() == ["one", "slow", "two"]


def test_a_step_without_its_modules_is_left_out(run: Any) -> None:
    step = Step("plot", "draws", ("false",), needs=("no_such_module_here",))
    done = run([step])
    assert done.exit_code == 0
    assert "left out" in done.output


def test_wrong_wishes(tmp_path: Path) -> None:
    none = CliRunner().invoke(command.gpu, ["--device", "cuda:9", "--folder", str(tmp_path)])
    assert none.exit_code == 2
    assert "phalanx why cuda:9" in none.output
    other = CliRunner().invoke(command.gpu, ["--device", "cpu:0", "--step", "x"])
    assert other.exit_code == 2
    assert "no step x; there are: why" in other.output


def made_run() -> Run:
    """A run of two contestants on one workload."""
    outcome = Outcome("ok", "", Timing(1, (1e-3,)))
    case = Case("copy", 2**20, 2**20, "a.copy()", {"cuda:0": outcome, "cupy": outcome})
    return Run({"cuda:0": {}}, {"cupy": {}}, {}, {}, {}, [case], "cuda")


def test_the_picture_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    found = made_run()
    assert roofline.rates(found, "cuda:0") == {"copy": 8 * 2**20 / 1e-3}
    roofline.draw(found, tmp_path / "roofline.png")
    assert (tmp_path / "roofline.png").stat().st_size > 5000


def test_the_device_of_the_state_counts(run: Any, tmp_path: Path) -> None:
    plan = [touching(tmp_path / "done", "one")]
    run(plan)
    state = json.loads((tmp_path / "state.json").read_text())
    assert state["key"][0] == px.devices("cpu")[0].info.name
    state["key"][0] = "another card"
    (tmp_path / "state.json").write_text(json.dumps(state))
    run(plan)
    assert (tmp_path / "done").read_text().split() == ["one", "one"]
