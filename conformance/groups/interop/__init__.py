"""Round trips through DLPack and NumPy."""
