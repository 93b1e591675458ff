"""The rows of the op table that are functions of networks; `activations` has their public forms."""

from phalanx._warm import UnaryFunction

gelu = UnaryFunction("gelu")
sigmoid = UnaryFunction("sigmoid")
silu = UnaryFunction("silu")
softplus = UnaryFunction("softplus")
