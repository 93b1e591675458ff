"""What a child process runs first: no entry point brings the OpenCL plugin yet."""

from __future__ import annotations

REGISTER = """
from phalanx.device_plugins.opencl import OpenCLDriver as _Driver
from phalanx.plugins import host as _host
if "opencl" not in _host().drivers():
    _host().register_driver(_Driver())
"""
