"""The results as JSON: a file, or stdout for ``-``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from .results import Results


def write(results: Results, path: Path) -> None:
    """Write all outcomes; raises ``OSError``."""
    text = json.dumps(results.to_dict(), indent=1, ensure_ascii=False)
    if str(path) == "-":
        sys.stdout.write(text + "\n")
    else:
        path.write_text(text + "\n", encoding="utf-8")
