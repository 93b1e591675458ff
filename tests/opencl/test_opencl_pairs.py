"""Functions of float32 where double is slow: pairs of float32 in OpenCL C, with the CPU's bits."""

from __future__ import annotations

import numpy as np
import phalanx as px
import pytest
from along_kit import in_style
from conftest import real_cpu
from exhaustive import some_of
from phalanx.conformance.reference.hard import hardest_values
from phalanx.conformance.reference.ulp import differing
from phalanx.namespace.public import public_function
from proof.pairs import FORMS


@pytest.mark.parametrize("name", some_of(FORMS, ["exp", "log1p", "sigmoid", "erfc", "tan", "atan"]))
def test_same_as_cpu(device: px.Device, name: str) -> None:
    sample = np.arange(0, 1 << 32, 65_521, dtype=np.int64).astype(np.uint32).view(np.float32)
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    with in_style(device, "slow") as found:
        for x in (np.concatenate([sample, hardest_values(name, "float32")]), halves):
            function = public_function(name)
            got, want = (
                px.asnumpy(function(px.asarray(x, device=where))) for where in (found, real_cpu())
            )
            assert not np.any(differing(got, want))
        opened = found.ensure_open()
        texts = [opened.programs.text(program) for program, _ in opened.bound]
        assert any(f"phx_{name}_f32_by_double" in text for text in texts)
