"""``phalanx conformance``: exit codes, messages, crashes, hangs, Ctrl-C, full disks."""

from __future__ import annotations

import json
import os
import resource
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conformance_kit import results
from phalanx.conformance.outcome import Verdict
from plugin_kit import run_python

pytestmark = pytest.mark.needs_cpu

VENDOR_TESTS = """
import pathlib, time

def test_first(device):
    pass

def test_waits(device):
    pathlib.Path({path!r}).touch()
    time.sleep(600)
"""


# Wrong usage, told before the first case


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--op", "ad"], "no op 'ad' in the op table; did you mean add"),
        (["--dtype", "float33"], "unknown dtype 'float33'; did you mean 'float32'"),
        (["--level", "cor"], "unknown level 'cor'; did you mean 'core'?"),
        (["--level", "gold"], "there are runtime, core, array-api, bitwise"),
        (["--group", "op"], "unknown group 'op'; did you mean 'ops'?"),
        (["--device", ""], "'' is not a device name"),
        (["--fault", "nan-lost-in-maximun"], "did you mean 'nan-lost-in-maximum'"),
        (["--fault", ""], "unknown fault ''"),
        (["--self-test", "--fault", ""], "unknown fault ''"),
        (["--seed", "-1"], "the seed is a number from 0 up, not -1"),
        (["--seed", "two"], "'two' is not a valid integer"),
        (["--timeout", "0"], "not in the range"),
        (["--timeout", "nan"], "'nan' is not a number of seconds"),
        (["--timeout", "inf"], "inf is not in the range"),
        (["--timeout", "1e12"], "is not in the range"),
        (["--mutants-time", "nan"], "'nan' is not a number of seconds"),
        (["--op", "add", "--certificate", "{tmp}/c"], "a certificate needs a whole run; drop"),
        (["--self-test", "--html", "{tmp}/r"], "--self-test writes no other report than --json"),
        (["--self-test", "--fault", "gremlin"], "unknown fault 'gremlin'"),
        (["--fault", "device-dies", "--fault", "driver-exits"], "several --fault need --self-test"),
    ],
)
def test_wrong_usage(usage: Callable, args: list[str], words: str, tmp_path: Path) -> None:
    done = usage(*(a.format(tmp=tmp_path) for a in args))
    assert done.exit_code == 2
    assert words in done.output


@pytest.mark.parametrize("workers", ["0", "1"])
def test_an_unknown_case_is_wrong_usage(suite: Callable, workers: str) -> None:
    done = suite("--case", "interop/numpy_round_tripp", "-n", workers)
    assert done.code == 2
    assert "unknown case 'interop/numpy_round_tripp'; did you mean 'interop/" in done.err


def test_a_run_of_no_case_is_wrong_usage(suite: Callable) -> None:
    done = suite("--group", "runtime", "--op", "add", "-n", "0")
    assert done.code == 2
    assert "no case fits all that was asked for; drop one of" in done.err


@pytest.mark.parametrize("option", ["--json", "--junit-xml", "--html", "--certificate"])
def test_a_report_without_a_place(usage: Callable, option: str, tmp_path: Path) -> None:
    done = usage(option, str(tmp_path / "no" / "report"))
    assert done.exit_code == 2
    assert "cannot be written (No such file or directory); choose another place" in done.output
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("option", ["--json", "--junit-xml", "--html", "--certificate", "--sign"])
def test_a_report_without_a_name(usage: Callable, option: str) -> None:
    done = usage(option, "")
    assert done.exit_code == 2
    assert f"'{option}': an empty path" in done.output


def test_two_reports_at_one_place(usage: Callable, tmp_path: Path) -> None:
    done = usage("--html", str(tmp_path / "r"), "--junit-xml", str(tmp_path / "." / "r"))
    assert done.exit_code == 2
    assert "r is asked for twice; two reports need two places" in done.output
    assert not list(tmp_path.iterdir())


