"""What ``import phalanx`` loads, what may import what, and whether all of the package is listed."""

from __future__ import annotations

import ast
import importlib
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import phalanx as px
import pytest
from plugin_kit import make_distribution, run_python

CORE = Path(px.__file__).resolve().parent
ROOT = Path(__file__).resolve().parent.parent
ROOMS = tuple(sorted(p.parent.name for p in ROOT.glob("*/__init__.py") if p.parent.name != "tests"))
KERNELS = tuple(room for room in ROOMS if room.startswith("kernels_"))
#: The rooms of the core and the modules beside them, the lowest first.
FLOORS = (
    ("errors", "steps", "version", "optable"),
    ("driver",),
    ("_warm",),
    ("runtime",),
    ("dispatch",),
    ("discovery",),
    ("abi", "arrays"),
    ("decomposition",),
    ("namespace",),
    ("functions",),
    ("fft", "files", "linalg", "random", "special", "vendor"),
    ("nn",),
    ("device_code", "testing"),
    ("scaffold",),
    ("cli",),
)
#: Where a plugin, or a script of the user's, may do anything.
GUARDS = (
    *(f"discovery/{name}" for name in ("guard", "loading", "plugins", "probe")),
    "cli/next_kernel",
)
IMPORT = re.compile(r"\s*(?:from\s+(\S+)\s+c?import|c?import\s+(\w+))\b")


def sources(room: str) -> list[Path]:
    """The files of a folder, but for what `make edit` has built there."""
    built = ROOT / "core" / "_abi.py"
    return sorted(path for path in (ROOT / room).rglob("*.py") if path != built)


def imported(path: Path) -> Iterator[tuple[str, int, bool]]:
    """Every module that a file imports: absolute name, line, whether at import time for real."""
    folder = (
        "phalanx"
        if path.is_relative_to(ROOT / "core")
        else f"phalanx.{path.relative_to(ROOT).parts[0]}"
    )
    base = ROOT / ("core" if folder == "phalanx" else folder.removeprefix("phalanx."))
    package = ".".join([folder, *path.relative_to(base).parent.parts])
    tree = ast.parse(path.read_text(encoding="utf-8"))
    lazy = set()
    for node in ast.walk(tree):
        guarded = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        if guarded or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lazy |= {id(child) for child in ast.walk(node)}
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            prefix = (
                package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            )
            whole = ".".join([*prefix, *([node.module] if node.module else [])])
            names = [whole, *(f"{whole}.{alias.name}" for alias in node.names)]
        for name in names:
            yield name, node.lineno, id(node) not in lazy


def natural(name: str) -> tuple[bool, list[tuple[int, str]]]:
    """Ruff's order of ``__all__``: classes first, and numbers by their value."""
    parts = re.findall(r"(\d+)|(\D+)", name)
    return not name[0].isupper(), [(int(number or -1), text) for number, text in parts]


def below(name: str, *packages: str) -> bool:
    return any(name == p or name.startswith(f"{p}.") for p in packages)


