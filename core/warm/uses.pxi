# Uses of buffers: which timelines a launch or the host waits for, and what is noted behind it.

cdef int depend_on(Timeline t, Buffer b, bint write) except -1:
    """Order the work to come on ``t`` behind the uses of a buffer that matter.

    Raises again what left the buffer without a value, if it is read.
    """
    if not write:
        check_buffer(b)
    if (b.timeline is t and b.readers is None) or (_is_manual is not None and _is_manual()):
        return 0
    b = uses_of(b)
    t.depend(b.timeline, max(b.write_seq, b.read_seq) if write else b.write_seq)
    if write and b.readers is not None:
        for other, seq in list(b.readers.items()):
            t.depend(other, seq)
    return 0


cdef inline int check_buffer(Buffer b) except -1:
    """Raise again what left a buffer without a value."""
    b = uses_of(b)
    if b.places is not None:
        check_places(b)
    return 0 if b.timeline is None else b.timeline.check_value(b.write_seq)


cdef enum:
    MANY_READERS = 8  # timelines that use a buffer before those are looked for that have done so


cdef int forget_passed(dict readers) except -1:
    """Drop the uses that are complete: an array that lives long meets streams without end."""
    cdef Timeline t
    for reader, seq in list(readers.items()):
        t = reader
        if t.done >= <uint64_t>seq or t.state >= ENDED:
            del readers[reader]
    return 0


cdef int note_use(Timeline t, Buffer b, bint write) except -1:
    """Note that the launch published last reads or writes a buffer."""
    b = uses_of(b)
    if b.timeline is t:
        if write:
            b.write_seq = t.seq
        else:
            b.read_seq = t.seq
        return 0
    # The last use on each other timeline is kept until it has passed, or the buffer dies: its memory
    # is free only when all of them have passed.
    if b.readers is None:
        b.readers = {}
    elif len(b.readers) >= MANY_READERS and t not in b.readers:
        forget_passed(b.readers)
    if write:
        b.readers[b.timeline] = max(b.write_seq, b.read_seq)
        b.readers.pop(t, None)
        b.timeline = t
        b.write_seq = t.seq
        b.read_seq = 0
    else:
        b.readers[t] = t.seq
    return 0


cdef int wait_on_host(Buffer b, bint write) except -1:
    """Block until the host may read (or write) a buffer's memory; raises what failed."""
    check_buffer(b)
    b = uses_of(b)
    cdef Timeline t = b.timeline
    if t is None:
        return 0
    t.wait_until(max(b.write_seq, b.read_seq) if write else b.write_seq)
    if b.places is not None and not write:  # checked on other streams, perhaps
        settle_places(b.places, 0)
    if write and b.readers is not None:
        for other, seq in list(b.readers.items()):
            (<Timeline>other).wait_until(seq)
    return 0


cdef object joined_failure(object first, object other):
    """The first failure of work, with the others as notes: each is told once, here or nowhere."""
    if first is None:
        return other
    first.add_note(f"on another stream: {other}")
    return first
