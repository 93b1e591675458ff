"""``python -m proof``."""

from __future__ import annotations

from .command import proof

if __name__ == "__main__":
    proof(prog_name="python -m proof")
