"""Special functions, with the names that the modules ``special`` of SciPy and of PyTorch share.

``px.special.erf(x)``. All are the same on every device, bit by bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from ._warm import UnaryFunction

digamma = UnaryFunction("digamma")
erf = UnaryFunction("erf")
erfc = UnaryFunction("erfc")
lgamma = UnaryFunction("lgamma")
gammaln = lgamma  # the name in SciPy

if not TYPE_CHECKING:  # type checkers know what the module has

    def __getattr__(name: str) -> NoReturn:
        """Say what to write for a name that other libraries have."""
        from phalanx.namespace.namesakes import MissingName

        raise MissingName(name, of_array=False, module=__name__)


def __dir__() -> list[str]:
    """The public names and the module's own, not the modules behind them."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


__all__ = [
    "digamma",
    "erf",
    "erfc",
    "gammaln",
    "lgamma",
]