class TestWhatImportLoads:
    def test_no_plugin_no_heavy_library(self) -> None:
        """Also no NumPy: it is imported with the first array that needs it."""
        code = "import sys, phalanx; print(*sorted(sys.modules))"
        result = run_python("-W", "error", "-c", code)
        assert result.returncode == 0, result.stderr
        loaded = result.stdout.split()
        for heavy in (
            "numpy",
            "pluggy",
            "cffi",
            "_cffi_backend",
            "pycparser",
            "click",
            "rich",
            "importlib.metadata",
        ):
            assert heavy not in loaded, heavy
        for part in loaded:
            assert not below(
                part,
                "phalanx.device_plugins",
                "phalanx.kernels_cpu",
                "phalanx.kernels_opencl",
                "phalanx.device_code",
                "phalanx.cli",
                "phalanx.benchmarks",
            )

    def test_import_lists_no_device(self) -> None:
        code = (
            "import phalanx; from phalanx.discovery.devices import listed_devices\n"
            "print(listed_devices())"
        )
        assert run_python("-c", code).stdout.strip() == "()"

    def test_works_when_every_plugin_is_broken(self, tmp_path: Path) -> None:
        bodies = {
            "raises": "raise RuntimeError('broken at import')",
            "exits": "import sys; sys.exit(3)",
            "syntax": "def broken(:",
            "nothing": "",
            "hook": "import phalanx as h\n@h.hookimpl\n"
            "def phalanx_drivers(): raise OSError('no libfoo.so')",
        }
        for name, body in bodies.items():
            make_distribution(
                tmp_path,
                f"broken_{name}",
                plugins={name: f"plugin_{name}"},
                modules={f"plugin_{name}": body},
            )
        code = (
            "import phalanx as px\n"
            "try:\n    px.zeros(1)\nexcept px.DeviceNotFoundError as error:\n    print(error)\n"
            "from phalanx.testing import ReferenceDriver\nfrom phalanx.vendor import host\n"
            "host().register_driver(ReferenceDriver('fake'))\n"
            "print(px.asnumpy(px.arange(3, device='fake:0') + 1).tolist())\n"
        )
        allowed = ",".join(bodies)
        result = run_python("-c", code, path=tmp_path, PHALANX_PLUGINS=allowed)
        assert result.returncode == 0, result.stderr
        assert result.stdout.splitlines()[-1] == "[1, 2, 3]"
        for words in ("broken at import", "no libfoo.so", "raises", "exits", "syntax"):
            assert words in result.stdout

    def test_unknown_attribute(self) -> None:
        with pytest.raises(AttributeError, match="no attribute 'exponential'"):
            px.exponential  # noqa: B018

    def test_hooks_are_loaded_when_asked_for(self) -> None:
        import pluggy

        assert isinstance(px.hookimpl, pluggy.HookimplMarker)
        assert isinstance(px.hookspec, pluggy.HookspecMarker)


class TestNamespace:
    def test_all_is_sorted_and_complete(self) -> None:
        of_arrays, beyond = px.namespace.__all__, px.functions.__all__
        others = px.__all__[: -len(of_arrays) - len(beyond)]
        for names in (others, beyond, of_arrays):
            assert names == sorted(names, key=natural)
        assert px.__all__ == others + beyond + of_arrays
        assert len(set(px.__all__)) == len(px.__all__)
        missing = [name for name in px.__all__ if not hasattr(px, name)]
        assert missing == []

    def test_public_names_that_are_bound_are_in_all(self) -> None:
        tree = ast.parse((CORE / "__init__.py").read_text(encoding="utf-8"))
        bound = set()
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and node.module != "__future__":
                bound |= {alias.asname or alias.name for alias in node.names}
            elif isinstance(node, ast.Assign):
                bound |= {t.id for t in node.targets if isinstance(t, ast.Name)}
        public = {n for n in bound if n[0] not in "_*" and n != "TYPE_CHECKING"}
        assert public - set(px.__all__) == set()

    def test_no_star_imports_but_of_the_functions_of_arrays(self) -> None:
        found = [
            (path.relative_to(ROOT).as_posix(), name)
            for room in ROOMS
            for path in sources(room)
            for name, _, _ in imported(path)
            if name.endswith(".*")
        ]
        rooms = ("functions", "namespace")
        assert sorted(found) == [("core/__init__.py", f"phalanx.{room}.*") for room in rooms]


