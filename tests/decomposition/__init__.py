"""Ops made of other ops: chains, bits, choice, launches."""
