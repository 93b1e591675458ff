"""Streams and the process: fork, its end, and a Python without the GIL; each in a child process."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.needs_cpu


def run(code: str) -> str:
    """Run a program on the CPU and return what it printed; it must end well."""
    result = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PHALANX_PLUGINS": "cpu"},
    )
    assert result.returncode == 0, f"exit status {result.returncode}\n{result.stderr}"
    return result.stdout


def test_a_child_has_what_streams_were_computing() -> None:
    printed = run(
        """
        import os
        import phalanx as px
        stream = px.Stream("cpu:0")
        with stream:
            x = px.ones((500, 500))
            for _ in range(6):
                x = x @ x * 0.002
            y = x + 1.0
        child = os.fork()
        if not child:
            try:
                assert float(px.min(y)) == float(px.max(y)) == 2.0
                assert float(px.sum(px.ones(1000) * 2.0)) == 2000.0
                try:
                    with stream:
                        pass
                except px.ClosedError as error:
                    assert "forked" in str(error), error
                else:
                    raise AssertionError("the parent's stream works in the child")
                with px.Stream("cpu:0") as own:
                    z = y * 2.0
                assert float(z[0, 0]) == 4.0
                own.close()
                px.empty_cache()
            except BaseException:
                import traceback
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert float(y[0, 0]) == 2.0
        stream.close()
        print("both")
        """
    )
    assert printed == "both\n"


def test_children_of_a_process_whose_threads_launch() -> None:
    printed = run(
        """
        import os, threading
        import phalanx as px
        px.synchronize()
        done = threading.Event()
        def work():
            stream = px.Stream("cpu:0")
            while not done.is_set():
                with stream:
                    x = px.ones(5000) + 1.0
                y = x * 2.0
                px.fallback_report()
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        whole = px.ones(1000)
        for _ in range(12):
            child = os.fork()
            if not child:
                ok = float(px.sum(whole + 1.0)) == 2000.0
                px.fallback_report()
                with px.Stream("cpu:0"):
                    ok = ok and float(px.sum(whole + 2.0)) == 3000.0
                os._exit(0 if ok else 1)
            assert os.waitpid(child, 0)[1] == 0
        done.set()
        for thread in threads:
            thread.join()
        print("all")
        """
    )
    assert printed == "all\n"


def test_the_end_of_the_process_waits_for_borrowed_memory() -> None:
    run(
        """
        import numpy as np
        import phalanx as px
        stream = px.Stream("cpu:0")
        data = np.ones((600, 600))
        x = px.asarray(data, copy=False)
        with stream:
            for _ in range(20):
                y = x @ x
        del data, x
        """
    )


def test_a_capsule_that_outlives_the_interpreter() -> None:
    """Its deleter then does nothing: the array went with the interpreter."""
    run(
        """
        import ctypes
        import phalanx as px
        capsule = px.ones(10).__dlpack__()
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        managed = get(capsule, b"dltensor")
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(capsule))
        """
    )


def test_python_without_the_gil_is_refused() -> None:
    printed = run(
        """
        import sys
        sys._is_gil_enabled = lambda: False
        try:
            import phalanx._warm
        except ImportError as error:
            print(error)
        """
    )
    assert "needs the GIL" in printed
    assert "PYTHON_GIL" in printed