def test_a_device_of_the_environment_without_a_name(
    usage: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PHALANX_DEVICE", "")
    done = usage()
    assert done.exit_code == 2
    assert "PHALANX_DEVICE='': '' is not a device name" in done.output


def test_a_full_disk_is_told_before_the_run(usage: Callable) -> None:
    done = usage("--html", "/dev/full")
    assert done.exit_code == 2
    assert "/dev/full cannot be written (No space left on device)" in done.output


def test_too_little_room_is_told_before_the_run(tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    report.write_text("an older one")
    done = subprocess.run(
        [sys.executable, "-m", "phalanx", "conformance", "--html", str(report)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 2
    assert "cannot be written (File too large)" in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    assert report.read_text() == "an older one"


def test_the_missing_extra_says_what_to_install(
    usage: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib.util

    find = importlib.util.find_spec
    absent = ("xdist", "jinja2")
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda n, *a: None if n in absent else find(n, *a)
    )
    done = usage("--op", "add")
    assert done.exit_code == 2
    assert "needs xdist, jinja2; pip install 'phalanx[conformance]'" in done.output


# Devices that are not usable


@pytest.mark.parametrize(
    ("device", "env", "words"),
    [
        ("nosuch:0", {}, "no installed plugin offers a driver 'nosuch'"),
        ("cpu:9", {}, "driver 'cpu' has 1 device"),
        ("cpu:0", {"PHALANX_PLUGINS": "none"}, "PHALANX_PLUGINS='none'"),
        ("gpu:0", {"PHALANX_PLUGINS": "cpu"}, "no plugin has a device of kind 'gpu'"),
    ],
)
def test_an_unusable_device_gives_the_reasons(
    suite: Callable, device: str, env: dict[str, str], words: str
) -> None:
    done = suite("--device", device, **env)
    assert done.code == 3
    assert f"{device}: not usable" in done.err
    assert words in " ".join(done.err.split())
    assert not done.out


def test_a_device_that_kills_the_process_that_asks(suite: Callable, vendor: Callable) -> None:
    folder = vendor("reason[0]")
    (folder / "acme_checks.py").write_text("import os\nos._exit(7)\n")
    done = suite("--device", "cpu:0", path=folder)
    assert done.code == 3
    assert "the process that asked ended with exit code 7" in done.err


@pytest.mark.parametrize("workers", [0, 1])
def test_a_device_that_is_lost_before_the_first_case(workers: int) -> None:
    program = f"""
from phalanx.conformance.description import Description
from phalanx.conformance.run import run_suite
from phalanx.conformance.settings import Settings
found = run_suite(Settings("cpu:9"), Description("cpu:9", usable=True), workers={workers})
assert found.partial.startswith("cpu:9 is not usable: no device 'cpu:9'"), found.partial
assert not found.outcomes
assert found.certified is None
"""
    done = run_python("-c", program)
    assert done.returncode == 0, done.stderr


# Runs


def test_a_sound_device_passes_and_json_stands_alone(suite: Callable) -> None:
    done = suite("--device", "cpu", "--op", "add", "--dtype", "float32", "-n", "1", "--json")
    assert done.code == 0, done.err
    data = done.data
    assert data["device"]["device"] == "cpu:0"
    assert set(done.verdicts().values()) == {"passed"}
    assert "ops/elementwise[add(float32,float32)->float32]" in done.verdicts()
    assert (data["partial"], data["narrowed"], data["certified"]) == ("", True, "")
    assert data["settings"]["dtypes"] == ["float32"]


def test_a_failure_is_explained_and_its_command_repeats_it(
    suite: Callable, phalanx: Callable
) -> None:
    args = ("--group", "ops", "--op", "maximum", "--dtype", "float32", "-n", "1")
    done = suite("--fault", "nan-lost-in-maximum", *args)
    assert done.code == 1
    case = "ops/elementwise[maximum(float32,float32)->float32]"
    assert f"failed {case}" in done.out
    assert "got 0.0, want nan" in done.out
    assert f"faulty:0: failed: {case}" in done.err  # at once, for those who follow a log
    (line,) = (s for s in done.out.splitlines() if "repeat:" in s)
    words = shlex.split(line.partition("repeat: ")[2])
    assert words[0] == "phalanx"
    again = phalanx(*words[1:], "--json", "-n", "1")
    assert again.code == 1
    assert again.verdicts() == {case: "failed"}
    assert again.outcome(case)["mistakes"][0]["want"] == "nan"


def test_the_seed_changes_the_values_and_is_repeated(suite: Callable) -> None:
    args = ("--group", "ops", "--op", "log10", "--dtype", "complex128", "-n", "0", "--json")
    case = "ops/elementwise[log10(complex128)->complex128]"
    first, other = (suite(*args, "--seed", s).outcome(case) for s in ("3", "4"))
    assert first["worst"] != other["worst"]
    assert first["repeat"].endswith("--seed 3 --quick")
    assert other["repeat"].endswith("--seed 4 --quick")


@pytest.mark.slow
def test_a_crash_is_the_cases_and_the_run_goes_on(suite: Callable) -> None:
    done = suite("--fault", "device-dies", "--group", "ops", "--op", "asinh", "-n", "1", "--json")
    assert done.code == 1
    verdicts = done.verdicts()
    case = "ops/elementwise[asinh(float64)->float64]"
    assert verdicts.pop(case) == "crashed"
    assert len(verdicts) >= 5
    assert set(verdicts.values()) == {"passed", "not applicable"}  # memory of the host, barred
    message = done.outcome(case)["message"]
    assert "the process died in this case (Segmentation fault)" in message
    assert "elementwise" in message  # where in the case
    assert not done.data["partial"]


@pytest.mark.slow
def test_a_process_that_ends_without_a_word(suite: Callable) -> None:
    args = ("--group", "ops", "--op", "acosh", "-n", "1", "--json")
    done = suite("--fault", "driver-exits", *args)
    assert done.code == 1
    verdicts = done.verdicts()
    case = "ops/elementwise[acosh(float32)->float32]"
    assert verdicts.pop(case) == "crashed"
    assert set(verdicts.values()) == {"passed", "not applicable"}
    assert "ended in this case without a word" in done.outcome(case)["message"]


@pytest.mark.slow
def test_a_hang_is_the_cases_and_the_run_goes_on(suite: Callable) -> None:
    args = ("--group", "ops", "--op", "abs", "--op", "add", "--op", "atan", "-n", "1")
    done = suite("--fault", "kernel-hangs-once", *args, "--timeout", "4", "--json")
    assert done.code == 1
    verdicts = done.verdicts()
    hung = [case for case, verdict in verdicts.items() if verdict == "crashed"]
    assert hung
    assert all(case.startswith("ops/elementwise[atan(") for case in hung)
    assert set(verdicts.values()) == {"passed", "crashed", "not applicable"}
    assert len([case for case in verdicts if "[atan(" in case]) > len(hung)
    message = done.outcome(hung[0])["message"]
    assert "the case did not end within 4 s" in message
    assert "kernel_hangs_once" in message  # where it hangs


def test_fail_fast_stops_and_says_so(suite: Callable) -> None:
    done = suite("--fault", "nan-lost-in-maximum", "--group", "ops", "--op", "maximum", "-x",
                 "-n", "1", "--json")  # fmt: skip
    assert done.code == 1
    assert done.data["partial"] == "stopped after the first failure"
    assert list(done.verdicts().values()).count("failed") >= 1


# Ctrl-C, and what CI sends


def listen_to_ctrl_c() -> None:
    """A program that starts in a shell's background inherits the signal as ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.parametrize(
    ("number", "group"), [(signal.SIGINT, True), (signal.SIGTERM, False)], ids=["ctrl-c", "sigterm"]
)
def test_an_interrupted_run_writes_reports_that_say_so(
    vendor: Callable, tmp_path: Path, number: signal.Signals, group: bool
) -> None:
    reached = tmp_path / "reached"
    folder = vendor("tests=('acme_tests',)", VENDOR_TESTS.format(path=str(reached)))
    reports = {name: tmp_path / f"report.{name}" for name in ("json", "xml", "html")}
    command = [sys.executable, "-m", "phalanx", "conformance", "--group", "vendor", "-n", "1"]
    command += ["--json", str(reports["json"]), "--junit-xml", str(reports["xml"])]
    command += ["--html", str(reports["html"])]
    path = os.pathsep.join([str(folder), *filter(None, sys.path)])
    child = subprocess.Popen(
        command,
        env=os.environ | {"PYTHONPATH": path},
        start_new_session=True,
        preexec_fn=listen_to_ctrl_c,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not reached.exists() and child.poll() is None:
        time.sleep(0.05)
    if group:
        os.killpg(child.pid, number)  # as a terminal does
    else:
        child.send_signal(number)
    out, err = child.communicate(timeout=120)
    assert child.returncode == 130, err
    assert "partial: interrupted" in out
    data = json.loads(reports["json"].read_text())
    assert data["partial"] == "interrupted"
    assert {o["case"]: o["verdict"] for o in data["outcomes"]} == {
        "vendor/acme_tests.first": "passed"
    }
    assert 'message="partial: interrupted"' in reports["xml"].read_text()
    assert "partial<small>interrupted</small>" in reports["html"].read_text()


def test_a_run_stops_after_so_many_crashes(vendor: Callable) -> None:
    """A fresh process for each of thousands of cases would take hours; here three are enough."""
    body = "import os, pytest\n@pytest.mark.parametrize('n', range(9))\ndef test_dies(n):\n"
    folder = vendor("tests=('acme_tests',)", f"{body}    os._exit(1)\n")
    options = ["conformance", "--quick", "-d", "cpu:0", "--group", "vendor", "-n", "1", "--json"]
    code = (
        "from phalanx.cli import main\nfrom phalanx.conformance import run\nimport sys\n"
        f"run.MOST_CRASHES = 3\nsys.argv[1:] = {options!r}\nmain()"
    )
    done = run_python("-c", code, path=folder)
    assert done.returncode == 1, done.stderr
    data = json.loads(done.stdout)
    assert data["partial"] == "stopped after 3 crashes or hangs; mend these first"
    assert [o["verdict"] for o in data["outcomes"]] == ["crashed"] * 3


def test_a_run_whose_cases_did_not_run_is_not_complete() -> None:
    """Workers that die of their own errors may leave pytest with an exit code of success."""
    from phalanx.conformance.run import _problem, _Watcher

    watcher = _Watcher(lambda _: None, lambda _: None)
    assert _problem(watcher, 0, "") == ""
    watcher.pytest_xdist_node_collection_finished(None, ["a", "b"])
    assert _problem(watcher, 0, "") == "0 of 2 cases ran"
    assert _problem(watcher, 1, "INTERNALERROR\n") == "0 of 2 cases ran INTERNALERROR"


def test_ten_crashes_are_the_most() -> None:
    from phalanx.conformance.run import MOST_CRASHES

    assert MOST_CRASHES == 10


# Reports whose place goes while the cases run


_LITTLE_ROOM = """
import resource, sys
from importlib import import_module
from pathlib import Path
from conformance_kit import results
from phalanx.conformance.outcome import Verdict
report = import_module(f"phalanx.conformance.{sys.argv[1]}")
report.write(results(Verdict.PASSED), Path(sys.argv[2] + ".whole"))  # imports what it needs
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    report.write(results(Verdict.PASSED), Path(sys.argv[2]))
except OSError as error:
    print(error)
"""


@pytest.mark.parametrize("kind", ["report_json", "report_junit", "report_html", "certificate"])
def test_a_report_is_written_whole_or_not_at_all(kind: str, tmp_path: Path) -> None:
    """The disk is full half-way: an older report stays, and no part of the new one is left."""
    report = tmp_path / "report"
    report.write_text("an older one")
    done = run_python("-c", _LITTLE_ROOM, kind, str(report), PYTHONDONTWRITEBYTECODE="1")
    assert "File too large" in done.stdout
    assert report.read_text() == "an older one"
    assert {p.name for p in tmp_path.iterdir()} == {"report", "report.whole"}


def test_a_report_whose_folder_went_keeps_no_other_from_being_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from phalanx.conformance import command

    folder, page = tmp_path / "folder", tmp_path / "report.xml"
    folder.mkdir()
    lost = folder / "report.json"
    writers = command._writers(lost, page, None, None)
    command._check_writable([path for path, _ in writers])
    folder.rmdir()
    folder.write_text("a file in its place")
    assert command._write(results(Verdict.PASSED), writers) == [page]
    assert f"Error: {lost} was not written" in capsys.readouterr().err


def test_a_report_keeps_link_and_mode_and_writes_what_is_no_text(tmp_path: Path) -> None:
    from phalanx.conformance.writing import write_text

    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("before")
    real.chmod(0o604)
    link.symlink_to(real)
    write_text(link, "half of a pair: \ud800")
    assert link.is_symlink()
    assert real.read_text() == "half of a pair: \\ud800"
    assert real.stat().st_mode & 0o777 == 0o604
