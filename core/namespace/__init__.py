"""The functions of the Python Array API standard, and those that are methods of arrays."""

from . import methods as methods
