"""``phalanx conformance --self-test --mutants``: usage, the table, the JSON, and when it holds."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from phalanx.conformance import command
from phalanx.conformance.mutants import report, trials
from phalanx.conformance.mutants.choice import Choice, Chooser
from phalanx.conformance.mutants.mutant import WRITTEN, Mutant
from phalanx.conformance.mutants.report import counts, holds, parse, run_and_show
from phalanx.conformance.mutants.trials import MutantTrial, MutationTest, try_mutant

MUTANT = Mutant(WRITTEN, 0, "sum", "x = a + b;", "x = a - b;")


def trial(stage: str = "quick", *, compiled: bool = True, reason: str = "") -> MutantTrial:
    case = "ops/elementwise[add(int8,int8)->int8]"
    return MutantTrial(
        MUTANT, (case,), stage, case if stage else "", "wrong", 1.25, compiled, reason
    )


def found(*rows: MutantTrial, quick: bool = False) -> MutationTest:
    return MutationTest("opencl:1", quick, 20, list(rows), 3, 60.0)


def test_how_many() -> None:
    assert parse("12") == (12, ())
    assert parse("all") == (None, ())
    assert parse("m0123456789,mabcdefabcd") == (2, ("m0123456789", "mabcdefabcd"))
    for wrong in ("0", "-3", "many", "1.5", "m12", ""):
        with pytest.raises(ValueError, match="number from 1 up"):
            parse(wrong)


def test_what_counts() -> None:
    test = found(
        trial(), trial("full"), trial(""), trial("", compiled=False), trial("", reason="so")
    )
    assert counts(test) == {
        "tried": 5, "unused": 3, "not_compiled": 1, "equivalent": 1,
        "killed": {"quick": 1, "full": 1}, "survived": 1,
    }  # fmt: skip
    assert test.kill_rate == pytest.approx(2 / 3)
    assert not holds(test)
    assert holds(found(*[trial()] * 19, trial("")))
    assert not holds(found())


@pytest.fixture
def show(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Print a test as if it had been run."""

    def run(result: MutationTest, json_file: Path | None = None) -> int:
        def pretend(device: str, **told: Any) -> MutationTest:
            told["noted"]()
            for one in result.trials:
                told["observe"](one)
            return result

        monkeypatch.setattr(report, "run_mutants", pretend)
        return run_and_show("5", "opencl:1", quick=result.quick, seed=20, json_file=json_file)

    return run


def test_the_table(show: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    assert show(found(trial(), trial("", compiled=False), trial(""))) == 1
    out = capsys.readouterr().out
    assert "does not compile" in out
    assert f"survived {MUTANT.name} written" in out
    assert "- x = a + b;\n  + x = a - b;" in out
    assert f"--mutants {MUTANT.name} --device opencl:1 --seed 20" in out
    assert "3 mutants on opencl:1: 1 do not compile, 0 equivalent, killed: 1 quick" in out
    assert "kill rate: 50.0 %" in out


def test_json(show: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    assert show(found(trial()), Path("-")) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["kill_rate"], data["holds"], data["device"]) == (1.0, True, "opencl:1")
    assert data["mutants"][0]["after"] == "x = a - b;"
    assert data["mutants"][0]["verdict"] == "killed"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--mutants", "3"], "is a form of --self-test"),
        (["--self-test", "--mutants", "x"], "a number from 1 up"),
        (["--self-test", "--mutants", "3", "--fault", "none"], "two self-tests"),
        (["--self-test", "--mutants", "3", "--html", "x.html"], "no other report"),
    ],
)
def test_wrong_usage(
    args: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = CliRunner().invoke(command.conformance, args)
    assert ended.exit_code == 2
    assert message in ended.output


def test_no_device_compiles(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("phalanx.devices", lambda _: ())
    with pytest.raises(SystemExit) as ended:
        run_and_show("3", None, quick=True, seed=20)
    assert ended.value.code == 2
    assert "no device of this machine compiles kernels" in capsys.readouterr().err


def test_a_device_without_texts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(trials, "first_failure", lambda *_, **__: ("", ""))
    with pytest.raises(ValueError, match="compiles no program"):
        trials.note("cpu:0", 20, tmp_path)
    monkeypatch.setattr(trials, "first_failure", lambda *_, **__: ("ops/x[1]", "wrong"))
    with pytest.raises(ValueError, match="fails without a mutant, in ops/x"):
        trials.note("cpu:0", 20, tmp_path)


@pytest.mark.parametrize(
    ("answers", "stage", "compiled"),
    [
        ([("ops/x[1]", "Mismatch")], "quick", True),
        ([("", ""), ("ops/x[1]", "Mismatch")], "full", True),
        ([("", ""), ("", ""), ("bitwise/x[1]", "Mismatch")], "bits", True),
        ([("", "")] * 3, "", True),
        ([("ops/x[1]", "CompileError: exp does not compile: error")], "", False),
    ],
)
def test_stages(
    answers: list[tuple[str, str]],
    stage: str,
    compiled: bool,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    given = iter(answers)
    monkeypatch.setattr(trials, "first_failure", lambda *_, **__: next(given))
    choice = Choice(MUTANT, ("ops/elementwise[add(int8,int8)->int8]",))
    tried = try_mutant("opencl:1", choice, quick=False, seed=20, folder=tmp_path)
    assert (tried.stage, tried.compiled) == (stage, compiled)


def test_an_unknown_mutant(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="named 'm0123456789'"):
        trials._named(Chooser([], 20), ("m0123456789",))
