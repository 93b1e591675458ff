"""``phalanx conformance --self-test``: the table, the JSON, and when it holds."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from phalanx.conformance import selftest, selftest_report
from phalanx.conformance.faults import FAULTS, UNUSUAL, Fault
from phalanx.conformance.selftest import SelfTest, Trial, run_self_test
from phalanx.conformance.selftest_report import holds, run_and_show

SOUND = Trial("none", "the sound device, seed 20", "", "", "", 5.0)
UNSOUND = Trial("none", "the sound device, seed 20", "", "ops/x[0]", "Mismatch: [1] is wrong", 5.0)


def test_a_sound_device_that_is_refused_breaks_it() -> None:
    """A false alarm on one of the unusual devices counts as one on the sound device."""
    refused = Trial("without-fp64", "The device states no fp64", "", "ops/x[0]", "wrong", 5.0)
    both = found(40, 0)
    both.sound.append(refused)
    assert not holds(both)


def test_the_unusual_devices_are_described() -> None:
    assert {"without-fp64", "subnormals-flushed", "contiguous-operands-only"} <= set(UNUSUAL)
    assert not set(UNUSUAL) & set(FAULTS)
    for name, one in UNUSUAL.items():
        assert one.name == name
        assert one.summary


def trial(number: int, *, killed: bool = True) -> Trial:
    case = "runtime/copies[1]" if killed else ""
    return Trial(f"fault-{number}", "A copy ignores it", "runtime", case, "wrong", 1.25)


def found(killed: int, survived: int, *, quick: bool = False, sound: Trial = SOUND) -> SelfTest:
    trials = [trial(i, killed=i >= survived) for i in range(killed + survived)]
    return SelfTest(quick, 20, trials, [sound], 60.0)


@pytest.fixture
def show(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Print a self-test as if it had been run."""

    def run(result: SelfTest, json_file: Path | None = None) -> int:
        def pretend(*, observe: Callable[[Trial], None], **_: Any) -> SelfTest:
            for one in (*result.sound, *result.trials):
                observe(one)
            return result

        monkeypatch.setattr(selftest_report, "run_self_test", pretend)
        return run_and_show(quick=result.quick, seed=result.seed, json_file=json_file)

    return run


def test_when_it_holds() -> None:
    assert holds(found(40, 0))
    assert not holds(found(39, 1))
    assert holds(found(36, 4, quick=True))
    assert not holds(found(35, 5, quick=True))
    assert not holds(found(40, 0, sound=UNSOUND))
    assert not holds(found(0, 0))


def test_the_table(show: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    assert show(found(2, 1)) == 1
    out = capsys.readouterr().out
    assert "fault-1  runtime/copies[1]" in out
    assert "1.2" in out
    assert "survived fault-0: A copy ignores it" in out
    assert "repeat: phalanx conformance --fault fault-0" in out
    assert "the sound device, seed 20: passes" in out
    assert "kill rate: 66.7 % (2 of 3 faults, 60 s; full run, seed 20)" in out


def test_the_sound_device_must_pass(
    show: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert show(found(2, 0, sound=UNSOUND)) == 1
    out = capsys.readouterr().out
    assert "the sound device, seed 20: fails ops/x[0]: Mismatch: [1] is wrong" in out
    assert "kill rate: 100.0 %" in out


def test_devices_without_a_fault_have_no_kill_rate(
    show: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert show(SelfTest(False, 20, [], [SOUND, SOUND], 60.0)) == 0
    out = capsys.readouterr().out
    assert "sound devices: 2 of 2 pass (60 s; full run, seed 20)" in out
    assert "kill rate" not in out
    assert "Caught by" not in out


def test_json(show: Callable[..., int], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert show(found(40, 0), Path("-")) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["kill_rate"], data["killed"], data["holds"]) == (1.0, 40, True)
    assert data["faults"][0]["case"] == "runtime/copies[1]"
    assert data["sound"][0]["passed"]
    file = tmp_path / "self.json"
    assert show(found(39, 1), file) == 1
    assert json.loads(file.read_text())["faults"][0] == {
        "fault": "fault-0", "summary": "A copy ignores it", "group": "runtime", "case": "",
        "message": "wrong", "seconds": 1.25, "killed": False,
    }  # fmt: skip
    assert "kill rate" in capsys.readouterr().out


def test_an_unknown_fault_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run_and_show(quick=True, seed=20, names=("gremlin",))
    assert ended.value.code == 2
    assert "unknown fault 'gremlin'" in capsys.readouterr().err


def test_what_is_wrong_is_told_at_once(
    show: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert show(found(2, 1, sound=UNSOUND)) == 1
    lines = capsys.readouterr().err.splitlines()
    assert "self-test: fails though it is sound: none, in ops/x[0]" in lines
    assert "self-test: survived: fault-0" in lines
    assert show(found(40, 0), Path("-")) == 0
    assert not capsys.readouterr().err


def test_ctrl_c(show: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    """What was found until then is shown."""
    result = found(2, 0)
    result.interrupted = True
    with pytest.raises(SystemExit) as ended:
        show(result)
    assert ended.value.code == 130
    said = capsys.readouterr()
    assert "fault-1  runtime/copies[1]" in said.out
    assert f"interrupted: 3 of {len(FAULTS) + len(UNUSUAL) + 1} devices were tested" in said.err
    assert not holds(result)


def test_ctrl_c_ends_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of two devices is done when it comes; the second is waited for, and not counted."""

    def tried(fault: Fault, quick: bool, seed: int) -> Trial:
        return Trial(fault.name, fault.summary, fault.group, "runtime/x", "wrong", 0.0)

    def interrupt(_: Trial) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(selftest, "_try", tried)
    names = tuple(FAULTS)[:2]
    result = run_self_test(quick=True, names=names, sound_runs=0, observe=interrupt)
    assert result.interrupted
    assert len(result.trials) == 1
