"""Pickling arrays, and where they come to lie when they are unpickled."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from phalanx._warm import Array, Device, dtype_from_name, empty
from phalanx.errors import DeviceNotFoundError

from .transfer import copy_from_host, read_bytes

#: Devices by the names that pickles have, or one for all of them.
_locations: ContextVar[Mapping[str, Device] | Device | None] = ContextVar("locations", default=None)


@contextmanager
def map_location(location: str | Device | Mapping[str, str | Device]) -> Iterator[None]:
    """Let arrays that are unpickled inside the ``with`` come to lie on other devices.

    Without it they come to lie where they were. A device stands for all; a dict names some, from
    the names of the devices that the arrays were on. For the thread or task that enters it.

    Raises:
        DeviceNotFoundError: no such device.

    Examples:
        >>> import pickle
        >>> saved = pickle.dumps(px.arange(3))
        >>> with px.map_location("cpu:0"):
        ...     print(pickle.loads(saved).device)
        cpu:0
    """
    from phalanx.discovery.devices import find_device

    if isinstance(location, Mapping):
        found: Any = {name: find_device(device) for name, device in location.items()}
    else:
        found = find_device(location)
    token = _locations.set(found)
    try:
        yield
    finally:
        _locations.reset(token)


def reduce_array(x: Array) -> tuple[Any, ...]:
    """Pickle support: bytes, shape, dtype and the name of the device."""
    return rebuild, (read_bytes(x), x.shape, x.dtype.name, x.device.name)


def rebuild(data: bytes, shape: tuple[int, ...], dtype: str, device: str) -> Array:
    """Return the array that ``reduce_array`` took apart.

    Raises:
        DeviceNotFoundError: the device is not there, and nothing says what else to take.
        ValueError: as many bytes as the array does not have.
    """
    made = dtype_from_name(dtype)
    wanted = math.prod(shape) * made.itemsize
    if len(data) != wanted:
        raise ValueError(
            f"the pickle of an array of {dtype} and shape {shape} has {len(data)} bytes of "
            f"elements for {wanted}: it is damaged"
        )
    result = empty(shape, made, _located(device))
    if data:
        room = ctypes.create_string_buffer(data, len(data))
        copy_from_host(result, ctypes.addressof(room), room)
    return result


def _located(name: str) -> Device:
    """Return the device for an array that was on the one of this name."""
    from phalanx.discovery.devices import find_device

    locations = _locations.get()
    if isinstance(locations, Device):
        return locations
    if locations is not None and name in locations:
        return locations[name]
    try:
        return find_device(name)
    except DeviceNotFoundError as error:
        raise DeviceNotFoundError(
            f"an array was pickled on {name}, which is not there",
            remedy=f'inside `with phalanx.map_location({{"{name}": "cpu:0"}})` it comes to lie '
            f"elsewhere, and `phalanx why {name}` says what is missing",
        ) from error
