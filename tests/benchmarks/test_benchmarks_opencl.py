"""``phalanx bench`` on OpenCL devices: the peers compute what they should; no time is judged."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import phalanx as px
import pytest
from click.testing import CliRunner, Result
from phalanx.benchmarks import bars, command, opencl_peers, report, results, suites
from phalanx.benchmarks.measure import TOLERANCE, Plan, Timing, prepare
from phalanx.benchmarks.opencl_peers import ARRAY, HAND_WRITTEN, HandWrittenPeer, PyopenclArrayPeer
from phalanx.benchmarks.opencl_workloads import OPENCL_WORKLOADS
from phalanx.benchmarks.results import Case, Outcome, Run
from phalanx.benchmarks.workloads import Workload
from rich.console import Console

BY_NAME = {work.name: work for work in OPENCL_WORKLOADS}
COUNT = px.device_count("opencl")
#: What pyopencl.array computes; the rest it lacks.
IN_PYOPENCL_ARRAY = {"launch add", "add", "copy", "exp", "sum", "cumulative sum"}


@pytest.fixture(params=range(max(1, COUNT)), ids="opencl:{}".format)
def opencl(request: pytest.FixtureRequest) -> px.Device:
    if not COUNT:
        pytest.skip(str(px.why("opencl:0")))
    return px.devices("opencl")[request.param]


def small(work: Workload) -> int:
    if work.limits == (1, 1):
        return 1
    return 48 if work.is_matrix else 17 * 1024


def check(work: Workload, peer: Any, size: int) -> None:
    operands = work.operands(size, np.random.default_rng(3))
    want = prepare(work, results.NumpyPeer(), operands, float).once()
    entry = prepare(work, peer, operands, float)
    with peer.scope():
        for _ in range(2):  # the second time as planned at the first
            got = peer.to_numpy(entry.once())
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got, want, *TOLERANCE)
    peer.release()


@pytest.mark.parametrize("work", OPENCL_WORKLOADS, ids=lambda work: work.name)
class TestPeers:
    @pytest.mark.parametrize("is_cpu", [True, False], ids=["for CPUs", "for GPUs"])
    def test_hand_written(self, opencl: px.Device, work: Workload, is_cpu: bool) -> None:
        peer = HandWrittenPeer(opencl, is_cpu=is_cpu)
        check(work, peer, small(work))
        if work.name in ("add", "strided add", "exp", "copy", "sum", "cumulative sum", "sort"):
            check(work, peer, 4099)  # no multiple of a vector, chunk or group

    def test_pyopencl_array(self, opencl: px.Device, work: Workload) -> None:
        if work.name in ("sum", "cumulative sum"):
            pytest.importorskip("mako")
        peer = PyopenclArrayPeer(opencl)
        if work.name in IN_PYOPENCL_ARRAY:
            check(work, peer, small(work))
        else:
            with pytest.raises(NotImplementedError):
                check(work, peer, small(work))


def test_an_op_that_needs_mako_is_unsupported_without(
    opencl: px.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mako", None)
    with pytest.raises(NotImplementedError, match="pip install mako"):
        PyopenclArrayPeer(opencl).xp.sum(None)


def run_of(**seconds: Any) -> Run:
    """A run of opencl:0 with times by workload: own, pyopencl.array's, the hand-written's."""
    names = ("opencl:0", ARRAY, HAND_WRITTEN)
    cases = []
    for place, times in seconds.items():
        name, _, size = place.rpartition("_")
        outcomes = {
            who: Outcome("ok", timing=Timing(1, (t, t)))
            if t
            else Outcome("unsupported", "lacks it")
            for who, t in zip(names, times, strict=True)
        }
        work = BY_NAME[name.replace("_", " ")]
        cases.append(
            Case(work.name, int(size), work.elements(int(size)), work.expression, outcomes)
        )
    peers = {ARRAY: {"version": "1"}, HAND_WRITTEN: {"version": "1"}}
    return Run({"opencl:0": {"kind": "gpu"}}, peers, cases=cases, suite="opencl")


class TestReport:
    def test_bars(self) -> None:
        run = run_of(
            launch_add_1=(2.0, 1.9, 0.1),
            add_32768=(9.0, 1.0, 1.0),
            sum_65536=(1.0, 0.1, 0.96),
            sort_16777216=(1.0, None, 0.9),
            matmul_2048=(1.0, None, 2.9),
        )
        launch, each, matmul = bars.judge(run)
        assert (launch.is_met, launch.got) == (False, 0.95)
        assert (each.is_met, each.missed) == (False, (("sort", 2**24),))
        assert (matmul.is_met, matmul.got) == (False, 2.9)

    def test_the_table_fits_and_marks_the_peer_of_the_bar(self) -> None:
        run = run_of(launch_add_1=(2e-6, 1.9e-6, 1e-6), cumulative_sum_1048576=(2e-4, None, 1e-4))
        console = Console(file=io.StringIO(), width=80, highlight=False)
        report.show([run], console)
        text = console.file.getvalue()
        lines = text.splitlines()
        assert max(map(len, lines)) <= 80
        assert "…" not in text
        assert next(line for line in lines if "launch add" in line).split()[-3:] == [
            "!",
            "0.95",
            "0.50",
        ]
        assert next(line for line in lines if "cumulative" in line).split()[-2:] == ["!", "0.50"]

    def test_json_of_several_runs(self) -> None:
        first, second = Run({}, {}), run_of(add_65536=(1.0, 2.0, 3.0))
        data = json.loads(json.dumps(first.to_dict() | {"further": [second.to_dict()]}))
        assert results.runs_from_dict(data) == [first, second]
        assert results.runs_from_dict(first.to_dict()) == [first]
        for damaged in (3, [None], [{}]):
            with pytest.raises(ValueError, match="phalanx bench --json"):
                results.runs_from_dict(data | {"further": damaged})


def bench(*args: str) -> Result:
    return CliRunner().invoke(command.bench, args, catch_exceptions=False)


class TestSuites:
    """Which devices meet whom."""

    def chosen(self, *names: str, peers: tuple[str, ...] = ()) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for suite in suites.choose_suites(names, peers):
            for device in suite.devices:
                found.setdefault(device.name, []).extend(suite.peers)
        return found

    def test_named_devices_and_peers(self, opencl: px.Device, fake: px.Device) -> None:
        own, host = [ARRAY, HAND_WRITTEN], ["numpy", "torch"]
        assert self.chosen(opencl.name) == {opencl.name: own}
        assert self.chosen("fake:0", opencl.name) == {"fake:0": host, opencl.name: own}
        assert self.chosen(opencl.name, peers=("numpy",)) == {opencl.name: ["numpy"]}
        assert self.chosen(opencl.name, "fake:0", peers=(HAND_WRITTEN,)) == {
            opencl.name: [HAND_WRITTEN]
        }

    def test_by_default_the_current_device_and_all_of_opencl(self, fake: px.Device) -> None:
        found = self.chosen()
        assert list(found) == ["fake:0", *(d.name for d in px.devices("opencl"))]
        assert self.chosen(peers=("numpy",)) == {"fake:0": ["numpy"]}

    def test_no_opencl_device_is_told(
        self, fake: px.Device, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        module = sys.modules["phalanx.discovery.devices"]  # the name itself is also a function's
        monkeypatch.setattr(module, "devices", lambda kind: ())
        (host,) = suites.choose_suites([], [])
        assert set(host.missing) == {ARRAY, HAND_WRITTEN}
        monkeypatch.setitem(sys.modules, "pyopencl", None)
        assert 'pip install "phalanx[opencl]"' in opencl_peers.why_none()
        done = bench("--quick", "--repeats", "2", "-k", "dispatch add")
        assert done.exit_code == 0, done.output
        assert f"{HAND_WRITTEN} is missing" in done.output
        done = bench("--quick", "--peer", HAND_WRITTEN)
        assert done.exit_code == 2
        assert 'pip install "phalanx[opencl]"' in " ".join(done.output.split())

    def test_opencl_peers_of_another_device_are_wrong_usage(self, fake: px.Device) -> None:
        done = bench("--quick", "-d", "fake:0", "--peer", HAND_WRITTEN)
        assert done.exit_code == 2
        assert "own devices only" in " ".join(done.output.replace("│", " ").split())


class TestCommand:
    def test_a_table_per_device(
        self, opencl: px.Device, fake: px.Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(command, "_QUICK", Plan(2, 2, 1e-6, 0.01, attempts=1))
        path = tmp_path / "run.json"
        args = ("--quick", "-d", "fake:0", "-d", opencl.name, "-k", "add", "--size", "2^12")
        done = bench(*args, "--size", "1", "--json", str(path))
        assert done.exit_code == 0, done.output
        assert done.output.index("Speed of fake:0") < done.output.index(f"Speed of {opencl.name}")
        data = json.loads(path.read_text())
        assert list(data["devices"]) == ["fake:0"]
        (own,) = data["further"]
        assert list(own["devices"]) == [opencl.name]
        assert list(own["peers"]) == [ARRAY, HAND_WRITTEN]
        got = {case["workload"]: case["outcomes"] for case in own["cases"]}
        assert list(got) == ["launch add", "add", "strided add", "broadcast add"]
        for workload, outcomes in got.items():
            assert outcomes[opencl.name]["status"] == outcomes[HAND_WRITTEN]["status"] == "ok"
            there = workload in IN_PYOPENCL_ARRAY
            assert outcomes[ARRAY]["status"] == ("ok" if there else "unsupported")
        assert {bar["bar"] for bar in own["bars"]} == {"launch of a + b"}
        again = bench("--quick", "-d", opencl.name, "-k", "launch", "--compare", str(path))
        assert again.exit_code == 0, again.output
        assert f"{opencl.name} against the run of" in again.output

    def test_without_pyopencl_the_peers_are_missing(
        self, opencl: px.Device, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def absent(device: px.Device) -> Any:
            raise ImportError("No module named 'pyopencl'")

        for name in (ARRAY, HAND_WRITTEN):
            monkeypatch.setitem(opencl_peers.OPENCL_PEERS, name, absent)
        args = ("--quick", "--repeats", "2", "-d", opencl.name, "-k", "launch")
        done = bench(*args)
        assert done.exit_code == 0, done.output
        assert f"{HAND_WRITTEN} is missing: No module named 'pyopencl'" in done.output
        assert bench(*args, "--peer", HAND_WRITTEN).exit_code == 2
