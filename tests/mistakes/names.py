"""Names that NumPy, CuPy and PyTorch have, and misspelt ones."""

from __future__ import annotations

from .kit import Mistake

MISTAKES = (
    Mistake(
        "px.array([1, 2])",
        AttributeError,
        "module 'phalanx' has no attribute 'array'; write phalanx.asarray",
    ),
    Mistake(
        "px.random.rand(2, 3)",
        AttributeError,
        "module 'phalanx.random' has no attribute 'rand'; "
        "write phalanx.random.uniform(size=(2, 3))",
    ),
    Mistake(
        "px.random.default_rng(3)",
        AttributeError,
        "module 'phalanx.random' has no attribute 'default_rng'; "
        "write phalanx.random.Generator(seed)",
    ),
    Mistake(
        "px.random.laplace(size=3)",
        AttributeError,
        "module 'phalanx.random' has no attribute 'laplace'; NumPy has it, on the host: "
        "phalanx.asarray(numpy.random.default_rng(seed).laplace(...))",
    ),
    Mistake(
        "px.random.unifrom(size=3)",
        AttributeError,
        "module 'phalanx.random' has no attribute 'unifrom'; did you mean phalanx.random.uniform?",
    ),
    Mistake(
        "px.special.jv(0, x)",
        AttributeError,
        "module 'phalanx.special' has no attribute 'jv'; SciPy has it, on the host: "
        "scipy.special.jv(phalanx.asnumpy(x))",
    ),
    Mistake(
        "px.layer_norm(x, 3)",
        AttributeError,
        "module 'phalanx' has no attribute 'layer_norm'; write phalanx.nn.layer_norm",
    ),
    Mistake(
        "x.gelu()",
        AttributeError,
        "a phalanx array has no attribute 'gelu'; write phalanx.nn.gelu(x)",
    ),
    Mistake(
        "px.nn.pad(x, 1)",
        AttributeError,
        "module 'phalanx.nn' has no attribute 'pad'; write phalanx.pad",
    ),
    Mistake(
        "px.erf(x)",
        AttributeError,
        "module 'phalanx' has no attribute 'erf'; write phalanx.special.erf",
    ),
    Mistake(
        "px.tensor([1, 2])",
        AttributeError,
        "module 'phalanx' has no attribute 'tensor'; write phalanx.asarray",
    ),
    Mistake(
        "px.concatenate([x, x])",
        AttributeError,
        "module 'phalanx' has no attribute 'concatenate'; write phalanx.concat",
    ),
    Mistake(
        "px.cat([x, x])",
        AttributeError,
        "module 'phalanx' has no attribute 'cat'; write phalanx.concat",
    ),
    Mistake(
        "px.cummax(x)",
        AttributeError,
        "module 'phalanx' has no attribute 'cummax'; write phalanx.cumulative_max",
    ),
    Mistake(
        "px.cumsum(x)",
        AttributeError,
        "module 'phalanx' has no attribute 'cumsum'; write phalanx.cumulative_sum",
    ),
    Mistake(
        "px.randn(3)",
        AttributeError,
        "module 'phalanx' has no attribute 'randn'; write phalanx.random.normal(size=shape)",
    ),
    Mistake(
        "px.manual_seed(0)",
        AttributeError,
        "module 'phalanx' has no attribute 'manual_seed'; write phalanx.random.seed(seed)",
    ),
    Mistake(
        "px.float",
        AttributeError,
        "module 'phalanx' has no attribute 'float'; write phalanx.float64",
    ),
    Mistake(
        "px.long",
        AttributeError,
        "module 'phalanx' has no attribute 'long'; write phalanx.int64",
    ),
    Mistake(
        "px.cuda.is_available()",
        AttributeError,
        "module 'phalanx' has no attribute 'cuda'; write phalanx.set_device(\"gpu:0\") and "
        "phalanx.devices()",
    ),
    Mistake(
        "px.unsqueeze(x, 0)",
        AttributeError,
        "module 'phalanx' has no attribute 'unsqueeze'; write phalanx.expand_dims",
    ),
    Mistake(
        "px.gather(x, 0)",
        AttributeError,
        "module 'phalanx' has no attribute 'gather'; write phalanx.take_along_axis",
    ),
    Mistake(
        "px.relu(x)",
        AttributeError,
        "module 'phalanx' has no attribute 'relu'; write phalanx.nn.relu",
    ),
    Mistake(
        "px.zeroes(3)",
        AttributeError,
        "module 'phalanx' has no attribute 'zeroes'; did you mean phalanx.zeros?",
    ),
    Mistake(
        "px.lingspace(0, 1, 3)",
        AttributeError,
        "module 'phalanx' has no attribute 'lingspace'; did you mean phalanx.linspace?",
    ),
    Mistake(
        "px.histogram2d(x, x)",
        AttributeError,
        "module 'phalanx' has no attribute 'histogram2d'; NumPy has it, on the host: "
        "numpy.histogram2d(phalanx.asnumpy(x), ...)",
    ),
    Mistake(
        "px.linalg.tensorsolve(m, x)",
        AttributeError,
        "module 'phalanx.linalg' has no attribute 'tensorsolve'; NumPy has it, on the host: "
        "numpy.linalg.tensorsolve(phalanx.asnumpy(x), ...)",
    ),
    Mistake(
        "px.tolist(x)",
        AttributeError,
        "module 'phalanx' has no attribute 'tolist'; arrays have it: x.tolist",
    ),
    Mistake(
        "px.linalg.norm(x)",
        AttributeError,
        "module 'phalanx.linalg' has no attribute 'norm'; write phalanx.linalg.vector_norm "
        "or phalanx.linalg.matrix_norm",
    ),
    Mistake(
        "px.linalg.eigvlas(m)",
        AttributeError,
        "module 'phalanx.linalg' has no attribute 'eigvlas'; did you mean phalanx.linalg.eigvals?",
    ),
    Mistake(
        "px.fft.iftt(m)",
        AttributeError,
        "module 'phalanx.fft' has no attribute 'iftt'; did you mean phalanx.fft.ifft?",
    ),
    Mistake(
        "x.cuda()",
        AttributeError,
        "a phalanx array has no attribute 'cuda'; write x.to_device(\"gpu:0\")",
    ),
    Mistake(
        'x.to("cpu")',
        AttributeError,
        "a phalanx array has no attribute 'to'; write x.to_device(device) or x.astype(dtype)",
    ),
    Mistake("x.numel()", AttributeError, "a phalanx array has no attribute 'numel'; write x.size"),
    Mistake(
        "x.unsqueeze(0)",
        AttributeError,
        "a phalanx array has no attribute 'unsqueeze'; write phalanx.expand_dims(x, axis)",
    ),
    Mistake(
        "x.permute(0)",
        AttributeError,
        "a phalanx array has no attribute 'permute'; write x.transpose(*axes)",
    ),
    Mistake(
        "x.detach()",
        AttributeError,
        "a phalanx array has no attribute 'detach'; write x itself: nothing is recorded for "
        "gradients",
    ),
    Mistake(
        "x.requires_grad",
        AttributeError,
        "a phalanx array has no attribute 'requires_grad'; write nothing: no gradients are "
        "recorded",
    ),
    Mistake(
        "x.exp()",
        AttributeError,
        "a phalanx array has no attribute 'exp'; write phalanx.exp(x)",
    ),
    Mistake(
        "x.isnan()",
        AttributeError,
        "a phalanx array has no attribute 'isnan'; write phalanx.isnan(x)",
    ),
    Mistake("x.dim()", AttributeError, "a phalanx array has no attribute 'dim'; write x.ndim"),
    Mistake(
        "x.clone()",
        AttributeError,
        "a phalanx array has no attribute 'clone'; write x.copy()",
    ),
    Mistake(
        "x.resize(4)",
        AttributeError,
        "a phalanx array has no attribute 'resize'; write x.reshape(shape)",
    ),
    Mistake(
        "x.zero_()",
        AttributeError,
        "a phalanx array has no attribute 'zero_'; write x.fill(0)",
    ),
    Mistake(
        "x.shpae",
        AttributeError,
        "a phalanx array has no attribute 'shpae'; did you mean x.shape?",
    ),
    Mistake(
        "x.partition(1)",
        AttributeError,
        "a phalanx array has no attribute 'partition'; NumPy has it, on the host: "
        "x.numpy().partition(...)",
    ),
)
