"""What a compiler is left with of a program: the text behind its macros, and what kernels use."""

from __future__ import annotations

import re
import shutil
import subprocess

#: As the compilers of OpenCL see it.
_OPTIONS = ("-E", "-P", "-undef", "-w", "-x", "c", "-D__clang__=1", "-D__OPENCL_VERSION__=120", "-")
NAME = re.compile(r"[A-Za-z_]\w*")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_ATTRIBUTE = re.compile(r"__attribute__\s*\(\([^()]*(?:\([^()]*\))*[^()]*\)\)")
_DIRECTIVE = re.compile(r"^\s*#.*$", re.MULTILINE)
_FUNCTION = re.compile(r"([A-Za-z_]\w*)\s*\((?:[^()]|\([^()]*\))*\)\s*$")
_TABLE = re.compile(r"([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)+=\s*$")
#: What cuts a text into parts, and what may have such marks in it that are none.
_MARKS = re.compile(r"""[{}();]|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""")
_KERNEL = re.compile(r"\b(?:__kernel|__global__|kernel)\b")


def used(text: str) -> str:
    """Return what kernels of a program use of it; two programs are one if this is the same.

    Without a C preprocessor on the path, all of it but the comments.
    """
    compiler = shutil.which("cc") or shutil.which("clang") or shutil.which("gcc")
    if compiler is None:
        return " ".join(_COMMENT.sub(" ", text).split())
    done = subprocess.run(
        [compiler, *_OPTIONS], input=text.encode(), capture_output=True, check=False
    )
    return reached(done.stdout.decode("utf-8", "replace")) if done.returncode == 0 else text


def reached(text: str) -> str:
    """Return the kernels of a preprocessed text and whatever they name, directly or not."""
    items = list(parts(text))
    makers: dict[str, list[int]] = {}
    names = [set(NAME.findall(item)) for item in items]
    todo = []
    for number, item in enumerate(items):
        if _KERNEL.search(item) and "{" in item:
            todo.append(number)
        for name in defined(item, names[number]):
            makers.setdefault(name, []).append(number)
    kept = set(todo)
    while todo:
        for name in names[todo.pop()]:
            for number in makers.get(name, ()):
                if number not in kept:
                    kept.add(number)
                    todo.append(number)
    return "\n".join(" ".join(items[number].split()) for number in sorted(kept))


def parts(text: str) -> list[str]:
    """Cut a text into definitions and declarations."""
    items, begin, depth = [], 0, 0
    for found in _MARKS.finditer(text):
        mark = found[0]
        if mark[0] in "\"'":
            continue
        depth += {"{": 1, "(": 1, "}": -1, ")": -1}.get(mark, 0)
        rest = text[found.end() : found.end() + 40].lstrip()
        of_function = mark == "}" and "(" in text[begin : text.find("{", begin)]
        if depth == 0 and (mark == ";" or (of_function and not rest.startswith(";"))):
            items.append(text[begin : found.end()])
            begin = found.end()
    return [*items, text[begin:]]


def defined(item: str, names: set[str]) -> set[str]:
    """Return the names that an item may define: its own, or if that is not certain, all it has."""
    head = _DIRECTIVE.sub("", _ATTRIBUTE.sub(" ", item.partition("{")[0]))
    function = _FUNCTION.search(head) if "{" in item and "=" not in head else None
    if function:
        return {function[1]}
    if head.lstrip().startswith("typedef"):
        return set(NAME.findall(item)[-1:])
    table = _TABLE.search(head)
    return {table[1]} if table else names
