"""Kernels of the CUDA devices: the dialect and the compiler for the texts of all devices.

`find` gives the recipe for an op on a device.
"""

from phalanx.device_code import find, refusal

__all__ = ["find", "refusal"]
