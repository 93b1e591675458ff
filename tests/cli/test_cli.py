"""The command line, in processes of its own, with real tiny distributions."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from doc_pages import ROOT, blocks
from phalanx.version import ABI
from plugin_kit import build_acme, make_distribution, native_source, plugin_source, run_python

from cli.kit import STEPS, Done, parsed, phalanx

#: Drivers without the library they need, and of which a part does not work.
BARE = f"""{STEPS}
class Bare(FakeDriver):
    def device_count(self):
        raise DeviceError("libbare is not installed", remedy="pip install bare")
    def explain(self):
        return [Step("library", Status.ABSENT, "libbare is not installed", "pip install bare")]
"""
HALF = f"""{STEPS}
class Half(FakeDriver):
    def explain(self):
        return [Step("library", Status.OK, "runtimes: one; two does not load", "reinstall two")]
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Plugins good and bad, and commands."""
    folder = tmp_path_factory.mktemp("site")
    library = build_acme(folder)
    for fault in (
        "FAULT_UNKNOWN_OP",
        "FAULT_LYING_CAPABILITY",
        "FAULT_CRASH",
        "FAULT_HANG",
        "FAULT_COUNT",
    ):
        build_acme(folder, fault)
    native = native_source(library)
    modules = {
        "cli_acme": native,
        "cli_acme_table": native.replace("libacme.so", "libacme_fault_unknown_op.so"),
        "cli_acme_crash": native.replace("libacme.so", "libacme_fault_crash.so"),
        "cli_acme_hang": native.replace("libacme.so", "libacme_fault_hang.so"),
        "cli_acme_count": native.replace("libacme.so", "libacme_fault_count.so"),
        "cli_broken": "raise RuntimeError('no licence file')",
        "cli_twin": plugin_source("acme"),
        "cli_slow": "import time; time.sleep(60)",
        "cli_bare": plugin_source("bare", body=BARE, drivers="(Bare('bare'),)"),
        "cli_half": plugin_source("half", body=HALF, drivers="(Half('half', [info()]),)"),
        "cli_commands": (
            "import click\n@click.command()\n"
            "def hello():\n    'Say hello.'\n    click.echo('hello')\n"
            "not_a_command = 3\n"
        ),
    }
    plugins = {m.removeprefix("cli_").replace("_", "-"): m for m in modules if m != "cli_commands"}
    commands = {
        "hello": "cli_commands:hello",
        "odd": "cli_commands:not_a_command",
        "lost": "cli_no_such_module:command",
    }
    make_distribution(
        folder, "acme-dist", "3.1", plugins=plugins, commands=commands, modules=modules
    )
    return folder


class TestGroup:
    def test_help_lists_all_commands_and_survives_broken_ones(self, site: Path) -> None:
        done = phalanx("--help", site=site)
        assert done.returncode == 0
        for word in (
            "devices",
            "why",
            "docs",
            "doctor",
            "ops",
            "abi-check",
            "Say hello.",
            "Examples:",
            "--version",
        ):
            assert word in done.stdout
        assert "(broken) ModuleNotFoundError" in done.stdout
        assert max(map(len, done.stdout.splitlines())) <= 80

    @pytest.mark.parametrize("command", ["devices", "why", "doctor", "ops", "abi-check", "warm"])
    def test_every_command_has_help_with_examples_and_json(self, command: str) -> None:
        done = phalanx(command, "--help")
        assert done.returncode == 0
        for word in ("Examples:", "--json", "Exit code:"):
            assert word in done.stdout

    def test_version(self) -> None:
        done = phalanx("--version")
        assert done.returncode == 0
        assert done.stdout.startswith("phalanx ")
        assert f"plugin ABI {ABI[0]}.{ABI[1]}" in done.stdout

    def test_commands_of_others(self, site: Path) -> None:
        assert phalanx("hello", site=site).stdout == "hello\n"
        for name, reason in (("lost", "No module named"), ("odd", "no click command")):
            done = phalanx(name, "--anything", site=site)
            assert done.returncode == 1
            assert "acme-dist 3.1" in done.stderr
            assert reason in done.stderr

    @pytest.mark.parametrize(
        ("arguments", "hint"),
        [
            (["devcies"], "Did you mean 'devices'?"),
            (["why"], "Missing argument 'NAME'"),
            (["doctor", "--level", "deep"], "'quick', 'short'"),
            (["doctor", "--timeout", "-1"], "not in the range"),
            (["doctor", "--timeout", "inf"], "inf is not in the range"),
            (["why", "cpu", "--timeout", "1e12"], "is not in the range"),
            (["why", "cpu", "--timeout", "nan"], "'nan' is not a number of seconds"),
            (["abi-check", "/nowhere/lib.so"], "does not exist"),
            (["abi-check", __file__, "--harness", ""], "'--harness': an empty path"),
            (["ops", "--next", "--program", ""], "'--program': an empty path"),
            (["why", "gpu:x"], "numbers are 0, 1, 2"),
            (["why", ""], "'' is not a device name"),
            (["ops", "-d", ""], "'' is not a device name"),
            (["kernels", "--device="], "'' is not a device name"),
            (["warm", "-d", ""], "'' is not a device name"),
            (["devices", "cpu:0"], "leave the number out"),
            (["devices", "CPU"], "did you mean 'cpu'"),
        ],
    )
    def test_wrong_arguments(self, arguments: list[str], hint: str) -> None:
        done = phalanx(*arguments)
        assert done.returncode == 2
        assert hint in done.stderr
        assert "Traceback" not in done.stderr

    def test_importing_phalanx_does_not_import_the_command_line(self) -> None:
        heavy = "'click' in sys.modules or 'rich' in sys.modules"
        code = f"import sys, phalanx.discovery.devices; print({heavy})"
        assert run_python("-c", code).stdout.strip() == "False"


class TestDevices:
    def test_a_table(self, site: Path) -> None:
        done = phalanx("devices", site=site, plugins="acme,broken", COLUMNS="80")
        assert done.returncode == 0, done.stderr
        assert "acme:0" in done.stdout
        assert "Acme Model T" in done.stdout
        assert "64 MiB" in done.stdout
        assert "broken (acme-dist 3.1, broken): RuntimeError: no licence file" in " ".join(
            done.stdout.split()
        )
        assert max(map(len, done.stdout.splitlines())) <= 80

    def test_in_a_pipe_each_finding_is_one_line(self, site: Path) -> None:
        lines = phalanx("devices", site=site, plugins="acme,broken").stdout.splitlines()
        assert [line for line in lines if line.startswith("acme:0") and "acme-dist 3.1" in line]
        assert "  broken (acme-dist 3.1, broken): RuntimeError: no licence file" in lines

    def test_json(self, site: Path) -> None:
        data = parsed(phalanx("devices", "--json", site=site, plugins="acme-count"))
        assert data["devices"] == []
        assert any("start acmed" in line for line in data["not_usable"])
        done = phalanx("devices", "accelerator", "--json", site=site, plugins="acme")
        assert done.stderr == "noise\n"
        (device,) = parsed(done)["devices"]
        assert (device["name"], device["kind"]) == ("acme:0", "accelerator")
        assert device["features"] == ["host_addressable", "fp64", "subnormals"]
        assert bytes.fromhex(device["uuid"]) == b"acme-model-t-001"

    def test_what_is_not_set_up_stands_apart(self, site: Path) -> None:
        line = "bare (acme-dist 3.1): libbare is not installed; pip install bare"
        done = phalanx("devices", "--json", site=site, plugins="acme,bare")
        data = parsed(done)
        assert data["not_set_up"] == [line]
        assert not any(other.startswith("bare (acme-dist 3.1):") for other in data["not_usable"])
        text = phalanx("devices", site=site, plugins="acme,bare").stdout
        assert line in text.partition("Not set up")[2]

    def test_one_driver_is_shown_without_the_reasons_of_others(self, site: Path) -> None:
        done = phalanx("devices", "acme", site=site, plugins="acme,broken,bare")
        assert [line.split()[0] for line in done.stdout.splitlines()] == ["Device", "acme:0"]

    def test_none(self) -> None:
        done = phalanx("devices", "gpu")
        assert done.returncode == 1
        assert "No device of 'gpu' was found." in done.stdout
        assert "phalanx why gpu" in done.stdout

    def test_a_terminal_of_another_width(self, site: Path) -> None:
        done = phalanx("devices", site=site, plugins="acme", COLUMNS="50")
        assert max(map(len, done.stdout.splitlines())) <= 50


class TestWhy:
    def test_usable(self, site: Path) -> None:
        done = phalanx("why", "acme", site=site, plugins="acme")
        assert done.returncode == 0
        assert done.stdout.startswith("acme:0: usable")
        assert "4 kernels ready" in done.stdout

    def test_not_usable(self, site: Path) -> None:
        done = phalanx("why", "gpu:0", site=site, plugins="acme")
        assert done.returncode == 1
        (line,) = [line for line in done.stdout.splitlines() if "no plugin has a device" in line]
        assert "PHALANX_GPU=cpu:0" in line  # in a pipe it does not wrap

    @pytest.mark.parametrize("width", [60, 100])
    def test_it_takes_the_width_there_is(self, site: Path, width: int) -> None:
        done = phalanx("why", "gpu:0", site=site, plugins="acme", COLUMNS=str(width))
        longest = max(map(len, done.stdout.splitlines()))
        assert width - 25 < longest <= width
        assert "what it has: acme:0 (accelerator)" in " ".join(done.stdout.split())

    def test_json(self, site: Path) -> None:
        done = phalanx("why", "acme", "--json", site=site, plugins="acme-table")
        assert done.returncode == 1
        data = parsed(done)
        (step,) = [step for step in data["steps"] if step["status"] == "fail"]
        assert step["name"] == "capability"
        assert "did you mean 'add'" in step["detail"]
        assert "abi-check" in step["remedy"]

    def test_a_crash_is_reported(self, site: Path) -> None:
        done = phalanx("why", "acme", site=site, plugins="acme-crash")
        assert done.returncode == 1
        text = " ".join(done.stdout.split())
        assert "crashed with SIGABRT at the step 'device'" in text
        assert "PHALANX_PLUGINS" in text

    def test_a_hang_is_reported(self, site: Path) -> None:
        done = phalanx("why", "acme", "--json", "--timeout", "3", site=site, plugins="acme-hang")
        assert done.returncode == 1
        assert parsed(done)["failure"] == "no answer within 3 s"

    def test_what_became_of_the_child_is_a_sentence(self, site: Path) -> None:
        done = phalanx("why", "acme", "--timeout", "3", site=site, plugins="acme-hang")
        assert "the child process: no answer within 3 s at the step 'device'" in done.stdout


class TestDoctor:
    def checks(self, done: Done) -> dict[str, list[dict[str, str]]]:
        found: dict[str, list[dict[str, str]]] = {}
        for check in parsed(done)["checks"]:
            found.setdefault(check["name"], []).append(check)
        return found

    def test_all_is_well(self, site: Path) -> None:
        done = phalanx("doctor", site=site, plugins="acme", COLUMNS="80")
        assert done.returncode == 0, done.stdout
        assert "Verdict: ok" in done.stdout
        assert "acme:0" in done.stdout
        assert max(map(len, done.stdout.splitlines())) <= 80

    def test_a_broken_plugin_is_a_warning(self, site: Path) -> None:
        done = phalanx("doctor", "--json", site=site, plugins="acme,broken,typo")
        assert done.returncode == 1
        checks = self.checks(done)
        assert checks["plugin broken"][0]["verdict"] == "warning"
        assert "no licence file" in checks["plugin broken"][0]["detail"]
        assert checks["device acme:0"][0]["verdict"] == "ok"
        assert checks["default device"][0]["detail"] == "acme:0"
        assert "typo" in checks["variables"][1]["detail"]
        assert "left out" in checks["plugin twin"][0]["detail"]

    def test_variables_that_nothing_reads(self, site: Path) -> None:
        odd = {"PHALANX_DEVISE": "cpu:0", "PHALANX_XYZZY": "1"}
        done = phalanx("doctor", "--json", site=site, plugins="acme", **odd)
        assert done.returncode == 1
        found = [c for c in self.checks(done)["variables"] if c["verdict"] == "warning"]
        assert [c["detail"] for c in found] == [
            "nothing reads PHALANX_DEVISE",
            "nothing reads PHALANX_XYZZY",
        ]
        assert found[0]["remedy"] == "did you mean PHALANX_DEVICE?"
        assert "PHALANX_PLUGINS" in found[1]["remedy"]

    def test_what_is_not_set_up_is_no_fault(self, site: Path) -> None:
        done = phalanx("doctor", "--json", site=site, plugins="acme,bare")
        assert done.returncode == 0
        data = parsed(done)
        assert data["verdict"] == "ok"
        (check,) = [check for check in data["checks"] if check["name"] == "plugin bare"]
        assert (check["verdict"], check["remedy"]) == ("absent", "pip install bare")
        assert check["detail"] == "not set up: libbare is not installed"
        text = phalanx("doctor", site=site, plugins="acme,bare").stdout
        assert "--  plugin bare" in text

    def test_a_part_that_does_not_work_is_a_warning(self, site: Path) -> None:
        done = phalanx("doctor", "--json", site=site, plugins="half")
        assert done.returncode == 1
        checks = self.checks(done)
        assert checks["device half:0"][0]["verdict"] == "ok"
        warning = checks["plugin half"][1]
        assert (warning["verdict"], warning["remedy"]) == ("warning", "reinstall two")
        assert "two does not load" in warning["detail"]

    def test_a_missing_kernel_is_no_reason_for_distrust(self, tmp_path: Path) -> None:
        """The device of docs/add-a-plugin.md has nothing but ``add(float32)``."""
        page = blocks(ROOT / "docs" / "add-a-plugin.md")
        source = next(b.text for b in page if b.file == "acme_phalanx.py")
        make_distribution(
            tmp_path, "acme-one", plugins={"acme": "one_op"}, modules={"one_op": source}
        )
        done = phalanx(
            "doctor", "--level", "short", "--json", site=tmp_path, plugins="acme-one:acme"
        )
        (check,) = self.checks(done)["device acme:0"]
        assert check["verdict"] == "warning"
        assert "the sum of int64 0..4098 has no kernel" in check["detail"]
        assert "x + x" not in check["detail"]
        assert "trust" not in check["remedy"]

    def test_wrong_results_are_a_reason_for_distrust(self, tmp_path: Path) -> None:
        page = blocks(ROOT / "docs" / "add-a-plugin.md")
        source = next(b.text for b in page if b.file == "acme_phalanx.py")
        source = source.replace("np.add(a, b, out=out)", "np.subtract(a, b, out=out)")
        make_distribution(
            tmp_path, "acme-one", plugins={"acme": "one_op"}, modules={"one_op": source}
        )
        done = phalanx("doctor", "--level", "short", "--json", site=tmp_path, plugins="acme")
        (check,) = self.checks(done)["device acme:0"]
        assert check["verdict"] == "critical"
        assert check["detail"] == "x + x on float32 has wrong values"
        assert "do not trust its results" in check["remedy"]

    def test_two_plugins_of_one_name(self, site: Path) -> None:
        done = phalanx("doctor", "--json", site=site, plugins="acme,twin")
        assert done.returncode == 2
        checks = self.checks(done)
        assert "two drivers are named 'acme'" in checks["conflict"][0]["detail"]
        assert checks["default device"][0]["verdict"] == "critical"

    def test_a_crash_and_a_hang_are_critical(self, site: Path) -> None:
        done = phalanx(
            "doctor",
            "--json",
            "--timeout",
            "3",
            site=site,
            plugins="acme-crash,acme-hang,acme-count",
        )
        assert done.returncode == 2
        checks = self.checks(done)
        crash, hang = checks["plugin acme-crash"][0], checks["plugin acme-hang"][0]
        assert (
            "crashed with SIGABRT at the listing of the devices of driver 'acme'" in crash["detail"]
        )
        assert "no answer within 3 s" in hang["detail"]
        assert "PHALANX_PLUGINS" in hang["remedy"]
        assert "start acmed" in checks["plugin acme-count"][1]["remedy"]

    def test_a_wrong_table_is_critical(self, site: Path) -> None:
        done = phalanx("doctor", "--json", site=site, plugins="acme-table")
        assert done.returncode == 2
        assert "kernel_table[0].op" in self.checks(done)["device acme:0"][0]["detail"]

    def test_an_import_that_hangs(self, site: Path) -> None:
        done = phalanx(
            "doctor", "--json", site=site, plugins="slow,acme", PHALANX_PLUGIN_TIMEOUT="1"
        )
        assert done.returncode == 1
        assert "did not finish within 1 s" in self.checks(done)["plugin slow"][0]["detail"]

    @pytest.mark.parametrize("name", ["PLUGIN_TIMEOUT", "FALLBACK", "LOG"])
    def test_a_wrong_variable_is_the_last_that_is_looked_at(self, name: str) -> None:
        done = phalanx("doctor", "--json", plugins="cpu", **{f"PHALANX_{name}": "soon"})
        assert done.returncode == 2
        checks = self.checks(done)
        assert list(checks) == ["system", "packages", "variables"]
        assert f"PHALANX_{name}='soon'" in checks["variables"][0]["detail"]

    def test_nothing_installed_is_critical(self) -> None:
        done = phalanx("doctor")
        assert done.returncode == 2
        assert "no device at all" in " ".join(done.stdout.split())

    def test_an_unknown_outcome_has_its_own_code(self) -> None:
        from phalanx.discovery.doctor import EXIT_CODES, Check, Verdict, worst

        def check(verdict: Verdict) -> Check:
            return Check("", verdict, "")

        unknown = [check(Verdict.OK), check(Verdict.UNKNOWN), check(Verdict.WARNING)]
        assert EXIT_CODES[worst(unknown)] == 3
        assert EXIT_CODES[worst([*unknown, check(Verdict.CRITICAL)])] == 2
        assert EXIT_CODES[worst([])] == 3

    def test_a_child_that_does_not_start_is_unknown(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from phalanx.discovery import probe
        from phalanx.discovery.doctor import run_checks

        monkeypatch.setattr(
            probe, "run", lambda *args, **kwargs: probe.Report(failure="did not start")
        )
        verdicts = {check.name: check.verdict for check in run_checks()}
        assert verdicts["default device"] == "unknown"

    def test_an_unknown_level(self) -> None:
        from phalanx.discovery.doctor import run_checks

        with pytest.raises(ValueError, match="quick, short"):
            list(run_checks("deep"))


class TestOps:
    def test_one_line_per_op(self, site: Path) -> None:
        done = phalanx("ops", "--device", "acme:0", site=site, plugins="acme")
        assert done.returncode == 0, done.stderr
        lines = {line.split()[0]: line for line in done.stdout.splitlines() if line.strip()}
        assert "native 1, unsupported" in lines["add"]
        assert lines["add"].split()[-1] == "bitwise"
        assert "unsupported" in lines["softmax"]  # acme has too little for its decomposition
        assert "native 4" in done.stdout.splitlines()[-1]
        assert max(map(len, done.stdout.splitlines())) <= 80

    def test_one_op(self, site: Path) -> None:
        done = phalanx(
            "ops", "-d", "acme", "--op", "negative", "--how", "native", site=site, plugins="acme"
        )
        assert "float32 -> float32" in done.stdout
        assert "libacme.so 1.2.3" in done.stdout
        assert "float64" not in done.stdout

    def test_json(self, site: Path) -> None:
        done = phalanx("ops", "--device", "acme", "--json", site=site, plugins="acme")
        data = parsed(done)
        assert data["totals"]["native"] == 4
        (add,) = [o for o in data["overloads"] if o["op"] == "add" and o["how"] == "native"]
        assert add["dtypes"] == ["float32"] * 3

    def test_wrong_names(self, site: Path) -> None:
        done = phalanx("ops", "--device", "acme", "--op", "ad", site=site, plugins="acme")
        assert done.returncode == 2
        assert "did you mean" in done.stderr
        done = phalanx("ops", "--device", "nobody:0", site=site, plugins="acme")
        assert done.returncode == 2
        assert "found: acme:0" in done.stderr


class TestAbiCheck:
    def test_a_good_library(self, site: Path) -> None:
        done = phalanx("abi-check", str(site / "libacme.so"))
        assert done.returncode == 0
        version = f"ABI {ABI[0]}.{ABI[1]}"
        for part in ("acme 1.2.3", version, "4 kernels", "ok: it keeps to the ABI"):
            assert part in done.stdout

    @pytest.mark.parametrize(
        ("fault", "problem"),
        [
            ("lying_capability", "phx_api.stream_create: it is null, but PHX_CAP_STREAMS"),
            ("unknown_op", "the op table has no op 'ad'"),
            ("crash", "device_count: crashed with SIGABRT at device_count"),
            ("hang", "no answer within 3 s at device_count"),
        ],
    )
    def test_a_faulty_one(self, site: Path, fault: str, problem: str) -> None:
        library = str(site / f"libacme_fault_{fault}.so")
        done = phalanx("abi-check", library, "--json", "--timeout", "3")
        assert done.returncode == 1
        data = parsed(done)
        assert data["ok"] is False
        assert {line["file"] for line in data["problems"]} == {f"libacme_fault_{fault}.so"}
        lines = [f"{line['field']}: {line['detail']}" for line in data["problems"]]
        assert any(problem in line for line in lines)

    def test_a_crash_shows_where(self, site: Path) -> None:
        done = phalanx("abi-check", str(site / "libacme_fault_crash.so"))
        assert "crashed with SIGABRT at device_count" in done.stdout
        assert "Fatal Python error: Aborted" in done.stdout

    def test_one_whose_hardware_is_absent(self, site: Path) -> None:
        done = phalanx("abi-check", str(site / "libacme_fault_count.so"))
        assert done.returncode == 0
        assert "note: no device could be checked" in done.stdout

    def test_a_file_that_is_no_library(self, tmp_path: Path) -> None:
        (tmp_path / "text.so").write_text("hello")
        done = phalanx("abi-check", str(tmp_path / "text.so"))
        assert done.returncode == 1
        assert "cannot load" in done.stdout

    def test_a_file_whose_name_is_no_text(self, tmp_path: Path) -> None:
        path = tmp_path / os.fsdecode(b"acme-\xff.so")
        path.write_text("hello")
        done = phalanx("abi-check", str(path))
        assert done.returncode == 1
        assert r"acme-\udcff.so: its name is not UTF-8; give it another" in done.stdout
        assert "Traceback" not in done.stdout
