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
from phalanx.conformance.mutants import trial as trial_module
from phalanx.conformance.mutants.choice import Choice, Chooser
from phalanx.conformance.mutants.crew import Answer, Change, Crew, Order
from phalanx.conformance.mutants.journal import Journal
from phalanx.conformance.mutants.mutant import WRITTEN, Mutant
from phalanx.conformance.mutants.report import counts, holds, parse, run_and_show
from phalanx.conformance.mutants.trial import MutantTrial, MutationTest
from phalanx.conformance.mutants.trials import try_mutant

MUTANT = Mutant(WRITTEN, 0, "sum", "x = a + b;", "x = a - b;")
EQUIVALENT = Mutant(WRITTEN, 0, "sum", "x = a + 0;", "x = a - 0;")


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """One mutant computes the same, and why is known."""
    reasons = {EQUIVALENT.name: "nothing is added"}
    monkeypatch.setattr(trial_module, "equivalents", lambda: reasons)
    monkeypatch.setattr(trials, "equivalents", lambda: reasons)


def trial(stage: str = "quick", *, compiled: bool = True, mutant: Mutant = MUTANT) -> MutantTrial:
    case = "ops/elementwise[add(int8,int8)->int8]"
    return MutantTrial(mutant, (case,), stage, case if stage else "", "wrong", 1.25, compiled)


def found(*rows: MutantTrial, quick: bool = False) -> MutationTest:
    return MutationTest("opencl:1", quick, 20, list(rows), 3, 60.0)


def test_how_many() -> None:
    assert parse("12") == (12, ())
    assert parse("all") == (None, ())
    assert parse("survived") == (None, ("survived",))
    assert parse("m0123456789,mabcdefabcd") == (2, ("m0123456789", "mabcdefabcd"))
    for wrong in ("0", "-3", "many", "1.5", "m12", ""):
        with pytest.raises(ValueError, match="number from 1 up"):
            parse(wrong)


def test_what_counts() -> None:
    test = found(
        trial(), trial("full"), trial(""), trial("", compiled=False), trial("", mutant=EQUIVALENT)
    )
    assert counts(test) == {
        "tried": 5, "unused": 3, "not_compiled": 1, "equivalent": 1,
        "killed": {"quick": 1, "full": 1}, "survived": 1,
    }  # fmt: skip
    assert test.kill_rate == pytest.approx(2 / 3)
    assert not holds(test)
    assert holds(found(*[trial()] * 39, trial("")))
    assert not holds(found(*[trial()] * 19, trial("")))
    assert not holds(found())
    test = found(*[trial()] * 9, trial("full"))
    assert (test.kill_rate, test.quick_rate) == (1.0, 0.9)


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
        (["--self-test", "--mutants-of", "core/*"], "belong to --mutants"),
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


class PretendCrew(Crew):
    """Gives answers that were thought of before, and keeps the orders."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.orders: list[Order] = []

    def run(self, order: Order, seen: Any = None) -> Answer:
        self.orders.append(order)
        return self.answers.pop(0)


PASSED = Answer("", "", 1, False)
FAILED = Answer("ops/x[1]", "Mismatch", 1, False)
CASE = "ops/elementwise[add(int8,int8)->int8]"


@pytest.mark.parametrize(
    ("answers", "stage", "compiled"),
    [
        ([FAILED], "quick", True),
        ([PASSED, FAILED], "full", True),
        ([PASSED, PASSED, FAILED], "bits", True),
        ([PASSED] * 3, "", True),
        ([Answer("ops/x[1]", "CompileError: exp does not compile: x", 1, False)], "", False),
    ],
)
def test_stages(answers: list[Answer], stage: str, compiled: bool) -> None:
    crew = PretendCrew(*answers)
    choice = Choice(MUTANT, (CASE,), Change(MUTANT.to_dict()))
    tried = try_mutant(crew, Chooser([], 20), choice, quick=False)
    assert (tried.stage, tried.compiled) == (stage, compiled)
    assert not crew.answers
    assert [order.quick for order in crew.orders] == [True, False, False][: len(answers)]
    if stage == "bits":
        assert crew.orders[-1].cases == ("bitwise/bits[add(int8,int8)->int8]",)


HUNG = Answer("ops/x[1]", "the process did not end within 60 s in this case", 1, False)


@pytest.mark.parametrize(("without", "stage"), [(PASSED, "quick"), (HUNG, "")])
def test_a_case_that_hangs_without_a_mutant_too(without: Answer, stage: str) -> None:
    choice = Choice(MUTANT, (CASE,), Change(MUTANT.to_dict()))
    tried = try_mutant(PretendCrew(HUNG, without), Chooser([], 20), choice, quick=True)
    assert (tried.stage, tried.partial) == (stage, not stage)


def test_a_known_equivalent_is_tried_quick_alone() -> None:
    choice = Choice(EQUIVALENT, (CASE,), Change(EQUIVALENT.to_dict()))
    tried = try_mutant(PretendCrew(PASSED), Chooser([], 20), choice, quick=False)
    assert (tried.verdict, tried.reason, tried.counts) == ("equivalent", "nothing is added", False)


def test_what_does_not_compile_or_is_not_reached_runs_nothing() -> None:
    for message, verdict in (
        ("does not compile: x.c:1: error", "does not compile"),
        ("", "survived"),
    ):
        choice = Choice(MUTANT, (), Change(), message)
        assert try_mutant(PretendCrew(), Chooser([], 20), choice, quick=False).verdict == verdict


def test_an_unknown_mutant() -> None:
    with pytest.raises(ValueError, match="named 'm0123456789'"):
        trials._named(Chooser([], 20), ("m0123456789",))


def test_a_journal_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "trials.jsonl"
    journal = Journal(path)
    other = Mutant(WRITTEN, 0, "sum", "y = a + b;", "y = a - b;")
    journal.add(MUTANT, trial(""))
    journal.add(EQUIVALENT, trial("", mutant=EQUIVALENT))
    journal.add(other, None)
    with path.open("a") as file:
        file.write('{"name": "m01')  # the run was ended here
    again = Journal(path)
    assert again[MUTANT] == trial("")
    assert other in again
    assert again[other] is None
    assert again.survived() == (MUTANT.name,)
    told = {"quick": False, "seed": 20, "count": None, "names": ("tried",)}
    test = trials.run_mutants("cpu:0", folder=tmp_path, **told)  # type: ignore[arg-type]
    assert (len(test.trials), test.unused) == (2, 1)
    with pytest.raises(ValueError, match="no folder with trials"):
        trials.run_mutants("cpu:0", **told)  # type: ignore[arg-type]
    assert Mutant(WRITTEN, 1, "sum", "y = a + b;", "y = a - b;") not in again
