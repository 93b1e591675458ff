# Launches that repeat: what a driver prepared for operands of one signature (`OpenDevice.prepare`).
#
# The first launch of a signature goes the ordinary way, the second has the driver prepare it, and
# all further ones hand the driver nothing but where the memory is.

cdef enum:
    SIGNATURE_WORDS = 128
    MOST_OPERANDS = 8
    MOST_SIGNATURES = 256  # of a kernel; then it begins anew

cdef struct Signature:
    int n  # words, more than there is room for if the operands have too many axes
    int n_places
    int64_t words[SIGNATURE_WORDS]
    uint64_t places[2 * MOST_OPERANDS]  # handle and offset in bytes of each array

#: Stands for a signature that came once, and for one that is new.
cdef object _seen = object()
cdef object _unseen = object()


@cython.final
cdef class PreparedLaunches:
    """What an open device prepared for one kernel: by signature, ``None`` where it cannot."""

    cdef object opened
    cdef dict launches


cdef dict preparing_of(object opened):
    """The attributes of a driver's object if its ``prepare`` belongs to its ``launch``, else None.

    It does not where a subclass has another launch.
    """
    for kind in type(opened).__mro__:
        if "launch" in kind.__dict__ or "prepare" in kind.__dict__:
            own = "prepare" in kind.__dict__ and kind is not OpenDevice
            return getattr(opened, "__dict__", {}) if own else None
    return None


cdef inline bint prepares(Device device) except -1:
    """Whether launches that repeat are prepared: not while the object has a launch of its own."""
    return device.preparing is not None and "launch" not in device.preparing


cdef inline void sign_array(Signature *g, Array a, int ndim, const int64_t *shape,
                            const int64_t *strides) noexcept:
    """Add an array: its extents and strides, and its handle and offset modulo 16."""
    cdef int at = g.n
    cdef uint64_t handle = <uintptr_t>a.buffer.base, offset = a.t.byte_offset
    g.n += 1 + 2 * ndim
    if g.n > SIGNATURE_WORDS:
        return
    g.words[at] = ndim << 8 | (handle & 15) << 4 | (offset & 15)
    memcpy(g.words + at + 1, shape, ndim * sizeof(int64_t))
    memcpy(g.words + at + 1 + ndim, strides, ndim * sizeof(int64_t))
    g.places[g.n_places] = handle
    g.places[g.n_places + 1] = offset
    g.n_places += 2


cdef inline void sign_number(Signature *g, const DLTensor *number) noexcept:
    """Add a number that is handed over by value."""
    cdef int at = g.n
    g.n += 3
    if g.n > SIGNATURE_WORDS:
        return
    g.words[at] = -1 - (number.dtype.bits << 8 | number.dtype.code)
    g.words[at + 1] = g.words[at + 2] = 0
    memcpy(g.words + at + 1, number.data, number.dtype.bits // 8)


cdef object look_up_prepared(Device device, Kernel kernel, bytes key):
    """The prepared launch of a signature, ``None``: there is none, ``_seen``: it may be made now."""
    cdef PreparedLaunches known = kernel.prepared
    if known is None or known.opened is not device.opened:
        known = PreparedLaunches.__new__(PreparedLaunches)
        known.opened = device.opened
        known.launches = {}
        kernel.prepared = known
    found = known.launches.get(key, _unseen)
    if found is not _unseen:
        return found
    if len(known.launches) >= MOST_SIGNATURES:
        known.launches.clear()
    known.launches[key] = _seen
    return None


cdef object prepare_launch(Device device, Kernel kernel, bytes key, list inputs, list outputs,
                           tuple params, Stream s):
    """Have the driver prepare a launch; remember what it gave, and return it."""
    cdef PreparedLaunches known = kernel.prepared
    opened = device.calls()
    found = opened.prepare(kernel, inputs, outputs, params, stream=s)
    if known.opened is opened:
        known.launches[key] = found
    return found


cdef bytes key_of(Signature *g):
    """The signature as a key, ``None`` if it is too long for one."""
    if g.n > SIGNATURE_WORDS:
        return None
    return (<char *>g.words)[:g.n * sizeof(int64_t)]


cdef int run_prepared(Stream s, object prepared, Signature *g, void **arrays, int n_inputs,
                      int n_outputs) except -1:
    """One prepared launch: depend, begin, the call, publish. NULL arrays are numbers."""
    cdef Timeline t = s.timeline
    cdef bytes places = (<char *>g.places)[:g.n_places * sizeof(uint64_t)]
    depend_on_all(t, arrays, n_inputs, n_outputs)
    t.begin()
    try:
        delay()
        prepared(places, s)
        delay()
    finally:
        t.publish()
        note_uses(t, arrays, n_inputs, n_outputs)
        t.leave()
    return 0
