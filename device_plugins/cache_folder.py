"""Where compiled programs are kept."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def default_folder(kind: str) -> Path:
    """Return where the programs of a kind of device are kept.

    That is ``PHALANX_CACHE_DIR``, or else the user's cache folder, with the kind added.
    """
    chosen = os.environ.get("PHALANX_CACHE_DIR", "").strip()
    if chosen:
        return Path(chosen).expanduser() / kind
    import platformdirs

    return Path(platformdirs.user_cache_dir("phalanx")) / kind


def folder_problem(folder: Path) -> str:
    """Return why compiled programs cannot be kept in a folder, or an empty string."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        reason = error.strerror or error
        return f"compiled programs are not kept, as {folder} cannot be written ({reason})"
