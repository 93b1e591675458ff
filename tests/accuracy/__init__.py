"""Errors of float32 functions beside those of other libraries, as a table and a figure."""
