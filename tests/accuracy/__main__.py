"""``python -m accuracy``; see command.py."""

from .command import accuracy

accuracy()
