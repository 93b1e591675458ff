"""Prints the devices that can be opened and what a program must know of them, as JSON."""

from __future__ import annotations

import json

import phalanx as px
from phalanx import Kernel
from phalanx._warm import DTYPES
from phalanx.dispatch.registry import find_kernel


def main() -> None:
    """Print name, dtypes, whether the host reaches the memory, whether calls are inline."""
    found = []
    for device in px.devices():
        try:
            device.ensure_open()
        except px.PhalanxError:
            continue
        usable = [
            d.name
            for d in DTYPES
            if isinstance(find_kernel(device, "copy", (d.name, d.name)), Kernel)
        ]
        found.append([device.name, usable, device.host_addressable, device.synchronous])
    print(json.dumps(found))


if __name__ == "__main__":
    main()
