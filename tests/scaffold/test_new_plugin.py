"""``phalanx new-plugin``: what it writes and refuses; ``certify.py`` proves the packages."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import pytest
from click.testing import CliRunner, Result
from phalanx.abi.build import HEADER
from phalanx.cli.new_plugin import new_plugin
from phalanx.scaffold import FORMS, write
from phalanx.scaffold.names import LONGEST, check_name
from plugin_kit import FakeDriver, fresh_host, info, make_distribution, run_python

ON_FORMS = pytest.mark.parametrize("form", FORMS)


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The package of each form, for one name."""
    return {form: write("acme", FORMS[form], tmp_path_factory.mktemp(form)) for form in FORMS}


def run(*args: str) -> Result:
    return CliRunner().invoke(new_plugin, args)


class TestWhatIsWritten:
    @ON_FORMS
    def test_the_name_stands_everywhere(self, form: str, tmp_path: Path) -> None:
        folder = write("tera_chip", FORMS[form], tmp_path)
        assert folder == tmp_path / "tera-chip-phalanx"
        files = [path for path in folder.rglob("*") if path.is_file()]
        assert files
        for path in files:
            assert "acme" not in path.relative_to(folder).as_posix().lower()
            assert "acme" not in path.read_text("utf-8").lower(), path
        assert 'tera_chip = "tera_chip_phalanx"' in (folder / "pyproject.toml").read_text("utf-8")

    @ON_FORMS
    @pytest.mark.parametrize("name", ["acme2", "my_acme", "acme_phalanx"])
    def test_a_name_with_that_of_the_templates(self, form: str, name: str, tmp_path: Path) -> None:
        """The package is that of any other name, with this one in its place."""
        (tmp_path / "other").mkdir()
        other = write("zebra", FORMS[form], tmp_path / "other")
        folder = write(name, FORMS[form], tmp_path)
        title = "".join(part.capitalize() for part in name.split("_"))
        hyphens = name.replace("_", "-")

        def renamed(text: str) -> str:
            text = text.replace("zebra-phalanx", f"{hyphens}-phalanx").replace("zebra", name)
            return text.replace("Zebra", title).replace("ZEBRA", name.upper())

        expected = {
            renamed(path.relative_to(other).as_posix()): renamed(path.read_text("utf-8"))
            for path in other.rglob("*")
            if path.is_file()
        }
        found = {
            path.relative_to(folder).as_posix(): path.read_text("utf-8")
            for path in folder.rglob("*")
            if path.is_file()
        }
        assert found == expected

    @ON_FORMS
    def test_no_class_has_the_name_of_another(self, form: str, packages: dict[str, Path]) -> None:
        """A name would make its classes hide those that the package imports: it is refused."""
        modules = [ast.parse(path.read_text("utf-8")) for path in packages[form].rglob("*.py")]
        nodes = [node for module in modules for node in ast.walk(module)]
        own = {n.name.removeprefix("Acme") for n in nodes if isinstance(n, ast.ClassDef)}
        imports = [a.name for n in nodes if isinstance(n, ast.ImportFrom) for a in n.names]
        pairs = [(name, end) for name in imports for end in own if name.endswith(end)]
        stems = {name.removesuffix(end) for name, end in pairs} - {"", "Acme"}
        assert "Open" in stems or form == "c"
        for stem in stems:
            with pytest.raises(ValueError, match="derived from"):
                check_name(stem.lower())

    @ON_FORMS
    def test_all_that_a_project_needs(self, form: str, packages: dict[str, Path]) -> None:
        needed = (".gitignore", "README.md", "pyproject.toml", ".github/workflows/ci.yml")
        own = ("__init__.py", "own_tests.py", "py.typed")
        for name in (*needed, "tests/test_acme.py", *(f"src/acme_phalanx/{n}" for n in own)):
            assert (packages[form] / name).is_file(), name

    @ON_FORMS
    def test_no_value_is_left_open(self, form: str, packages: dict[str, Path]) -> None:
        for path in packages[form].rglob("*"):
            assert path.is_dir() or "@{" not in path.read_text("utf-8"), path

    @ON_FORMS
    def test_jobs_are_sound(self, form: str, packages: dict[str, Path]) -> None:
        yaml = pytest.importorskip("yaml", reason="pyyaml is not installed")
        text = (packages[form] / ".github/workflows/ci.yml").read_text("utf-8")
        jobs = yaml.safe_load(text)["jobs"]
        assert set(jobs) == {"style", "test", "certificate"}
        assert len(jobs["test"]["strategy"]["matrix"]["core"]) == 3
        (command,) = (s["run"] for s in jobs["certificate"]["steps"] if "--certificate" in str(s))
        assert f"--level {FORMS[form].level} " in command

    @ON_FORMS
    @pytest.mark.parametrize("name", ["acme2", "phx", "phalanx", "errno", "std", "device", "a"])
    def test_it_compiles_whatever_the_name(self, form: str, name: str, tmp_path: Path) -> None:
        check_name(name)
        folder = write(name, FORMS[form], tmp_path)
        for path in folder.rglob("*.py"):
            compile(path.read_text("utf-8"), str(path), "exec")
        compiler = which("cc") or ""
        for path in folder.rglob("*.c") if compiler else ():
            command = [
                compiler,
                "-fsyntax-only",
                "-std=c11",
                "-Wall",
                "-Werror",
                f"-I{HEADER.parent}",
            ]
            command += [f'-D{name.upper()}_VERSION="1"', str(path)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr

    def test_the_command_says_what_comes_next(self, tmp_path: Path) -> None:
        done = run("acme", "--python", "--into", str(tmp_path))
        assert done.exit_code == 0, done.output
        for part in (
            "driver.py\n",
            "a driver in Python",
            "pip install -e '.[test]'",
            "phalanx why acme:0",
        ):
            assert part in done.output

    def test_json(self, tmp_path: Path) -> None:
        found = json.loads(run("acme", "--c", "--into", str(tmp_path), "--json").output)
        assert found["folder"] == str(tmp_path / "acme-phalanx")
        assert "src/acme_phalanx/acme.c" in found["files"]


@pytest.mark.skipif(find_spec("ruff") is None, reason="ruff is not installed")
@ON_FORMS
@pytest.mark.parametrize("name", ["ab", "acme", "a" * LONGEST])
def test_style(form: str, name: str, tmp_path: Path) -> None:
    folder = write(name, FORMS[form], tmp_path)
    for check in (["check"], ["format", "--check"]):
        command = [sys.executable, "-m", "ruff", *check, "--no-cache", "."]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(find_spec("mypy") is None, reason="mypy is not installed")
@ON_FORMS
def test_types(form: str, packages: dict[str, Path], tmp_path: Path) -> None:
    if "site-packages" not in (find_spec("phalanx").origin or ""):
        pytest.skip("mypy finds no editable install")
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=packages[form], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


NAMES = {
    "cpu": "'cpu' is a kind of device; name the driver after its vendor or its model",
    "gpu": "'gpu' is a kind of device; name the driver after its vendor or its model",
    "class": "'class' is a keyword of Python; 'class_chip', for example, is not",
    "match": "'match' is a keyword of Python; 'match_chip', for example, is not",
    "open": "'open' would name a class OpenDevice, as that is called which it is derived from; "
    "'open_chip', for example, does not",
    "launch": "'launch' would name a class LaunchEnv, as that is called which it is derived from; "
    "'launch_chip', for example, does not",
    "int": "'int' is a keyword of C or C++; 'int_chip', for example, is not",
    "Acme-T": "'Acme-T' cannot name a driver: its name is 'Acme-T', and a name is a lower-case "
    "letter followed by lower-case letters, digits and underscores; 'acme_t' would do",
    "9": "'9' cannot name a driver: its name is '9', and a name is a lower-case letter followed by "
    "lower-case letters, digits and underscores",
    "../up": "'../up' cannot name a driver: its name is '../up', and a name is a lower-case letter "
    "followed by lower-case letters, digits and underscores; 'up' would do",
    "a__b": "'a__b' does not make a package's name: one '_' between words; 'a_b' would do",
    "acme_": "'acme_' does not make a package's name: one '_' between words; 'acme' would do",
    "a" * 21: f"'{'a' * 21}' has 21 characters, and at most 20 are read with ease",
}


class TestWhatIsRefused:
    @pytest.mark.parametrize("name", NAMES)
    def test_names(self, name: str, tmp_path: Path) -> None:
        self.check(2, NAMES[name], tmp_path, name, "--c")

    def test_a_driver_that_is_installed(self, tmp_path: Path) -> None:
        with fresh_host(FakeDriver("acme", [info()])):
            message = (
                "'acme' is taken: this process has a driver of that name; "
                "`phalanx devices` lists all"
            )
            self.check(2, message, tmp_path, "acme", "--c")

    def test_a_plugin_that_is_installed(self, tmp_path: Path) -> None:
        make_distribution(tmp_path / "site", "other", plugins={"acme": "other"})
        into = tmp_path / "into"
        into.mkdir()
        command = ("-m", "phalanx", "new-plugin", "acme", "--c", "--into", str(into))
        done = run_python(*command, path=tmp_path / "site", PHALANX_PLUGINS="none")
        assert done.returncode == 2
        assert done.stderr == (
            "Error: 'acme' is taken: other 1.0 is installed and has a plugin of that name\n"
        )
        assert list(into.iterdir()) == []

    def test_a_module_that_is_there(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        site = tmp_path / "site"
        site.mkdir()
        (site / "acme_phalanx.py").write_text("")
        monkeypatch.syspath_prepend(str(site))
        into = tmp_path / "into"
        into.mkdir()
        where = site / "acme_phalanx.py"
        message = f"'acme' is taken: there is a module acme_phalanx at {where}"
        self.check(2, message, into, "acme", "--c")

    def test_no_form(self, tmp_path: Path) -> None:
        message = "say what the driver is written in: --c, --python or --dialect"
        self.check(2, message, tmp_path, "acme")

    def test_a_folder_that_exists(self, tmp_path: Path) -> None:
        folder = tmp_path / "acme-phalanx"
        folder.mkdir()
        (folder / "mine").write_text("kept")
        done = run("acme", "--c", "--into", str(tmp_path))
        assert done.exit_code == 2
        assert (
            done.stderr == f"Error: {folder} exists, and is left as it is; move it, or use --into\n"
        )
        assert [path.name for path in tmp_path.rglob("*")] == ["acme-phalanx", "mine"]

    def test_no_place(self, tmp_path: Path) -> None:
        done = run("acme", "--c", "--into", str(tmp_path / "absent"))
        assert done.exit_code == 2
        assert f"Directory '{tmp_path / 'absent'}' does not exist." in done.stderr

    @ON_FORMS
    def test_a_disk_that_is_full(
        self, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Nothing is left of a package that could not be written whole."""
        written = []

        def write_some(path: Path, text: str, encoding: str) -> None:
            written.append(path)
            if len(written) == 4:
                raise OSError(28, "No space left on device", str(path))

        monkeypatch.setattr(Path, "write_text", write_some)
        done = run("acme", f"--{form}", "--into", str(tmp_path))
        assert done.exit_code == 1
        assert done.stderr == f"Error: {written[-1]} cannot be written: No space left on device\n"
        assert list(tmp_path.iterdir()) == []

    def check(self, code: int, message: str, folder: Path, *args: str) -> None:
        done = run(*args, "--into", str(folder))
        assert (done.exit_code, done.stderr) == (code, f"Error: {message}\n")
        assert not [path for path in folder.iterdir() if path.name != "site"]


def test_a_dialect_is_short(packages: dict[str, Path]) -> None:
    """The whole op table takes a vendor at most 350 lines; the simulator is not the vendor's."""
    folder = packages["dialect"] / "src" / "acme_phalanx"
    texts = [(folder / name).read_text("utf-8") for name in ("dialect.hpp", "compiler.py")]
    texts.append((folder / "driver.py").read_text("utf-8"))
    assert sum(bool(line.strip()) for text in texts for line in text.splitlines()) <= 350


def test_a_dialect_takes_public_names(packages: dict[str, Path]) -> None:
    public = re.compile(r"phalanx( as px)?|phalanx\.(vendor|device_code(\.\w+)?|errors)")
    for path in packages["dialect"].rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [a.name for a in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                if name.partition(".")[0] == "phalanx":
                    assert public.fullmatch(name), f"{path}: {name}"
                    assert "._" not in name


def test_no_compiler_of_the_dialect(packages: dict[str, Path], tmp_path: Path) -> None:
    """The device is not usable, and `phalanx why` has the reason and the remedy."""
    make_distribution(tmp_path, "acme_phalanx", plugins={"acme": "acme_phalanx"})
    (tmp_path / "acme_phalanx").symlink_to(packages["dialect"] / "src" / "acme_phalanx")
    command = ("-m", "phalanx", "why", "acme:0")
    done = run_python(*command, path=tmp_path, PHALANX_PLUGINS="acme", CXX="no-such-c++")
    assert done.returncode == 1
    for part in (
        "acme:0: not usable\n",
        "there is no C++ compiler (no-such-c++), which the simulated device needs\n",
        "-> install one (apt install g++, dnf install gcc-c++), or set CXX to yours\n",
    ):
        assert part in done.stdout, done.stdout


def test_no_compiler_says_what_to_install(packages: dict[str, Path], tmp_path: Path) -> None:
    """The build of the C library, where ``CC`` is not there."""
    command = [sys.executable, "setup.py", "-q", "build", "--build-base", str(tmp_path)]
    done = subprocess.run(
        command,
        cwd=packages["c"],
        env={**os.environ, "CC": "no-such-cc"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert (
        "there is no C compiler (no-such-cc): install one (apt install gcc, dnf install gcc, "
        "xcode-select --install), or set CC to yours" in done.stderr
    )
