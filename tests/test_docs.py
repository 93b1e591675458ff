"""The documentation is true: its code runs and prints what the pages say, its links lead somewhere,
its recipes work, its tables are current, and nothing that a reader needs is left out."""

from __future__ import annotations

import dataclasses
import doctest
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

import phalanx
import pytest
from doc_pages import PAGES, ROOT, Block, anchor, blocks, headings, insertions, links
from phalanx.discovery import hookspecs
from phalanx.optable import OPS, Structure
from plugin_kit import make_distribution, run_python

DOCS = ROOT / "docs"
RUNNER = Path(__file__).with_name("run_page.py")
RECIPE = DOCS / "add-an-op.md"
_OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
#: Hand-written kernels, which the recipe's library does without; the other sources are runtime.
_KERNELS = re.compile(r"gemm|matmul|reduce|scan|normalize|sort|search|select|index|generate|random")
_FLAGS = ("-O0", "-std=c11", "-ffp-contract=off", "-fno-strict-aliasing", "-shared", "-fPIC")
_LINK = ("-lm", "-Wl,-z,defs")


def runnable(page: Path) -> list[Block]:
    """The blocks of a page that are run: Python that is no file, and console sessions of ours."""
    own = ("$ phalanx", "$ PHALANX_", "$ pip install --quiet --no-build-isolation ./")
    return [
        b
        for b in blocks(page)
        if not b.file
        and (b.language == "python" or (b.language == "console" and b.text.startswith(own)))
    ]


def prepare(page: Path, folder: Path) -> list[str]:
    """Write the files of a page, install what its pyproject.toml announces, return the plugins."""
    for block in blocks(page):
        if block.file:
            (folder / block.file).write_text(block.text, "utf-8")
    project = folder / "pyproject.toml"
    if project.exists():
        data = tomllib.loads(project.read_text("utf-8"))["project"]
        plugins = data["entry-points"]["phalanx.plugins"]
        make_distribution(folder, data["name"], data["version"], plugins=plugins)
        return list(plugins)
    return []


def made_by(page: Path) -> set[str]:
    """The plugins that a page makes with ``phalanx new-plugin``."""
    sessions = [b.text for b in blocks(page) if b.language == "console"]
    return set(re.findall(r"^\$ phalanx new-plugin (\w+)", "\n".join(sessions), re.MULTILINE))


def run_blocks(found: list[Block], folder: Path, plugins: Iterable[str] = ()) -> None:
    """Run blocks in one process, with the CPU and these plugins, and compare what they print."""
    order = folder / "blocks.json"
    fields = ("language", "line", "page", "text")
    order.write_text(json.dumps([{f: getattr(b, f) for f in fields} for b in found]))
    done = run_python(
        "-W",
        "error",
        "-c",
        f"import os, runpy, sys; os.chdir({str(folder)!r}); sys.argv = ['', {str(order)!r}]; "
        f"runpy.run_path({str(RUNNER)!r}, run_name='__main__')",
        path=folder,
        PHALANX_PLUGINS=",".join(["cpu", *plugins]),
        PIP_TARGET=str(folder),  # what a page installs, without a network
        PIP_NO_INDEX="1",
        PIP_NO_DEPS="1",
    )
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    for block, result in zip(found, results, strict=False):
        assert not result["error"], f"{block.page}, line {block.line}:\n{result['error']}"
        check_output(block, result["output"])
    assert len(results) == len(found)


def check_output(block: Block, got: str) -> None:
    if block.output is None:
        assert not got.strip(), (
            f"{block.page}, line {block.line} prints, and the page shows nothing:\n{got}"
        )
        return
    want = block.output.replace("\n...", "...")  # a line of dots may also stand for no line
    same = doctest.OutputChecker().check_output(want, got, _OPTIONS)
    assert same, f"{block.page}, line {block.line} prints:\n{got}\nthe page says:\n{want}"


@pytest.mark.needs_cpu
@pytest.mark.parametrize(
    "page", [p for p in PAGES if p != RECIPE and runnable(p)], ids=lambda page: page.name
)
def test_the_code_of_a_page_runs_and_prints_what_the_page_says(page: Path, tmp_path: Path) -> None:
    plugins = prepare(page, tmp_path) or [*made_by(page)]
    if page.name == "opencl.md":
        if not phalanx.is_available("opencl:0"):
            pytest.skip("there is no opencl:0; `phalanx why opencl:0` says why")
        plugins.append("opencl")
    run_blocks(runnable(page), tmp_path, plugins)


# The recipe of add-an-op.md, on a copy of the package

