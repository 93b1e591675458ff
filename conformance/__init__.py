"""The conformance suite: proof that a device computes the right thing.

The cases are pytest tests in ``groups``; ``plugin`` lets pytest run them on a device and collects
what each found. ``phalanx conformance`` does all of it and writes the reports.
"""

#: Changes whenever a case is added, removed or judged in another way.
SUITE_VERSION = "1.0"
