"""Where compiled programs are kept."""

from __future__ import annotations

import os
from pathlib import Path


def default_folder() -> Path:
    """Return ``PHALANX_CACHE_DIR``, or else the user's cache folder, with ``opencl`` added."""
    chosen = os.environ.get("PHALANX_CACHE_DIR", "").strip()
    if chosen:
        return Path(chosen).expanduser() / "opencl"
    import platformdirs

    return Path(platformdirs.user_cache_dir("phalanx")) / "opencl"
