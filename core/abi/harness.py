"""The harness in C that runs a plugin without Python: its source, and how it is built and run."""

from __future__ import annotations

from pathlib import Path

from .build import HEADER

SOURCE = Path(__file__).with_name("harness.c")
_CC = "cc -std=gnu11 -g -O1 -pthread -I."


def write(folder: Path) -> tuple[Path, ...]:
    """Write the source and the header that it needs into a folder, which is made if need be.

    Raises:
        FileExistsError: one of them is there with another text; nothing was touched.
        OSError: they cannot be written.
    """
    files = {folder / source.name: source.read_text("utf-8") for source in (SOURCE, HEADER)}
    for path, text in files.items():
        if path.exists() and path.read_text("utf-8", "replace") != text:
            raise FileExistsError(f"{path} exists with another text, and is left as it is")
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in files.items():
        path.write_text(text, "utf-8")
    return tuple(files)


def commands(library: Path) -> dict[str, str]:
    """Return the command lines that build it and run a library, by what they are for."""
    build = f"{_CC} {SOURCE.name} -o harness -ldl"
    run = f"./harness {library}"
    memcheck = "valgrind --error-exitcode=66 --leak-check=full --errors-for-leak-kinds=definite"
    lines = {"plain": f"{build} && {run}", "valgrind": f"{build} && {memcheck} {run}"}
    for sanitizer in ("address,undefined", "thread"):
        lines[sanitizer] = f"{build} -fsanitize={sanitizer} && {run}"
    return lines
