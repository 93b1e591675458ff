"""`make proof`: all inputs of the functions of one operand, as docs/numerics.md explains."""
