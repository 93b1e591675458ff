"""Random numbers, the same on every device: ``Generator``, and functions with a default one.

``px.random.seed(7)`` begins the default generator anew. docs/random.md says what is promised.
"""

from typing import TYPE_CHECKING, NoReturn

from .default import DEFAULT as _DEFAULT
from .generator import Generator

bernoulli = _DEFAULT.bernoulli
beta = _DEFAULT.beta
binomial = _DEFAULT.binomial
bits = _DEFAULT.bits
choice = _DEFAULT.choice
dropout_mask = _DEFAULT.dropout_mask
exponential = _DEFAULT.exponential
gamma = _DEFAULT.gamma
get_state = _DEFAULT.get_state
integers = _DEFAULT.integers
multivariate_normal = _DEFAULT.multivariate_normal
normal = _DEFAULT.normal
permutation = _DEFAULT.permutation
poisson = _DEFAULT.poisson
seed = _DEFAULT.seed
set_state = _DEFAULT.set_state
shuffle = _DEFAULT.shuffle
split = _DEFAULT.split
standard_t = _DEFAULT.standard_t
uniform = _DEFAULT.uniform

if not TYPE_CHECKING:  # type checkers know what the module has

    def __getattr__(name: str) -> NoReturn:
        """Say what to write for a name that other libraries have."""
        from phalanx.namespace.namesakes import MissingName

        raise MissingName(name, of_array=False, module=__name__)


def __dir__() -> list[str]:
    """The public names and the module's own, not the modules behind them."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


__all__ = [
    "Generator",
    "bernoulli",
    "beta",
    "binomial",
    "bits",
    "choice",
    "dropout_mask",
    "exponential",
    "gamma",
    "get_state",
    "integers",
    "multivariate_normal",
    "normal",
    "permutation",
    "poisson",
    "seed",
    "set_state",
    "shuffle",
    "split",
    "standard_t",
    "uniform",
]
