"""Which kernel serves a call, and what happens where none does."""
