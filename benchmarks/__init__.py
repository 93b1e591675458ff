"""``phalanx bench``: ratios of speed against other array libraries, measured side by side.

``workloads`` says what is timed, ``contestants`` by whom, ``measure`` how, and ``bars`` what is
demanded; ``results`` holds a run and its JSON form, ``report`` prints it, ``machine`` describes the
computer.
"""
