"""``phalanx ops --next``: which kernel would spare most launches."""

from __future__ import annotations

import json
import runpy
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .output import console, emit, fail, noise_to_stderr, table

if TYPE_CHECKING:
    from phalanx._warm import Device
    from phalanx.dispatch.fallback import Entry
    from phalanx.dispatch.launches import Decomposed

_KIND = "phalanx launches"


def show_next(device: Device, program: Path | None, as_json: bool) -> None:
    """Run a program, or read what was recorded of one, and tell what a kernel would spare."""
    if program is not None and program.suffix == ".json":
        found = _read(program)
    else:
        found = _recorded(device, program)
    if as_json:
        emit(found)
    else:
        _show(found)


def _recorded(device: Device, program: Path | None) -> dict[str, Any]:
    from phalanx.discovery.devices import device as using
    from phalanx.dispatch.fallback import fallback_policy, recorded
    from phalanx.dispatch.launches import recorded_launches

    device.ensure_open()
    with (
        noise_to_stderr(),
        using(device),
        fallback_policy("allow"),
        recorded() as elsewhere,
        recorded_launches() as launches,
    ):
        if program is None:
            _mix()
        else:
            _run(program)
    return {
        "kind": _KIND,
        "device": device.name,
        "program": "" if program is None else program.name,
        "kernels": [_data(e) for e in launches if e.device == device.name],
        "elsewhere": [_moved(e) for e in elsewhere if e.device == device.name],
    }


def _data(entry: Decomposed) -> dict[str, Any]:
    return {
        "op": entry.op,
        "dtypes": list(entry.dtypes),
        "calls": entry.calls,
        "launches": entry.launches,
        "with_kernel": entry.calls,
        "saved": entry.saved,
    }


def _moved(entry: Entry) -> dict[str, Any]:
    return {
        "op": entry.op,
        "dtypes": list(entry.dtypes),
        "calls": entry.calls,
        "ran_on": entry.ran_on,
        "bytes_moved": entry.bytes_moved,
    }


def _run(program: Path) -> None:
    """Run a script as ``python FILE`` does; its errors are shown as Python shows them."""
    if not program.is_file():
        fail(f"{program}: there is no such file", 2)
    before = sys.argv, sys.path[:], sys.stdout
    sys.argv, sys.path = [str(program)], [str(program.resolve().parent), *sys.path]
    try:
        runpy.run_path(str(program), run_name="__main__")
    except SystemExit as error:
        if error.code not in (None, 0):
            fail(f"{program} ended with {error.code}", 1)
    except Exception as error:  # noqa: BLE001 - whatever a script raises
        sys.stderr.write("".join(traceback.format_exception(_own_frames(error, program))))
        fail(f"{program} raised {type(error).__name__}", 1)
    finally:
        sys.argv, sys.path, sys.stdout = before


def _own_frames(error: Exception, program: Path) -> Exception:
    """Leave out the frames that lead to the script."""
    frame = error.__traceback__
    while frame is not None and frame.tb_frame.f_code.co_filename != str(program):
        frame = frame.tb_next
    return error.with_traceback(frame)


def _mix() -> None:
    """What programs do most, once each, on a thousand elements of the default dtypes."""
    import phalanx as px

    places = px.arange(1024)
    x = px.reshape(px.astype(places, px.float32) / 512 - 1, (32, 32))
    y = px.tanh(x @ x.T + px.mean(x, axis=0))
    z = px.exp(y - px.max(y, axis=1, keepdims=True))
    z = z / px.sum(z, axis=1, keepdims=True)
    z = px.where(z > px.mean(z), px.log(z), px.sqrt(z))
    order = px.argsort(z[0, :])
    px.take(z, order, axis=1)
    px.sort(px.abs(x), axis=1)
    px.cumulative_sum(x, axis=1)
    px.argmax(x, axis=1)
    px.std(x)
    px.sin(x) + px.cos(x) * px.pow(px.abs(x), 0.5)
    px.any(x > 0)
    px.synchronize(px.get_device())


def _read(path: Path) -> dict[str, Any]:
    """Return what ``--json`` wrote before."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        fail(f"{path} is no recording: {error}", 2)
    if not _is_recording(found):
        fail(f"{path} is no recording of `phalanx ops --next --json`", 2)
    return dict(found)


def _is_recording(found: Any) -> bool:
    kernel = {"op": str, "dtypes": list, **dict.fromkeys(("calls", "launches", "saved"), int)}
    moved = {"op": str, "dtypes": list, "calls": int, "ran_on": str, "bytes_moved": int}
    return (
        isinstance(found, dict)
        and found.get("kind") == _KIND
        and all(isinstance(found.get(name), str) for name in ("device", "program"))
        and _are_rows(found.get("kernels"), kernel | {"with_kernel": int})
        and _are_rows(found.get("elsewhere"), moved)
    )


def _are_rows(rows: Any, fields: dict[str, type]) -> bool:
    return isinstance(rows, list) and all(
        isinstance(row, dict)
        and all(isinstance(row.get(name), kind) for name, kind in fields.items())
        and all(isinstance(dtype, str) for dtype in row["dtypes"])
        for row in rows
    )


def _show(found: dict[str, Any]) -> None:
    out = console()
    program = found["program"] or "a small mix of functions"
    out.print(f"[bold]{found['device']}[/] in {program}: what a kernel would spare\n")
    rows = [
        (
            f"{k['op']}({', '.join(k['dtypes'][:-1])})",
            str(k["calls"]),
            str(k["launches"]),
            str(k["with_kernel"]),
            str(k["saved"]),
        )
        for k in found["kernels"]
        if k["saved"] > 0
    ]
    if rows:
        headers = ("Overload", "Calls", "Launches", "With a kernel", "Saved")
        out.print(table(headers, rows, fold=0))
    else:
        out.print("nothing: no op took more launches than calls")
    for e in found["elsewhere"]:
        out.print(
            f"on {e['ran_on']}, not here: {e['op']}({', '.join(e['dtypes'])}), {e['calls']} calls, "
            f"{e['bytes_moved']} bytes moved"
        )
