"""What the ops mean, written apart from the op table and its kernels; values and measures."""
