"""Devices by name on a machine of known devices, and environment variables."""

from __future__ import annotations

import phalanx as px

from .kit import Mistake

MISTAKES = (
    Mistake(
        'px.set_device("gpu:2")',
        px.DeviceNotFoundError,
        "no device 'gpu:2': only 2 of kind 'gpu' were found\n"
        "  found: cpu:0 (A CPU), acme:0 (Acme One), acme:1 (Acme Two)\n"
        "  broken:0: its fan does not turn; clean it\n"
        "  cuda (this process): there is no NVIDIA driver; install it\n"
        "  `phalanx why gpu:2` shows every step",
    ),
    Mistake(
        'px.set_device("cpu:7")',
        px.DeviceNotFoundError,
        "no device 'cpu:7': driver 'cpu' has 1 device, 'cpu:0'\n"
        "  found: cpu:0 (A CPU), acme:0 (Acme One), acme:1 (Acme Two)\n"
        "  broken:0: its fan does not turn; clean it\n"
        "  cuda (this process): there is no NVIDIA driver; install it\n"
        "  `phalanx why cpu:7` shows every step",
    ),
    Mistake(
        'px.set_device("acme:2")',
        px.DeviceNotFoundError,
        "no device 'acme:2': driver 'acme' has 2 devices, numbered from 0 to 1\n"
        "  found: cpu:0 (A CPU), acme:0 (Acme One), acme:1 (Acme Two)\n"
        "  broken:0: its fan does not turn; clean it\n"
        "  cuda (this process): there is no NVIDIA driver; install it\n"
        "  `phalanx why acme:2` shows every step",
    ),
    Mistake(
        'px.set_device("CPU:0")',
        px.DeviceNotFoundError,
        "'CPU:0' is not a device name: a device is named 'driver' or 'driver:number', for "
        "example 'cpu:0' or 'gpu:1'; did you mean 'cpu:0'?",
    ),
    Mistake(
        'px.set_device("cpu:-1")',
        px.DeviceNotFoundError,
        "'cpu:-1' is not a device name: a device is named 'driver' or 'driver:number', for "
        "example 'cpu:0' or 'gpu:1'; numbers are 0, 1, 2, ...",
    ),
    Mistake(
        'px.set_device("cpu:")',
        px.DeviceNotFoundError,
        "'cpu:' is not a device name: a device is named 'driver' or 'driver:number', for "
        "example 'cpu:0' or 'gpu:1'; numbers are 0, 1, 2, ...",
    ),
    Mistake(
        'px.set_device("")',
        px.DeviceNotFoundError,
        "'' is not a device name: a device is named 'driver' or 'driver:number', for example "
        "'cpu:0' or 'gpu:1'",
    ),
    Mistake(
        "px.set_device(0)",
        TypeError,
        "a device is a string such as 'cpu:0' or a Device, not 0; say of which kind, as in 'gpu:0'",
    ),
    Mistake(
        "px.set_device(None)",
        TypeError,
        "a device is a string such as 'cpu:0' or a Device, not None; phalanx.get_device() "
        "returns the current one",
    ),
    Mistake(
        'px.set_device("cuda:0")',
        px.DeviceNotFoundError,
        "no device 'cuda:0': driver 'cuda' has no devices: there is no NVIDIA driver; "
        "install it\n"
        "  found: cpu:0 (A CPU), acme:0 (Acme One), acme:1 (Acme Two)\n"
        "  broken:0: its fan does not turn; clean it\n"
        "  `phalanx why cuda:0` shows every step",
    ),
    Mistake(
        'px.set_device("cuda")',
        px.DeviceNotFoundError,
        "no device 'cuda:0': driver 'cuda' has no devices: there is no NVIDIA driver; "
        "install it\n"
        "  found: cpu:0 (A CPU), acme:0 (Acme One), acme:1 (Acme Two)\n"
        "  broken:0: its fan does not turn; clean it\n"
        "  `phalanx why cuda:0` shows every step",
    ),
    Mistake(
        'px.set_device("tpu:0")',
        px.DeviceNotFoundError,
        "no device 'tpu:0': no installed plugin offers a driver 'tpu'; install the package "
        "of its vendor, which announces itself as 'phalanx.plugins'\n"
        "  found: cpu:0 (A CPU), acme:0 (Acme One), acme:1 (Acme Two)\n"
        "  broken:0: its fan does not turn; clean it\n"
        "  cuda (this process): there is no NVIDIA driver; install it\n"
        "  did you mean 'gpu:0'?\n"
        "  `phalanx why tpu:0` shows every step",
    ),
    Mistake(
        'px.set_device("acem:1")',
        px.DeviceNotFoundError,
        "no device 'acem:1': no installed plugin offers a driver 'acem'; install the package "
        "of its vendor, which announces itself as 'phalanx.plugins'\n"
        "  found: cpu:0 (A CPU), acme:0 (Acme One), acme:1 (Acme Two)\n"
        "  broken:0: its fan does not turn; clean it\n"
        "  cuda (this process): there is no NVIDIA driver; install it\n"
        "  did you mean 'acme:1'?\n"
        "  `phalanx why acem:1` shows every step",
    ),
    Mistake(
        'px.set_device("numpy")',
        px.DeviceNotFoundError,
        "no device 'numpy:0': no installed plugin offers a driver 'numpy'; install the "
        "package of its vendor, which announces itself as 'phalanx.plugins'\n"
        "  found: cpu:0 (A CPU), acme:0 (Acme One), acme:1 (Acme Two)\n"
        "  broken:0: its fan does not turn; clean it\n"
        "  cuda (this process): there is no NVIDIA driver; install it\n"
        "  `phalanx why numpy:0` shows every step",
    ),
    Mistake(
        'with px.device("cpu:9"): pass',
        px.DeviceNotFoundError,
        "no device 'cpu:9': driver 'cpu' has 1 device, 'cpu:0'\n"
        "  found: cpu:0 (A CPU), acme:0 (Acme One), acme:1 (Acme Two)\n"
        "  broken:0: its fan does not turn; clean it\n"
        "  cuda (this process): there is no NVIDIA driver; install it\n"
        "  `phalanx why cpu:9` shows every step",
    ),
    Mistake(
        'px.devices("cpu:0")',
        px.DeviceNotFoundError,
        "a driver or a kind such as 'cpu' has devices, and 'cpu:0' is one of them; leave the "
        "number out",
    ),
    Mistake(
        'px.device_count("gpu:0")',
        px.DeviceNotFoundError,
        "a driver or a kind such as 'gpu' has devices, and 'gpu:0' is one of them; leave the "
        "number out",
    ),
    Mistake(
        "px.devices(0)",
        TypeError,
        "a device is a string such as 'cpu:0' or a Device, not 0; say of which kind, as in 'gpu:0'",
    ),
    Mistake(
        'px.is_available("GPU")',
        px.DeviceNotFoundError,
        "'GPU' is not a device name: a device is named 'driver' or 'driver:number', for "
        "example 'cpu:0' or 'gpu:1'; did you mean 'gpu'?",
    ),
    Mistake(
        'px.why("gpu!")',
        px.DeviceNotFoundError,
        "'gpu!' is not a device name: a device is named 'driver' or 'driver:number', for "
        "example 'cpu:0' or 'gpu:1'",
    ),
    Mistake(
        'px.zeros(3, device="metal")',
        px.DeviceNotFoundError,
        "no device 'metal:0': no installed plugin offers a driver 'metal'; install the "
        "package of its vendor, which announces itself as 'phalanx.plugins'\n"
        "  found: cpu:0 (A CPU), acme:0 (Acme One), acme:1 (Acme Two)\n"
        "  broken:0: its fan does not turn; clean it\n"
        "  cuda (this process): there is no NVIDIA driver; install it\n"
        "  `phalanx why metal:0` shows every step",
    ),
    Mistake(
        'px.Stream("cpu:9")',
        px.DeviceNotFoundError,
        "no device 'cpu:9': driver 'cpu' has 1 device, 'cpu:0'\n"
        "  found: cpu:0 (A CPU), acme:0 (Acme One), acme:1 (Acme Two)\n"
        "  broken:0: its fan does not turn; clean it\n"
        "  cuda (this process): there is no NVIDIA driver; install it\n"
        "  `phalanx why cpu:9` shows every step",
    ),
    Mistake(
        'px.memory_stats("broken:0")',
        px.DeviceNotFoundError,
        "no device 'broken:0': its fan does not turn; clean it\n"
        "  found: cpu:0 (A CPU), acme:0 (Acme One), acme:1 (Acme Two)\n"
        "  cuda (this process): there is no NVIDIA driver; install it\n"
        "  `phalanx why broken:0` shows every step",
    ),
)

