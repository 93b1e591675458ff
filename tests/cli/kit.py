"""The command line in processes of its own, with the plugins of real tiny distributions."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from plugin_kit import run_python

Done = subprocess.CompletedProcess[str]


def phalanx(*args: str, site: Path | None = None, plugins: str = "none", **env: str) -> Done:
    return run_python("-m", "phalanx", *args, path=site, PHALANX_PLUGINS=plugins, **env)


def parsed(done: Done) -> Any:
    assert done.stderr in ("", "noise\n")
    return json.loads(done.stdout)


#: What the bodies of drivers import.
STEPS = "from phalanx.steps import Status, Step\nfrom phalanx.errors import *\n"
