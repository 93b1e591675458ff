"""A standard output that is full, closed, or cannot print what a plugin says."""

from __future__ import annotations

from pathlib import Path

import pytest
from plugin_kit import make_distribution, run_python

from cli.kit import Done, parsed, phalanx

FULL = "os.dup2(os.open('/dev/full', os.O_WRONLY), 1)"
CLOSED = "os.close(1)"
COMMANDS = (["devices"], ["docs"], ["docs", "ops"], ["why", "cpu"], ["--help"], ["docs", "--help"])


def after(change: str, *args: str, **env: str) -> Done:
    """Run ``phalanx`` after a change of its standard output."""
    start = f"import os, sys\n{change}\nos.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    return run_python("-c", start, "-m", "phalanx", *args, PHALANX_PLUGINS="cpu", **env)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
class TestFull:
    @pytest.mark.parametrize("args", COMMANDS, ids=" ".join)
    def test_it_is_told_in_one_line(self, args: list[str]) -> None:
        done = after(FULL, *args)
        assert done.returncode == 1
        assert done.stderr == "Error: standard output: No space left on device\n"

    def test_without_a_buffer(self) -> None:
        done = after(FULL, "docs", PYTHONUNBUFFERED="1")
        assert done.returncode == 1
        assert done.stderr == "Error: standard output: No space left on device\n"


class TestClosed:
    @pytest.mark.parametrize("args", COMMANDS, ids=" ".join)
    def test_nothing_is_printed(self, args: list[str]) -> None:
        done = after(CLOSED, *args)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

    def test_all_three(self) -> None:
        assert after("os.closerange(0, 3)", "docs").returncode == 0

    def test_wrong_usage_is_told(self) -> None:
        done = after(CLOSED, "why", "")
        assert done.returncode == 2
        assert "not a device name" in done.stderr


class TestTextWithoutCode:
    """A message has the name of a file that is no UTF-8, on a terminal that knows nothing else."""

    @pytest.fixture
    def site(self, tmp_path: Path) -> Path:
        body = "import os\nraise RuntimeError('cannot open ' + os.fsdecode(b'/opt/v-\\xe9.cfg'))"
        make_distribution(tmp_path, "odd", plugins={"odd": "odd_name"}, modules={"odd_name": body})
        return tmp_path

    def run(self, site: Path, *args: str) -> Done:
        return phalanx(*args, site=site, plugins="odd", PYTHONIOENCODING="utf-8:strict")

    @pytest.mark.parametrize("command", [["devices"], ["why", "odd"], ["doctor"]], ids=" ".join)
    def test_it_is_printed_as_an_escape(self, site: Path, command: list[str]) -> None:
        done = self.run(site, *command)
        assert done.stderr == ""
        assert r"/opt/v-\udce9.cfg" in done.stdout

    def test_json_has_the_name(self, site: Path) -> None:
        (line,) = [x for x in parsed(self.run(site, "devices", "--json"))["not_usable"] if "/" in x]
        assert line.endswith("cannot open /opt/v-\udce9.cfg")

    def test_characters_of_another_alphabet(self, site: Path) -> None:
        done = phalanx("docs", "cuda", site=site, PYTHONIOENCODING="ascii")
        assert done.returncode == 0, done.stderr
