"""A stratified sample of the proof, on the CPU and on every OpenCL device; and the proof itself."""

from __future__ import annotations

import json
import math
from pathlib import Path

import mpmath
import numpy as np
import phalanx as px
import pytest
from click.testing import CliRunner
from phalanx.conformance.reference.hard import hardest_values
from phalanx.namespace.public import public_function

from proof import blocks, reference
from proof.blocks import DTYPES, Subject, check_block, check_inputs, unary_ops
from proof.command import proof
from proof.state import State
from proof.table import markdown, write

pytestmark = pytest.mark.needs_cpu
#: Functions that are hard to round; the others are exact, or one operation of IEEE 754.
HARD = [name for name in unary_ops() if hardest_values(name, "float32").size]
SAMPLES = [
    *(("cpu:0", name) for name in unary_ops()),
    *((f"opencl:{i}", name) for i in range(px.device_count("opencl")) for name in HARD),
]
#: Inputs of float32 in a sample: every one of these strides apart, a prime, so all exponents occur.
STRIDE = 8191


@pytest.mark.parametrize(("device", "function"), SAMPLES)
def test_sample_and_all_hard_inputs_are_correctly_rounded(device: str, function: str) -> None:
    for dtype in DTYPES:
        subject = Subject(function, dtype, device)
        if dtype == "float32":
            sample = np.arange(0, 1 << 32, STRIDE, dtype=np.int64).astype(np.uint32)
            bits = np.concatenate([sample, hardest_values(function, dtype).view(np.uint32)])
        else:
            bits = np.arange(1 << 16, dtype=np.int64).astype(np.uint16)
        assert check_inputs(subject, bits).wrong == (), f"bits of inputs of {subject}"


# ---- the proof catches what is wrong -------------------------------------------------------------


@pytest.mark.parametrize("function", HARD)
def test_one_step_off_at_a_hard_input_is_wrong(function: str) -> None:
    x = hardest_values(function, "float32")
    got = px.asnumpy(public_function(function)(px.asarray(x, device="cpu:0")))
    finite = np.isfinite(got)
    for toward in (np.float32(-np.inf), np.float32(np.inf)):
        moved = np.where(finite, np.nextafter(got, toward), got)
        verdict = reference.compare(function, "float32", x, moved)
        assert verdict.wrong == np.flatnonzero(finite).tolist()


@pytest.mark.parametrize(
    ("function", "x", "got"),
    [
        ("sqrt", 2.0, 1.5), ("square", 3.0, 9.000001), ("isnan", math.nan, 0.0),
        ("exp", math.nan, 1.0), ("log", 0.0, math.inf), ("sin", -0.0, 0.0), ("exp", 200.0, 3e38),
        ("exp", 1.0, math.nan), ("sign", -0.0, 1.0), ("exp", -200.0, -0.0), ("acos", 2.0, 0.0),
    ],
)  # fmt: skip
def test_wrong_values_at_the_edges_are_wrong(function: str, x: float, got: float) -> None:
    verdict = reference.compare(function, "float32", np.float32([x]), np.float32([got]))
    assert verdict.wrong == [0]


def test_middle_of_two_float16_numbers_is_decided_by_more_precision() -> None:
    """exp(0x1f79) in float32 is a middle of float16; exp itself lies below it."""
    x = float(np.array([0x1F79], np.uint16).view(np.float16)[0])
    want = reference.nearest("exp", "float16", x, math.exp(x))
    exact = mpmath.exp(mpmath.mpf(x))
    twice = float(np.float16(np.float32(exact)))
    assert want != twice
    assert abs(want - exact) < abs(twice - exact)


def test_too_many_doubts_are_an_error() -> None:
    x = np.full(5000, 2.0, np.float32)
    with pytest.raises(RuntimeError, match="exp of float32: 5000 of 5000 results are in doubt"):
        reference.compare("exp", "float32", x, np.zeros_like(x))


def test_every_op_of_one_floating_operand_has_a_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "functions", lambda: ("exp",))
    with pytest.raises(RuntimeError, match=r"no reference in reference\.c for .*sqrt"):
        unary_ops()


# ---- the command ---------------------------------------------------------------------------------


