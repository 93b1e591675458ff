"""The C ABI for vendors: its structures in Python, its table of kernels, its check."""
