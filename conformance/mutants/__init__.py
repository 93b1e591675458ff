"""Mutants: the kernel texts with one small change each, to test the suite on a real compiler.

A device of this machine compiles the changed text in a child process, and the suite must see it.
"""