class TestImportRules:
    """Section 3 of the design: which room may import which."""

    def test_core_knows_no_room_but_itself(self) -> None:
        for path in sources("core"):
            for name, line, _ in imported(path):
                rooms = (
                    "phalanx.device_plugins",
                    "phalanx.kernels_cpu",
                    "phalanx.kernels_opencl",
                    "phalanx.kernels_cuda",
                    "phalanx.conformance",
                    "phalanx.benchmarks",
                )
                assert not below(name, *rooms), f"{path}:{line} imports {name}"

    def test_rooms_of_the_core_stand_on_lower_floors(self) -> None:
        """At import time; what two rooms need of each other is imported in functions."""
        floor = {room: n for n, rooms in enumerate(FLOORS) for room in rooms}
        for path in sources("core"):
            own = path.relative_to(ROOT / "core").with_suffix("").parts[0]
            if own in ("__init__", "__main__"):
                continue
            for name, line, now in imported(path):
                _, _, rest = name.partition("phalanx.")
                other = rest.partition(".")[0]
                if now and other != own and other in floor:
                    assert floor[other] < floor[own], f"{path}:{line} imports {name}"

    def test_the_compiled_part_knows_the_core_only(self) -> None:
        own = {"", "cpython", "cython", "libc", *sys.stdlib_module_names}
        files = sorted((ROOT / "core" / "warm").glob("*.p[yx]*"))
        lines = [(p, line) for p in files for line in p.read_text("utf-8").splitlines()]
        found = [(p, m[1] or m[2]) for p, line in lines if (m := IMPORT.match(line))]
        assert len(found) > 20
        for path, name in found:
            # relative to the package `phalanx`: the core and none of its neighbours
            assert name.partition(".")[0] in own, f"{path} imports {name}"
            room = name.lstrip(".").partition(".")[0]
            if name.startswith(".") and room:
                assert (CORE / room).is_dir() or (CORE / f"{room}.py").exists(), (path, name)
                assert room not in (*ROOMS, *FLOORS[-1]), f"{path} imports {name}"

    def test_core_uses_only_what_it_may(self) -> None:
        allowed = {
            "phalanx",
            "numpy",
            "pluggy",
            "cffi",
            "ml_dtypes",
            "pycparser",
            *sys.stdlib_module_names,
        }
        for path in sources("core"):
            extra = {"click", "rich"} if path.is_relative_to(ROOT / "core" / "cli") else set()
            if path.is_relative_to(ROOT / "core" / "files"):
                extra = {"safetensors"}
            for name, line, _ in imported(path):
                top = name.partition(".")[0]
                assert top in allowed | extra, f"{path}:{line} imports {name}"

    def test_op_table_needs_only_the_standard_library(self) -> None:
        """The build of the kernels reads it before the package is installed."""
        for path in (ROOT / "core" / "optable").glob("*.py"):
            for name, line, _ in imported(path):
                inside = below(name, "phalanx.optable")
                assert inside or name.partition(".")[0] in sys.stdlib_module_names, (
                    f"{path}:{line} imports {name}"
                )

    def test_plugins_import_what_is_promised_to_them(self) -> None:
        """What ``phalanx.vendor`` says; the wrapper of C libraries knows the ABI besides."""
        promised = ("vendor", "errors", "optable", "device_code")
        inside = ("device_plugins", *KERNELS)
        for path in (path for room in inside for path in sources(room)):
            wraps = path.name in ("native.py", "cpu.py")
            known = (*promised, *(("abi",) if wraps else ()), *inside)
            for name, line, _ in imported(path):
                _, _, rest = name.partition("phalanx.")
                if below(name, "phalanx") and rest and rest.partition(".")[0] not in px.__all__:
                    assert rest.partition(".")[0] in known, f"{path}:{line} imports {name}"
                assert not below(name, "phalanx._warm", "phalanx.driver"), f"{path}:{line}: {name}"

    def test_kernels_import_the_core_only(self) -> None:
        for path in (path for room in KERNELS for path in sources(room)):
            for name, line, _ in imported(path):
                assert not below(
                    name, "phalanx.device_plugins", "phalanx.conformance", "phalanx.benchmarks"
                ), f"{path}:{line}"

    def test_plugins_do_not_import_each_other(self) -> None:
        """Only what is none itself may be built upon: ``native``, ``cache_folder``, ``listed``.

        A plugin is a file or a folder.
        """
        room = ROOT / "device_plugins"
        plugins = {p.stem for p in (*room.glob("*.py"), *room.glob("*/__init__.py"))}
        plugins |= {p.parent.name for p in room.glob("*/__init__.py")}
        plugins -= {"__init__", "native", "cache_folder", "listed"}
        assert {"cpu", "cuda", "opencl"} <= plugins
        for path in sources("device_plugins"):
            own = path.relative_to(room).with_suffix("").parts[0]
            others = [f"phalanx.device_plugins.{name}" for name in plugins - {own}]
            for name, line, _ in imported(path):
                assert not below(name, "phalanx.conformance", *others), (
                    f"{path}:{line} imports {name}"
                )

    def test_no_import_by_folder_name(self) -> None:
        for room in (*ROOMS, "tests", "examples"):
            for path in sources(room):
                for name, line, _ in imported(path) if room in ROOMS else ():
                    assert not below(name, "core", "device_plugins", *KERNELS), (
                        f"{path}:{line} imports {name}"
                    )

    def test_no_vendor_decides_in_the_core(self) -> None:
        vendors = ("cuda", "nvidia", "intel", "amd", "opencl", "apple", "rocm")
        for path in sources("core"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            for node in ast.walk(tree):
                if isinstance(node, ast.If | ast.IfExp | ast.While):
                    test = ast.unparse(node.test).lower()
                    assert not any(v in test for v in vendors), f"{path}:{node.lineno}: {test}"

    def test_only_the_plugin_host_catches_everything(self) -> None:
        for path in sources("core"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            for node in ast.walk(tree):
                if isinstance(node, ast.ExceptHandler):
                    kind = ast.unparse(node.type) if node.type else "everything"
                    passes_on = isinstance(node.body[-1], ast.Raise) and node.body[-1].exc is None
                    broad = kind in ("everything", "Exception", "BaseException") and not passes_on
                    # the last two carry a failure from a thread to whoever waits
                    allowed = (*GUARDS, "testing/streams", "runtime/limited_wait")
                    name = path.relative_to(ROOT / "core").with_suffix("").as_posix()
                    assert not broad or name in allowed, f"{path}:{node.lineno}"


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    """``pyproject.toml``."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)


class TestPackaging:
    def test_every_package_folder_is_listed(self, project: dict[str, Any]) -> None:
        settings = project["tool"]["setuptools"]
        mapping = {folder: package for package, folder in settings["package-dir"].items()}
        found = set()
        for folder, package in mapping.items():
            for init in (ROOT / folder).rglob("__init__.py"):
                inner = init.parent.relative_to(ROOT / folder).parts
                if (folder, *inner[:1]) == ("examples", "plugins"):
                    continue  # distributions of their own
                found.add(".".join([package, *inner]))
        assert found == set(settings["packages"])

    def test_every_code_folder_is_mapped(self, project: dict[str, Any]) -> None:
        mapped = set(project["tool"]["setuptools"]["package-dir"].values())
        packages = {p.parent.name for p in ROOT.glob("*/__init__.py")} - {"tests", "build"}
        assert packages == mapped

    def test_data_files_are_listed(self, project: dict[str, Any]) -> None:
        patterns = project["tool"]["setuptools"]["package-data"]["phalanx"]
        listed = {p for pattern in patterns for p in (ROOT / "core").glob(pattern)}
        kinds = (".h", ".in", ".json", ".pyi", ".typed")
        private = {p for room in ("pool", "warm") for p in (ROOT / "core" / room).glob("*.h")}
        data = {p for p in (ROOT / "core").rglob("*") if p.suffix in kinds or p.name == "py.typed"}
        assert data - private - listed == set()

    def test_version_is_one(self, project: dict[str, Any]) -> None:
        assert px.__version__ == project["project"]["version"]

    def test_every_module_imports(self) -> None:
        for path in sources("core"):
            relative = path.relative_to(ROOT / "core").with_suffix("")
            if relative.name == "__main__":
                continue
            parts = [p for p in relative.parts if p != "__init__"]
            importlib.import_module(".".join(["phalanx", *parts]))

    def test_every_module_says_what_it_is(self) -> None:
        for room in ROOMS:
            for path in sources(room):
                doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
                assert doc, f"{path} has no docstring"

    def test_no_file_is_too_long(self) -> None:
        kinds = {".py", ".pyx", ".pxi", ".c", ".h", ".md", ".pyi"}
        long = {}
        for room in (*ROOMS, "tests", "docs", "examples"):
            for path in (ROOT / room).rglob("*"):
                if path.suffix in kinds and "__pycache__" not in path.parts:
                    lines = len(path.read_text(encoding="utf-8").splitlines())
                    if lines > 500:
                        long[str(path.relative_to(ROOT))] = lines
        assert long == {}
