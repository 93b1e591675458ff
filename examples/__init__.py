"""Programs from twelve fields, written once for every array library.

Each module has a ``PROGRAM``: it loads real data, computes with the functions of the Array API
standard 2025.12 and with methods that array libraries share, and says what came out. ``harness``
runs it on every device and compares; ``phalanx bench --programs`` times it against other libraries.
``digits`` is a longer one of its own.
"""

#: The modules that have a ``PROGRAM``.
PROGRAMS = (
    "attention",
    "blur",
    "convnet",
    "histogram",
    "kmeans",
    "life",
    "logistic",
    "montecarlo",
    "nbody",
    "pagerank",
    "pca",
    "waves",
)
