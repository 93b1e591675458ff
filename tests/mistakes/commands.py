"""The command line, on the machine of ``devices``: arguments, exit status, and what is printed."""

from __future__ import annotations

_FOUND = "  found: cpu:0 (A CPU), acme:0 (Acme One), acme:1 (Acme Two)\n"
_ABSENT = (
    "  broken:0: its fan does not turn; clean it\n"
    "  cuda (this process): there is no NVIDIA driver; install it\n"
)

MISTAKES = (
    (
        "devicess",
        2,
        "Usage: phalanx [OPTIONS] COMMAND [ARGS]...\n"
        "Try 'phalanx --help' for help.\n\n"
        "Error: No such command 'devicess'. Did you mean 'devices'?\n",
    ),
    (
        "devices extra",
        1,
        "No device of 'extra' was found.\n\n`phalanx why extra` shows every step.\n",
    ),
    (
        "devices cpu:0",
        2,
        "Error: a driver or a kind such as 'cpu' has devices, and 'cpu:0' is one of them; leave "
        "the number out\n",
    ),
    (
        "why GPU:0",
        2,
        "Error: 'GPU:0' is not a device name: a device is named 'driver' or 'driver:number', for "
        "example 'cpu:0' or 'gpu:1'; did you mean 'gpu:0'?\n",
    ),
    (
        "why 0",
        2,
        "Error: '0' is not a device name: a device is named 'driver' or 'driver:number', for "
        "example 'cpu:0' or 'gpu:1'\n",
    ),
    (
        "ops --device cpu:9",
        2,
        "Error: no device 'cpu:9': driver 'cpu' has 1 device, 'cpu:0'\n"
        + _FOUND
        + _ABSENT
        + "  `phalanx why cpu:9` shows every step\n",
    ),
    (
        "warm --device tpu",
        2,
        "Error: no device 'tpu:0': no installed plugin offers a driver 'tpu'; install the package "
        "of its vendor, which announces itself as 'phalanx.plugins'\n"
        + _FOUND
        + _ABSENT
        + "  did you mean 'gpu:0'?\n"
        "  `phalanx why tpu:0` shows every step\n",
    ),
    ("kernels --op exq", 2, "Error: no op 'exq' in the op table; did you mean exp?\n"),
    (
        "kernels --device acme",
        1,
        "Error: acme:0 has no such kernel; `phalanx ops --device acme:0` shows more\n",
    ),
)

#: A variable, the check of ``phalanx doctor`` that it fails, and the detail and remedy there.
OF_DOCTOR = (
    (
        "PHALANX_DEVICE=gpu:0",
        "default device",
        "PHALANX_DEVICE='gpu:0': no device 'gpu:0': no plugin has a device of kind 'gpu'; "
        "PHALANX_GPU=cpu:0, for example, lets another device stand for it",
        "`phalanx why gpu:0` shows every step",
    ),
    (
        "PHALANX_DEVISE=cpu:0",
        "variables",
        "nothing reads PHALANX_DEVISE",
        "did you mean PHALANX_DEVICE?",
    ),
    ("PHALANX_FALLBACK=never", "variables", "PHALANX_FALLBACK='never'", "use error, warn or allow"),
    (
        "PHALANX_PLUGIN_TIMEOUT=soon",
        "variables",
        "PHALANX_PLUGIN_TIMEOUT='soon' is not a positive number of seconds",
        "set it to 30, for example, or unset it",
    ),
)
