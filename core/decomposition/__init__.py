"""Ops made of other ops: for devices that have no kernel of their own for them.

An elementwise op is made from its scalar function in ``core/scalar``, which is translated to a
program of simpler ops; ops of other structures are written here. The bits are those of the op.
"""
