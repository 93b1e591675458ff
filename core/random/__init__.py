"""Random numbers, the same on every device: ``Generator``, and functions with a default one.

``px.random.seed(7)`` begins the default generator anew. docs/random.md says what is promised.
"""

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