NEW_OPS = ("radians", "rsqrt", "asum")
#: The new ops on a device with groups of work-items, without another line for it.
ON_OTHER_DEVICES = """
import numpy as np, phalanx as px
from phalanx.vendor import host
from emulated.driver import EmulatedDriver
host().register_driver(EmulatedDriver())
rng = np.random.default_rng(1)
for dtype in ("float16", "float32", "float64"):
    normal = rng.standard_normal((5, 9001)).astype(dtype)
    for name in ("radians", "rsqrt", "asum"):
        data = np.abs(normal) if name == "rsqrt" else normal
        options = {"axis": 1} if name == "asum" else {}
        here, there = (
            px.asnumpy(getattr(px, name)(px.asarray(data, device=device), **options))
            for device in ("cpu:0", "emulated:0")
        )
        assert here.tobytes() == there.tobytes(), (name, dtype)
        if dtype == "float64":
            wide = data.astype(np.longdouble)
            right = {"radians": np.radians, "rsqrt": lambda x: 1 / np.sqrt(x)}.get(name)
            want = right(wide) if right else np.abs(wide).sum(axis=1)
            assert np.allclose(here, want.astype(float), rtol=1e-15, atol=0), name
print("the same bits")
"""


def copy_package(folder: Path) -> Path:
    """Copy the installed package without its kernel libraries; return the copy.

    What the wheel has compiled of its Python files stays behind, too: it would hide changes.
    """
    source = Path(phalanx.__file__).parent
    target = folder / "phalanx"
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("_cpu_*", "__pycache__"))
    for compiled in target.rglob("*.so"):
        if compiled.with_name(f"{compiled.name.partition('.')[0]}.py").exists():
            compiled.unlink()
    return target


def apply_recipe(root: Path) -> dict[str, set[str]]:
    """Make the page's changes to a copy; return for each new op the paths that were changed."""
    changed: dict[str, set[str]] = {op: set() for op in NEW_OPS}
    for block in blocks(RECIPE):
        if block.file:
            path, added = block.file, block.text
            (root / path).write_text(added, "utf-8")
        elif block.language == "diff":
            path, before, added = insertions(block.text)
            text = (root / path).read_text("utf-8")
            assert text.count(before) == 1, (
                f"{RECIPE.name}: {path} has these lines {text.count(before)} times:\n{before}"
            )
            (root / path).write_text(text.replace(before, before + added), "utf-8")
        else:
            continue
        (op,) = (op for op in NEW_OPS if op in added)
        changed[op].add(path)
    return changed


def load_render() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_render", ROOT / "kernels_cpu" / "render.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def build_kernels(package: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Build a CPU library with the new ops alone, from the copy's op table."""
    monkeypatch.delitem(sys.modules, "phalanx_build_optable", raising=False)
    render = load_render()
    table = render.load_optable(folder)
    monkeypatch.delitem(sys.modules, "phalanx_build_optable")
    new = {name: row for name, row in table.OPS.items() if name not in OPS}
    assert set(new) == set(NEW_OPS)
    cast = table.OPS["cast"]
    needed = (table.Signature(("int64",), ("float64",)),)
    table.OPS = new | {"cast": dataclasses.replace(cast, signatures=needed)}
    texts = render.Renderer(table).render()
    own = folder / "kernels_cpu" / "src"
    sources = [path for path in sorted(own.rglob("*.c")) if not _KERNELS.match(path.name)]
    sources += [own / "reduce" / f"{name}.c" for name in ("reduce", "reduce_sum")]
    for group, text in texts.items():
        path = folder / f"elementwise_{group}.c"
        path.write_text(text, "utf-8")
        sources.append(path)
    lists = [*(f"elementwise_{group}" for group in texts), "reduce_sum"]
    (folder / "kernel_lists.h").write_text(render.kernel_lists(lists))
    folders = [own, package / "include", package / "scalar", folder]
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    macros = ("-DPHX_CPU_LEVEL=1", "-DPHX_FLOAT_QUOTIENT=1", '-DPHX_CPU_VERSION="0.0"')
    command = [compiler, *_FLAGS, "-pthread", *macros]
    command += [*(f"-I{f}" for f in folders), *map(str, sources), *_LINK]
    subprocess.run(
        [*command, "-o", str(package / "kernels_cpu" / "_cpu_baseline.so")], check=True, timeout=120
    )


@pytest.mark.needs_cpu
@pytest.mark.slow
def test_the_recipe_for_an_op_makes_an_op_that_computes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = copy_package(tmp_path)
    (tmp_path / "core").symlink_to(package)
    shutil.copytree(ROOT / "kernels_cpu" / "src", tmp_path / "kernels_cpu" / "src")
    row_and_name = {
        "core/optable/elementwise.py",
        "core/namespace/elementwise.py",
        "core/namespace/__init__.py",
    }
    assert apply_recipe(tmp_path) == {
        "radians": row_and_name,
        "rsqrt": row_and_name | {"core/scalar/real_rsqrt.h"},
        "asum": {
            "core/optable/structured.py",
            "core/namespace/reductions.py",
            "core/namespace/__init__.py",
            "core/testing/kernels.py",
            "core/device_code/reduction_rules.py",
            "kernels_cpu/src/reduce/reduce_sum.c",
        },
    }
    build_kernels(package, tmp_path, monkeypatch)
    found = runnable(RECIPE)
    assert len(found) == len(NEW_OPS)
    run_blocks(found, tmp_path)
    done = run_python("-c", ON_OTHER_DEVICES, path=tmp_path, PHALANX_PLUGINS="cpu")
    assert done.stdout == "the same bits\n", done.stderr


# Links, headings, completeness


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in links(page):
        path, _, fragment = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name}: {link}"
        if fragment and target.suffix == ".md":
            assert fragment in [anchor(h) for h in headings(target)], f"{page.name}: {link}"


