"""Random programs of many threads on one device or several, each value checked against NumPy.

``program`` says what a program is, ``generator`` makes one from a seed, ``reference`` interprets it
with NumPy, ``execution`` runs it, ``child`` is the process in which it runs, and ``runner`` starts
one process after another and tells crashes, hangs and wrong values apart.
"""
