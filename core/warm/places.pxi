# Indices that were out of range: whoever reads what was taken by them is told, each time.

MOST_PLACES = 64  # checks of indices that a buffer may come from before the oldest is waited for
cdef int64_t NO_PLACE = -0x100000000000000  # PHX_NO_PLACE: below half of it an offset names no element


cdef bint _has_checks = False  # whether there ever was a check that tells behind the call


cdef int note_check(Array offsets) except -1:
    """Know offsets that a check of indices gives behind the call: ``wrap_index`` wrote them."""
    global _has_checks
    cdef Buffer b = uses_of(offsets.buffer)
    if b.timeline is not None and not b.timeline.is_inline:
        holding_of(b).is_places = _has_checks = True
    return 0


cdef inline bint is_places(Buffer b) noexcept:
    return b.holding is not None and b.holding.is_places


cdef int forget_places(Buffer b) except -1:
    """Know that the buffer's own values are no offsets to check any more, and depend on none."""
    b.places = None
    if b.holding is not None:
        b.holding.is_places = False
    return 0


@cython.final
@cython.no_gc
cdef class Places:
    """The checks of indices that values come from, as the buffers of the offsets, which may be no place.

    All buffers whose values come from the same checks share them: few launches have to join any.
    They grow fewer, when a wait has told of them, and never more.
    """

    cdef dict offsets       # buffer -> None, the oldest first; replaced, not changed
    cdef Timeline timeline  # of all of them; None if there are several
    cdef uint64_t told      # what that timeline had told when they were last looked at
    cdef uint64_t number    # no others have it
    cdef uint64_t part      # number of others that are among them, 0 if none are known
    cdef uint64_t other_part


cdef uint64_t _n_places = 0


cdef Places new_places(dict offsets, Timeline t):
    global _n_places
    cdef Places made = Places.__new__(Places)
    _n_places += 1
    made.offsets, made.timeline, made.number = offsets, t, _n_places
    return made


cdef bint has_those_of(Places a, Places b) except -1:
    """Whether all checks of b that are not known to be right are among those of a."""
    if a.part == b.number or a.other_part == b.number or not b.offsets:
        return True
    if not b.offsets.keys() <= a.offsets.keys():
        return False
    a.other_part, a.part = a.part, b.number
    return True


cdef Places joined_places(Places a, Places b):
    """The checks of both; None for none."""
    cdef Places made
    if a is b or b is None:
        return a
    if a is None or has_those_of(b, a):
        return b
    if has_those_of(a, b):
        return a
    made = new_places({**a.offsets, **b.offsets}, a.timeline if a.timeline is b.timeline else None)
    made.part, made.other_part = a.number, b.number
    return made


cdef int note_places(void **arrays, int n_inputs, int n_outputs) except -1:
    """Note of a launch's outputs which checks of indices their values come from."""
    cdef Places found = None, mine
    cdef Buffer b
    cdef int i
    for i in range(n_inputs + n_outputs):
        b = None if arrays[i] == NULL else uses_of((<Array>arrays[i]).buffer)
        if b is not None and (b.places is not None or is_places(b)):
            break
    else:
        return 0
    for i in range(n_inputs):
        if arrays[i] != NULL:
            b = uses_of((<Array>arrays[i]).buffer)
            found = joined_places(found, b.places)
            if is_places(b):
                found = joined_places(found, new_places({b: None}, b.timeline))
    for i in range(n_inputs, n_inputs + n_outputs):
        b = uses_of((<Array>arrays[i]).buffer)
        mine = found
        if is_places(b) and mine is not None and b in mine.offsets:
            mine = new_places({p: None for p in mine.offsets if p is not b}, mine.timeline)
        b.places = mine if is_whole(<Array>arrays[i]) else joined_places(b.places, mine)
    return 0


cdef int note_places_of(list inputs, list outputs) except -1:
    """The same of a launch whose operands are arrays, or something of the host."""
    cdef void *arrays[MOST_OPERANDS]
    cdef list inside = [x for x in inputs if isinstance(x, Array)]
    cdef list written = [x for x in outputs if isinstance(x, Array)]
    cdef int i = 0
    for x in inside + written:
        arrays[i] = <void *>x
        i += 1
    return note_places(arrays, len(inside), len(written))


cdef bint is_whole(Array x) noexcept:
    """Whether who writes the array writes all of its buffer."""
    return x.contiguous and <uint64_t>x.count * <uint64_t>x.dtype.itemsize == x.buffer.size


cdef int check_places(Buffer b) except -1:
    """Raise again that an index was out of range, if the buffer's values come from it.

    Forgets the indices that are known to be right. Does not wait unless there was a wrong one on
    their timeline, or there are too many.
    """
    cdef Places c = b.places
    cdef Timeline t = c.timeline
    cdef bint are_many = len(c.offsets) > MOST_PLACES
    if t is not None and t.wrong is None and t.told == c.told and not are_many:
        return 0
    cdef uint64_t told = 0 if t is None else t.told
    if are_many:
        settle_places(c, MOST_PLACES // 2)
    for p in c.offsets:
        check_place(c, p)
    c.told = told
    if not c.offsets:
        b.places = None
    return 0


cdef int check_place(Places c, Buffer p) except -1:
    failure = None if p.timeline.wrong is None else p.timeline.wrong.find(p.write_seq)
    if failure is not None and offset_at(p) < NO_PLACE // 2:
        failure = again(failure)
        failure.add_note(f"wrap_index on {p.device} refused the indices by which this array, or one "
                         "that it comes from, was to be taken: it has no value; compute it anew")
        raise failure
    if failure is not None or p.timeline.told >= p.write_seq:
        c.offsets = {q: None for q in c.offsets if q is not p}
    return 0


cdef int settle_places(Places c, int kept) except -1:
    """Wait until all checks of indices but the newest ones have told; raises what was wrong."""
    cdef Buffer p
    for p in list(c.offsets)[:max(0, len(c.offsets) - kept)]:
        check_place(c, p)
        p.timeline.wait_until(p.write_seq)
        check_place(c, p)
    return 0


cdef object offset_at(Buffer p):
    """The first of the offsets; one bad index makes all of them no place."""
    cdef Array x = new_header(p.device, <DType>_dtypes[INT64], 0)
    x.count = 1
    x.contiguous = True
    attach(x, p)
    return int(x)
