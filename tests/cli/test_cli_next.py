"""``phalanx ops --next`` in a process of its own, on a device that lacks some kernels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from plugin_kit import make_distribution

from .kit import parsed, phalanx

PLUGIN = """
import phalanx as px
from phalanx.testing import ReferenceDriver

@px.hookimpl
def phalanx_drivers():
    return [ReferenceDriver("chip", missing=["exp", "expm1", "sum", "cholesky"])]
"""
PROGRAM = """
import phalanx as px

print("hello from", __name__, px.get_device())
x = px.ones(6, dtype=px.float64)
for _ in range(3):
    y = px.exp(x)
px.sum(y > 0)
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    make_distribution(
        folder, "chip", plugins={"chip": "chip_plugin"}, modules={"chip_plugin": PLUGIN}
    )
    (folder / "program.py").write_text(PROGRAM)
    return folder


def test_table_and_recording(site: Path) -> None:
    program = site / "program.py"
    options = ("ops", "-d", "chip:0", "--next", "--program", str(program))
    done = phalanx(*options, "--json", site=site, plugins="chip")
    assert done.returncode == 0, done.stderr
    assert "hello from __main__ chip:0" in done.stderr
    data = json.loads(done.stdout)
    first, second = data["kernels"]
    assert (first["op"], first["calls"], first["with_kernel"]) == ("exp", 3, 3)
    assert first["dtypes"] == ["float64", "float64"]
    assert first["launches"] % 3 == 0
    assert first["launches"] > 60
    assert first["saved"] == first["launches"] - 3
    assert (second["op"], second["calls"]) == ("sum", 1)
    assert second["saved"] < first["saved"]
    assert data["elsewhere"] == []

    saved = site / "saved.json"
    saved.write_text(done.stdout)
    done = phalanx(
        "ops", "-d", "chip:0", "--next", "--program", str(saved), plugins="chip", site=site
    )
    lines = done.stdout.splitlines()
    assert "chip:0 in program.py" in lines[0]
    assert lines[2].split() == ["Overload", "Calls", "Launches", "With", "a", "kernel", "Saved"]
    assert lines[3].split()[0] == "exp(float64)"
    assert lines[4].split()[0] == "sum(int64)"


def test_mix(site: Path) -> None:
    done = phalanx("ops", "-d", "chip:0", "--next", "--json", site=site, plugins="chip")
    data = parsed(done)
    assert {"exp", "sum"} <= {k["op"] for k in data["kernels"]}
    spared = [k["saved"] for k in data["kernels"]]
    assert spared == sorted(spared, reverse=True)


def test_wrong_use(site: Path) -> None:
    for options, message in (
        (("--program", "x.py"), "--program goes with --next"),
        (("--next", "--op", "exp"), "leave out --op"),
        (("--next", "--program", "nowhere.py"), "no such file"),
        (("--next", "--program", "nowhere.json"), "is no recording"),
    ):
        done = phalanx("ops", "-d", "chip:0", *options, site=site, plugins="chip")
        assert done.returncode == 2, done.stderr
        assert message in done.stderr


@pytest.mark.parametrize(
    ("text", "frame", "last"),
    [
        ("def f():\n    raise ValueError('mine')\nf()\n", ", line 2, in f", "ValueError: mine"),
        (
            "import phalanx as px\npx.set_device('nosuch:0')\n",
            ", line 2, in <module>",
            "phalanx.errors.DeviceNotFoundError: ",
        ),
        ("x = (\n", ", line 1", "SyntaxError: '(' was never closed"),
    ],
)
def test_a_program_that_raises(
    site: Path, tmp_path: Path, text: str, frame: str, last: str
) -> None:
    """Its own frames are shown, and none of the command."""
    program = tmp_path / "raises.py"
    program.write_text(text)
    done = phalanx(
        "ops", "-d", "chip:0", "--next", "--program", str(program), plugins="chip", site=site
    )
    assert done.returncode == 1
    assert f'File "{program}"{frame}' in done.stderr
    assert last in done.stderr
    assert f"raises.py raised {last.partition(':')[0].rpartition('.')[2]}" in done.stderr
    assert "next_kernel" not in done.stderr


@pytest.mark.parametrize(
    "change",
    [
        {"program": None},
        {"kernels": None},
        {"kernels": [{"op": "exp"}]},
        {"kernels": [{"op": "exp", "dtypes": [3], "calls": 1, "launches": 1, "saved": 0}]},
        {"elsewhere": {}},
    ],
)
def test_a_recording_that_is_damaged(site: Path, tmp_path: Path, change: dict[str, Any]) -> None:
    sound = {
        "kind": "phalanx launches",
        "device": "x",
        "program": "",
        "kernels": [],
        "elsewhere": [],
    }
    file = tmp_path / "saved.json"
    file.write_text(json.dumps(sound | change))
    done = phalanx(
        "ops", "-d", "chip:0", "--next", "--program", str(file), plugins="chip", site=site
    )
    assert done.returncode == 2
    assert "is no recording of `phalanx ops --next --json`" in done.stderr
