# What failed work left without a value: whoever reads it is told why, each time.

MOST_DOUBTS = 1024  # ranges that are kept apart; older ones are joined


@cython.final
@cython.no_gc
cdef class Doubts:
    """Launches of a timeline that have no result, in ascending ranges, each with its failure.

    A driver passes over what lies behind a failure until it has told it, and which launch it was
    only its message says. So a range goes from the first launch that may have failed to the last
    that was enqueued when the failure was told.
    """

    cdef list firsts
    cdef list lasts
    cdef list failures

    cdef bint add(self, uint64_t first, uint64_t last, object failure) except -1:
        """Add a range behind those that are there; return whether it has a launch."""
        if self.lasts:
            first = max(first, self.lasts[len(self.lasts) - 1] + 1)
        if first > last:
            return False
        if len(self.firsts) >= MOST_DOUBTS:
            del self.firsts[1], self.lasts[0], self.failures[0]
        self.firsts.append(first)
        self.lasts.append(last)
        self.failures.append(again(failure))
        return True

    cdef object find(self, uint64_t seq):
        """The failure whose range has a launch, or ``None``."""
        from bisect import bisect_right

        cdef Py_ssize_t place = bisect_right(self.firsts, seq) - 1
        return None if place < 0 or self.lasts[place] < seq else self.failures[place]

    cdef int check(self, uint64_t seq) except -1:
        """Raise the failure again if a launch has no result because of it."""
        failure = self.find(seq)
        if failure is None:
            return 0
        failure = again(failure)
        failure.add_note("this array was to come from the work that failed, or from work behind it: "
                         "it has no value; compute it anew")
        raise failure


cdef Doubts new_doubts():
    cdef Doubts d = Doubts.__new__(Doubts)
    d.firsts, d.lasts, d.failures = [], [], []
    return d


cdef object again(object failure):
    """The same failure without the frames, and so the arrays, that it has come through."""
    from copy import copy

    try:
        same = copy(failure)
    except Exception:  # whatever a vendor's exception does when it is copied
        same = (IndexError if isinstance(failure, IndexError) else errors.LaunchError)(str(failure))
    same.__notes__ = []
    return same
