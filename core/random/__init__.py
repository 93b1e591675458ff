"""Random numbers, the same on every device: ``Generator``, and functions with a default one.

``px.random.seed(7)`` begins the default generator anew. docs/random.md says what is promised.
"""

from .default import DEFAULT as _DEFAULT
from .generator import Generator

bernoulli = _DEFAULT.bernoulli
bits = _DEFAULT.bits
choice = _DEFAULT.choice
dropout_mask = _DEFAULT.dropout_mask
exponential = _DEFAULT.exponential
get_state = _DEFAULT.get_state
integers = _DEFAULT.integers
normal = _DEFAULT.normal
permutation = _DEFAULT.permutation
seed = _DEFAULT.seed
set_state = _DEFAULT.set_state
shuffle = _DEFAULT.shuffle
split = _DEFAULT.split
uniform = _DEFAULT.uniform

__all__ = [
    "Generator",
    "bernoulli",
    "bits",
    "choice",
    "dropout_mask",
    "exponential",
    "get_state",
    "integers",
    "normal",
    "permutation",
    "seed",
    "set_state",
    "shuffle",
    "split",
    "uniform",
]
