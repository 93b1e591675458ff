"""Saving arrays to files and loading them: NumPy's formats, and that of safetensors."""

from .loading import load
from .npy import save
from .npz import Archive, savez, savez_compressed
from .tensors import load_safetensors, save_safetensors

__all__ = [
    "Archive",
    "load",
    "load_safetensors",
    "save",
    "save_safetensors",
    "savez",
    "savez_compressed",
]
