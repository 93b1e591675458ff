"""A library that this machine sees for the first time is opened by a child process first.

What crashes or hangs there, breaks only itself, and is remembered with the digest of the file: the
library is not loaded into a process again until the file changes, ``phalanx doctor`` finds it in
order, or a hang is given more time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from phalanx.discovery import probe
from phalanx.discovery.guard import time_limit
from phalanx.errors import PluginError, PluginLoadError
from phalanx.version import __version__

_log = logging.getLogger("phalanx.plugins")
#: The child gives up before the guard does that waits for the hook which loads the library.
_SHARE = 0.8
#: How the child ends when somebody stops it from outside: that says nothing of the library.
_STOPPED = tuple(f"crashed with {name}" for name in ("SIGINT", "SIGTERM", "SIGKILL", "SIGHUP"))
_MOST_RECORD = 1 << 16
_Record = dict[str, Any]
_here: dict[Path, _Record] = {}  # of this process, where nothing can be written

#: Whether this process is there to take the harm of plugins: then nothing is probed.
is_sacrificial = False


def check(file: Path) -> None:
    """Let a child process open a library that was not seen before; blocks for that, once.

    ``PHALANX_PROBE=0`` leaves it out, and so does an interpreter that cannot start another one.

    Raises:
        PluginLoadError: it crashed or hung there, now or at its first sight.
        PluginError: ``PHALANX_PROBE`` is neither 0 nor 1.
        OSError: the file cannot be read.
    """
    if is_sacrificial or _is_off():
        return
    state = _state(file)
    record = _known(file, state)
    if record is None:
        record = _look(file, state)
    if record is not None and record["failure"]:
        raise _refusal(file, record)


def passed(files: tuple[Path, ...]) -> None:
    """Remember that libraries were opened, listed and used without harm: for ``phalanx doctor``."""
    for file in files:
        with contextlib.suppress(OSError):
            state = _state(file)
            record = _known(file, state)
            if record is None or record["failure"]:
                _keep(file, _made(file, state, "", "", 0.0))


def _is_off() -> bool:
    wish = os.environ.get("PHALANX_PROBE", "").strip() or "1"
    if wish not in ("0", "1"):
        raise PluginError(f"PHALANX_PROBE={wish!r}", remedy="set it to 0 or 1, or unset it")
    if wish == "0":
        return True
    # A frozen program is its own interpreter: to start it again would be the program once more.
    return not sys.executable or getattr(sys, "frozen", False)


def _look(file: Path, state: list[int]) -> _Record | None:
    """Open the library in a child process; ``None`` if that tells nothing of the library."""
    limit = time_limit()
    try:
        report = probe.run("abi", str(file), limit=_SHARE * limit)
    except OSError as error:
        _log.info("%s is opened unseen: no child process can be started (%s)", file, error)
        return None
    if report.failure and not report.at:
        _log.info("%s is opened unseen: the child process %s", file, report.failure)
        return None
    record = _made(file, state, report.failure, report.at, limit)
    if not report.failure.startswith(_STOPPED):
        _keep(file, record)
    return record


def _made(file: Path, state: list[int], failure: str, at: str, limit: float) -> _Record:
    return {
        "file": str(file),
        "host": __version__,
        "state": state,
        "digest": _digest(file),
        "failure": failure,
        "at": at,
        "limit": limit,
    }


def _known(file: Path, state: list[int]) -> _Record | None:
    """Return the record that holds for a file as it is now."""
    record = _read(file)
    if record is None or record["host"] != __version__:
        return None
    if record["state"] != state:
        if record["digest"] != _digest(file):
            return None
        _keep(file, record | {"state": state})
    is_hang = record["failure"].startswith("no answer")
    return None if is_hang and time_limit() > record["limit"] else record


def _refusal(file: Path, record: _Record) -> PluginLoadError:
    remedy = "`phalanx doctor` tries it again; report it to the maker of the plugin"
    if record["failure"].startswith("no answer"):
        remedy = f"a larger PHALANX_PLUGIN_TIMEOUT (seconds) gives it more time; {remedy}"
    return PluginLoadError(
        f"{file} is not loaded, because a child process that opened it failed: "
        f"{record['failure']} at {record['at']}",
        remedy=remedy,
    )


def _state(file: Path) -> list[int]:
    """Return what changes when somebody replaces a file."""
    found = file.stat()
    return [found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


# The records: a small file for each library, in the user's cache folder.


def _folder() -> Path:
    """Return the folder of the records; ``platformdirs``, which plugins use, names the same.

    Raises:
        RuntimeError: the user has no home.
    """
    chosen = os.environ.get("PHALANX_CACHE_DIR", "").strip()
    if chosen:
        return Path(chosen).expanduser() / "libraries"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "phalanx" / "libraries"
    caches = os.environ.get("XDG_CACHE_HOME", "").strip()
    return (Path(caches) if caches else Path.home() / ".cache") / "phalanx" / "libraries"


def record_path(file: Path) -> Path:
    """Return where the record of a library is kept.

    Raises:
        RuntimeError: the user has no home.
    """
    return _folder() / f"{hashlib.sha256(os.fsencode(file)).hexdigest()[:40]}.json"


def _read(file: Path) -> _Record | None:
    if file in _here:
        return _here[file]
    try:
        with record_path(file).open("rb") as opened:
            record = json.loads(opened.read(_MOST_RECORD))
    except (OSError, ValueError, RuntimeError, RecursionError):
        return None
    return record if _is_record(record) else None


def _is_record(record: Any) -> bool:
    if not isinstance(record, dict) or not isinstance(record.get("limit"), int | float):
        return False
    texts = ("file", "host", "digest", "failure", "at")
    return isinstance(record.get("state"), list) and all(
        isinstance(record.get(name), str) for name in texts
    )


def _keep(file: Path, record: _Record) -> None:
    """Write a record whole or not at all; where that cannot be, this process remembers it."""
    try:
        target = record_path(file)
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            written = Path(folder) / target.name
            written.write_text(json.dumps(record), "utf-8")
            written.replace(target)
        _here.pop(file, None)
    except (OSError, RuntimeError) as error:
        _here[file] = record
        _log.info("each process looks at %s anew: %s", file.name, error)
