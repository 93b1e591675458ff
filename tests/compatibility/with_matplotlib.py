"""matplotlib draws arrays of the host's memory as they are; others by request.

Ran as a suite, not with the other tests: ``make compatibility ARGS='--suite matplotlib'``.
"""

import numpy as np
import phalanx as px
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

VALUES = np.linspace(0, 1, 30)
GRID = np.outer(VALUES, VALUES)

DRAWINGS = {
    "plot": lambda axes, make: axes.plot(make(VALUES), make(VALUES**2)),
    "plot of one": lambda axes, make: axes.plot(make(VALUES)),
    "scatter": lambda axes, make: axes.scatter(make(VALUES), make(VALUES), c=make(VALUES)),
    "imshow": lambda axes, make: axes.imshow(make(GRID)),
    "imshow of colours": lambda axes, make: axes.imshow(make(np.stack([GRID] * 3, axis=-1))),
    "pcolormesh": lambda axes, make: axes.pcolormesh(make(GRID)),
    "contour": lambda axes, make: axes.contour(make(GRID)),
    "hist": lambda axes, make: axes.hist(make(VALUES), bins=7),
    "bar": lambda axes, make: axes.bar(make(np.arange(30)), make(VALUES)),
    "errorbar": lambda axes, make: axes.errorbar(make(VALUES), make(VALUES), make(VALUES)),
    "fill_between": lambda axes, make: axes.fill_between(make(VALUES), make(VALUES)),
    "step": lambda axes, make: axes.step(make(VALUES), make(VALUES)),
}


def picture(draw, make) -> bytes:
    figure = Figure(figsize=(2, 2))
    draw(figure.subplots(), make)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return bytes(canvas.buffer_rgba())


@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS)
def test_drawing(draw):
    want = picture(draw, np.asarray)
    assert picture(draw, lambda values: px.asnumpy(px.asarray(values))) == want
    if px.get_device().host_addressable:
        assert picture(draw, px.asarray) == want
    else:
        with pytest.raises(TypeError, match=r"phalanx\.asnumpy\(x\)"):
            picture(draw, px.asarray)
