"""The CPU library and its process: signals, crashes, fork and exit, each in a child process."""

from __future__ import annotations

import pytest
from cpu_abi import run

pytestmark = pytest.mark.needs_cpu


def test_workers_take_only_the_signals_of_their_own_faults():
    printed = run(
        """
        import signal
        import time
        from pathlib import Path
        before = set(os.listdir("/proc/self/task"))
        stream = L.stream()
        a, out = np.ones((2, 4_000_000))
        L.launch("add", [a, a, out], stream=stream)
        L.synchronize(stream)
        own = "SEGV BUS FPE ILL ABRT TRAP SYS".split()
        open_to = sum(1 << getattr(signal, f"SIG{name}") - 1 for name in own)
        for task in set(os.listdir("/proc/self/task")) - before:
            for _ in range(1000):  # a thread begins with all signals blocked
                status = Path(f"/proc/self/task/{task}/status").read_text()
                blocked = int(status.split("SigBlk:")[1].split()[0], 16)
                if not blocked & open_to:
                    break
                time.sleep(0.01)
            assert not blocked & open_to, hex(blocked)
            for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
                assert (blocked | open_to) >> number - 1 & 1, number
            print("worker")
        check(L.api.stream_destroy(stream))
        """,
        PHALANX_NUM_THREADS="2",
    )
    assert printed == "worker\n" * 2


def test_a_crash_in_a_worker_leaves_a_trace():
    with pytest.raises(AssertionError, match=r"status -11\s+Fatal Python error: Segmentation"):
        run(
            """
            import faulthandler
            faulthandler.enable()
            stream = L.stream()
            nowhere, here = ffi.cast("void *", 64), ffi.new("char[16]")
            places = [(ffi.NULL, at, 0) for at in (nowhere, here)]
            check(L.api.copy(L.device, stream, *places, 16))
            L.synchronize(stream)
            """
        )


def test_child_of_a_fork():
    printed = run(
        """
        stream = L.stream()
        a = np.ones(2_000_000)
        out = np.empty_like(a)
        L.launch("add", [a, a, out], stream=stream)   # starts the stream's and the pool's workers
        L.synchronize(stream)
        reached = L.event(stream)
        L.synchronize(stream)
        child = os.fork()
        if child == 0:
            code = 0
            try:
                L.launch("add", [a, out, out])        # default stream, with a pool of its own
                assert (out == 3).all()
                for call in (
                    lambda: L.launch("add", [a, a, out], stream=stream),
                    lambda: L.synchronize(stream),
                    lambda: L.event(stream),
                ):
                    try:
                        call()
                    except cpu_abi.PluginError as error:
                        assert error.code == cpu_abi.UNAVAILABLE, error
                        assert "before fork" in error.message
                    else:
                        raise AssertionError("a stream of the parent was usable")
                check(L.api.event_synchronize(reached, cpu_abi.FOREVER))
                check(L.api.event_destroy(reached))
                check(L.api.stream_destroy(stream))
                check(L.api.device_synchronize(L.device, cpu_abi.FOREVER))
                own = L.stream()
                L.launch("add", [a, out, out], stream=own)
                L.synchronize(own)
                assert (out == 4).all()
                check(L.api.stream_destroy(own))
            except BaseException:
                import traceback
                traceback.print_exc()
                code = 1
            os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        L.launch("add", [a, out, out], stream=stream)
        L.synchronize(stream)
        assert (out == 3).all()
        print("parent and child")
        """,
        PHALANX_NUM_THREADS="2",
    )
    assert printed == "parent and child\n"


def test_fork_while_streams_work():
    printed = run(
        """
        streams = [L.stream() for _ in range(3)]
        a = np.ones(300_000)
        outs = [np.empty_like(a) for _ in streams]
        for _ in range(20):
            for stream, out in zip(streams, outs):
                for _ in range(5):
                    L.launch("add", [a, a, out], stream=stream)
            child = os.fork()
            if child == 0:
                event = L.event(ffi.NULL)
                L.launch("add", [a, a, outs[0]])
                os._exit(0 if (outs[0] == 2).all() else 1)
            assert os.waitpid(child, 0)[1] == 0
        for stream in streams:
            L.synchronize(stream)
        print("ok")
        """,
        PHALANX_NUM_THREADS="2",
    )
    assert printed == "ok\n"


@pytest.mark.parametrize("leave", ["pass", "sys.exit(0)", "os._exit(0)"])
def test_exit_with_work_in_flight(leave):
    run(
        f"""
        out = ffi.new("void **")
        check(L.api.alloc(L.device, 1 << 24, 64, out))
        stream = L.stream()
        half = 1 << 23
        places = [(L.device, out[0], offset) for offset in (0, half)]
        for _ in range(2000):
            check(L.api.copy(L.device, stream, *places, half))
        event = L.event(stream)
        {leave}
        """
    )
