"""Networks: the functions of ``torch.nn.functional`` with their names, arguments and defaults.

``px.nn.relu(x)``. They are made of the ops of the table in an order that each states, so the bits
are the same on every device. docs/nn.md says what differs from PyTorch.
"""

from typing import TYPE_CHECKING, NoReturn

from phalanx.special import digamma, erf, erfc, lgamma

from .activations import elu, gelu, leaky_relu, relu, sigmoid, silu, softplus
from .classes import embedding, one_hot
from .convolution import conv1d, conv2d
from .losses import cross_entropy, mse_loss, nll_loss
from .normalisation import layer_norm, log_softmax, logsumexp, normalize, rms_norm, softmax
from .pooling import avg_pool1d, avg_pool2d, max_pool1d, max_pool2d
from .products import linear, scaled_dot_product_attention
from .ranking import topk
from .regularisation import dropout
from .windows import unfold

if not TYPE_CHECKING:  # type checkers know what the module has

    def __getattr__(name: str) -> NoReturn:
        """Say what to write for a name that other libraries have."""
        from phalanx.namespace.namesakes import MissingName

        raise MissingName(name, of_array=False, module=__name__)


def __dir__() -> list[str]:
    """The public names and the module's own, not the modules behind them."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


__all__ = [
    "avg_pool1d",
    "avg_pool2d",
    "conv1d",
    "conv2d",
    "cross_entropy",
    "digamma",
    "dropout",
    "elu",
    "embedding",
    "erf",
    "erfc",
    "gelu",
    "layer_norm",
    "leaky_relu",
    "lgamma",
    "linear",
    "log_softmax",
    "logsumexp",
    "max_pool1d",
    "max_pool2d",
    "mse_loss",
    "nll_loss",
    "normalize",
    "one_hot",
    "relu",
    "rms_norm",
    "scaled_dot_product_attention",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "topk",
    "unfold",
]
