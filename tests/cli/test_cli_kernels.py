"""``phalanx kernels`` and ``phalanx warm``: a device that compiles late, one that does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from plugin_kit import build_acme, make_distribution, native_source, plugin_source

from cli.kit import STEPS, Done, parsed, phalanx

if TYPE_CHECKING:
    from pathlib import Path

LAZY = f"""{STEPS}
from phalanx import Refusal
from phalanx.testing import ReferenceDevice, ReferenceDriver
KNOWN = [("exp", ("float32",) * 2), ("add", ("float32",) * 3), ("add", ("float64",) * 3),
         ("sqrt", ("float32",) * 2)]
class Late(ReferenceDevice):
    def kernel(self, op, dtypes, layout):
        return super().kernel(op, dtypes, layout) if (op, dtypes) in KNOWN else Refusal()
    def compile_ahead(self, kernel):
        if kernel.op == "sqrt":
            raise CompileError("sqrt(float32) does not compile: no registers", log="", source="")
        return (2, 0) if kernel.op == "add" else (0, 1)
    def sources(self, kernel):
        yield "/* " + kernel.op + " of " + kernel.dtypes[0] + " */"
def Lazy(name):
    return ReferenceDriver(name, devices=1, device=Late)
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The two plugins."""
    folder = tmp_path_factory.mktemp("site")
    modules = {
        "kernels_acme": native_source(build_acme(folder)),
        "kernels_lazy": plugin_source("lazy", body=LAZY, drivers="(Lazy('lazy'),)"),
    }
    plugins = {name.removeprefix("kernels_"): name for name in modules}
    make_distribution(folder, "acme-dist", "3.1", plugins=plugins, modules=modules)
    return folder


class TestKernels:
    def kernels(self, site: Path, *args: str) -> Done:
        return phalanx("kernels", "--device", "lazy", *args, site=site, plugins="acme,lazy")

    def test_lists_class_and_bound(self, site: Path) -> None:
        rows = parsed(self.kernels(site, "--op", "add", "--json"))
        assert {row["dtypes"][0] for row in rows} == {"float32", "float64"}
        assert {row["layout"] for row in rows} == {"contiguous", "strided"}
        assert {row["class"] for row in rows} == {"bitwise"}
        assert "not stated" in self.kernels(site, "--op", "add").stdout

    def test_shows_the_text(self, site: Path) -> None:
        chosen = ("--op", "add", "--dtype", "float64", "--source")
        assert "/* add of float64 */\n" in self.kernels(site, *chosen).stdout
        rows = parsed(self.kernels(site, *chosen, "--json"))
        assert {row["source"] for row in rows} == {"/* add of float64 */"}

    @pytest.mark.parametrize(
        ("arguments", "code", "message"),
        [
            (["--op", "cos"], 1, "lazy:0 has no such kernel"),
            (["--op", "nosuch"], 2, "no op 'nosuch'"),
        ],
    )
    def test_what_is_not_there(
        self, site: Path, arguments: list[str], code: int, message: str
    ) -> None:
        done = self.kernels(site, *arguments)
        assert done.returncode == code
        assert message in done.stderr

    def test_kernels_that_come_compiled_have_no_text(self, site: Path) -> None:
        done = phalanx("kernels", "-d", "acme", "--source", site=site, plugins="acme")
        assert done.returncode == 1
        assert "acme:0: its kernels come compiled" in done.stderr


class TestWarm:
    def warm(self, site: Path, *args: str) -> Done:
        return phalanx("warm", "--device", "lazy", *args, site=site, plugins="acme,lazy")

    def test_all_kernels_with_one_that_does_not_compile(self, site: Path) -> None:
        done = self.warm(site, "--json")
        assert done.returncode == 1
        data = parsed(done)
        assert data.pop("seconds") >= 0
        assert data == {
            "device": "lazy:0",
            "ahead": True,
            "kernels": 4,
            "compiled": 4,
            "cached": 1,
            "failed": ["sqrt(float32) does not compile: no registers"],
        }
        text = self.warm(site).stdout
        assert "fail: sqrt(float32) does not compile: no registers" in text

    def test_some_ops(self, site: Path) -> None:
        done = self.warm(site, "--op", "add", "--op", "exp")
        assert done.returncode == 0, done.stderr
        assert "lazy:0: 3 kernels; 4 programs compiled and 1 from the cache" in done.stdout

    def test_kernels_that_come_compiled(self, site: Path) -> None:
        done = phalanx("warm", "-d", "acme", site=site, plugins="acme")
        assert done.returncode == 0
        assert "acme:0: its kernels are compiled already" in done.stdout
        assert parsed(phalanx("warm", "--json", site=site, plugins="acme"))["ahead"] is False

    @pytest.mark.parametrize(
        ("arguments", "code", "hint"),
        [
            (["--op", "ad"], 2, "did you mean add"),
            (["--op", "cos"], 1, "lazy:0 has no kernel for cos; `phalanx ops` shows more"),
            (["--device", "gpx"], 2, "found: "),
        ],
    )
    def test_wrong_names(self, site: Path, arguments: list[str], code: int, hint: str) -> None:
        done = self.warm(site, *arguments)
        assert done.returncode == code
        assert hint in done.stderr
        assert "Traceback" not in done.stderr
