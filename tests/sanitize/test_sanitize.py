"""The C code of many threads, briefly under the sanitizers; ``make sanitize`` takes longer."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from exhaustive import some_of

SEED, SECONDS = 7, 2.0


def load() -> ModuleType:
    """``build.py`` beside this file: a script, whose name others have too."""
    spec = importlib.util.spec_from_file_location(
        "sanitize_build", Path(__file__).with_name("build.py")
    )
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


build = load()


@pytest.mark.slow
@pytest.mark.parametrize("sanitizer", build.SANITIZERS)
@pytest.mark.parametrize("name", some_of(build.PROGRAMS, ["streams", "failures"]))
def test_no_sanitizer_complains(name: str, sanitizer: str, tmp_path: Path) -> None:
    why = build.missing(sanitizer, tmp_path)
    if why:
        pytest.skip(f"the compiler has no {sanitizer} sanitizer: {why}")
    done = build.run(build.build(name, sanitizer, tmp_path), SEED, SECONDS)
    assert done.returncode == 0, done.stdout
    assert f"seed {SEED}: " in done.stdout


# Threads that touch memory once, at the same moment, may both be missed: so they go on for long.
RACE = """
static volatile int x;
static void *f(void *y) { for (int i = 0; i < 1000000; i++) x++; return y; }
"""


@pytest.mark.parametrize(
    ("sanitizer", "fault", "words"),
    [
        ("thread", RACE, "data race"),
        ("address", "static void *f(void *y) { static int x[3]; x[y ? 3 : 0]++; return y; }", ""),
    ],
)
def test_a_sanitizer_that_is_there_finds_a_fault(
    sanitizer: str, fault: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    why = build.missing(sanitizer, tmp_path)
    if why:
        pytest.skip(f"the compiler has no {sanitizer} sanitizer: {why}")
    source = tmp_path / "fault.c"
    source.write_text(
        f"#include <pthread.h>\n{fault}\n"
        "int main(void) { pthread_t t; int y = 0; pthread_create(&t, 0, f, &y); f(&y);"
        " return pthread_join(t, 0); }\n"
    )
    monkeypatch.setitem(build.PROGRAMS, "fault", [source])
    done = build.run(build.build("fault", sanitizer, tmp_path), SEED, SECONDS)
    assert done.returncode == 66, done.stdout
    assert words in done.stdout
