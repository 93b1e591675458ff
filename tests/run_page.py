"""Runs the blocks of a documentation page in turn; ``test_docs.py`` starts it in a new process.

Usage: ``run_page.py blocks.json``; writes a JSON list with what each block printed, and the
traceback of the block that failed, which is the last one.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

#: What the suite says every half a minute, which a page has not: it depends on the machine.
_PROGRESS = re.compile(r"^\S+: \d+ of \d+ cases, \d+ failed\n", re.MULTILINE)


def run_python(block: dict[str, Any], space: dict[str, Any]) -> str:
    """Execute a block; tracebacks show the line of the page."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile("\n" * block["line"] + block["text"], block["page"], "exec"), space)
    return out.getvalue()


def run_console(block: dict[str, Any], space: dict[str, Any]) -> str:
    """Run the lines that begin with ``$``: ``phalanx`` or ``pip``, of this environment."""
    del space
    out = []
    for line in block["text"].splitlines():
        if not line.startswith("$ "):
            continue
        out.append(line)
        words = shlex.split(line[2:])
        environment = dict(os.environ)
        while "=" in words[0]:
            name, _, value = words.pop(0).partition("=")
            environment[name] = value
        assert words[0] in ("phalanx", "pip"), line
        done = subprocess.run(
            [sys.executable, "-m", *words],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        out.append(_PROGRESS.sub("", done.stdout))
    return "\n".join(out)


def main() -> None:
    """Run the blocks and stop at the first that raises."""
    blocks = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    space: dict[str, Any] = {"__name__": "__main__"}
    results = []
    for block in blocks:
        run = run_python if block["language"] == "python" else run_console
        try:
            results.append({"output": run(block, space), "error": ""})
        except BaseException:  # noqa: BLE001 - a page may also exit
            results.append({"output": "", "error": traceback.format_exc()})
            break
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
