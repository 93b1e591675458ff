# Memory of others: how long its owner stays, and which buffers lie over common bytes.

@cython.final
@cython.no_gc
cdef class Holding:
    """What few buffers have: the owner of borrowed memory, hooks for its end, uses that are shared.

    Parked, it outlives its buffer until the uses in ``waits`` are done.
    """

    cdef object owner
    cdef list hooks
    cdef list waits
    cdef bint is_reachable  # known to those who look for overlapping memory
    cdef Buffer shared      # keeps the uses of all buffers that overlap this one
    cdef bint is_places     # its values are offsets that a check of indices gives behind the call

    cdef bint is_passed(self) noexcept:
        cdef Timeline t
        for timeline, seq in self.waits:
            t = timeline
            if t.done < <uint64_t>seq and t.state < ENDED:
                return False
        return True

    def __dealloc__(self):
        if self.hooks is not None:
            for hook in self.hooks:
                run_hook(hook)


cdef Holding holding_of(Buffer b):
    if b.holding is None:
        b.holding = Holding.__new__(Holding)
        b.holding.hooks = []
    return b.holding


cdef void park(Buffer b) noexcept:
    """Keep what a dying buffer over borrowed memory holds as long as work uses the memory."""
    b.device._borrowed -= 1
    waits = pending_uses(uses_of(b))
    if waits:
        b.holding.waits = waits
        b.device._parked.append(b.holding)


cdef bint leave_to_heir(Buffer b, list pending) noexcept:
    """Give a block that is used on another device too to a buffer that dies when that use is done."""
    cdef Buffer heir
    cdef Holding parked
    foreign = [use for use in pending if (<Timeline>use[0]).device is not b.device]
    if not foreign:
        return False
    heir = Buffer.__new__(Buffer)
    heir.device, heir.pool, heir.block, heir.home = b.device, b.pool, b.block, b.home
    heir.timeline = b.device._default_stream.timeline
    heir.readers = {use[0]: use[1] for use in pending if (<Timeline>use[0]).device is b.device}
    parked = Holding.__new__(Holding)
    parked.owner, parked.waits = heir, foreign
    b.device._parked.append(parked)
    return True


def keep_behind(Stream stream not None, owner):
    """Keep an object until the work so far on a stream is done; does not block."""
    cdef Holding parked = Holding.__new__(Holding)
    cdef Timeline t = stream.timeline
    parked.owner, parked.waits = owner, [(t, t.seq + t.launching)]
    t.device._parked.append(parked)


cdef void run_hook(object hook) noexcept:
    hook()  # what it raises goes to sys.unraisablehook, as from any destructor


# Memory that others can reach too: what lies over common bytes has one record of uses.

cdef dict _reachable = {}  # None for host addresses, else a device -> sorted [start, end, number, ref]
cdef dict _longest = {}    # by the same key: bytes of the longest range
cdef dict _sweeps = {}     # by the same key: how many ranges there may be until the dead ones go
cdef uint64_t _ranges = 0


cdef inline Buffer uses_of(Buffer b):
    """The buffer that keeps the record of uses."""
    if b.holding is None or b.holding.shared is None:
        return b
    return record_of(b)


cdef Buffer record_of(Buffer b):
    """The same of a buffer that shares its record; the way there is short from now on."""
    cdef Buffer found = b
    cdef Buffer following
    while found.holding is not None and found.holding.shared is not None:
        found = found.holding.shared
    while b is not found:
        following = b.holding.shared
        b.holding.shared = found
        b = following
    return found


cdef int make_reachable(Buffer b, object space, uint64_t start, uint64_t size) except -1:
    """Know that others reach a buffer's memory: from ``start``, a host address (``space`` is None)
    or a handle of the device ``space``."""
    global _ranges
    import weakref
    from bisect import bisect_left, insort

    if size == 0:
        return 0
    ranges = _reachable.setdefault(space, [])
    if len(ranges) >= _sweeps.get(space, 64):
        ranges[:] = [r for r in ranges if r[3]() is not None]
        _sweeps[space] = max(64, 2 * len(ranges))
        _longest[space] = max([end - begin for begin, end, _, _ in ranges], default=0)
    _ranges += 1
    _longest[space] = max(_longest.get(space, 0), size)
    insort(ranges, (start, start + size, _ranges, weakref.ref(b)))  # first: of two one sees the other
    begin = bisect_left(ranges, (max(0, <object>start - _longest[space]),))
    for _, end, _, ref in ranges[begin:bisect_left(ranges, (start + size,))]:
        other = ref()
        if other is not None and other is not b and end > start:
            share_uses(b, other)
    return 0


cdef int note_reachable(Buffer b) except -1:
    """Know a buffer that was borrowed or exported."""
    cdef bint is_address = b.device.host_addressable
    if not holding_of(b).is_reachable:
        b.holding.is_reachable = True
        make_reachable(b, None if is_address else b.device, <uintptr_t>b.base + b.offset, b.size)
    return 0


def note_host_range(Buffer buffer not None, uint64_t address, uint64_t size):
    """Know at which host address the memory of a buffer lies that a device uses in place."""
    make_reachable(buffer, None, address, size)


cpdef int share_uses(Buffer a, Buffer b) except -1:
    """Keep the uses of two buffers over one memory in one record; may block the first time."""
    cdef Buffer first = uses_of(a)
    cdef Buffer second = uses_of(b)
    while first is not second and (pending_uses(first) or pending_uses(second)):
        wait_on_host(first, True)
        wait_on_host(second, True)
        first, second = uses_of(a), uses_of(b)
    if first is second:
        return 0
    cdef Buffer both = first if first.is_record else second if second.is_record else None
    if both is None:
        both = Buffer.__new__(Buffer)
        both.is_record = True
        both.device = first.device
        both.timeline = first.timeline  # one that is there keeps the numbers of its own
    both.places = joined_places(first.places, second.places)
    for a in (first, second):
        if a is not both:
            holding_of(a).shared = both
            a.timeline = None  # the short way of a launch is not for shared memory
        a.readers = None
    return 0
