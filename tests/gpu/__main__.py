"""``python -m gpu``."""

from __future__ import annotations

from .command import gpu

if __name__ == "__main__":
    gpu(prog_name="python -m gpu")
