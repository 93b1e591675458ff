"""An environment variable with a value that makes no sense: one message, whatever the command."""

from __future__ import annotations

import pytest

from cli.kit import phalanx


@pytest.mark.parametrize(
    "arguments",
    ["--help", "conformance", "verify x", "keygen x", "bench --list", "why cpu", "devices", "warm"],
)
def test_a_time_limit(arguments: str) -> None:
    done = phalanx(*arguments.split(), plugins="cpu", PHALANX_PLUGIN_TIMEOUT="30s")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        "Error: PHALANX_PLUGIN_TIMEOUT='30s' is not a positive number of seconds; set it to 30, "
        "for example, or unset it\n"
    )


@pytest.mark.parametrize("arguments", ["why cpu", "devices", "ops"])
def test_a_level_of_the_log(arguments: str) -> None:
    done = phalanx(*arguments.split(), PHALANX_LOG="loud")
    assert done.returncode == 2
    assert done.stderr == "Error: PHALANX_LOG='loud'; use debug, info, warning, error or critical\n"
