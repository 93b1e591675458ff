"""Memory that limits leave: ``kernels_cpu/src/runtime/available.c``."""

from __future__ import annotations

import ctypes
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from cpu_sort_library import HEADERS, SOURCES

NO_LIMIT = 2**64 - 1
MIB = 2**20


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    path = tmp_path_factory.mktemp("available") / "available.so"
    folders = [f"-I{folder}" for folder in (SOURCES, *HEADERS)]
    source = SOURCES / "runtime" / "available.c"
    command = ["gcc", "-O1", "-shared", "-fPIC", *folders, str(source), "-o", str(path)]
    subprocess.run(command, check=True)
    library = ctypes.CDLL(str(path))
    library.cpu_group_memory.restype = ctypes.c_uint64
    library.cpu_group_memory.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_bool]
    return library


class Groups:
    """Control groups in files, as Linux shows them."""

    def __init__(self, folder: Path, library: ctypes.CDLL) -> None:
        self.mount, self.list = folder / "mount", folder / "groups"
        self.mount.mkdir()
        self._library = library

    def make(self, path: str, **files: object) -> None:
        folder = self.mount / path
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name.replace("__", ".")).write_text(f"{text}\n")

    def limits(self, groups: str) -> tuple[int, int]:
        """Return the least limit and the least that is left."""
        self.list.write_text(groups)
        paths = str(self.list).encode(), str(self.mount).encode()
        limit, left = (
            self._library.cpu_group_memory(*paths, of_limit) for of_limit in (True, False)
        )
        return int(limit), int(left)


@pytest.fixture
def groups(tmp_path: Path, library: ctypes.CDLL) -> Groups:
    return Groups(tmp_path, library)


def test_the_second_version(groups: Groups) -> None:
    stat = f"anon 7\ninactive_file {30 * MIB}\nactive_file 9"
    groups.make("a/b", memory__max=100 * MIB, memory__current=50 * MIB, memory__stat=stat)
    assert groups.limits("0::/a/b\n") == (100 * MIB, 80 * MIB)


def test_the_first_version(groups: Groups) -> None:
    names = {"memory__limit_in_bytes": 100 * MIB, "memory__usage_in_bytes": 50 * MIB}
    stat = f"inactive_file 5\ntotal_inactive_file {10 * MIB}"
    groups.make("memory/a", **names, memory__stat=stat)
    text = "4:memory:/a\n3:cpuset:/\n1:name=systemd:/\n0::/\n"
    assert groups.limits(text) == (100 * MIB, 60 * MIB)


def test_limits_of_those_around_it(groups: Groups) -> None:
    groups.make("a/b", memory__max="max", memory__current=50 * MIB)
    groups.make("a", memory__max=200 * MIB, memory__current=190 * MIB)
    groups.make(".", memory__max=100 * MIB, memory__current=20 * MIB)
    assert groups.limits("0::/a/b\n") == (100 * MIB, 10 * MIB)


def test_a_container_sees_its_own_group_alone(groups: Groups) -> None:
    """The list has the path on the host, which is not there."""
    groups.make("memory", memory__limit_in_bytes=100 * MIB, memory__usage_in_bytes=30 * MIB)
    assert groups.limits("4:memory:/docker/0123456789abcdef\n") == (100 * MIB, 70 * MIB)


@pytest.mark.parametrize("path", ["/", "/a", "/a/"])
def test_more_used_than_allowed(groups: Groups, path: str) -> None:
    groups.make(
        path.strip("/"), memory__max=MIB, memory__current=3 * MIB, memory__stat="inactive_file 7"
    )
    assert groups.limits(f"0::{path}\n") == (MIB, 0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "0",
        "0:",
        "0::",
        "0::/",
        "0::/a\n",
        "4:memory",
        "4:memory:/a\n",
        "::::",
        "0::/" + "a/" * 4000,
    ],
)
def test_no_limit(groups: Groups, text: str) -> None:
    groups.make("a", memory__max="max", memory__current="many", memory__stat="")
    assert groups.limits(text) == (NO_LIMIT, NO_LIMIT)


def test_no_list(groups: Groups) -> None:
    paths = str(groups.list).encode(), str(groups.mount).encode()
    assert groups._library.cpu_group_memory(*paths, False) == NO_LIMIT


def test_the_address_space(tmp_path: Path) -> None:
    """A process that may have so many addresses is not told of more memory, and gets most of it."""
    limit = 4 << 30

    def begin() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    program = """
import phalanx as px
device = px.get_device().ensure_open()
before, _ = device.memory_info()
x = px.zeros(before // 2, dtype=px.uint8)
print(before, device.memory_info()[0])
"""
    command = [sys.executable, "-c", program]
    text = subprocess.run(
        command, preexec_fn=begin, check=True, capture_output=True, text=True
    ).stdout
    before, after = map(int, text.split())
    assert before < limit
    assert after <= before // 2
