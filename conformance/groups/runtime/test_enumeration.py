"""Devices are listed, described truthfully, and found again by name."""

from __future__ import annotations

import os
from pathlib import Path

import phalanx as px
import pytest
from phalanx.conformance.case import Case
from phalanx.conformance.description import describe
from phalanx.driver import Capability, DeviceKind, Feature

#: The type of device of DLPack for memory of the host, kDLCPU.
_HOST = 1


def test_count_is_stable(case: Case) -> None:
    """The driver counts the same devices twice, this one among them."""
    driver = case.device.driver
    count = driver.device_count()
    assert count == driver.device_count(), f"{driver.name} counts its devices differently each time"
    assert case.device.index < count, f"{case.device} is listed, but there are {count} devices"


def test_info_is_stable(case: Case) -> None:
    """A device is described twice in the same words."""
    driver, index = case.device.driver, case.device.index
    assert driver.device_info(index) == driver.device_info(index)
    assert driver.device_info(index) == case.device.info


def test_info_is_plausible(case: Case) -> None:
    """Sizes, alignment, kind, features and identity are what the interface says."""
    info = case.device.info
    assert info.name.strip(), "the device has no name"
    assert info.name.isprintable(), f"the name has more than text in it: {info.name!r}"
    assert isinstance(info.kind, DeviceKind)
    assert info.total_memory > 0, f"total_memory is {info.total_memory}"
    assert 0 < info.max_allocation <= info.total_memory, (
        f"max_allocation {info.max_allocation} does not fit into total_memory {info.total_memory}"
    )
    assert info.alignment > 0, f"alignment is {info.alignment}"
    assert info.alignment & (info.alignment - 1) == 0, f"alignment is {info.alignment}"
    assert len(info.uuid) in (0, 16), f"the uuid has {len(info.uuid)} bytes"
    assert not int(info.features) & ~int(sum(Feature)), "unknown bits are set in features"
    assert not int(case.device.ensure_open().capabilities) & ~int(sum(Capability)), (
        "unknown capabilities"
    )


def test_place_and_size_are_this_machine_s(case: Case) -> None:
    """The NUMA node is unknown or there; a device that is the host has no more memory than it."""
    info = case.device.info
    nodes = Path("/sys/devices/system/node")
    if nodes.is_dir():
        assert info.numa_node == -1 or (nodes / f"node{info.numa_node}").is_dir(), (
            f"it stands at NUMA node {info.numa_node}, which this machine has not"
        )
    if info.kind is DeviceKind.CPU and "SC_PHYS_PAGES" in getattr(os, "sysconf_names", ()):
        host = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        assert info.total_memory <= host, f"{info.total_memory} bytes, and the host has {host}"


def test_found_by_name(case: Case) -> None:
    """``phalanx.devices`` lists it under its driver's name and its kind."""
    assert case.device in px.devices()
    assert case.device in px.devices(case.device.driver.name)
    with px.device(case.device.name) as found:
        assert found is case.device
        assert px.get_device() is case.device


def test_distinct_identities(case: Case) -> None:
    """Two devices of one driver do not have the same UUID."""
    driver = case.device.driver
    uuids = [driver.device_info(i).uuid for i in range(driver.device_count())]
    known = [u for u in uuids if any(u)]
    assert len(set(known)) == len(known), f"devices of {driver.name} share a UUID"


def test_dlpack_ids(case: Case) -> None:
    """Devices have ids of their own in DLPack, but for the host's, for memory that it addresses."""
    driver = case.device.driver
    infos = [driver.device_info(i) for i in range(driver.device_count())]
    ids = [info.dlpack_device for info in infos if info.dlpack_device is not None]
    shared = sorted({one for one in ids if ids.count(one) > 1 and one[0] != _HOST})
    assert not shared, f"devices of {driver.name} share the DLPack ids {shared}"
    for info in infos:
        if info.dlpack_device is not None and info.dlpack_device[0] == _HOST:
            assert Feature.HOST_ADDRESSABLE in info.features, (
                f"{info.name} has the DLPack id of the host, but memory of its own"
            )


def test_identity_is_that_of_other_processes(case: Case) -> None:
    """Another process finds the device with the same UUID, name and memory."""
    found = describe(case.device.name, fault=case.settings.fault)
    if not found.usable:
        pytest.skip(f"another process cannot use the device beside this one: {found.chain}")
    info = case.device.info
    here = {"uuid": info.uuid.hex(), "name": info.name, "memory": info.total_memory}
    there = {key: found.identity[key] for key in here}
    assert there == here, f"another process finds {there}, this one {here}"


def test_missing_device(case: Case) -> None:
    """A number beyond the last is an error that names the device."""
    name = f"{case.device.driver.name}:{case.device.driver.device_count() + 7}"
    with pytest.raises(px.DeviceNotFoundError, match=name.partition(":")[0]):
        px.empty(1, device=name)


def test_memory_info(case: Case) -> None:
    """Free memory is at most the total, or both are unknown."""
    free, total = case.device.ensure_open().memory_info()
    assert 0 <= free <= total, f"memory_info says {free} free of {total} bytes"


def test_open_twice(case: Case) -> None:
    """Opening an open device does nothing."""
    x = px.asarray([1, 2, 3], dtype=px.int32)
    case.device.ensure_open()
    assert px.asnumpy(x).tolist() == [1, 2, 3]
