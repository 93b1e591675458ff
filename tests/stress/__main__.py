"""``python -m stress``."""

from __future__ import annotations

from .command import stress

if __name__ == "__main__":
    stress(prog_name="python -m stress")
