"""A few seconds of the stress test on every device, and the tests of the stress test itself."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from exhaustive import some_of

from stress.child import Job
from stress.generator import RULES, generate
from stress.lineage import lineage
from stress.program import Program, Step, Traits, host_data
from stress.reference import Mismatch, compare, interpret
from stress.runner import list_devices, run_job

pytestmark = pytest.mark.needs_cpu

DTYPES = ("bool", "int8", "int32", "int64", "uint8", "uint32", "uint64", "float32", "float64")
CPU = Traits("cpu:0", DTYPES, on_host=True, inline=True)
OTHER = Traits("opencl:0", DTYPES, on_host=False, inline=False)
SEED = 20


@pytest.fixture(scope="module")
def devices() -> dict[str, Traits]:
    return {traits.name: traits for traits in list_devices()}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", some_of(["cpu:0", "opencl:0", "opencl:1"], ["cpu:0", "opencl:0"]))
def test_a_program_of_eight_threads(devices: dict[str, Traits], name: str) -> None:
    if name not in devices:
        pytest.skip(f"no {name} on this machine")
    traits, operations = devices[name], 3000
    if not traits.inline:  # each op and dtype may have to be compiled first
        traits, operations = dataclasses.replace(traits, dtypes=("bool", "int32", "float32")), 500
    outcome = run_job(Job(SEED, (traits,), operations=operations, limit=120))
    assert outcome.verdict == "ok", "\n".join((outcome.detail, *outcome.last, outcome.repeat))
    assert outcome.steps.total() >= operations


class TestGenerator:
    def test_a_seed_makes_one_program(self) -> None:
        first = generate(1, (CPU, OTHER), threads=8, operations=2000)
        assert first == generate(1, (CPU, OTHER), threads=8, operations=2000)
        assert first != generate(2, (CPU, OTHER), threads=8, operations=2000)

    def test_every_rule_is_followed(self) -> None:
        kinds = {
            s.kind for n in range(3) for s in generate(n, (CPU,), threads=8, operations=6000).steps
        }
        rare = {
            "fork",
            "visitor",
            "fft",
            "inv",
            "bad_index",
            "export_check",
            "host_write",
            "stream_drop",
        }
        assert rare <= kinds
        two = {s.kind for s in generate(0, (CPU, OTHER), threads=8, operations=3000).steps}
        assert "move" in two
        assert "fork" not in two

    def test_rules_can_be_left_out(self) -> None:
        program = generate(0, (CPU,), threads=8, operations=3000, without=("bad_index", "fork"))
        assert not {"bad_index", "fork"} & {step.kind for step in program.steps}
        with pytest.raises(ValueError, match="unknown rule 'forks'; there are assign"):
            generate(0, (CPU,), threads=1, operations=1, without=("forks",))

    def test_a_value_is_there_when_it_is_used(self) -> None:
        """Taken one by one in their order, steps use what their own thread has."""
        program = generate(3, (CPU, OTHER), threads=8, operations=6000)
        held: list[set[int]] = [set() for _ in range(program.threads)]
        sent: set[tuple[int, int]] = set()
        for step in program.steps:
            assert held[step.thread].issuperset(step.inputs), str(step)
            if step.kind in ("send", "share"):
                sent.add((step.number, step.args["to"]))
            if step.kind in ("receive", "discard"):
                assert (step.args["channel"], step.thread) in sent, str(step)
            if step.kind in ("send", "drop", "release"):
                held[step.thread].remove(step.inputs[0])
            if step.out >= 0:
                held[step.thread].add(step.out)
        assert not any(held)

    def test_numbers_stay_exact(self) -> None:
        """No float grows beyond what its dtype holds exactly, and all are whole."""
        program = generate(4, (CPU,), threads=8, operations=6000)
        for number, value in interpret(program).items():
            if value.dtype.kind == "f" and value.size:
                most = 1 << (24 if value.dtype == np.float32 else 53)
                assert np.abs(value).max() <= most, str(program.steps[number])
                assert (value == np.rint(value)).all(), str(program.steps[number])

    def test_every_rule_has_a_weight(self) -> None:
        assert all(weight > 0 for weight, _ in RULES.values())


def program_of(*steps: Step) -> Program:
    numbered = (dataclasses.replace(step, number=n) for n, step in enumerate(steps))
    return Program(0, (CPU,), 1, {}, tuple(numbered))


def made(out: int, **data: object) -> Step:
    given = {"seed": 1, "shape": (4,), "dtype": "int32", "low": 0, "high": 9, **data}
    return Step(0, 0, "upload", out=out, args={"device": 0, "data": given})


class TestReference:
    def test_views_share_memory_and_copies_do_not(self) -> None:
        steps = (
            made(1),
            Step(0, 0, "view", inputs=(1,), out=2, args={"how": "slice", "key": (slice(1, 3),)}),
            Step(0, 0, "move", inputs=(1,), out=3, args={"device": 1}),
            Step(0, 0, "in_place", inputs=(2,), args={"f": "+=", "number": 100}),
            *(Step(0, 0, "check", inputs=(n,)) for n in (1, 2, 3)),
        )
        whole, part, copied = interpret(program_of(*steps)).values()
        start = host_data(1, (4,), "int32", 0, 9)
        assert whole.tolist() == np.add(start, [0, 100, 100, 0]).tolist()
        assert part.tolist() == whole[1:3].tolist()
        assert copied.tolist() == start.tolist()

    def test_an_export_outlives_its_array(self) -> None:
        steps = (
            made(1),
            Step(0, 0, "export_keep", inputs=(1,), args={"export": 7}),
            Step(0, 0, "in_place", inputs=(1,), args={"f": "*=", "number": 0}),
            Step(0, 0, "drop", inputs=(1,)),
            Step(0, 0, "export_write", args={"export": 7, "key": (slice(0, 1),), "number": 5}),
            Step(0, 0, "export_check", args={"export": 7}),
        )
        (found,) = interpret(program_of(*steps)).values()
        assert found.tolist() == [5, 0, 0, 0]

    def test_what_is_shown_is_what_was_there(self) -> None:
        """A later change does not reach back."""
        steps = (
            made(1, high=0),
            Step(0, 0, "check", inputs=(1,)),
            Step(0, 0, "assign", inputs=(1,), args={"key": (slice(None),), "number": 3}),
            Step(0, 0, "check", inputs=(1,)),
        )
        before, after = interpret(program_of(*steps)).values()
        assert (before.tolist(), after.tolist()) == ([0] * 4, [3] * 4)

    def test_compare(self) -> None:
        want = np.arange(6.0).reshape(2, 3)
        compare(want.copy(), want)
        with pytest.raises(Mismatch, match="got float32 of shape"):
            compare(want.astype(np.float32), want)
        wrong = want.copy()
        wrong[1, 1] = np.nan
        with pytest.raises(Mismatch, match=r"1 of 6 .* \(1, 1\): got nan, want 4.0"):
            compare(wrong, want)

    def test_lineage(self) -> None:
        program = program_of(
            made(1),
            made(2),
            Step(0, 0, "view", inputs=(1,), out=3, args={"how": "slice", "key": (slice(1),)}),
            Step(0, 0, "in_place", inputs=(1,), args={"f": "+=", "number": 1}),
            Step(0, 0, "drop", inputs=(2,)),
            Step(0, 0, "check", inputs=(3,)),
        )
        assert [s.number for s in lineage(program, program.steps[-1])] == [0, 2, 3, 5]


def sabotaged(kind: str, **changes: object) -> Job:
    """A short program on the default stream, with a step that does harm in its middle."""
    quiet = tuple(RULES.keys() - {"make", "unary", "binary", "check"})
    return dataclasses.replace(
        Job(5, (CPU,), threads=2, operations=300, without=quiet, sabotage=kind), **changes
    )


class TestDetection:
    def test_a_sound_program(self) -> None:
        outcome = run_job(sabotaged(""))
        assert (outcome.verdict, outcome.detail, outcome.last) == ("ok", "", ())
        assert outcome.steps.total() >= 300

    def test_a_crash(self) -> None:
        outcome = run_job(sabotaged("die"))
        assert outcome.verdict == "crash"
        assert "SIGSEGV" in outcome.detail
        assert "in _die" in outcome.detail
        assert any(line.strip().startswith("#") and "die()" in line for line in outcome.last)

    def test_a_hang(self) -> None:
        outcome = run_job(sabotaged("stall", limit=2.0))
        assert outcome.verdict == "hang"
        assert "no thread took a step for 2 s" in outcome.detail
        assert "in _stall" in outcome.detail
        assert any("stall()" in line for line in outcome.last)

    def test_a_wrong_value(self) -> None:
        outcome = run_job(sabotaged("lie"))
        assert outcome.verdict == "wrong"
        assert "want" in outcome.detail
        assert "where its value came from:" in outcome.detail
        assert any("check(v" in line for line in outcome.last)

    def test_the_command_that_repeats(self) -> None:
        job = sabotaged("lie", without=("fork", "stream"))
        repeat = dataclasses.replace(run_job(job), job=dataclasses.replace(job, sabotage="")).repeat
        assert "--seed 5 --device cpu:0 --rounds 1 --threads 2 --operations 300" in repeat
        assert "--without fork --without stream" in repeat
        tests = Path(__file__).resolve().parents[1]
        options = repeat.partition("-m stress ")[2].split()
        options[options.index("--repeat") + 1] = "1"
        found = subprocess.run(
            [sys.executable, "-m", "stress", *options],
            env={**os.environ, "PYTHONPATH": str(tests)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert found.returncode == 0, found.stdout + found.stderr
        assert "1 programs" in found.stdout
        assert "faults: 0" in found.stdout
        assert Job.from_json(job.to_json()) == job
        assert job.program() == Job.from_json(job.to_json()).program()

    def test_help_has_examples(self) -> None:
        tests = Path(__file__).resolve().parents[1]
        found = subprocess.run(
            [sys.executable, "-m", "stress", "--help"],
            env={**os.environ, "PYTHONPATH": str(tests)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert "make stress MINUTES=60" in found.stdout
