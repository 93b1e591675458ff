"""The results as JSON: a file, or stdout for ``-``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from .results import Results
from .writing import write_text


def write(results: Results, path: Path) -> None:
    """Write all outcomes; raises ``OSError``."""
    write_data(results.to_dict(), path)


def write_data(data: dict[str, Any], path: Path) -> None:
    """Write plain data; raises ``OSError``."""
    text = json.dumps(data, indent=1, ensure_ascii=False)
    if str(path) == "-":
        sys.stdout.write(text + "\n")
    else:
        write_text(path, text + "\n")