def test_every_page_is_reached_from_the_index() -> None:
    reached = {(DOCS / link.partition("#")[0]).resolve() for link in links(DOCS / "index.md")}
    assert set(DOCS.glob("*.md")) - {DOCS / "index.md"} <= reached


def test_every_hook_has_a_heading() -> None:
    hooks = [name for name in vars(hookspecs) if name.startswith("phalanx_")]
    assert hooks
    page = DOCS / "add-a-plugin.md"
    for hook in hooks:
        assert any(hook in heading for heading in headings(page)), (
            f"{page.name} has no heading for {hook}"
        )


def variables_in_code() -> set[str]:
    """The environment variables that the code reads."""
    read = re.compile(r"(?:environ(?:\.get\(|\[)|getenv\()\s*[\"'](PHALANX_\w+)[\"']")
    found = set()
    rooms = ("core", "kernels_cpu", "kernels_opencl", "device_plugins", "benchmarks", "examples")
    for folder in rooms:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".c", ".h", ".pyx", ".pxi"):
                found |= set(read.findall(path.read_text("utf-8")))
    return found


def test_environment_variables_are_documented_and_none_is_invented() -> None:
    page = (DOCS / "devices.md").read_text("utf-8")
    documented = set(re.findall(r"^\| `(PHALANX_\w+)` \|", page, re.MULTILINE))
    assert documented == variables_in_code()


def test_every_op_structure_and_its_ops_are_described() -> None:
    page = DOCS / "ops.md"
    found = headings(page)
    for structure in Structure:
        assert any(structure.value in h.lower() for h in found), (
            f"ops.md has no heading for {structure}"
        )
    text = page.read_text("utf-8")
    for op in OPS.values():
        if op.structure is not Structure.ELEMENTWISE:
            assert f"`{op.name}`" in text, f"ops.md does not describe {op.name}"


def test_the_op_table_page_is_current() -> None:
    done = subprocess.run(
        [sys.executable, str(DOCS / "generate_ops.py"), "--check"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_check_of_the_op_table_page_can_fail(tmp_path: Path) -> None:
    for part in ("docs", "core"):
        (tmp_path / part).mkdir()
    shutil.copy(DOCS / "generate_ops.py", tmp_path / "docs")
    shutil.copytree(ROOT / "core" / "optable", tmp_path / "core" / "optable")
    (tmp_path / "docs" / "op-table.md").write_text(
        (DOCS / "op-table.md").read_text("utf-8") + "x\n"
    )
    script = str(tmp_path / "docs" / "generate_ops.py")
    assert (
        subprocess.run([sys.executable, script, "--check"], timeout=60, check=False).returncode == 1
    )
    subprocess.run([sys.executable, script], timeout=60, check=True)
    assert (
        subprocess.run([sys.executable, script, "--check"], timeout=60, check=False).returncode == 0
    )


def test_the_glossary_is_sorted_and_complete() -> None:
    words = [h for h in headings(DOCS / "glossary.md")[1:] if h[0].islower()]
    assert words == sorted(words)
    assert {"device", "driver", "plugin", "stream", "event", "buffer", "kernel key"} <= set(words)


def test_the_contract_of_asynchronous_drivers_names_cases_that_are_there() -> None:
    text = (DOCS / "asynchronous-drivers.md").read_text("utf-8")
    named = re.findall(r"`(runtime|ops)/(\w+)`", text)
    assert len(named) > 12
    for group, name in named:
        files = (ROOT / "conformance" / "groups" / group).glob("test_*.py")
        assert any(f"def test_{name}(" in f.read_text("utf-8") for f in files), f"{group}/{name}"
