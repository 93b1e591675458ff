"""What is run of whom, how it gets to know Phalanx, and what may fail for which reason."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Suite:
    """The tests that lie in the wheel of a package.

    ``edits`` in ``file`` of the package tell it of Phalanx: what stands there once, and what stands
    there then. ``selection`` are arguments of pytest, ``variable`` is the value of
    ``SCIPY_ARRAY_API``. ``reasons`` tells by the beginning of a test's name why it fails.
    """

    package: str
    file: str
    edits: tuple[tuple[str, str], ...]
    selection: tuple[str, ...]
    variable: str
    reasons: dict[str, str] = field(default_factory=dict)


SUITES = (
    Suite(
        package="scipy",
        file="conftest.py",
        edits=(
            (
                "xp_skip_cpu_only_backends = set()\n",
                "import phalanx\n"
                "xp_known_backends.add('phalanx')\n"
                "xp_available_backends.append(\n"
                "    pytest.param(phalanx, id='phalanx', marks=pytest.mark.array_api_backends))\n"
                "xp_skip_cpu_only_backends = set()\n",
            ),
            # a tuple in the standard since 2024.12
            (
                "return xp.__array_namespace_info__().devices() + [None]",
                "return list(xp.__array_namespace_info__().devices()) + [None]",
            ),
        ),
        selection=("-m", "array_api_backends"),
        variable='["phalanx"]',
        reasons={
            "TestContainsNaN::test_array_api_lazy": "for lazy libraries, with a list of others",
            "TestVectorizedFilter::test_input_validation": "wants other words for text as a number",
            "test_standard_deviation07": "`asarray` of fractions as integers, which is refused",
            "TestLogSumExp::test_gh22601_infinite_elements": (
                "a sum of -0 is -0 here; NumPy's begins with +0"
            ),
            "test_support_alternative_backends_mismatched_dtypes": (
                "wants NumPy's dtype for integers that meet float32; here it is float32"
            ),
        },
    ),
    Suite(
        package="sklearn",
        file="utils/_array_api.py",
        edits=(
            (
                '        "numpy",\n        # Stricter',
                '        "numpy",\n        "phalanx",\n        # Stricter',
            ),
        ),
        selection=("-k", "phalanx"),
        variable="1",
    ),
)
