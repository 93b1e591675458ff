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


cdef inline list places_behind(Buffer b):
    """The checks of indices that a buffer's values depend on, None if there are none."""
    return None if b.holding is None else b.holding.places


cdef int keep_places(Buffer b, list places) except -1:
    if places:
        holding_of(b).places = places
    elif b.holding is not None:
        b.holding.places = None
    return 0


cdef int forget_places(Buffer b) except -1:
    """Know that the buffer's own values are no offsets to check any more, and depend on none."""
    if b.holding is not None:
        b.holding.is_places = False
        b.holding.places = None
    return 0


cdef int note_places(void **arrays, int n_inputs, int n_outputs) except -1:
    """Note of a launch's outputs which checks of indices their values come from."""
    cdef list found = []
    cdef Buffer b
    cdef int i
    for i in range(n_inputs + n_outputs):
        b = None if arrays[i] == NULL else uses_of((<Array>arrays[i]).buffer)
        if b is not None and b.holding is not None and (b.holding.is_places or b.holding.places):
            break
    else:
        return 0
    for i in range(n_inputs):
        if arrays[i] != NULL:
            b = uses_of((<Array>arrays[i]).buffer)
            if is_places(b) and b not in found:
                found.append(b)
            elif places_behind(b) is not None:
                found += [p for p in b.holding.places if p not in found]
    for i in range(n_inputs, n_inputs + n_outputs):
        b = uses_of((<Array>arrays[i]).buffer)
        mine = [p for p in found if p is not b]
        if places_behind(b) is not None and not is_whole(<Array>arrays[i]):
            mine += [p for p in b.holding.places if p not in mine]
        keep_places(b, mine)
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
    cdef Buffer p
    if len(b.holding.places) > MOST_PLACES:
        settle_places(b, MOST_PLACES // 2)
    for p in list(b.holding.places or ()):
        check_place(b, p)
    return 0


cdef int check_place(Buffer b, Buffer p) except -1:
    failure = None if p.timeline.wrong is None else p.timeline.wrong.find(p.write_seq)
    if failure is not None and offset_at(p) < NO_PLACE // 2:
        failure = again(failure)
        failure.add_note(f"wrap_index on {p.device} refused the indices by which this array, or one "
                         "that it comes from, was to be taken: it has no value; compute it anew")
        raise failure
    if failure is not None or p.timeline.told >= p.write_seq:
        keep_places(b, [q for q in b.holding.places or () if q is not p])
    return 0


cdef int settle_places(Buffer b, int kept) except -1:
    """Wait until all checks of indices but the newest ones have told; raises what was wrong."""
    cdef Buffer p
    for p in b.holding.places[:max(0, len(b.holding.places) - kept)]:
        check_place(b, p)
        p.timeline.wait_until(p.write_seq)
        check_place(b, p)
    return 0


cdef object offset_at(Buffer p):
    """The first of the offsets; one bad index makes all of them no place."""
    cdef Array x = new_header(p.device, <DType>_dtypes[INT64], 0)
    x.count = 1
    x.contiguous = True
    attach(x, p)
    return int(x)