#: A variable, and the mistake that it makes.
OF_VARIABLES = (
    (
        "PHALANX_DEVICE=gpu:9",
        Mistake(
            "px.get_device()",
            px.DeviceNotFoundError,
            "PHALANX_DEVICE='gpu:9': no device 'gpu:9': only 2 of kind 'gpu' were found\n"
            "  found: cpu:0 (A CPU), acme:0 (Acme One), acme:1 (Acme Two)\n"
            "  broken:0: its fan does not turn; clean it\n"
            "  cuda (this process): there is no NVIDIA driver; install it\n"
            "  `phalanx why gpu:9` shows every step",
        ),
    ),
    (
        "PHALANX_DEVICE=CPU",
        Mistake(
            "px.zeros(3)",
            px.DeviceNotFoundError,
            "PHALANX_DEVICE='CPU': 'CPU' is not a device name: a device is named 'driver' or "
            "'driver:number', for example 'cpu:0' or 'gpu:1'; did you mean 'cpu'?",
        ),
    ),
    (
        "PHALANX_GPU=cuda:0",
        Mistake(
            'px.set_device("gpu")',
            px.DeviceNotFoundError,
            "PHALANX_GPU='cuda:0' does not say what 'gpu' means: no device 'cuda:0': driver "
            "'cuda' has no devices: there is no NVIDIA driver; install it\n"
            "  found: cpu:0 (A CPU), acme:0 (Acme One), acme:1 (Acme Two)\n"
            "  broken:0: its fan does not turn; clean it\n"
            "  `phalanx why cuda:0` shows every step",
        ),
    ),
    (
        "PHALANX_GPU=gpu:1",
        Mistake(
            'px.set_device("gpu")',
            px.DeviceNotFoundError,
            "PHALANX_GPU='gpu:1' does not say what 'gpu' means: 'gpu:1' is an alias; name a "
            "driver's device, like 'cpu:0'",
        ),
    ),
    (
        "PHALANX_GPU=acme:0",
        Mistake(
            'px.set_device("gpu:1")',
            px.DeviceNotFoundError,
            "no device 'gpu:1': PHALANX_GPU='acme:0' names 1 of them\n"
            "  found: cpu:0 (A CPU), acme:0 (Acme One), acme:1 (Acme Two)\n"
            "  broken:0: its fan does not turn; clean it\n"
            "  cuda (this process): there is no NVIDIA driver; install it\n"
            "  `phalanx why gpu:1` shows every step",
        ),
    ),
)