def _run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(proof, [str(a) for a in arguments], catch_exceptions=False)
    return result.exit_code, result.output


def test_command_goes_on_where_it_was_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "proof.json"
    arguments = ("--function", "exp", "--dtype", "float16", "--jobs", 1, "--state", path)
    monkeypatch.setattr("proof.command.BLOCK", 1 << 14)
    seen: list[int] = []

    def interrupted(subject: Subject, begin: int, end: int) -> blocks.Finding:
        if begin == 1 << 15 and not seen.count(begin):
            seen.append(begin)
            raise KeyboardInterrupt
        seen.append(begin)
        return check_block(subject, begin, end)

    monkeypatch.setattr("proof.command.check_block", interrupted)
    status, output = _run(*arguments)
    assert (status, "the same command goes on" in output) == (130, True)
    assert json.loads(path.read_text())["exp of float16 on cpu:0"]["checked"] == 1 << 15
    status, output = _run(*arguments)
    assert status == 0
    assert sorted(set(seen)) == [0, 1 << 14, 1 << 15, 3 << 14]
    assert seen.count(0) == seen.count(1 << 14) == 1
    assert "| exp | not run |  | 0 | " in output


def test_command_tells_what_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(subject: Subject, begin: int, end: int) -> blocks.Finding:
        return blocks.Finding(end, (0x3C00,) if begin == 0 else (), 0)

    monkeypatch.setattr("proof.command.check_block", faulty)
    path = tmp_path / "proof.json"
    status, output = _run("--function", "log", "--dtype", "float16", "--state", path)
    assert status == 1
    assert "log of float16 on cpu:0: 1 wrong: 0x3c00" in output


def test_command_checks_a_part_and_keeps_nothing(tmp_path: Path) -> None:
    path = tmp_path / "proof.json"
    part = ("--function", "log", "--dtype", "float32", "--range", "0x3f000000:0x3f010000")
    status, output = _run(*part, "--state", path)
    assert status == 0
    assert "65,536 inputs" in output
    assert not path.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--function", "exq"), "exq; choose from exp, expm1"),
        (("--device", "none:7"), "none:7"),
        (("--range", "1-2"), "is not two numbers such as"),
        (("--dtype", "float16", "--range", "0:0x20000"), "has the inputs 0 to 0x10000"),
        (("--dtype", "float64"), "float64"),
    ],
)
def test_bad_options_are_told(arguments: tuple[str, ...], message: str) -> None:
    status, output = _run(*arguments)
    assert status == 2
    assert message in output


@pytest.mark.parametrize("text", ["{", "[1]", '{"exp": {"seen": 1}}'])
def test_file_that_is_no_state_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "proof.json"
    path.write_text(text)
    arguments = ("--function", "isnan", "--dtype", "float16", "--state", path)
    status, output = _run(*arguments)
    assert status == 1
    assert "has no progress of the proof" in output
    assert "--restart begins anew" in output
    assert _run(*arguments, "--restart")[0] == 0


def test_state_of_other_kernels_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "proof.json"
    subject = Subject("exp", "float16", "cpu:0")
    state = State(path)
    state.of(subject).add(blocks.Finding(100, (), 3))
    state.save()
    assert State(path).of(subject).checked == 100
    assert State(path, restart=True).of(subject).checked == 0
    monkeypatch.setattr("proof.state.fingerprint", lambda _driver: "another")
    assert State(path).of(subject).checked == 0


def test_table_is_put_between_the_marks_of_a_page(tmp_path: Path) -> None:
    state = State(tmp_path / "proof.json")
    row = state.of(Subject("exp", "float32", "cpu:0"))
    row.add(blocks.Finding(1 << 32, (), 1234))
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- proof: begin -->\nold\n<!-- proof: end -->\nafter\n")
    for _ in range(2):
        write(page, markdown(state, "cpu:0", ("exp", "log")))
    text = page.read_text()
    assert f"| exp | 0 | 1,234 | not run |  | not run |  | {row.date} |" in text
    assert (text.startswith("before\n"), "old" in text, "| log |" in text) == (True, False, False)
    page.write_text("no marks")
    with pytest.raises(ValueError, match="has no lines"):
        write(page, "")
