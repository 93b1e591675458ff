"""The end of a process that has work in its queues, and of a child that it forked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from phalanx.conformance.case import Case

#: What a program ends with where the device cannot be used by it, or not in this way.
_UNKNOWN, _WRONG, _RIGHT = 77, 5, 23
#: Seconds: opening a device and compiling some kernels take some of them.
_LIMIT = 100.0

_BEGIN = f"""
import os, sys
import phalanx as px
name, fault = sys.argv[1:]
if fault:
    from phalanx.conformance.faults import register
    register(fault)
try:
    device = px.set_device(name)
    px.synchronize()
except (px.DeviceNotFoundError, px.DeviceError):
    sys.exit({_UNKNOWN})
stream = px.Stream(device)

def queued():
    x = px.zeros(1 << 20, dtype=px.int32)
    for _ in range(40):
        x = x + 1
    return x

"""
_PROGRAMS = {
    "work": f"""
x = queued()
with stream:
    y = queued()
sys.exit({_RIGHT})
""",
    "work_dropped": f"""
queued()
with stream:
    queued()
del stream
sys.exit({_RIGHT})
""",
    "closed": f"""
x = queued()
device.close()
sys.exit({_RIGHT})
""",
    "a_failure": f"""
x, bad = px.asarray([1, 2, 3], dtype=px.float32), px.asarray([0, 99], dtype=px.int64)
try:
    y = px.take(x, bad)
    z = queued()
except IndexError:  # told at the call, or at one that waits
    pass
sys.exit({_RIGHT})
""",
    "a_failed_command": f"""
opened = device.ensure_open()
if not opened.capabilities & px.Capability.FAULT_INJECTION:
    sys.exit({_UNKNOWN})
opened.stream_inject_failure(stream.handle)
with stream:
    y = queued()
sys.exit({_RIGHT})
""",
    "a_fork": f"""
x = queued()
with stream:
    y = queued()
child = os.fork()
if child == 0:
    sys.exit({_RIGHT})
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
if status != {_RIGHT}:
    sys.exit(100 + abs(status) % 100)
right = int(px.asnumpy(x).min()) == int(px.asnumpy(y).max()) == 40
sys.exit({_RIGHT} if right else {_WRONG})
""",
}


@pytest.mark.parametrize("behind", list(_PROGRAMS))
def test_a_process_ends(case: Case, behind: str) -> None:
    """A program ends with its own status, whatever is queued: it neither hangs nor dies of it."""
    if behind == "a_fork" and not hasattr(os, "fork"):
        pytest.skip("this system has no fork")
    status, said = _run(case, _BEGIN + _PROGRAMS[behind])
    if status == _UNKNOWN:
        pytest.skip("another process cannot use the device, or lets no command fail on demand")
    assert status != _WRONG, "the parent of a forked child computed something else"
    child = f", as its child did with code or signal {status - 100}" if status >= 100 else ""
    assert status == _RIGHT, f"the process ended with {status}{child}: {said[-2000:]}"


def _run(case: Case, text: str) -> tuple[int, str]:
    """Return how a program ended, and what it said on standard error."""
    settings = case.settings
    # -P: or Python would import modules from the current directory first.
    command = [sys.executable, "-P", "-W", "ignore", "-c", text, case.device.name, settings.fault]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    program = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        said = program.communicate(timeout=_LIMIT)[1].decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        os.killpg(program.pid, signal.SIGKILL)
        program.communicate()
        pytest.fail(f"the process does not end within {_LIMIT:g} s")
    return program.returncode, said
