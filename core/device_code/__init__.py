"""Kernels for devices with groups of work-items, in words that a dialect of C gives a meaning."""
